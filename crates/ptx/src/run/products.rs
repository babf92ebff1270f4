//! Copies, matrices in shared memory, and products of matrices.

use bitmma_engine::Codes;

use super::block::Block;
use super::copies::Copy;
use super::fault::Fault;
use super::warp::Warp;
use crate::lanes::{LANES, each};
use crate::matrix::Multiplier;
use crate::program::{Address, Mma, Op, Slot, Wgmma, WgmmaA};

impl Warp {
    pub(super) fn copy(&mut self, op: &Op, mask: u32, block: &mut Block<'_>) -> Result<(), Fault> {
        let Op::CopyAsync { bytes, to, from, size, ignore } = op else { return Ok(()) };
        let (to, from) = (self.registers.addresses(*to), self.registers.addresses(*from));
        let ignored = ignore.map_or(0, |ignore| self.registers.condition(ignore));
        for lane in each(mask) {
            let fault = |what: String| Fault::new(lane, what);
            let at = block.shared.checked(to[lane], (*bytes).into(), "copies").map_err(fault)?;
            let mut count = size.map_or((*bytes).into(), |size| self.registers.word(size)[lane]);
            if ignored >> lane & 1 == 1 {
                count = 0;
            }
            if count > u32::from(*bytes) {
                return Err(fault(format!("a copy of {bytes} bytes cannot read {count}")));
            }
            let mut value = [0; 16];
            if count > 0 {
                let global = &block.launch.global;
                let (memory, offset) =
                    match global.checked(from[lane], u64::from(count).next_power_of_two(), "reads") {
                        Ok(found) => found,
                        Err(what) => return Err(fault(what)),
                    };
                if !from[lane].is_multiple_of((*bytes).into()) {
                    return Err(fault(format!(
                        "copies from byte {offset} of {}, which is not a multiple of {bytes}",
                        memory.name
                    )));
                }
                for index in 0..count as usize {
                    let offset = offset + index as u64;
                    if global.watched && index % 4 == 0 {
                        let touched = if count as usize - index >= 4 { 4 } else { 1 };
                        memory.note_read(offset, touched, block.number).map_err(fault)?;
                    }
                    value[index] = memory.load(offset, 1) as u8;
                }
            }
            block.shared.note_copy(at, (*bytes).into());
            self.copies.open.push(Copy { to: at, bytes: (*bytes).into(), value, lane });
        }
        Ok(())
    }

    /// Addresses of the rows of matrices: those of the lanes 8·i to 8·i + 7 are matrix i's.
    fn rows(
        &self,
        address: Address,
        count: usize,
        block: &mut Block<'_>,
        write: Option<&[[u16; 8]]>,
    ) -> Result<Vec<usize>, Fault> {
        let addresses = self.registers.addresses(address);
        let mut rows = Vec::with_capacity(8 * count);
        for lane in 0..8 * count {
            let fault = |what: String| Fault::new(lane, what);
            let at = addresses[lane];
            // a generic address of shared memory is one too
            let at = if at >= crate::decode::SHARED_WINDOW { at - crate::decode::SHARED_WINDOW } else { at };
            let verb = if write.is_some() { "writes" } else { "reads" };
            let at = block.shared.checked(at, 16, verb).map_err(fault)?;
            let warp = self.number as u8;
            match write {
                // several warps may store the same
                Some(contents) => {
                    let same = |shared: &super::shared::Shared| {
                        let codes = contents[lane].iter().enumerate();
                        codes
                            .map(|(at, code)| (at, u64::from(*code)))
                            .all(|(k, code)| shared.get(at + 2 * k, 2) == code)
                    };
                    block.shared.note_write(at, 16, warp, same).map_err(fault)?;
                }
                None => block.shared.note_read(at, 16, warp).map_err(fault)?,
            }
            rows.push(at);
        }
        Ok(rows)
    }

    /// Row and column of the elements of a register of 8×8 matrices.
    fn places(lane: usize, transposed: bool) -> [(usize, usize); 2] {
        let (row, column) = (lane / 4, lane % 4 * 2);
        match transposed {
            false => [(row, column), (row, column + 1)],
            true => [(column, row), (column + 1, row)],
        }
    }

    pub(super) fn load_matrix(
        &mut self,
        transposed: bool,
        address: Address,
        d: &[Slot],
        mask: u32,
        block: &mut Block<'_>,
    ) -> Result<(), Fault> {
        self.check_whole(mask)?;
        let rows = self.rows(address, d.len(), block, None)?;
        for (matrix, slot) in d.iter().enumerate() {
            let mut value = [0; LANES];
            for lane in 0..LANES {
                let [low, high] = Warp::places(lane, transposed)
                    .map(|(row, column)| block.shared.get(rows[8 * matrix + row] + 2 * column, 2));
                value[lane] = low | high << 16;
            }
            self.registers.set_any(*slot, mask, &value);
        }
        Ok(())
    }

