//! Products of matrices: from the registers of a warp and from shared memory to the engine and back.

use std::collections::BTreeSet;

use bitmma_engine::Codes;

use super::block::Block;
use super::descriptor::Descriptor;
use super::fault::Fault;
use super::fragments::{Elements, Part};
use super::pending::{Products, Start, add_together};
use super::warp::{State, Warp};

use crate::lanes::LANES;
use crate::matrix::{Multiplier, Quarters, Sizes, WARPGROUP};
use crate::program::{Kernel, Mma, Nest, Slot, Wgmma, WgmmaA, Wide, Word, accumulator_bit};

impl Warp {
    /// One multiplication, at once.
    pub(super) fn mma(&mut self, mask: u32, mma: &Mma, block: &Block<'_>) -> Result<(), Fault> {
        self.check_whole(mask)?;
        let multiplier = &*mma.multiplier;
        if let Some(quarters) = multiplier.quarters {
            return self.quarters(mma, quarters);
        }
        let Sizes { m, n, k } = multiplier.own;
        let mut a = Elements::zeros(Part::Operand, multiplier.a_bits, (m, multiplier.stored_k()));
        let mut b = Elements::zeros(Part::Operand, multiplier.a_bits, (n, k));
        a.put(&self.registers, &mma.a, m, (0, 0));
        b.put(&self.registers, &mma.b, n, (0, 0));
        let mut c = Elements::zeros(Part::Accumulator, multiplier.d_bits, (m, n));
        c.put(&self.registers, &mma.c, m, (0, 0));
        if let Some(sparse) = mma.sparse {
            return self.sparse(multiplier, sparse, [a, b, c], &mma.d);
        }
        let factors = mma.factors.map(|[of_a, of_b]| {
            // a row's are in a pair of threads of each four, the upper rows' in the second; a column's in one thread
            let line = |(word, byte, thread): (Word, u32, u32), lines: usize| {
                let count = multiplier.factors();
                let codes = (0..lines * count).map(|at| {
                    let (line, factor) = (at / count, at % count);
                    let lane = line % 8 * 4 + line / 8 + thread as usize;
                    (self.registers.word(word)[lane] >> (8 * (byte as usize + factor))) as u8
                });
                Codes::U8(codes.collect())
            };
            [line(of_a, m), line(of_b, n)]
        });
        self.multiplied((mma.line, multiplier), [a, b, c], factors, &mma.d, block)
    }

    /// Four products of 8×8 elements in the quarters of a warp (PTX ISA, "Matrix fragments for mma.m8n8k4 with .f16").
    fn quarters(&mut self, mma: &Mma, quarters: Quarters) -> Result<(), Fault> {
        let multiplier = &*mma.multiplier;
        let lane_of = |block: usize, line: usize, within: usize| 4 * block + 16 * (line / 4) + within;
        let operand = |block: usize, line: usize, k: usize, along: bool| match along {
            true => (lane_of(block, line, line % 4), k),
            false => (lane_of(block, line, k), line % 4),
        };
        let accumulator = |block: usize, row: usize, column: usize, bits: usize| match bits {
            32 => (lane_of(block, row, row & 1 | column & 2), column & 4 | row & 2 | column & 1),
            _ => (lane_of(block, row, row % 4), column),
        };
        let mut all = [[0; LANES]; 8];
        for block in 0..4 {
            let element = |slots: &[Slot], (lane, element): (usize, usize), bits: usize| {
                let per = 32 / bits;
                let value = self.registers.any_lane(slots[element / per], lane);
                value as u32 >> (element % per * bits) & (u32::MAX >> (32 - bits))
            };
            let half = |slots: &[Slot], along: bool| {
                let codes =
                    (0..32).map(|at| element(slots, operand(block, at / 4, at % 4, along), 16) as u16);
                Codes::U16(codes.collect())
            };
            let c = (0..64).map(|at| {
                let bits = quarters.c_bits;
                element(&mma.c, accumulator(block, at / 8, at % 8, bits), bits)
            });
            let c = match quarters.c_bits {
                32 => Codes::U32(c.collect()),
                _ => Codes::U16(c.map(|code| code as u16).collect()),
            };
            let [a, b] = [(&mma.a, 0), (&mma.b, 1)].map(|(slots, side)| half(slots, quarters.along[side]));
            let product = multiplier.multiply(multiplier.own, [a, b, c], None);
            let product = product.map_err(|error| Fault::new(0, error.to_string()))?;
            for at in 0..64 {
                let bits = multiplier.d_bits;
                let (lane, element) = accumulator(block, at / 8, at % 8, bits);
                let per = 32 / bits;
                all[element / per][lane] |= (product.get(at) as u32) << (element % per * bits);
            }
        }
        for (slot, value) in mma.d.iter().zip(&all) {
            self.registers.set_any(*slot, u32::MAX, &value.map(u64::from));
        }
        Ok(())
    }

