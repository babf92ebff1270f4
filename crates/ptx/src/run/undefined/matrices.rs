//! Matrices of which elements are undefined. An element of a product is if one of its row of A, of its column of B, or its addend is.

use super::step::Now;
use super::{Origin, Shadow};
use crate::lanes::{LANES, Registers, each};
use crate::matrix::{Multiplier, Sizes, WARPGROUP};
use crate::program::{Address, Mma, Slot, Tile, Wgmma, WgmmaA, Word};
use crate::run::address::in_shared;
use crate::run::cluster::in_block;
use crate::run::descriptor::Descriptor;
use crate::run::fault::Fault;
use crate::run::fragments::{Elements, Part};
use crate::run::matrices::{gathered, spread};
use crate::run::products::put_tile;
use crate::run::trace::Place;

/// For each line of a matrix where something undefined in it came from.
type Lines = Vec<Option<Origin>>;

impl Shadow {
    /// A matrix of the shadow in registers, with what is undefined of it and where that came from.
    fn fragment(
        &self,
        (part, bits): (Part, usize),
        (lines, length): (usize, usize),
        slots: &[Slot],
    ) -> [Elements; 2] {
        [&self.bits, &self.origins].map(|registers: &Registers| {
            let mut elements = Elements::zeros(part, bits, (lines, length));
            elements.put(registers, slots, lines, (0, 0));
            elements
        })
    }

    /// Lines with undefined elements.
    fn lines(&self, now: &Now<'_, '_>, bits: usize, shape: (usize, usize), slots: &[Slot]) -> Lines {
        let [undefined, origins] = self.fragment((Part::Operand, bits), shape, slots);
        let own = now.first_read(0, false);
        (0..shape.0)
            .map(|line| {
                let (bits, origins) = (undefined.words_of(line), origins.words_of(line));
                let at = bits.iter().position(|bits| *bits != 0)?;
                Some(if origins[at] == 0 { own } else { origins[at] as Origin })
            })
            .collect()
    }

    pub(super) fn mma(&mut self, mma: &Mma, undefined: bool, now: &mut Now<'_, '_>) -> Result<(), Fault> {
        if !undefined {
            mma.d.iter().for_each(|slot| self.clear(Place::Slot(*slot, 64), now.mask));
            return Ok(());
        }
        self.metadata(&mma.multiplier, mma.sparse, now)?;
        if mma.factors.is_some() || mma.multiplier.quarters.is_some() {
            let from = now.first_read(0, false);
            for slot in &mma.d {
                self.write(Place::Slot(*slot, 32), now.mask, &[u64::MAX; LANES], &[from; LANES]);
            }
            return Ok(());
        }
        let Sizes { m, n, k } = mma.multiplier.own;
        let rows = self.lines(now, mma.multiplier.a_bits, (m, mma.multiplier.stored_k()), &mma.a);
        let columns = self.lines(now, mma.multiplier.a_bits, (n, k), &mma.b);
        self.product(&mma.multiplier, [&rows, &columns], Some(&mma.c), &mma.d, now);
        Ok(())
    }

    /// An error if metadata of a sparse A are undefined in a lane from which they are read.
    fn metadata(
        &self,
        multiplier: &Multiplier,
        sparse: Option<(Word, u32)>,
        now: &Now<'_, '_>,
    ) -> Result<(), Fault> {
        let Some((metadata, selector)) = sparse else { return Ok(()) };
        let lanes = now.mask & multiplier.metadata_lanes(selector);
        self.decides_in(lanes, now, "the metadata", &[Place::Slot(Slot::Word(metadata, 32), 32)])
    }

