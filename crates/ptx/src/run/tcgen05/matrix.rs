//! Matrices of `tcgen05.mma` and `tcgen05.cp` in memory (PTX ISA, "Shared memory matrix layout", "Packing formats", "Data path layout
//! organization", "Scale factor layout").

use super::describe::{Side, matrix};
use crate::run::fault::Fault;

/// Codes of the elements of some lines.
pub(in crate::run) struct Tile(pub(super) Vec<u32>);

/// Bytes of a line of A or B: every multiplication takes as many.
const LINE: usize = 32;

impl Tile {
    /// A or B in shared memory, 16 bytes at a time, which `read` has of an address.
    pub(in crate::run) fn shared(
        descriptor: u64,
        side: Side,
        mut read: impl FnMut(u64) -> Result<[u8; 16], Fault>,
    ) -> Result<Tile, Fault> {
        let descriptor = matrix(descriptor).map_err(|what| Fault::new(0, what))?;
        let mut codes = vec![0; side.lines * side.k];
        if side.transposed {
            // one element of each of some lines
            let count = 128 / side.bits;
            for k in 0..side.k {
                for first in (0..side.lines).step_by(count) {
                    let bytes = read(descriptor.address(first, k, side.bits as u64 / 8, true))?;
                    let found = elements(bytes, side.bits);
                    for (line, code) in (first..side.lines).zip(found) {
                        codes[line * side.k + k] = code;
                    }
                }
            }
        } else {
            for (line, codes) in codes.chunks_exact_mut(side.k).enumerate() {
                let halves = codes.chunks_exact_mut(side.k / 2).zip((0..LINE).step_by(16));
                for (codes, along) in halves {
                    let bytes = read(descriptor.address(line, along, 1, false))?;
                    codes.iter_mut().zip(elements(bytes, side.bits)).for_each(|(to, code)| *to = code);
                }
            }
        }
        Ok(Tile(codes).signed(side))
    }

    /// A in tensor memory: a lane for each row, in words that follow each other.
    pub(in crate::run) fn tensor(
        side: Side,
        mut read: impl FnMut(usize, usize) -> Result<u32, Fault>,
    ) -> Result<Tile, Fault> {
        if side.is_padded {
            let what = "how elements of 4 and 6 bits lie in tensor memory is not known here";
            return Err(Fault::new(0, what));
        }
        let mut codes = Vec::with_capacity(side.lines * side.k);
        let per = 32 / side.bits;
        for line in 0..side.lines {
            for word in 0..side.k / per {
                let value = read(lane_of(line, side.lines), word)?;
                codes.extend((0..per).map(|at| value >> (at * side.bits) & mask(side.bits)));
            }
        }
        Ok(Tile(codes).signed(side))
    }

    /// Scale factors in tensor memory: line l has a word in lane l mod 32 and column l / 32, the same in each quarter of the lanes.
    pub(in crate::run) fn factors(
        side: Side,
        count: usize,
        mut read: impl FnMut(usize, usize) -> Result<u32, Fault>,
    ) -> Result<Tile, Fault> {
        let mut codes = Vec::with_capacity(side.lines * count);
        for line in 0..side.lines {
            let mut quarter = |quarter: usize| read(32 * quarter + line % 32, line / 32);
            let value = quarter(0)?;
            for other in 1..4 {
                if quarter(other)? != value {
                    let what = format!(
                        "the scale factors of line {line} are not the same in all four quarters of tensor memory, which tcgen05.mma asks for"
                    );
                    return Err(Fault::new(0, what));
                }
            }
            codes.extend((0..count).map(|at| value >> (8 * (side.factor as usize + at)) & 0xff));
        }
        Ok(Tile(codes))
    }

    fn signed(mut self, side: Side) -> Tile {
        if side.sign != 0 {
            self.0.iter_mut().for_each(|code| *code ^= side.sign);
        }
        self
    }

    /// Which lines have an element that is not zero.
    pub(in crate::run) fn lines(&self, count: usize) -> Vec<bool> {
        let length = self.0.len() / count.max(1);
        self.0.chunks(length.max(1)).map(|line| line.iter().any(|code| *code != 0)).collect()
    }
}

fn mask(bits: usize) -> u32 {
    u32::MAX >> (32 - bits)
}

/// Elements from the first bit of 16 bytes on.
fn elements(bytes: [u8; 16], bits: usize) -> impl Iterator<Item = u32> {
    let all = u128::from_le_bytes(bytes);
    (0..128 / bits).map(move |at| (all >> (at * bits)) as u32 & mask(bits))
}

/// The lane of a row of A or D: with 64 rows the first 16 of each 32.
pub(super) fn lane_of(row: usize, rows: usize) -> usize {
    if rows == 64 { row / 16 * 32 + row % 16 } else { row }
}
