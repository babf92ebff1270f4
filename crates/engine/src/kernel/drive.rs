//! A product cut into blocks and tiles, and spread over threads.
//!
//! D is computed in panels of columns. For each block of columns and each span of K, B is packed; then threads
//! take blocks of rows, pack A in groups of rows, and go with every group and every panel through the span, block
//! of K by block of K, the accumulators kept between spans in the state. A row's answer in a column depends on
//! nothing but these, so neither blocking nor threads can change it.

use std::sync::OnceLock;

use bitmma_arithmetic::Prepared;
use bitmma_arithmetic::run::Side;
use bitmma_arithmetic::special::Special;
use bitmma_formats::{Class, decode};
use rayon::prelude::*;

use super::element::Reader;
use super::pack::{Aligned, Cells, GROUP, Operand, ROWS, Range, Traits, VECTORS};
use super::simd::Simd;
use super::{Level, Work, dispatch, special};
use crate::case::Operands;
use crate::error::Error;
use crate::matrix::{Codes, Matrix};
use crate::simulate::{Line, chain};

/// What is to be computed.
pub(super) struct Problem<'p> {
    /// The model, for one step along K.
    pub(super) prepared: &'p Prepared<'p>,
    /// Elements along K of one step.
    pub(super) step: usize,
    /// Matrices that were checked against the model.
    pub(super) operands: &'p Operands<'p>,
    /// Instruction set.
    pub(super) level: Level,
}

/// One family's way to compute tiles.
pub(super) trait Kernel: Sync {
    /// A packed: [`GROUP`] rows at a time, element by element along K.
    type A: Send + Sync;
    /// B packed: one panel of columns at a time, element by element along K.
    type B: Send + Sync;
    /// Whether it has a use for vectors of FP16.
    const HALVES: bool = false;

    /// Packs [`GROUP`] rows.
    fn pack_a(&self, cells: Cells) -> Self::A;
    /// Packs one panel of columns.
    fn pack_b(&self, cells: Cells) -> Self::B;
    /// The code of a NaN result.
    fn nan(&self) -> u64;
    /// The accumulator that a code of C is.
    #[inline(always)]
    fn load(&self, c: u64) -> f32 {
        f32::from_bits(c as u32)
    }
    /// The accumulator that a code of D is, in the middle of a chain.
    fn resume(&self, d: u64) -> f32 {
        self.load(d)
    }
    /// The code of D that an accumulator is.
    #[inline(always)]
    fn store(&self, state: f32) -> u64 {
        if state.is_nan() { self.nan() } else { u64::from(state.to_bits()) }
    }
    /// Goes through a block of K with the first rows of a group: `state` has one panel's columns of them, and
    /// they are a multiple of [`ROWS`]. Unsupported lanes are passed to `rare`: row of the group and
    /// column of the panel, position of the operation's first element in the block, the accumulator; the result
    /// of that operation comes back.
    ///
    /// # Safety
    ///
    /// The processor has the instruction set.
    unsafe fn rows<S: Simd>(
        &self,
        a: &Self::A,
        b: &Self::B,
        k: Range,
        state: &mut [f32],
        rare: &mut dyn FnMut(usize, usize, usize, f32) -> f32,
    );
    /// Whether the row and column of these largest exponents may hold a product that overflows by itself.
    fn may_overflow(&self, _row: i16, _column: i16) -> bool {
        false
    }
}

/// Columns of a block: how much of B is packed at a time.
const COLUMN_BLOCK: usize = 4096;
/// Elements along K of a block, about: what a group of rows and a panel have of it stays in the nearest cache.
const K_BLOCK: usize = 128;
/// Blocks of K that are packed at a time: threads wait for each other once for each.
const SPAN: usize = 2;
/// Rows of a block: how much of A a thread packs at a time, which stays in its own cache for all panels.
const ROW_BLOCK: usize = 2 * GROUP;

/// D by a kernel.
pub(super) fn multiply<K: Kernel>(kernel: &K, problem: &Problem<'_>) -> Result<Matrix, Error> {
    let (blocks, m, _) = problem.operands.a.shape();
    let n = problem.operands.b.columns();
    let format = problem.prepared.model().d;
    let bytes = format.bytes();
    let too_large = || Error::TooLarge { blocks, rows: m, columns: n, bytes };
    let mut d = Codes::zeros(&format, blocks * m * n).ok_or_else(too_large)?;
    for block in 0..blocks {
        one_block(kernel, problem, block, &mut d).ok_or_else(too_large)?;
    }
    Ok(Matrix::from_codes(format, (blocks, m, n), d))
}