    /// What is undefined of a product and its addends.
    fn product(
        &mut self,
        multiplier: &Multiplier,
        [rows, columns]: [&Lines; 2],
        c: Option<&[Slot]>,
        d: &[Slot],
        now: &Now<'_, '_>,
    ) {
        let Sizes { m, n, .. } = multiplier.own;
        let bits = multiplier.d_bits;
        let [addends, from] = self.fragment((Part::Accumulator, bits), (m, n), c.unwrap_or(&[]));
        let own = now.first_read(0, false);
        let (mut undefined, mut origins) = (addends.clone(), from.clone());
        let packed = (32 / bits).max(1);
        for line in 0..m {
            let (old, old_from) = (addends.words_of(line), from.words_of(line));
            for (word, (old, old_from)) in old.iter().zip(&old_from).enumerate() {
                let of = |element: usize| rows[line].or(columns[word * packed + element]);
                let keep = u64::MAX >> (64 - bits);
                let mut now_undefined = 0;
                for element in 0..packed {
                    let shift = (bits * element) as u32 % 64;
                    if of(element).is_some() || old >> shift & keep != 0 {
                        now_undefined |= keep << shift;
                    }
                }
                let old_from = if *old != 0 && *old_from == 0 { own.into() } else { *old_from };
                let origin = (0..packed).find_map(of).map_or(old_from, u64::from);
                undefined.set_word(line, word, now_undefined);
                origins.set_word(line, word, if now_undefined == 0 { 0 } else { origin });
            }
        }
        undefined.take(&mut self.bits, d, m, (0, 0));
        origins.take(&mut self.origins, d, m, (0, 0));
        for slot in d {
            let lanes = |bits: &[u64; LANES]| {
                bits.iter().enumerate().fold(0, |lanes, (lane, bits)| lanes | u32::from(*bits != 0) << lane)
            };
            let lanes = lanes(&self.bits.any(*slot));
            match slot {
                Slot::Word(word, _) => self.words[word.0 as usize] = lanes,
                Slot::Wide(wide) => self.wides[wide.0 as usize] = lanes,
                Slot::Sink => {}
            }
        }
    }

    /// The rows of a warp of a multiplication of a warpgroup.
    pub(super) fn wgmma(&mut self, wgmma: &Wgmma, now: &mut Now<'_, '_>) -> Result<(), Fault> {
        let multiplier = &*wgmma.multiplier;
        let Sizes { m, n, k } = multiplier.own;
        let scale = Place::Predicate(wgmma.accumulate.predicate);
        self.decides(now, "whether wgmma adds", &[scale])?;
        self.metadata(multiplier, wgmma.sparse, now)?;
        let stored = multiplier.stored_k();
        let of_a = match &wgmma.a {
            WgmmaA::Registers(registers) => self.lines(now, multiplier.a_bits, (m, stored), registers),
            WgmmaA::Descriptor(descriptor) => {
                self.decides(now, "a descriptor", &[Place::Slot(Slot::Wide(*descriptor), 64)])?;
                let bits = now.warp.registers.wide(*descriptor)[0];
                let first = now.warp.number % WARPGROUP * m;
                lines_of_tile((bits, wgmma.transposed[0]), first, (m, stored, multiplier.a_bits), now)
            }
        };
        self.decides(now, "a descriptor", &[Place::Slot(Slot::Wide(wgmma.b), 64)])?;
        let bits = now.warp.registers.wide(wgmma.b)[0];
        let of_b = lines_of_tile((bits, wgmma.transposed[1]), 0, (n, k, multiplier.a_bits), now);
        let adds = now.warp.registers.condition(wgmma.accumulate) & 1 == 1;
        let c = adds.then_some(&*wgmma.d);
        self.product(multiplier, [&of_a, &of_b], c, &wgmma.d, now);
        Ok(())
    }

