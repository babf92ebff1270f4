//! A product cut into blocks and tiles, and spread over threads.
//!
//! D is computed in panels of columns. For each block of columns and each span of K, B is packed; then threads
//! take blocks of rows, pack A in groups of rows, and go with every group and every panel through the span, block
//! of K by block of K, the accumulators kept between spans in the state. A row's answer in a column depends on
//! nothing but these, so neither blocking nor threads can change it.

use bitmma_arithmetic::Prepared;
use bitmma_arithmetic::run::Side;
use bitmma_formats::F32;
use rayon::prelude::*;

use super::element::Reader;
use super::fix::{Fix, Kinds};
use super::pack::{Aligned, Cells, GROUP, Operand, ROWS, Range, Traits, VECTORS};
use super::runs::Runs;
use super::simd::Simd;
use super::{Level, Work, dispatch};
use crate::case::Operands;
use crate::error::Error;
use crate::matrix::{Codes, Matrix};

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
    /// Runs whose results are added up; C is then where the sums start, and the sums, in FP32, are what comes out.
    pub(super) runs: Option<&'p Runs<'p>>,
}

/// Products of numbers below which one thread computes them all: waking others takes as long.
const ALONE: usize = 1 << 20;

impl Problem<'_> {
    /// Parts of the work that a thread takes, at least: all of them where the product is small.
    pub(super) fn share(&self) -> usize {
        let (blocks, m, k) = self.operands.a.shape();
        let products = [blocks, m, k, self.operands.b.columns()].into_iter().fold(1, usize::saturating_mul);
        if products <= ALONE { usize::MAX } else { 1 }
    }
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
    let format = if problem.runs.is_some() { F32 } else { problem.prepared.model().d };
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
    let (prepared, operands, runs) = (problem.prepared, problem.operands, problem.runs);
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
    let stretches = Stretches::of(k, problem.step, runs);
    let share = problem.share();

    for first_column in (0..n).step_by(COLUMN_BLOCK) {
        let columns = COLUMN_BLOCK.min(n - first_column);
        let column_kinds = Kinds::of(columns);
        let panels = columns.div_ceil(width);
        let mut column_traits = vec![Traits::NONE; panels * width];
        // those of a block of rows panel by panel, row by row
        let mut kept: Vec<Aligned<f32>> = Vec::new();
        kept.resize_with(padded.div_ceil(ROW_BLOCK), Aligned::default);
        for span in stretches.spans() {
            let begins = span[0].range.first == 0;
            let packed_b = packed(
                (problem.level, share),
                (panels, span),
                #[inline(always)]
                |panel, range| {
                    let cells = b.cells(first_column + panel * width, width, range);
                    let traits = cells.traits.clone();
                    (kernel.pack_b(cells), traits)
                },
            );
            join(&mut column_traits, width, &packed_b);
            let fix = Fix {
                kernel,
                problem,
                block,
                a: &a,
                b: &b,
                columns: &column_traits,
                row_kinds: &row_kinds,
                column_kinds: &column_kinds,
                first_column,
            };

            let row_blocks = kept
                .par_iter_mut()
                .zip(rows.par_chunks_mut(ROW_BLOCK))
                .enumerate()
                .with_min_len(share)
                .with_max_len(1);
            row_blocks.try_for_each(|(row_block, (kept, rows))| {
                let size = rows.len() * width;
                let each = if stretches.keeps_both { 2 * size } else { size };
                if begins {
                    // initialised by the thread that will use it
                    *kept = Aligned::new(each.checked_mul(panels)?)?;
                }
                let first_row = row_block * ROW_BLOCK;
                let packed_a = packed(
                    (problem.level, share),
                    (rows.len().div_ceil(GROUP), span),
                    #[inline(always)]
                    |group, range| {
                        let cells = a.cells(first_row + group * GROUP, GROUP, range);
                        let traits = cells.traits.clone();
                        (kernel.pack_a(cells), traits)
                    },
                );
                join(rows, GROUP, &packed_a);
                let rows = &*rows;
                let panels = kept
                    .slice()
                    .par_chunks_mut(each)
                    .zip(&packed_b)
                    .enumerate()
                    .with_min_len(share)
                    .with_max_len(1);
                panels.for_each(|(panel, (kept, packed_b))| {
                    let first = first_column + panel * width;
                    let used = width.min(first_column + columns - first);
                    let (results, rest) = kept.split_at_mut(size);
                    if begins {
                        let place = (block, first_row, first..first + used);
                        compiled(
                            problem.level,
                            #[inline(always)]
                            || load_c(kernel, problem, place, results, width),
                        );
                    }
                    let mut short;
                    let (mut sums, state) = match runs {
                        None => (None, results),
                        Some(runs) if stretches.keeps_both => (Some((runs, results)), rest),
                        Some(runs) => {
                            short = Aligned::zeros(size);
                            (Some((runs, results)), short.slice())
                        }
                    };
                    for (at, (&Stretch { range, ends }, (b, _))) in span.iter().zip(packed_b).enumerate() {
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
                        let Some(run) = ends else { continue };
                        let there = rows.len().min(m - first_row);
                        let elements = runs.map_or(0..k, |runs| runs.range(run));
                        fix.apply((first_row, &rows[..there]), (panel * width, width, used), elements, state);
                        if let Some((runs, sums)) = &mut sums {
                            compiled(
                                problem.level,
                                #[inline(always)]
                                || runs.fold.rows(run, (first_row, first), (width, used), (sums, state)),
                            );
                            state.fill(0.0);
                        }
                    }
                });
                Some(())
            })?;
        }

        let each = if stretches.keeps_both { 2 } else { 1 };
        d.each_chunk(block * m * n..(block + 1) * m * n, (GROUP * n, share), |task, d| {
            let first_row = task * GROUP;
            let mut codes = vec![0; d.len() / n * width];
            let (row_block, first_of_block) = (first_row / ROW_BLOCK, first_row % ROW_BLOCK);
            let rows = ROW_BLOCK.min(padded - row_block * ROW_BLOCK);
            for (panel, kept) in kept[row_block].chunks_exact(rows * width * each).enumerate() {
                let results = &kept[first_of_block * width..][..codes.len()];
                compiled(
                    problem.level,
                    #[inline(always)]
                    || {
                        let codes = codes.iter_mut().zip(results);
                        match runs {
                            None => codes.for_each(|(to, &d)| *to = kernel.store(d) as u32),
                            Some(_) => codes.for_each(|(to, &sum)| *to = sum.to_bits()),
                        }
                    },
                );
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

/// Elements along K that are packed together, and the run that ends with them.
#[derive(Clone, Copy)]
struct Stretch {
    range: Range,
    ends: Option<usize>,
}

/// K in stretches of whole steps, none of which belongs to two runs.
struct Stretches {
    stretches: Vec<Stretch>,
    /// Where each span ends, in stretches.
    spans: Vec<usize>,
    /// Whether accumulators are kept between spans beside the sums.
    keeps_both: bool,
}

impl Stretches {
    /// All of K is one run where there are no runs.
    fn of(k: usize, step: usize, runs: Option<&Runs<'_>>) -> Stretches {
        let length = (K_BLOCK / step).max(1) * step;
        let ends = runs.map_or(std::slice::from_ref(&k), |runs| runs.ends);
        // accumulators whose runs end within their span need not be kept
        let keeps_both = runs.is_some_and(|runs| runs.longest() > SPAN * length);
        let whole_runs = runs.is_some() && !keeps_both;
        let mut all = Stretches { stretches: Vec::new(), spans: Vec::new(), keeps_both };
        let (mut first, mut span) = (0, 0);
        for (run, &end) in ends.iter().enumerate() {
            if whole_runs && end - span > SPAN * length {
                all.spans.push(all.stretches.len());
                span = first;
            }
            while first < end {
                let range = Range { first, length: length.min(end - first) };
                first += range.length;
                all.stretches.push(Stretch { range, ends: (first == end).then_some(run) });
                if !whole_runs && first - span >= SPAN * length {
                    all.spans.push(all.stretches.len());
                    span = first;
                }
            }
        }
        if all.spans.last() != Some(&all.stretches.len()) {
            all.spans.push(all.stretches.len());
        }
        all
    }

    /// Stretches that are packed at a time.
    fn spans(&self) -> impl Iterator<Item = &[Stretch]> {
        let mut first = 0;
        self.spans.iter().map(move |&end| &self.stretches[std::mem::replace(&mut first, end)..end])
    }
}

/// Reads the rows of C from one on, `width` accumulators for each, as far as there are rows.
#[inline(always)]
fn load_c<K: Kernel>(
    kernel: &K,
    problem: &Problem<'_>,
    (block, first_row, columns): (usize, usize, std::ops::Range<usize>),
    state: &mut [f32],
    width: usize,
) {
    let Some(c) = problem.operands.c else {
        state.fill(problem.runs.map_or(kernel.load(0), |runs| runs.start()));
        return;
    };
    let (_, m, n) = c.shape();
    for (row, state) in (first_row..m).zip(state.chunks_exact_mut(width)) {
        let start = (block * m + row) * n + columns.start;
        c.codes().read(start, &mut state[..columns.len()], |code| kernel.load(code));
    }
}

/// Lines packed, and what is known of each.
type Lines<P> = (P, Vec<Traits>);

/// Groups of lines, block by block of a span of K, packed on all threads.
fn packed<P: Send>(
    (level, share): (Level, usize),
    (groups, span): (usize, &[Stretch]),
    pack: impl Fn(usize, Range) -> Lines<P> + Sync,
) -> Vec<Vec<Lines<P>>> {
    let of_group = |group: usize| {
        let blocks = span.par_iter().with_min_len(share).map(|&Stretch { range, .. }| {
            compiled(
                level,
                #[inline(always)]
                || pack(group, range),
            )
        });
        blocks.collect()
    };
    (0..groups).into_par_iter().with_min_len(share).map(of_group).collect()
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
