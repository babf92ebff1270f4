//! A kernel as the driver sees it, whatever it packs: so that the driver is compiled for numbers, not for kernels.

use bitmma_arithmetic::run::Side;

use super::codes::{Chunk, Slice};
use super::element::Entry;
use super::element::Range;
use super::elementwise::Word;
use super::family::{Family, Kernel, Problem, Rare};
use super::number::Number;
use super::pack::{Cells, Packed};
use super::panels::Block;
use super::panels::widen::Widen;
use super::simd::{Level, Simd, Work};

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
    /// Columns of a vector.
    pub(crate) lanes: usize,
    /// Whether one row is computed alone.
    pub(crate) alone: bool,
    /// Whether panels are kept packed.
    pub(crate) whole: bool,
}

/// Blocks of K of a group of rows and of a panel whose codes are widened as they come.
pub(crate) struct Streamed<'s> {
    pub(crate) a: &'s [Box<Packed>],
    pub(crate) b: &'s [Block],
    /// The words of the panel from the first block on.
    pub(crate) words: &'s [i32],
    /// The elements of all blocks, and of each but the last; words of an element of the panel, in the same order.
    pub(crate) range: Range,
    pub(crate) block: usize,
    /// Where a panel is filled; none if it is kept packed.
    pub(crate) widen: Option<&'s Widen>,
    pub(crate) room: &'s mut Option<Box<Packed>>,
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
    /// What is kept of a packed panel beside its codes, and how many bytes that takes; `None` where they do not make up for
    /// the rest.
    fn keep(
        &self,
        level: Level,
        packed: Box<Packed>,
        codes: Option<(&Widen, &[i32])>,
        room: &mut Option<Box<Packed>>,
    ) -> Option<(Box<Packed>, usize)>;
    /// [`Tiles::rows_at`] through blocks of K; positions that `rare` is told count from the first element of all.
    fn stream_at(&self, level: Level, lines: Streamed<'_>, state: &mut [T], rare: &mut Rare<'_, T>);
    /// The code of an element of a panel that is kept packed.
    fn code_at(&self, packed: &Packed, element: usize) -> Option<u64>;
    /// [`Kernel::fills_for`].
    fn fills_for(&self, rows: usize) -> bool;
}

impl<K: Kernel> Tiles<K::Number, K::Entry> for K {
    fn sizes(&self, level: Level) -> Sizes {
        struct Width<K>(std::marker::PhantomData<K>);
        impl<K: Kernel> Work for Width<K> {
            type Output = (usize, usize);
            fn run<S: Simd>(self, _: S) -> (usize, usize) {
                (K::width::<S>(), S::LANES)
            }
        }
        let (width, lanes) = level.run(Width::<K>(std::marker::PhantomData));
        let (alone, whole) = (K::ALONE, K::WHOLE);
        Sizes { width, rows: K::ROWS, group: K::GROUP, k_block: K::K_BLOCK, lanes, alone, whole }
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

    fn keep(
        &self,
        level: Level,
        packed: Box<Packed>,
        codes: Option<(&Widen, &[i32])>,
        room: &mut Option<Box<Packed>>,
    ) -> Option<(Box<Packed>, usize)> {
        let Ok(mut packed) = packed.downcast::<K::B>() else {
            unreachable!("lines that another kernel packed")
        };
        if let Some((widen, words)) = codes {
            let mut filled = taken::<K::B>(room);
            self.fill(level, widen, words, &packed, &mut filled);
            let is_same = (*filled).as_ref().is_some_and(|filled| self.is_filled(&packed, filled));
            *room = Some(filled);
            if !is_same {
                return None;
            }
            self.strip(&mut packed);
        }
        let bytes = self.bytes(&packed) + size_of::<K::B>();
        Some((packed, bytes))
    }

    fn stream_at(
        &self,
        level: Level,
        lines: Streamed<'_>,
        state: &mut [K::Number],
        rare: &mut Rare<'_, K::Number>,
    ) {
        let Streamed { a, b, mut words, range, block, widen, room } = lines;
        let mut own = taken::<K::B>(room);
        for (index, (a, b)) in a.iter().zip(b).enumerate() {
            let first = index * block;
            let length = block.min(range.length - first);
            let kept = b.kept.as_ref().and_then(|kept| kept.downcast_ref::<K::B>());
            let (Some(a), Some(kept)) = (a.downcast_ref::<K::A>(), kept) else {
                unreachable!("lines that another kernel packed")
            };
            let b = match widen {
                None => kept,
                Some(widen) => {
                    let (codes, rest) = words.split_at(words.len() * length / (range.length - first));
                    words = rest;
                    self.fill(level, widen, codes, kept, &mut own);
                    (*own).as_ref().unwrap_or(kept)
                }
            };
            let rare = &mut |row: usize, column: usize, position: usize, c: K::Number| {
                rare(row, column, first + position, c)
            };
            let range = Range { first: range.first + first, length };
            level.run(Task { kernel: self, a, b, range, state: &mut *state, rare });
        }
        *room = Some(own);
    }

    fn code_at(&self, packed: &Packed, element: usize) -> Option<u64> {
        self.code(packed.downcast_ref()?, element)
    }

    fn fills_for(&self, rows: usize) -> bool {
        Kernel::fills_for(self, rows)
    }
}

/// The panel in whose place others are made; none yet at first.
fn taken<B: Send + Sync + 'static>(room: &mut Option<Box<Packed>>) -> Box<Option<B>> {
    room.take().and_then(|room| room.downcast::<Option<B>>().ok()).unwrap_or_default()
}

/// A code of B, wherever it is.
pub(crate) fn b_code<T: Number, E: Entry>(
    kernel: &dyn Tiles<T, E>,
    problem: &Problem<'_>,
    (block, k, column): (usize, usize, usize),
) -> u64 {
    match problem.panels {
        None => problem.operands.b.get(block, k, column),
        Some(panels) => panels.code_by(k, column, |packed, element| kernel.code_at(packed, element)),
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
