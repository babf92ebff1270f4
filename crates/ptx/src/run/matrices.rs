//! Asynchronous copies, and matrices between registers and shared memory.

use super::address::in_shared;
use super::block::Block;
use super::clocks::Kind;
use super::copies::Copy;
use super::fault::{Fault, Race};
use super::global::Access as Reach;
use super::shared::Shared;
use super::warp::Warp;
use crate::lanes::{LANES, Lanes, Registers, each, map1, test2};
use crate::program::{Address, Op, Slot, Tile};

impl Warp {
    pub(super) fn copy(&mut self, op: &Op, mask: u32, block: &mut Block<'_>) -> Result<(), Fault> {
        let Op::CopyAsync { bytes, to, from, size, ignore } = op else { return Ok(()) };
        let (to, from) = (self.registers.addresses(*to), self.registers.addresses(*from));
        let ignored = ignore.map_or(0, |ignore| self.registers.condition(ignore));
        let mut copy = Copy { mask, bytes: (*bytes).into(), to: [0; LANES], values: [0; LANES] };
        let global = &block.launch.global;
        // lanes that read all of their bytes
        let mut whole = mask & !ignored;
        if let Some(size) = size {
            let size = self.registers.word(*size);
            whole &= test2(size, size, |size, _| size == u32::from(*bytes));
        }
        let together = global.together(whole, &from, copy.bytes as u64);
        if let Some((memory, base)) = together {
            for lane in each(whole) {
                let offset = from[lane] - base;
                copy.values[lane] = match *bytes {
                    16 => memory.load_16(offset),
                    bytes => memory.load(offset, bytes).into(),
                };
            }
            let lanes = (whole, |lane: usize| from[lane] - base, *bytes);
            self.note_global(memory, Reach::Read, lanes, |_| false, block)?;
        }
        let rest = if together.is_some() { mask & !whole } else { mask };
        for lane in each(rest) {
            let fault = |what: String| Fault::new(lane, what);
            let count = match size {
                _ if ignored >> lane & 1 == 1 => 0,
                Some(size) => self.registers.word(*size)[lane],
                None => (*bytes).into(),
            };
            if count > u32::from(*bytes) {
                return Err(fault(format!("a copy of {bytes} bytes cannot read {count}")));
            }
            if count == 0 {
                continue;
            }
            let size = u64::from(count).next_power_of_two();
            let (memory, offset) = global.checked(from[lane], size, "reads").map_err(fault)?;
            if !from[lane].is_multiple_of((*bytes).into()) {
                return Err(fault(format!(
                    "copies from byte {offset} of {}, which is not a multiple of {bytes}",
                    memory.name
                )));
            }
            for byte in 0..count {
                let offset = offset + u64::from(byte);
                self.note_global(memory, Reach::Read, (1 << lane, |_| offset, 1), |_| false, block)?;
                copy.values[lane] |= u128::from(memory.load(offset, 1)) << (8 * byte);
            }
        }
        for lane in each(mask) {
            let at = block.checked(to[lane], (*bytes).into(), "copies");
            copy.to[lane] = at.map_err(|what| Fault::new(lane, what))?;
            let by = block.clocks.by(self.number);
            let noted = block.shared.note_copy((copy.to[lane], copy.bytes), false, by);
            noted.map_err(|race| Fault::new(lane, race))?;
        }
        self.copies.start(copy);
        Ok(())
    }

    /// Addresses of the rows of matrices: those of the lanes 8·i to 8·i + 7 are matrix i's.
    fn rows(
        &self,
        address: Address,
        count: usize,
        block: &mut Block<'_>,
        write: Option<&[[u16; 8]]>,
    ) -> Result<[usize; LANES], Fault> {
        let addresses = self.registers.addresses(address);
        let mut rows = [0; LANES];
        for lane in 0..8 * count {
            let fault = |what: String| Fault::new(lane, what);
            let at = in_shared(addresses[lane]);
            let verb = if write.is_some() { "writes" } else { "reads" };
            let at = block.checked(at, ROW, verb).map_err(fault)?;
            let by = block.clocks.by(self.number);
            let race = |race: Race| Fault::new(lane, race);
            match write {
                // several warps may store the same
                Some(contents) => {
                    let same = |shared: &Shared| {
                        let mut codes = contents[lane].iter().enumerate();
                        codes.all(|(column, code)| shared.get(at + 2 * column, 2) == u64::from(*code))
                    };
                    block
                        .shared
                        .note_write(at, ROW as usize, (Kind::Write, false), by, same)
                        .map_err(race)?;
                }
                None => block.shared.note_read(at, ROW as usize, (false, true), by).map_err(race)?,
            }
            rows[lane] = at;
        }
        Ok(rows)
    }