    pub(super) fn store_matrix(
        &mut self,
        transposed: bool,
        address: Address,
        a: &[Slot],
        mask: u32,
        block: &mut Block<'_>,
    ) -> Result<(), Fault> {
        self.check_whole(mask)?;
        let mut contents = vec![[0; 8]; 8 * a.len()];
        for (matrix, slot) in a.iter().enumerate() {
            let value = self.registers.any(*slot);
            for lane in 0..LANES {
                for (index, (row, column)) in Warp::places(lane, transposed).into_iter().enumerate() {
                    contents[8 * matrix + row][column] = (value[lane] >> (16 * index)) as u16;
                }
            }
        }
        let rows = self.rows(address, a.len(), block, Some(&contents))?;
        for (at, codes) in rows.into_iter().zip(contents) {
            for (column, code) in codes.into_iter().enumerate() {
                block.shared.put(at + 2 * column, 2, code.into());
            }
        }
        Ok(())
    }

    /// Codes of A (or B by its columns) from registers: `put` takes line, place along K and code.
    #[inline(always)]
    fn gather(
        &self,
        multiplier: &Multiplier,
        registers: &[Slot],
        lines: usize,
        mut put: impl FnMut(usize, usize, u64),
    ) {
        let (packed, bits) = (multiplier.packed(), multiplier.a_bits);
        let keep = u64::MAX >> (64 - bits);
        for (register, slot) in registers.iter().enumerate() {
            let values = self.registers.any(*slot);
            for lane in 0..LANES {
                for element in 0..packed {
                    let (line, k) = multiplier.place(lines, lane, register, element);
                    put(line, k, values[lane] >> (bits * element) & keep);
                }
            }
        }
    }

    /// The codes of a fragment, put where `index` says.
    fn fragment(
        &self,
        multiplier: &Multiplier,
        registers: &[Slot],
        lines: usize,
        codes: &mut Codes,
        index: impl Fn(usize, usize) -> usize,
    ) {
        match codes {
            Codes::U8(codes) => {
                self.gather(multiplier, registers, lines, |line, k, code| codes[index(line, k)] = code as u8);
            }
            Codes::U16(codes) => {
                self.gather(multiplier, registers, lines, |line, k, code| {
                    codes[index(line, k)] = code as u16;
                });
            }
            Codes::U32(codes) => {
                self.gather(multiplier, registers, lines, |line, k, code| {
                    codes[index(line, k)] = code as u32;
                });
            }
            Codes::U64(codes) => {
                self.gather(multiplier, registers, lines, |line, k, code| codes[index(line, k)] = code);
            }
        }
    }

    /// The codes of C, from element `first` on.
    fn gather_d(&self, multiplier: &Multiplier, registers: &[Slot], codes: &mut Codes, first: usize) {
        let (packed, bits) = (multiplier.d_packed(), multiplier.d_bits);
        let keep = u64::MAX >> (64 - bits);
        for (register, slot) in registers.iter().enumerate() {
            if let (Slot::Word(word, _), Codes::U32(codes)) = (slot, &mut *codes) {
                let values = self.registers.word(*word);
                for lane in 0..LANES {
                    let (row, column) = multiplier.d_place(lane, register);
                    codes[first + row * multiplier.n + column] = values[lane];
                }
                continue;
            }
            let values = self.registers.any(*slot);
            for lane in 0..LANES {
                for element in 0..packed {
                    let (row, column) = multiplier.d_place(lane, register * packed + element);
                    let code = values[lane] >> (bits * element) & keep;
                    set(codes, first + row * multiplier.n + column, code);
                }
            }
        }
    }

    fn scatter_d(&mut self, multiplier: &Multiplier, registers: &[Slot], codes: &Codes, first: usize) {
        let (packed, bits) = (multiplier.d_packed(), multiplier.d_bits);
        for (register, slot) in registers.iter().enumerate() {
            if let (Slot::Word(word, _), Codes::U32(codes)) = (slot, codes) {
                let values = &mut self.registers.words[word.0 as usize];
                for lane in 0..LANES {
                    let (row, column) = multiplier.d_place(lane, register);
                    values[lane] = codes[first + row * multiplier.n + column];
                }
                continue;
            }
            let mut values = [0; LANES];
            for lane in 0..LANES {
                for element in 0..packed {
                    let (row, column) = multiplier.d_place(lane, register * packed + element);
                    values[lane] |= codes.get(first + row * multiplier.n + column) << (bits * element);
                }
            }
            self.registers.set_any(*slot, u32::MAX, &values);
        }
    }

