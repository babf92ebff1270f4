//! Products that nobody has looked at yet.
//!
//! A loop of a kernel adds to the same accumulators in every turn, and reads them when it is through. What it multiplies is kept
//! until then, and until the other warps of the block have come as far: the engine multiplies long lines, of several warps, many
//! times faster than a fragment at a time, and gives the same bits.

use std::collections::BTreeMap;

use super::fault::Fault;
use super::fragments::{Elements, Part};
use crate::lanes::Registers;
use crate::matrix::{Multiplier, Sizes};
use crate::program::{AccumulatorSet, Accumulators, Kernel, Slot, accumulator_bit, is_told_apart};

/// Elements along K that are kept, at most, but for longer products.
const MOST: usize = 256;

/// What a warp adds to some accumulators.
pub(super) struct Pending {
    /// Rows of A and columns of B, of which `k` elements are there.
    pub(super) a: Elements,
    pub(super) b: Elements,
    pub(super) k: usize,
    /// The accumulators before them.
    c: Elements,
    /// Whether they are here, and not in the registers.
    is_open: bool,
}

impl Pending {
    fn new(accumulators: &Accumulators) -> Pending {
        let multiplier = &*accumulators.multiplier;
        let (m, n) = accumulators.shape();
        let operand = |lines| {
            Elements::zeros(Part::Operand, multiplier.a_bits, (lines, accumulators.longest.max(MOST)))
        };
        Pending {
            a: operand(m),
            b: operand(n),
            k: 0,
            c: Elements::zeros(Part::Accumulator, multiplier.d_bits, (m, n)),
            is_open: false,
        }
    }

    /// Starts from registers, those of each tile; from zeros without.
    fn start(&mut self, accumulators: &Accumulators, from: Option<(&Registers, &[Box<[Slot]>])>) {
        (self.k, self.is_open) = (0, true);
        match from {
            None => self.c.clear(),
            Some((registers, tiles)) => {
                for (tile, slots) in tiles.iter().enumerate() {
                    self.c.put(registers, slots, accumulators.multiplier.own.m, accumulators.place(tile));
                }
            }
        }
    }
}

/// All of a warp, by number of the accumulators. Those that are not told apart are here only while they are open.
#[derive(Default)]
pub(crate) struct Products {
    all: BTreeMap<usize, Box<Pending>>,
    /// Those that are open.
    pub(super) open: AccumulatorSet,
}

/// What the product starts from.
#[derive(Clone, Copy)]
pub(super) enum Start<'s> {
    Zero,
    /// Registers of each tile.
    Registers(&'s [Box<[Slot]>]),
    /// The accumulators.
    Go,
}

impl Products {
    /// For the next block.
    pub(super) fn reset(&mut self) {
        self.open = 0;
        self.all.values_mut().for_each(|pending| (pending.k, pending.is_open) = (0, false));
    }