/// One of the products; `None` where there is no room for its accumulators.
fn one_block<K: Kernel>(kernel: &K, problem: &Problem<'_>, block: usize, d: &mut Codes) -> Option<()> {
    let (prepared, operands) = (problem.prepared, problem.operands);
    let (m, n, k) = (operands.a.rows(), operands.b.columns(), operands.a.columns());
    let operand = |side: Side, matrix, scales| Operand {
        reader: Reader::new(prepared, side),
        matrix,
        scales,
        scale: prepared.model().scale,
        block,
        order: prepared.order(),
    };
    let a = operand(Side::A, operands.a, operands.scale_a);
    let b = operand(Side::B, operands.b, operands.scale_b);
    let width = panel_width(problem.level);
    let padded = m.next_multiple_of(ROWS);
    let mut rows = vec![Traits::NONE; padded];
    let row_kinds = Kinds::of(m);

    for first_column in (0..n).step_by(COLUMN_BLOCK) {
        let columns = COLUMN_BLOCK.min(n - first_column);
        let panels = columns.div_ceil(width);
        let mut column_traits = vec![Traits::NONE; panels * width];
        // those of a block of rows panel by panel, row by row
        let mut state: Vec<Aligned<f32>> = Vec::new();
        state.resize_with(padded.div_ceil(ROW_BLOCK), Aligned::default);
        let ranges: Vec<Range> = ranges(k, problem.step).collect();
        for span in ranges.chunks(SPAN) {
            let packed_b = packed(
                problem.level,
                (panels, span),
                #[inline(always)]
                |panel, range| {
                    let cells = b.cells(first_column + panel * width, width, range);
                    let traits = cells.traits.clone();
                    (kernel.pack_b(cells), traits)
                },
            );
            join(&mut column_traits, width, &packed_b);

            let row_blocks =
                state.par_iter_mut().zip(rows.par_chunks_mut(ROW_BLOCK)).enumerate().with_max_len(1);
            row_blocks.try_for_each(|(row_block, (state, rows))| {
                if span[0].first == 0 {
                    // initialised by the thread that will use it
                    *state = Aligned::new(rows.len().checked_mul(panels * width)?)?;
                }
                let first_row = row_block * ROW_BLOCK;
                let packed_a = packed(
                    problem.level,
                    (rows.len().div_ceil(GROUP), span),
                    #[inline(always)]
                    |group, range| {
                        let cells = a.cells(first_row + group * GROUP, GROUP, range);
                        let traits = cells.traits.clone();
                        (kernel.pack_a(cells), traits)
                    },
                );
                join(rows, GROUP, &packed_a);
                let panels = state
                    .slice()
                    .par_chunks_mut(rows.len() * width)
                    .zip(&packed_b)
                    .enumerate()
                    .with_max_len(1);
                panels.for_each(|(panel, (state, packed_b))| {
                    let first = first_column + panel * width;
                    if span[0].first == 0 {
                        let used = width.min(first_column + columns - first);
                        let place = (block, first_row, first..first + used);
                        compiled(
                            problem.level,
                            #[inline(always)]
                            || load_c(kernel, operands.c, place, state, width),
                        );
                    }
                    for (at, (&range, (b, _))) in span.iter().zip(packed_b).enumerate() {
                        for (group, state) in state.chunks_mut(GROUP * width).enumerate() {
                            let mut rare = |row: usize, column: usize, position: usize, c: f32| {
                                let place = (block, first_row + group * GROUP + row, first + column);
                                if place.1 >= m || place.2 >= n {
                                    return c; // padding: nobody reads it
                                }
                                by_reference_operation(kernel, problem, place, range.first + position, c)
                            };
                            let (a, _) = &packed_a[group][at];
                            dispatch(problem.level, Task { kernel, a, b, range, state, rare: &mut rare });
                        }
                    }
                });
                Some(())
            })?;
        }

        let fix = Fix {
            kernel,
            problem,
            block,
            a: &a,
            b: &b,
            rows: &rows[..m],
            columns: &column_traits,
            row_kinds: &row_kinds,
            column_kinds: Kinds::of(columns),
            first_column,
        };
        d.each_chunk(block * m * n..(block + 1) * m * n, GROUP * n, |task, d| {
            let first_row = task * GROUP;
            let mut codes = vec![0; d.len() / n * width];
            let (row_block, first_of_block) = (first_row / ROW_BLOCK, first_row % ROW_BLOCK);
            let rows = ROW_BLOCK.min(padded - row_block * ROW_BLOCK);
            for (panel, state) in state[row_block].chunks_exact(rows * width).enumerate() {
                let state = &state[first_of_block * width..][..codes.len()];
                compiled(
                    problem.level,
                    #[inline(always)]
                    || store_d(kernel, state, &mut codes),
                );
                fix.apply(first_row, (panel * width, width, columns), &mut codes);
                let first = first_column + panel * width;
                let used = width.min(first_column + columns - first);
                for (row, codes) in codes.chunks_exact(width).enumerate() {
                    d.write(row * n + first, &codes[..used]);
                }
            }
        });
    }
    Some(())
}