    /// One with a sparse A: each of its rows meets other rows of B, which metadata name (PTX ISA, "Sparse matrix storage").
    fn sparse(
        &mut self,
        multiplier: &Multiplier,
        (metadata, selector): (Word, u32),
        [a, b, mut c]: [Elements; 3],
        to: &[Slot],
    ) -> Result<(), Fault> {
        let (Sizes { m, n, k }, half) = (multiplier.own, multiplier.stored_k());
        let stored = multiplier.stored.unwrap_or(1);
        let (metadata, chunks, selector) = (*self.registers.word(metadata), half / stored, selector as usize);
        let ordered = multiplier.name.contains("ordered_metadata");
        let [a, b, addends] = [&a, &b, &c].map(Elements::codes);
        let of_bits = |codes: Vec<u64>, bits: usize| match bits {
            4 | 8 => Codes::U8(codes.into_iter().map(|code| code as u8).collect()),
            16 => Codes::U16(codes.into_iter().map(|code| code as u16).collect()),
            _ => Codes::U32(codes.into_iter().map(|code| code as u32).collect()),
        };
        let mut all = vec![];
        for row in 0..m {
            let mut met = vec![];
            for chunk in 0..chunks {
                let (upper, first) = (row / 8, row % 8 * 4);
                let (lane, bit) = match chunks {
                    16 => (first + upper + chunk / 8 * 2, chunk % 8 * 4),
                    _ => (first + chunk / 4 + selector * (chunks / 4), upper * 16 + chunk % 4 * 4),
                };
                let four = metadata[lane] as usize >> bit & 15;
                let slots = [four & 3, four >> 2];
                let is_known = match stored {
                    1 => matches!(slots, [0, 1] | [2, 3]),
                    _ => slots[0] < slots[1] || !ordered && slots[0] != slots[1],
                };
                if !is_known {
                    let what =
                        format!("the metadata {four:#06b} of chunk {chunk} of row {row} names no two slots");
                    return Err(Fault::new(lane, what));
                }
                // a slot is half an element of 32 bits, or two of 4
                match stored {
                    1 => met.push(2 * chunk + slots[0] / 2),
                    4 => {
                        met.extend(
                            slots.iter().flat_map(|slot| [0, 1].map(|one| 8 * chunk + 2 * slot + one)),
                        );
                    }
                    _ => met.extend(slots.map(|slot| 4 * chunk + slot)),
                }
            }
            let columns = (0..n).flat_map(|column| met.iter().map(move |at| column * k + at));
            let b = of_bits(columns.map(|at| b.get(at)).collect(), multiplier.a_bits);
            let product = multiplier.multiply(Sizes { m, n, k: half }, [a.clone(), b, addends.clone()], None);
            let product = product.map_err(|error| Fault::new(0, error.to_string()))?;
            all.extend((0..n).map(|column| product.get(row * n + column)));
        }
        c.set(&of_bits(all, multiplier.d_bits), n, (0, 0));
        c.take(&mut self.registers, to, m, (0, 0));
        Ok(())
    }

    /// Multiplications that are one larger product, which is added later; whether it must be soon.
    pub(super) fn nest(&mut self, mask: u32, nest: &Nest, block: &Block<'_>) -> Result<bool, Fault> {
        self.check_whole(mask)?;
        let kernel = block.launch.kernel;
        let Sizes { m, n, k } = kernel.accumulators[nest.d].multiplier.own;
        let start = nest.c.as_ref().map_or(Start::Go, |c| Start::Registers(c));
        let length = nest.a.first().map_or(0, Vec::len) * k;
        let (pending, at) = self.products.add(kernel, nest.d, (start, &self.registers), length);
        for (to, from, lines) in [(&mut pending.a, &nest.a, m), (&mut pending.b, &nest.b, n)] {
            for (index, fragments) in from.iter().enumerate() {
                for (step, registers) in fragments.iter().enumerate() {
                    to.put(&self.registers, registers, lines, (index * lines, at + step * k));
                }
            }
        }
        Ok(self.products.is_full(kernel, nest.d))
    }

    /// One multiplication of a warpgroup, this warp's rows, at once.
    pub(super) fn wgmma_at_once(&mut self, wgmma: &Wgmma, block: &mut Block<'_>) -> Result<(), Fault> {
        let multiplier = &*wgmma.multiplier;
        let Sizes { m, n, k } = multiplier.own;
        let [mut a, mut b] = [(m, multiplier.stored_k()), (n, k)]
            .map(|shape| Elements::zeros(Part::Operand, multiplier.a_bits, shape));
        self.rows_of_a(wgmma, block, &mut a, 0)?;
        columns_of_b(wgmma, self.descriptor(wgmma.b)?, block, (&mut b, self.number), 0)?;
        let mut c = Elements::zeros(Part::Accumulator, multiplier.d_bits, (m, n));
        if self.adds(wgmma)? {
            c.put(&self.registers, &wgmma.d, m, (0, 0));
        }
        match wgmma.sparse {
            Some(sparse) => self.sparse(multiplier, sparse, [a, b, c], &wgmma.d),
            None => self.multiplied((wgmma.line, multiplier), [a, b, c], None, &wgmma.d, block),
        }
    }

