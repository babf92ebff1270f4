//! A kernel as the driver sees it, whatever it packs: so that the driver is compiled for numbers, not for kernels.

use std::any::Any;

use bitmma_arithmetic::run::Side;

use super::codes::{Chunk, Slice};
use super::element::Entry;
use super::element::Range;
use super::elementwise::Word;
use super::family::{Family, Kernel, Rare};
use super::number::Number;
use super::pack::Cells;
use super::simd::{Level, Simd, Work};

/// Lines as a kernel packed them.
pub(crate) type Packed = dyn Any + Send + Sync;

/// What a kernel takes at a time on an instruction set.
pub(crate) struct Sizes {
    /// Columns of a panel.
    pub(crate) width: usize,
    /// Rows of a tile.
    pub(crate) rows: usize,
    /// Rows of A packed side by side.
    pub(crate) group: usize,
    /// Elements along K of a block, about.
    pub(crate) k_block: usize,
}

/// What codes are made of.
#[derive(Clone, Copy)]
pub(crate) enum Stored {
    /// Accumulators, or sums, of which D's codes are those but for NaN.
    Numbers,
    /// Accumulators, whose numbers D's format has.
    Narrowed,
    /// Sums.
    Sums,
}

/// A [`Kernel`] whose accumulators are T and whose codes become E.
pub(crate) trait Tiles<T: Number, E: Entry>: Family<T, E> {
    /// What it takes at a time.
    fn sizes(&self, level: Level) -> Sizes;
    /// Packs a group of rows, or a panel of columns.
    fn pack(&self, level: Level, side: Side, cells: Cells<E>) -> Box<Packed>;
    /// Accumulators from codes of C, or the numbers that sums start from.
    fn load_all(&self, level: Level, sums: bool, from: (Slice<'_>, usize), state: &mut [T]);
    /// Codes of D from accumulators, or of sums, into some columns of rows of `n` codes; with the code of a NaN.
    fn store_all(
        &self,
        level: Level,
        what: (Stored, u64),
        state: (&[T], usize),
        to: (&mut Chunk<'_>, std::ops::Range<usize>, usize),
    );
    /// [`Kernel::rows`], of lines that it packed.
    fn rows_at(
        &self,
        level: Level,
        lines: (&Packed, &Packed),
        k: Range,
        state: &mut [T],
        rare: &mut Rare<'_, T>,
    );
}

impl<K: Kernel> Tiles<K::Number, K::Entry> for K {
    fn sizes(&self, level: Level) -> Sizes {
        struct Width<K>(std::marker::PhantomData<K>);
        impl<K: Kernel> Work for Width<K> {
            type Output = usize;
            fn run<S: Simd>(self, _: S) -> usize {
                K::width::<S>()
            }
        }
        let width = level.run(Width::<K>(std::marker::PhantomData));
        Sizes { width, rows: K::ROWS, group: K::GROUP, k_block: K::K_BLOCK }
    }

    fn pack(&self, level: Level, side: Side, cells: Cells<K::Entry>) -> Box<Packed> {
        match side {
            Side::A => Box::new(level.compiled(
                #[inline(always)]
                || self.pack_a(cells),
            )),
            Side::B => Box::new(level.compiled(
                #[inline(always)]
                || self.pack_b(cells),
            )),
        }
    }

    fn load_all(
        &self,
        level: Level,
        sums: bool,
        (codes, start): (Slice<'_>, usize),
        state: &mut [K::Number],
    ) {
        level.compiled(
            #[inline(always)]
            || match sums {
                false => codes.read(start, state, |code| self.load(code)),
                true => codes.read(start, state, |code| self.load_sum(code)),
            },
        );
    }

    fn store_all(
        &self,
        level: Level,
        (what, nan): (Stored, u64),
        (state, width): (&[K::Number], usize),
        (d, columns, n): (&mut Chunk<'_>, std::ops::Range<usize>, usize),
    ) {
        let rows = d.len() / n;
        level.compiled(
            #[inline(always)]
            || {
                for (row, state) in state.chunks_exact(width).take(rows).enumerate() {
                    let (start, state) = (row * n + columns.start, &state[..columns.len()]);
                    match what {
                        Stored::Numbers => {
                            d.write(start, state, |state| if state.is_nan() { nan } else { state.code() });
                        }
                        Stored::Narrowed => d.write(start, state, |state| self.store(state, nan)),
                        Stored::Sums => d.write(start, state, |sum| sum.code()),
                    }
                }
            },
        );
    }

    fn rows_at(
        &self,
        level: Level,
        (a, b): (&Packed, &Packed),
        range: Range,
        state: &mut [K::Number],
        rare: &mut Rare<'_, K::Number>,
    ) {
        let (Some(a), Some(b)) = (a.downcast_ref(), b.downcast_ref()) else {
            unreachable!("lines that another kernel packed")
        };
        level.run(Task { kernel: self, a, b, range, state, rare });
    }
}

/// Some rows of a panel through one block of K.
struct Task<'t, 'r, K: Kernel> {
    kernel: &'t K,
    a: &'t K::A,
    b: &'t K::B,
    range: Range,
    state: &'t mut [K::Number],
    rare: &'t mut Rare<'r, K::Number>,
}

impl<K: Kernel> Work for Task<'_, '_, K> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        self.kernel.rows(s, self.a, self.b, self.range, self.state, self.rare);
    }
}