/// Reads the rows of C from one on, `width` accumulators for each, as far as there are rows.
#[inline(always)]
fn load_c<K: Kernel>(
    kernel: &K,
    c: Option<&Matrix>,
    (block, first_row, columns): (usize, usize, std::ops::Range<usize>),
    state: &mut [f32],
    width: usize,
) {
    let Some(c) = c else {
        state.fill(kernel.load(0));
        return;
    };
    let (_, m, n) = c.shape();
    for (row, state) in (first_row..m).zip(state.chunks_exact_mut(width)) {
        let start = (block * m + row) * n + columns.start;
        c.codes().read(start, &mut state[..columns.len()], |code| kernel.load(code));
    }
}

/// The codes of D that accumulators are.
#[inline(always)]
fn store_d<K: Kernel>(kernel: &K, state: &[f32], codes: &mut [u32]) {
    codes.iter_mut().zip(state).for_each(|(to, &state)| *to = kernel.store(state) as u32);
}

/// Lines packed, and what is known of each.
type Lines<P> = (P, Vec<Traits>);

/// Groups of lines, block by block of a span of K, packed on all threads.
fn packed<P: Send>(
    level: Level,
    (groups, span): (usize, &[Range]),
    pack: impl Fn(usize, Range) -> Lines<P> + Sync,
) -> Vec<Vec<Lines<P>>> {
    let of_group = |group: usize| {
        let blocks = span.par_iter().map(|&range| {
            compiled(
                level,
                #[inline(always)]
                || pack(group, range),
            )
        });
        blocks.collect()
    };
    (0..groups).into_par_iter().map(of_group).collect()
}

/// Takes what is known of packed lines into account, `lines` to a group.
fn join<P>(known: &mut [Traits], lines: usize, groups: &[Vec<Lines<P>>]) {
    for (known, blocks) in known.chunks_mut(lines).zip(groups) {
        for (_, traits) in blocks {
            known.iter_mut().zip(traits).for_each(|(known, traits)| known.join(traits));
        }
    }
}

/// What a function makes, compiled for the instruction set.
fn compiled<T>(level: Level, function: impl FnOnce() -> T) -> T {
    struct Compiled<F>(F);
    impl<T, F: FnOnce() -> T> Work for Compiled<F> {
        type Output = T;
        #[inline(always)]
        unsafe fn run<S: Simd>(self) -> T {
            (self.0)()
        }
    }
    dispatch(level, Compiled(function))
}

/// Columns of a panel.
fn panel_width(level: Level) -> usize {
    struct Width;
    impl Work for Width {
        type Output = usize;
        unsafe fn run<S: Simd>(self) -> usize {
            VECTORS * S::LANES
        }
    }
    dispatch(level, Width)
}

/// K in blocks of whole steps.
fn ranges(k: usize, step: usize) -> impl Iterator<Item = Range> {
    let length = (K_BLOCK / step).max(1) * step;
    (0..k).step_by(length).map(move |first| Range { first, length: length.min(k - first) })
}

fn scale_of(scales: Option<&Matrix>, block: usize, row: usize, position: usize, k: usize) -> u64 {
    scales.map_or(0, |scales| scales.get(block, row, position * scales.columns() / k))
}

fn scale_of_column(scales: Option<&Matrix>, block: usize, column: usize, position: usize, k: usize) -> u64 {
    scales.map_or(0, |scales| scales.get(block, position * scales.rows() / k, column))
}

/// Some rows of a panel through one block of K.
struct Task<'t, K: Kernel> {
    kernel: &'t K,
    a: &'t K::A,
    b: &'t K::B,
    range: Range,
    state: &'t mut [f32],
    rare: &'t mut dyn FnMut(usize, usize, usize, f32) -> f32,
}

impl<K: Kernel> Work for Task<'_, K> {
    type Output = ();
    const HALVES: bool = K::HALVES;

    #[inline(always)]
    unsafe fn run<S: Simd>(self) {
        unsafe { self.kernel.rows::<S>(self.a, self.b, self.range, self.state, self.rare) }
    }
}