    /// Where some elements along K are put, after what is there.
    pub(super) fn add(
        &mut self,
        kernel: &Kernel,
        number: usize,
        (start, registers): (Start<'_>, &Registers),
        k: usize,
    ) -> (&mut Pending, usize) {
        let accumulators = &kernel.accumulators[number];
        let pending = self.all.entry(number).or_insert_with(|| Box::new(Pending::new(accumulators)));
        match start {
            Start::Zero => pending.start(accumulators, None),
            Start::Registers(tiles) => pending.start(accumulators, Some((registers, tiles))),
            Start::Go if !pending.is_open => {
                pending.start(accumulators, Some((registers, &accumulators.d)));
            }
            Start::Go => {}
        }
        self.open |= accumulator_bit(number);
        let at = pending.k;
        pending.k += k;
        (pending, at)
    }

    pub(super) fn pending_mut(&mut self, number: usize) -> Option<&mut Pending> {
        self.all.get_mut(&number).map(Box::as_mut)
    }

    /// What is added to some, if anything ever was.
    pub(super) fn pending(&self, number: usize) -> Option<&Pending> {
        self.all.get(&number).map(Box::as_ref)
    }

    /// Whether there may be no room for what is added next.
    pub(super) fn is_full(&self, kernel: &Kernel, number: usize) -> bool {
        self.pending(number).is_some_and(|pending| pending.k + kernel.accumulators[number].longest > MOST)
    }

    /// Whether some of a set were not multiplied yet.
    pub(super) fn wait(&self, set: AccumulatorSet) -> bool {
        self.of(set).any(|number| self.waits(number).is_some())
    }

    /// Elements along K that were not multiplied yet, if there are any.
    pub(super) fn waits(&self, number: usize) -> Option<usize> {
        let pending = self.pending(number)?;
        (pending.k > 0).then_some(pending.k)
    }

    /// Numbers of a set that are open.
    pub(super) fn of(&self, set: AccumulatorSet) -> impl Iterator<Item = usize> {
        let open = self.all.iter().filter(|(_, pending)| pending.is_open).map(|(number, _)| *number);
        open.filter(move |number| set & accumulator_bit(*number) != 0)
    }

    /// Puts some, which were multiplied, into registers.
    pub(super) fn settle(&mut self, kernel: &Kernel, set: AccumulatorSet, registers: &mut Registers) {
        for number in self.of(set).collect::<Vec<_>>() {
            let Some(pending) = self.pending_mut(number) else { continue };
            pending.is_open = false;
            let accumulators = &kernel.accumulators[number];
            for (tile, slots) in accumulators.d.iter().enumerate() {
                pending.c.take(registers, slots, accumulators.multiplier.own.m, accumulators.place(tile));
            }
        }
        self.open &= !set;
        self.all.retain(|number, pending| pending.is_open || is_told_apart(*number));
    }
}

/// Adds products of the same length. Warps that have the same rows, or the same columns, share them.
pub(super) fn add_together(multiplier: &Multiplier, k: usize, all: &mut [&mut Pending]) -> Result<(), Fault> {
    // the first with the same A, and with the same B
    let first = |same: &dyn Fn(&Pending, &Pending) -> bool| -> Vec<usize> {
        (0..all.len()).map(|at| (0..at).find(|&other| same(all[other], all[at])).unwrap_or(at)).collect()
    };
    let of_a = first(&|one, other| one.a.same(&other.a, k));
    let of_b = first(&|one, other| one.b.same(&other.b, k));
    let distinct = |of: &[usize]| -> Vec<usize> { (0..of.len()).filter(|at| of[*at] == *at).collect() };
    let (rows, columns) = (distinct(&of_a), distinct(&of_b));
    let find = |row: usize, column: usize| (0..all.len()).find(|&at| of_a[at] == row && of_b[at] == column);
    let whole: Option<Vec<Vec<usize>>> =
        rows.iter().map(|&row| columns.iter().map(|&column| find(row, column)).collect()).collect();
    let grids = match whole {
        Some(grid) if rows.len() * columns.len() == all.len() => vec![grid],
        // those with the same columns, one below the other
        _ => {
            let below =
                |column: usize| (0..all.len()).filter(|at| of_b[*at] == column).map(|at| vec![at]).collect();
            columns.iter().map(|&column| below(column)).collect()
        }
    };
    for grid in grids {
        let Some(head) = grid.first() else { continue };
        let (m, n) = (all[head[0]].c.lines, all[head[0]].c.length);
        let sizes = Sizes { m: m * grid.len(), n: n * head.len(), k };
        let a: Vec<_> = grid.iter().map(|row| vec![&all[row[0]].a]).collect();
        let b: Vec<_> = head.iter().map(|&at| vec![&all[at].b]).collect();
        let c: Vec<Vec<_>> = grid.iter().map(|row| row.iter().map(|&at| &all[at].c).collect()).collect();
        let codes = [(&a, k), (&b, k), (&c, n)].map(|(grid, count)| Elements::together(grid, count));
        let d = multiplier.multiply(sizes, codes, None).map_err(|error| Fault::new(0, error.to_string()))?;
        for (row, warps) in grid.iter().enumerate() {
            for (column, &at) in warps.iter().enumerate() {
                all[at].c.set(&d, sizes.n, (row * m, column * n));
                all[at].k = 0;
            }
        }
    }
    Ok(())
}
