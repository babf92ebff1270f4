//! What a family of kernels and its driver say to each other: the problem, and how one tile of it is computed.

use bitmma_arithmetic::Prepared;

use super::codes::{Chunk, Operands};
use super::element::{Entry, Range, Reader};
use super::number::Number;
use super::orders::Orders;
use super::pack::{Cells, GROUP, ROWS, VECTORS};
use super::panels::Panels;
use super::panels::widen::Widen;
use super::runs::Runs;
use super::simd::{Level, Simd};

/// What is to be computed.
#[derive(Clone, Copy)]
pub(crate) struct Problem<'p> {
    /// The model, for one step along K.
    pub(crate) prepared: &'p Prepared<'p>,
    /// Matrices that were checked against the model.
    pub(crate) operands: &'p Operands<'p>,
    /// Instruction set.
    pub(crate) level: Level,
    /// Runs whose results are added up; C is then where the sums start, and the sums, in the kernel's numbers, are what
    /// comes out.
    pub(crate) runs: Option<&'p Runs<'p>>,
    /// Of each row an order of its own; the runs are then those that end where any row's do.
    pub(crate) orders: Option<&'p Orders>,
    /// Where the codes of B are, if not among the operands.
    pub(crate) panels: Option<&'p Panels>,
}

/// What computes one operation by the reference path: row of the group and column of the panel, position of the
/// operation's first element in the block of K, the accumulator; the result comes back.
pub(crate) type Rare<'r, T = f32> = dyn FnMut(usize, usize, usize, T) -> T + 'r;

/// Gives lanes that were left out the result of the reference path.
#[cold]
#[inline(never)]
pub(crate) fn mend(line: &mut [f32], before: &[f32], left_out: u32, rare: &mut dyn FnMut(usize, f32) -> f32) {
    for (lane, (result, &c)) in line.iter_mut().zip(before).enumerate() {
        if left_out >> lane & 1 == 1 {
            // infinity and NaN stay
            *result = if c.is_finite() { rare(lane, c) } else { c };
        }
    }
}

/// What the driver asks of a family, whatever it packs: accumulators are T, codes of A and B become E.
pub(crate) trait Family<T: Number, E: Entry>: Send + Sync {
    /// The level for that many columns.
    fn level(&self, level: Level, columns: usize) -> Level {
        level.for_columns(columns)
    }
    /// The accumulator that a code of C is.
    #[inline(always)]
    fn load(&self, c: u64) -> T {
        T::of(c)
    }
    /// The number that a code of C is, where sums of runs start from it.
    #[inline(always)]
    fn load_sum(&self, c: u64) -> T {
        self.load(c)
    }
    /// The accumulator that a code of D is, in the middle of a chain.
    #[inline(always)]
    fn resume(&self, d: u64) -> T {
        self.load(d)
    }
    /// The code of D that an accumulator is; with that of NaN.
    #[inline(always)]
    fn store(&self, state: T, nan: u64) -> u64 {
        if state.is_nan() { nan } else { state.code() }
    }
    /// D of one of the products straight from its codes, if it is small enough and nothing in it is unusual; whether it is.
    fn direct(
        &self,
        _problem: &Problem<'_>,
        _block: usize,
        _readers: [&Reader<E>; 2],
        _d: &mut Chunk<'_>,
    ) -> bool {
        false
    }
    /// Whether the row and column of these largest exponents may hold a product that overflows by itself.
    fn may_overflow(&self, _row: i16, _column: i16) -> bool {
        false
    }
}

/// One family's way to compute tiles.
pub(crate) trait Kernel: Family<<Self as Kernel>::Number, <Self as Kernel>::Entry> + 'static {
    /// What accumulators are.
    type Number: Number;
    /// What codes of A and B become.
    type Entry: Entry;
    /// A packed: [`Kernel::GROUP`] rows at a time, element by element along K.
    type A: Send + Sync + 'static;
    /// B packed: one panel of columns at a time, element by element along K.
    type B: Send + Sync + 'static;
    /// Rows of a tile.
    const ROWS: usize = ROWS;
    /// Rows of A packed side by side, a multiple of those of a tile.
    const GROUP: usize = GROUP;
    /// Whether one row is computed alone.
    const ALONE: bool = false;
    /// Whether panels are kept packed where they have the bytes of codes.
    const WHOLE: bool = false;
    /// Elements along K of a block, about: what a group of rows and a panel have of it stays in the nearest caches.
    const K_BLOCK: usize = 128;

    /// Columns of a panel.
    fn width<S: Simd>() -> usize {
        VECTORS * S::LANES
    }
    /// Packs [`Kernel::GROUP`] rows.
    fn pack_a(&self, cells: Cells<Self::Entry>) -> Self::A;
    /// Packs one panel of columns.
    fn pack_b(&self, cells: Cells<Self::Entry>) -> Self::B;
    /// What is kept of a packed panel beside its codes: what [`Kernel::fill`] does not make of them. All of it by default.
    fn strip(&self, _packed: &mut Self::B) {}
    /// Makes a packed panel of codes in words and of what was kept of it, in the place of another.
    fn fill(
        &self,
        _level: Level,
        _widen: &Widen,
        _words: &[i32],
        _kept: &Self::B,
        _into: &mut Option<Self::B>,
    ) {
    }
    /// Whether a packed panel holds the numbers that another was filled with.
    fn is_filled(&self, _packed: &Self::B, _filled: &Self::B) -> bool {
        false
    }
    /// Whether panels are filled for so many rows: of many it may be faster to pack them again, with all that packing makes.
    fn fills_for(&self, _rows: usize) -> bool {
        true
    }
    /// Bytes of a packed panel that is kept.
    fn bytes(&self, _packed: &Self::B) -> usize {
        0
    }
    /// The code of an element of a panel that is kept packed; `None` where codes are kept.
    fn code(&self, _packed: &Self::B, _element: usize) -> Option<u64> {
        None
    }
    /// Goes through a block of K with the first rows of a group: `state` has one panel's columns of them, and
    /// they are a multiple of [`Kernel::ROWS`], or one where [`Kernel::ALONE`]. Lanes that it does not support are passed to `rare`.
    fn rows<S: Simd>(
        &self,
        s: S,
        a: &Self::A,
        b: &Self::B,
        k: Range,
        state: &mut [Self::Number],
        rare: &mut Rare<'_, Self::Number>,
    );
}