    /// Matrices from shared memory.
    pub(super) fn load_matrix(
        &mut self,
        tile: Tile,
        address: Address,
        d: &[Slot],
        mask: u32,
        block: &mut Block<'_>,
    ) -> Result<(), Fault> {
        self.check_whole(mask)?;
        let rows = self.rows(address, d.len(), block, None)?;
        // in registers of the processor throughout: bytes that were just stored are slow to load together
        let mut halves = [[0; 2]; LANES];
        for (halves, at) in halves.iter_mut().zip(&rows[..8 * d.len()]) {
            *halves = [block.shared.get(*at, 8), block.shared.get(at + 8, 8)];
        }
        for (register, slot) in d.iter().enumerate() {
            let value = spread(&halves, register, tile);
            match slot {
                Slot::Word(word, 32) => self.registers.set_word(*word, mask, &value),
                _ => self.registers.set_any(*slot, mask, &map1(&value, u64::from)),
            }
        }
        Ok(())
    }

    /// The same back.
    pub(super) fn store_matrix(
        &mut self,
        tile: Tile,
        address: Address,
        a: &[Slot],
        mask: u32,
        block: &mut Block<'_>,
    ) -> Result<(), Fault> {
        self.check_whole(mask)?;
        let contents = gathered(&self.registers, a, tile);
        let rows = self.rows(address, a.len(), block, Some(&contents))?;
        for (at, row) in rows.into_iter().zip(contents) {
            for (column, code) in row.into_iter().enumerate() {
                block.shared.put(at + 2 * column, 2, code.into());
            }
        }
        Ok(())
    }
}

/// What lanes have of matrices in a register. Of halves two elements of a row, or of a column where they are transposed; of bytes
/// four of a row, or where they are transposed two of each of two columns (PTX ISA, "ldmatrix"; CUTLASS, `copy_traits_sm100.hpp`).
#[inline(always)]
pub(super) fn spread(rows: &[[u64; 2]; LANES], register: usize, tile: Tile) -> Lanes {
    let mut value = [0; LANES];
    let own = &rows[8 * register..8 * register + 8];
    for lane in 0..LANES {
        let (line, pair) = (lane / 4, lane % 4);
        value[lane] = match tile {
            Tile::Halves { transposed: true } => {
                let code = |row: usize| own[row][line / 4] >> (16 * (line % 4)) & 0xffff;
                (code(2 * pair) | code(2 * pair + 1) << 16) as u32
            }
            Tile::Halves { transposed: false } => (own[line][pair / 2] >> (32 * (pair % 2))) as u32,
            Tile::Bytes { bits, transposed } => u32::from_le_bytes([0, 1, 2, 3].map(|byte| {
                let (row, column) = match transposed {
                    true => {
                        let row = register / 2 * 16 + 4 * pair + register % 2 * 2 + byte % 2;
                        (rows[row], line + byte / 2 * 8)
                    }
                    false => (own[line], 4 * pair + byte),
                };
                let whole = u128::from(row[0]) | u128::from(row[1]) << 64;
                (whole >> (bits as usize * column)) as u8 & (u8::MAX >> (8 - bits))
            })),
        };
    }
    value
}

/// The rows of matrices in registers.
pub(super) fn gathered(registers: &Registers, a: &[Slot], tile: Tile) -> Vec<[u16; 8]> {
    let mut contents = vec![[0; 8]; 8 * a.len()];
    for (matrix, slot) in contents.as_chunks_mut::<8>().0.iter_mut().zip(a) {
        let value = registers.any(*slot);
        if let Tile::Bytes { .. } = tile {
            for lane in 0..LANES {
                for byte in 0..4 {
                    let (row, column) = (2 * (lane % 4) + byte % 2, lane / 4 + byte / 2 * 8);
                    let code = (value[lane] >> (8 * byte)) as u16 & 0xff;
                    matrix[row][column / 2] |= code << (8 * (column % 2));
                }
            }
            continue;
        }
        for ([low, high], value) in matrix.as_flattened_mut().as_chunks_mut().0.iter_mut().zip(value) {
            (*low, *high) = (value as u16, (value >> 16) as u16);
        }
        if tile == (Tile::Halves { transposed: true }) {
            *matrix = turned(matrix);
        }
    }
    contents
}

/// Bytes of a row of a matrix.
const ROW: u64 = 16;

/// A matrix transposed.
#[inline(always)]
fn turned(matrix: &[[u16; 8]; 8]) -> [[u16; 8]; 8] {
    let mut turned = [[0; 8]; 8];
    for row in 0..8 {
        for column in 0..8 {
            turned[column][row] = matrix[row][column];
        }
    }
    turned
}