    /// Products that do not depend on each other, by one call of the engine.
    pub(super) fn mma(&mut self, group: &[Mma], mask: u32, block: &Block<'_>) -> Result<(), Fault> {
        self.check_whole(mask)?;
        let Some(first) = group.first() else { return Ok(()) };
        let multiplier = &first.multiplier;
        let (m, n, k) = (multiplier.m, multiplier.n, multiplier.k);
        let mut a = codes(multiplier.a_bits, group.len() * m * k);
        let mut b = codes(multiplier.a_bits, group.len() * n * k);
        let mut c = codes(multiplier.d_bits, group.len() * m * n);
        for (block, mma) in group.iter().enumerate() {
            self.fragment(multiplier, &mma.a, m, &mut a, |row, at| (block * m + row) * k + at);
            self.fragment(multiplier, &mma.b, n, &mut b, |column, at| (block * k + at) * n + column);
            self.gather_d(multiplier, &mma.c, &mut c, block * m * n);
        }
        let wanted = group.iter().any(|mma| self.wants_product(block.launch, block.index, mma.line));
        let operands = wanted.then(|| [a.clone(), b.clone(), c.clone()]);
        let d =
            multiplier.multiply(group.len(), a, b, c).map_err(|error| Fault::new(0, error.to_string()))?;
        for (index, mma) in group.iter().enumerate() {
            self.scatter_d(multiplier, &mma.d, &d, index * m * n);
            if let Some([a, b, c]) = &operands
                && self.wants_product(block.launch, block.index, mma.line)
            {
                let part = |codes: &Codes, size: usize| slice(codes, index * size, size);
                let codes = [part(a, m * k), part(b, k * n), part(c, m * n), part(&d, m * n)];
                self.record_product(block.launch, block.index, mma.line, multiplier, codes);
            }
        }
        Ok(())
    }

    pub(super) fn wgmma(&mut self, wgmma: &Wgmma, mask: u32, block: &mut Block<'_>) -> Result<(), Fault> {
        self.check_whole(mask)?;
        let multiplier = &wgmma.multiplier;
        let (m, n, k) = (multiplier.m, multiplier.n, multiplier.k);
        let sign = 1u64 << (multiplier.a_bits - 1);
        let flip = wgmma.negate.map(|negate| if negate { sign } else { 0 });
        let mut a = codes(multiplier.a_bits, m * k);
        match &wgmma.a {
            WgmmaA::Registers(registers) => {
                self.fragment(multiplier, registers, m, &mut a, |row, at| row * k + at);
                turn(&mut a, flip[0]);
            }
            WgmmaA::Descriptor(descriptor) => {
                let descriptor = Descriptor::of(self.registers.wide(*descriptor)[0]);
                // each of the four warps has 16 rows of the 64
                let first = self.number % 4 * m;
                let index = |row: usize, at: usize| row * k + at;
                self.read_tile(
                    &descriptor,
                    multiplier,
                    first..first + m,
                    wgmma.transposed[0],
                    block,
                    &mut a,
                    index,
                )?;
                turn(&mut a, flip[0]);
            }
        }
        let descriptor = Descriptor::of(self.registers.wide(wgmma.b)[0]);
        let mut b = codes(multiplier.a_bits, n * k);
        let index = |column: usize, at: usize| at * n + column;
        self.read_tile(&descriptor, multiplier, 0..n, wgmma.transposed[1], block, &mut b, index)?;
        turn(&mut b, flip[1]);
        let accumulate = self.registers.condition(wgmma.accumulate) & 1 == 1;
        let mut c = codes(multiplier.d_bits, m * n);
        if accumulate {
            self.gather_d(multiplier, &wgmma.d, &mut c, 0);
        }
        let wanted = self.wants_product(block.launch, block.index, wgmma.line);
        let operands = wanted.then(|| [a.clone(), b.clone(), c.clone()]);
        let d = multiplier.multiply(1, a, b, c).map_err(|error| Fault::new(0, error.to_string()))?;
        self.scatter_d(multiplier, &wgmma.d, &d, 0);
        if let Some([a, b, c]) = operands {
            self.record_product(block.launch, block.index, wgmma.line, multiplier, [a, b, c, d]);
        }
        Ok(())
    }