    /// This warp's rows of A of a multiplication of a warpgroup, from a place along K on.
    fn rows_of_a(
        &self,
        wgmma: &Wgmma,
        block: &mut Block<'_>,
        a: &mut Elements,
        at: usize,
    ) -> Result<(), Fault> {
        let (m, k) = (wgmma.multiplier.own.m, wgmma.multiplier.stored_k());
        match &wgmma.a {
            WgmmaA::Registers(registers) => a.put(&self.registers, registers, m, (0, at)),
            WgmmaA::Descriptor(descriptor) => {
                let descriptor = self.descriptor(*descriptor)?;
                // each of the four warps has 16 rows of the 64
                let first = self.number % WARPGROUP * m;
                let reader = self.number;
                read_tile((descriptor, wgmma.transposed[0]), first, (block, reader), a, (at, k))?;
            }
        }
        if wgmma.negate[0] {
            a.negate(at, k);
        }
        Ok(())
    }

    /// A matrix descriptor; an error if lanes have different ones.
    fn descriptor(&self, from: Wide) -> Result<u64, Fault> {
        let lanes = self.registers.wide(from);
        let first = lanes[0];
        match lanes.iter().position(|bits| *bits != first) {
            None => Ok(first),
            Some(lane) => Err(Fault::new(
                lane,
                format!(
                    "the matrix descriptor is {:#018x} here and {first:#018x} in lane 0: a warp has one",
                    lanes[lane]
                ),
            )),
        }
    }

    /// Whether D is added; an error if lanes differ in that.
    fn adds(&self, wgmma: &Wgmma) -> Result<bool, Fault> {
        let lanes = self.registers.condition(wgmma.accumulate);
        match lanes {
            0 => Ok(false),
            u32::MAX => Ok(true),
            _ => {
                let (first, holds) = (lanes & 1, ["does not hold", "holds"]);
                let lane = (lanes ^ first.wrapping_neg()).trailing_zeros() as usize;
                let (here, there) = (holds[1 - first as usize], holds[first as usize]);
                Err(Fault::new(lane, format!("scale-d {here} here, and {there} in lane 0: a warp has one")))
            }
        }
    }

    /// Puts the product of one instruction into registers, and records it where that is wanted.
    fn multiplied(
        &mut self,
        (line, multiplier): (u32, &Multiplier),
        [a, b, c]: [Elements; 3],
        factors: Option<[Codes; 2]>,
        to: &[Slot],
        block: &Block<'_>,
    ) -> Result<(), Fault> {
        let codes = [&a, &b, &c].map(Elements::codes);
        let product = multiplier
            .multiply(multiplier.own, codes, factors)
            .map_err(|error| Fault::new(0, error.to_string()))?;
        let mut d = c.clone();
        d.set(&product, multiplier.own.n, (0, 0));
        d.take(&mut self.registers, to, multiplier.own.m, (0, 0));
        if multiplier.is_plain() && self.wants_product(block.launch, block.index, line) {
            self.record_product(block.launch, block.index, line, multiplier, &[a, b, c, d]);
        }
        Ok(())
    }
}

/// What warps multiply together.
impl Warp {
    /// One multiplication of a warpgroup, which is added later unless A is sparse. An error comes with the warp in the group.
    pub(super) fn wgmma(
        warps: &mut [Warp],
        wgmma: &Wgmma,
        block: &mut Block<'_>,
    ) -> Result<(), (usize, Fault)> {
        if wgmma.sparse.is_some() {
            for (index, warp) in warps.iter_mut().enumerate() {
                warp.wgmma_at_once(wgmma, block).map_err(|fault| (index, fault))?;
                warp.state = State::Ready;
                warp.groups.at += 1;
            }
            return Ok(());
        }
        let kernel = block.launch.kernel;
        let k = wgmma.multiplier.own.k;
        // what the first warp has read of B
        let mut read: Option<(u64, Products, usize)> = None;
        for index in 0..warps.len() {
            let warp = &mut warps[index];
            let fault = |fault| (index, fault);
            let start = if warp.adds(wgmma).map_err(fault)? { Start::Go } else { Start::Zero };
            let mut products = std::mem::take(&mut warp.products);
            let (pending, at) = products.add(kernel, wgmma.number, (start, &warp.registers), k);
            warp.rows_of_a(wgmma, block, &mut pending.a, at).map_err(fault)?;
            let descriptor = warp.descriptor(wgmma.b).map_err(fault)?;
            match &read {
                Some((known, first, from)) if *known == descriptor => {
                    let first = first.pending(wgmma.number);
                    first.into_iter().for_each(|first| pending.b.copy(&first.b, (*from, at), k));
                }
                _ => columns_of_b(wgmma, descriptor, block, (&mut pending.b, warp.number), at)
                    .map_err(fault)?,
            }
            let is_full = products.is_full(kernel, wgmma.number);
            warp.state = match is_full {
                true => State::Multiplying { set: accumulator_bit(wgmma.number) },
                false => State::Ready,
            };
            match index {
                0 => read = Some((descriptor, products, at)),
                _ => warp.products = products,
            }
            warp.groups.at += 1;
        }
        if let Some((_, products, _)) = read {
            warps[0].products = products;
        }
        Ok(())
    }