/// One elementary operation by the reference path, from an accumulator in the middle of a chain.
#[cold]
fn by_reference_operation<K: Kernel>(
    kernel: &K,
    problem: &Problem<'_>,
    (block, row, column): (usize, usize, usize),
    position: usize,
    c: f32,
) -> f32 {
    let (prepared, operands) = (problem.prepared, problem.operands);
    let index =
        |position: usize| position / problem.step * problem.step + prepared.order()[position % problem.step];
    let indices: Vec<usize> = (position..position + prepared.length()).map(index).collect();
    let a: Vec<_> =
        indices.iter().map(|&k| prepared.element(Side::A, operands.a.get(block, row, k))).collect();
    let b: Vec<_> =
        indices.iter().map(|&k| prepared.element(Side::B, operands.b.get(block, k, column))).collect();
    let k = operands.a.columns();
    let scale_a = prepared.scales(indices.iter().map(|&i| scale_of(operands.scale_a, block, row, i, k)));
    let scale_b =
        prepared.scales(indices.iter().map(|&i| scale_of_column(operands.scale_b, block, column, i, k)));
    kernel.resume(prepared.operation(&a, &b, kernel.store(c), &scale_a, &scale_b))
}

/// What specials among the products make of results that were computed without them.
struct Fix<'f, K: Kernel> {
    kernel: &'f K,
    problem: &'f Problem<'f>,
    block: usize,
    a: &'f Operand<'f>,
    b: &'f Operand<'f>,
    rows: &'f [Traits],
    columns: &'f [Traits],
    row_kinds: &'f Kinds,
    /// Of the block of columns.
    column_kinds: Kinds,
    first_column: usize,
}

/// The kinds of all elements of lines, looked up once for each line that asks for them.
struct Kinds(Vec<OnceLock<Vec<u8>>>);

impl Kinds {
    /// For that many lines, none of which was asked for yet.
    fn of(lines: usize) -> Kinds {
        Kinds(std::iter::repeat_with(OnceLock::new).take(lines).collect())
    }
}

impl<K: Kernel> Fix<'_, K> {
    /// Corrects the codes of one panel, row by row, where a row or a column holds something special.
    fn apply(&self, first_row: usize, (first, width, columns): (usize, usize, usize), codes: &mut [u32]) {
        let used = width.min(columns - first);
        let column_traits = &self.columns[first..first + used];
        let any_special = column_traits.iter().any(Traits::is_special);
        let largest = column_traits.iter().map(|traits| traits.largest).max().unwrap_or(i16::MIN);
        for (line, codes) in codes.chunks_exact_mut(width).enumerate() {
            let row = first_row + line;
            let traits = &self.rows[row];
            let overflow = self.kernel.may_overflow(traits.largest, largest);
            if !traits.is_special() && !any_special && !overflow {
                continue;
            }
            for (column, column_traits) in column_traits.iter().enumerate() {
                let code = &mut codes[column];
                let place = (row, self.first_column + first + column);
                if self.kernel.may_overflow(traits.largest, column_traits.largest) {
                    *code = self.by_reference(place) as u32;
                } else if traits.is_special() || column_traits.is_special() {
                    let row_kinds = self.row_kinds.0[row].get_or_init(|| self.a.kinds(row));
                    let column_kinds =
                        self.column_kinds.0[first + column].get_or_init(|| self.b.kinds(place.1));
                    let special = special::of_products(row_kinds, column_kinds);
                    *code = self.corrected(place, special, u64::from(*code)) as u32;
                }
            }
        }
    }

    /// `code` came out with every special element taken for zero: it is right up to the first special
    /// product, and infinite or NaN only if the accumulator was so or overflowed.
    fn corrected(&self, place: (usize, usize), special: Option<Special>, code: u64) -> u64 {
        let model = self.problem.prepared.model();
        let d = &model.d;
        let Some(special) = special else { return code };
        let value = decode(d, code);
        match special {
            Special::Nan => model.emitted_nan(),
            _ if self.c_is_nan(place) => model.emitted_nan(),
            // the accumulator was or became infinite too: which came first, and of which sign, decides
            Special::Infinity { negative }
                if !value.is_finite() && (value.class == Class::Nan || value.negative != negative) =>
            {
                self.by_reference(place)
            }
            Special::Infinity { .. } => special.code(d),
        }
    }

    fn c_is_nan(&self, (row, column): (usize, usize)) -> bool {
        let c = self.problem.operands.c;
        c.is_some_and(|c| decode(&c.format(), c.get(self.block, row, column)).class == Class::Nan)
    }

    #[cold]
    fn by_reference(&self, (row, column): (usize, usize)) -> u64 {
        let (prepared, operands) = (self.problem.prepared, self.problem.operands);
        let a = Line::row(prepared, operands, self.block, row);
        let b = Line::column(prepared, operands, self.block, column);
        chain(prepared, &a, &b, operands.c_code(self.block, row, column))
    }
}