    /// Lines of a matrix in shared memory, by its descriptor, 16 bytes at a time.
    #[allow(clippy::too_many_arguments)]
    fn read_tile(
        &self,
        descriptor: &Descriptor,
        multiplier: &Multiplier,
        lines: std::ops::Range<usize>,
        transposed: bool,
        block: &mut Block<'_>,
        codes: &mut Codes,
        index: impl Fn(usize, usize) -> usize,
    ) -> Result<(), Fault> {
        let bytes = multiplier.a_bits / 8;
        let together = 16 / bytes;
        let first = lines.start;
        // along memory: K, or lines where the matrix is transposed
        let (outer, inner) = match transposed {
            false => (lines.clone(), 0..multiplier.k),
            true => (0..multiplier.k, lines.clone()),
        };
        for across in outer {
            for along in inner.clone().step_by(together) {
                let (line, k) = if transposed { (along, across) } else { (across, along) };
                let at = descriptor.address(line, k, bytes as u64, transposed);
                let fault = |what: String| Fault::new(0, what);
                let at = block.shared.checked(at, 16, "reads").map_err(fault)?;
                block.shared.note_read(at, 16, self.number as u8).map_err(fault)?;
                for element in 0..together {
                    let code = block.shared.get(at + element * bytes, bytes as u8);
                    let (line, k) = if transposed { (line + element, k) } else { (line, k + element) };
                    set(codes, index(line - first, k), code);
                }
            }
        }
        Ok(())
    }
}

/// A part of codes.
fn slice(all: &Codes, first: usize, count: usize) -> Codes {
    let mut part = match all {
        Codes::U8(_) => Codes::U8(vec![0; count]),
        Codes::U16(_) => Codes::U16(vec![0; count]),
        Codes::U32(_) => Codes::U32(vec![0; count]),
        Codes::U64(_) => Codes::U64(vec![0; count]),
    };
    for index in 0..count {
        set(&mut part, index, all.get(first + index));
    }
    part
}

/// Turns the signs of codes.
fn turn(codes: &mut Codes, sign: u64) {
    if sign != 0 {
        for index in 0..codes.len() {
            let code = codes.get(index);
            set(codes, index, code ^ sign);
        }
    }
}

/// Where a matrix is in shared memory (PTX ISA, "Matrix descriptor format" and "Strides" of `wgmma`).
struct Descriptor {
    start: u64,
    leading: u64,
    stride: u64,
    /// Bytes of a row of the swizzle's pattern: 16 (none), 32, 64, 128.
    width: u64,
}

impl Descriptor {
    fn of(bits: u64) -> Descriptor {
        let field = |low: u32| (bits >> low & 0x3fff) << 4;
        let width = match bits >> 62 {
            0 => 16,
            1 => 128,
            2 => 64,
            _ => 32,
        };
        Descriptor { start: field(0), leading: field(16), stride: field(32), width }
    }

    /// The address of an element: `line` is the row of A or column of B.
    fn address(&self, line: usize, k: usize, bytes: u64, transposed: bool) -> u64 {
        let Descriptor { start, leading, stride, width } = *self;
        let (line, k) = (line as u64, k as u64);
        let linear = match transposed {
            // eight lines make a pattern; what of K does not fit into its width lies `leading` further
            false => {
                let along = k * bytes;
                line / 8 * stride + line % 8 * width + along / width * leading + along % width
            }
            // eight of K make a pattern
            true => {
                let along = line * bytes;
                let (across, down) = if width == 16 { (stride, leading) } else { (leading, stride) };
                k / 8 * down + k % 8 * width + along / width * across + along % width
            }
        };
        let address = start + linear;
        // the chunk of 16 bytes within 128 is exchanged by the number of the 128 bytes
        let turned = width / 16 - 1;
        address ^ (address >> 7 & turned) << 4
    }
}

/// Zeros of so many bits each.
fn codes(bits: usize, count: usize) -> Codes {
    match bits {
        0..=8 => Codes::U8(vec![0; count]),
        9..=16 => Codes::U16(vec![0; count]),
        17..=32 => Codes::U32(vec![0; count]),
        _ => Codes::U64(vec![0; count]),
    }
}

#[inline(always)]
fn set(codes: &mut Codes, index: usize, code: u64) {
    match codes {
        Codes::U8(codes) => codes[index] = code as u8,
        Codes::U16(codes) => codes[index] = code as u16,
        Codes::U32(codes) => codes[index] = code as u32,
        Codes::U64(codes) => codes[index] = code,
    }
}