    /// Multiplies what some of the warps of a block wait for, with what others have that is as long.
    pub(super) fn add_products(kernel: &Kernel, warps: &mut [Warp]) -> Result<(), (usize, Fault)> {
        let waits = |warp: &Warp| match warp.state {
            State::Multiplying { set } => warp.products.of(set).collect(),
            _ => vec![],
        };
        let numbers: BTreeSet<usize> = warps.iter().flat_map(waits).collect();
        for number in numbers {
            let multiplier = &kernel.accumulators[number].multiplier;
            // a warp that waits for them, and how much it has, for each length
            let mut lengths: Vec<(usize, usize)> = vec![];
            for (index, warp) in warps.iter().enumerate() {
                if let State::Multiplying { set } = warp.state
                    && set & warp.products.open & accumulator_bit(number) != 0
                    && let Some(k) = warp.products.waits(number)
                    && lengths.iter().all(|(_, known)| *known != k)
                {
                    lengths.push((index, k));
                }
            }
            for (index, k) in lengths {
                let together = warps
                    .iter_mut()
                    .filter(|warp| warp.state != State::Done && warp.products.waits(number) == Some(k));
                let mut all: Vec<_> = together.filter_map(|warp| warp.products.pending_mut(number)).collect();
                add_together(multiplier, k, &mut all).map_err(|fault| (index, fault))?;
            }
        }
        for warp in warps {
            if matches!(warp.state, State::Multiplying { .. }) {
                warp.state = State::Ready;
            }
        }
        Ok(())
    }
}

/// Columns of B of a multiplication of a warpgroup, from a place along K on, as a warp reads them.
fn columns_of_b(
    wgmma: &Wgmma,
    descriptor: u64,
    block: &mut Block<'_>,
    (b, reader): (&mut Elements, usize),
    at: usize,
) -> Result<(), Fault> {
    let k = wgmma.multiplier.own.k;
    read_tile((descriptor, wgmma.transposed[1]), 0, (block, reader), b, (at, k))?;
    if wgmma.negate[1] {
        b.negate(at, k);
    }
    Ok(())
}

/// Lines of a matrix in shared memory from one on; `k` elements of each, to a place.
fn read_tile(
    tile: (u64, bool),
    first: usize,
    (block, reader): (&mut Block<'_>, usize),
    to: &mut Elements,
    place: (usize, usize),
) -> Result<(), Fault> {
    let number = block.clocks.open_products(reader);
    let fault = |what: String| Fault::new(0, what);
    let descriptor = Descriptor::of(tile.0).map_err(fault)?;
    put_tile((&descriptor, tile.1), first, to, place, |at| {
        let at = block.shared.checked(at, 16, "reads").map_err(fault)?;
        let by = block.clocks.by(reader);
        let group = usize::from(by.warp) / WARPGROUP;
        let noted = block.shared.note_product((at, 16), (group, number), by);
        noted.map_err(|race| Fault::new(0, race))?;
        Ok(block.shared.array(at))
    })
}

/// The same by its descriptor, 16 bytes at a time, which `read` has of an address.
pub(super) fn put_tile(
    (descriptor, transposed): (&Descriptor, bool),
    first: usize,
    to: &mut Elements,
    (place, k): (usize, usize),
    mut read: impl FnMut(u64) -> Result<[u8; 16], Fault>,
) -> Result<(), Fault> {
    let bytes = to.bits / 8;
    let mut read =
        |line: usize, k: usize| read(descriptor.address(first + line, k, bytes as u64, transposed));
    if transposed {
        // what is transposed has 16 bits
        for along in (0..k).step_by(2) {
            for line in (0..to.lines).step_by(8) {
                to.put_across([read(line, along)?, read(line, along + 1)?], (line, place + along));
            }
        }
    } else {
        for line in 0..to.lines {
            for along in (0..k).step_by(16 / bytes) {
                to.put_along(read(line, along)?, (line, place + along));
            }
        }
    }
    Ok(())
}