    /// Matrices from shared memory.
    pub(super) fn load_matrix(
        &mut self,
        tile: Tile,
        address: Address,
        d: &[Slot],
        now: &mut Now<'_, '_>,
    ) -> Result<(), Fault> {
        let rows = self.rows(address, d.len(), now)?;
        let mut halves = [[0; 2]; LANES];
        for (halves, at) in halves.iter_mut().zip(&rows) {
            *halves = [now.block.undefined.get(*at, 8).0, now.block.undefined.get(at + 8, 8).0];
        }
        for (register, slot) in d.iter().enumerate() {
            let undefined = &now.block.undefined;
            let bits = spread(&halves, register, tile);
            let (matrix, is_turned) = match tile {
                Tile::Halves { transposed } => (&rows[8 * register..][..8], transposed),
                Tile::Bytes { transposed: false, .. } => (&rows[8 * register..][..8], false),
                Tile::Bytes { transposed: true, .. } => (&rows[register / 2 * 16..][..16], true),
            };
            let mut origins = [0; LANES];
            for lane in each(now.mask) {
                // the first row that has something undefined: of a transposed matrix a lane has elements of two
                let near = |row: &usize| undefined.get(*row, 8).0 | undefined.get(row + 8, 8).0 != 0;
                let row = if is_turned { matrix.iter().find(|row| near(row)) } else { matrix.get(lane / 4) };
                let from = row.map_or(0, |row| match undefined.origin(*row, 16) {
                    0 => now.first_read(lane, true),
                    from => from,
                });
                origins[lane] = if bits[lane] == 0 { 0 } else { from };
            }
            self.write(Place::Slot(*slot, 32), now.mask, &bits.map(u64::from), &origins);
        }
        Ok(())
    }

    /// The same back.
    pub(super) fn store_matrix(
        &mut self,
        tile: Tile,
        address: Address,
        a: &[Slot],
        now: &mut Now<'_, '_>,
    ) -> Result<(), Fault> {
        let rows = self.rows(address, a.len(), now)?;
        let contents = gathered(&self.bits, a, tile);
        let own = now.first_read(0, false);
        for (index, (at, row)) in rows.into_iter().zip(contents).enumerate() {
            let from = each(now.mask).find_map(|lane| match self.origins.any_lane(a[index / 8], lane) {
                0 => None,
                from => Some(from as Origin),
            });
            for (column, code) in row.into_iter().enumerate() {
                let from = if code == 0 { 0 } else { from.unwrap_or(own) };
                now.block.undefined.put(at + 2 * column, 2, code.into(), from);
            }
        }
        Ok(())
    }

    fn rows(&self, address: Address, count: usize, now: &Now<'_, '_>) -> Result<Vec<usize>, Fault> {
        self.decides(now, "the address", &[Place::Slot(address.base, 64)])?;
        let addresses = now.warp.registers.addresses(address);
        let at = |address: &u64| in_block(in_shared(*address)) as usize;
        Ok(addresses[..8 * count].iter().map(at).collect())
    }
}

/// Lines with undefined elements of a matrix in shared memory.
fn lines_of_tile(
    (descriptor, transposed): (u64, bool),
    first: usize,
    (lines, k, bits): (usize, usize, usize),
    now: &Now<'_, '_>,
) -> Lines {
    let shape = (lines, k);
    let mut elements = Elements::zeros(Part::Operand, bits, shape);
    let Ok(descriptor) = Descriptor::of(descriptor) else { return vec![None; lines] };
    let mut from = None;
    let undefined = &now.block.undefined;
    let read = |at: u64| {
        let (low, origin) = undefined.get(at as usize, 8);
        let (high, other) = undefined.get(at as usize + 8, 8);
        if low | high != 0 {
            let own = now.first_read(0, true);
            from.get_or_insert([origin, other].into_iter().find(|origin| *origin != 0).unwrap_or(own));
        }
        Ok((u128::from(low) | u128::from(high) << 64).to_le_bytes())
    };
    if put_tile((&descriptor, transposed), first, &mut elements, (0, k), read).is_err() {
        return vec![None; lines];
    }
    (0..lines).map(|line| from.filter(|_| elements.words_of(line).iter().any(|word| *word != 0))).collect()
}
