//! Products in the host's own FP32 or FP64: how families are driven of which every step is an operation of
//! IEEE 754, so that the processor itself makes NaN, infinity and zeros of either sign, and no result is
//! corrected afterwards.
//!
//! D begins as C, or zero, and holds the accumulators between blocks of K; beyond it there is one packed block of B,
//! and a few packed rows of A for each thread. A task takes some rows through a block of K, panel by
//! panel. An element of D depends on its own row and column alone, so neither blocking nor threads can
//! change it.

use std::mem::MaybeUninit;
use std::sync::Arc;

use bitmma_arithmetic::run::Side;
use bitmma_arithmetic::{Lowering, Model, Prepared};
use bitmma_formats::{Class, Format, Unpacked, table};
use rayon::prelude::*;

use super::drive::Problem;
use super::elementwise::Word;
use super::number::Number;
use super::pack::{Aligned, Range};
use super::runs::Runs;
use super::simd::Simd;
use super::{Level, Work, dispatch};
use crate::error::Error;
use crate::matrix::{Codes, Matrix};

/// One family's way to compute tiles.
pub(super) trait Native: Sync {
    /// What it computes in.
    type Number: Number;
    /// What is known of the numbers of some packed rows or columns.
    type Bounds: Copy + Send + Sync;

    /// Rows of a tile.
    const ROWS: usize;

    /// Vectors side by side in a tile.
    fn vectors<S: Simd>() -> usize;
    /// The accumulator that an element of C is.
    fn load(&self, c: Self::Number) -> Self::Number;
    /// What is known of packed numbers.
    fn bounds(&self, numbers: &[Self::Number]) -> Self::Bounds;
    /// Goes through a block of K with one tile: [`Native::ROWS`] rows, `stride` apart, of as many
    /// accumulators as [`Native::vectors`] hold.
    ///
    /// # Safety
    ///
    /// The processor has the instruction set; the packed blocks hold `k.length` elements for each row and
    /// each column; `d` is valid for the whole tile.
    unsafe fn tile<S: Simd>(
        &self,
        a: Packed<'_, Self>,
        b: Packed<'_, Self>,
        k: Range,
        d: *mut Self::Number,
        stride: usize,
    );
}

/// The numbers of a tile's rows or columns, those of one index along K side by side.
pub(super) struct Packed<'t, N: Native + ?Sized> {
    /// The numbers.
    pub(super) numbers: &'t [N::Number],
    /// What is known of them.
    pub(super) bounds: N::Bounds,
}

/// Columns of a block: how much of B is packed at a time.
const COLUMN_BLOCK: usize = 4096;
/// Elements along K of a block, about.
const K_BLOCK: usize = 512;
/// Elements along K of the longest run that is packed at once.
const LONGEST_RUN: usize = 2048;
/// Tiles of a task, one below the other, at most.
const TASK_TILES: usize = 8;

/// Whether a model is one that this driver takes: FP32 or FP64 throughout but for narrower factors,
/// rounded to nearest even, and nothing around the operation.
pub(super) fn takes<T: Number>(model: &Model) -> bool {
    let number = T::FORMAT;
    let held = |format: &Format| {
        *format == number
            || (number == table::F32
                && format.is_signed()
                && format.subnormals
                && format.fraction_bits <= number.fraction_bits
                && format.max_exponent() <= number.max_exponent()
                && format.min_exponent()
                    >= number.min_exponent() - (number.fraction_bits - format.fraction_bits) as i32)
    };
    held(&model.a)
        && held(&model.b)
        && [model.c, model.d, model.conversion.format].iter().all(|format| *format == number)
        && model.conversion.rounding == bitmma_formats::Rounding::NearestEven
        && model.conversion.is_plain()
        && model.scale.is_none()
        && model.lowering == Lowering::NONE
}

/// Whether this driver adds up such runs: those that are packed at once.
pub(super) fn adds(runs: &Runs<'_>) -> bool {
    runs.longest() <= LONGEST_RUN
}

/// D by a family, or the sums of the problem's runs.
pub(super) fn multiply<N: Native>(family: &N, problem: &Problem<'_>) -> Result<Matrix, Error> {
    let (prepared, operands) = (problem.prepared, problem.operands);
    let model = prepared.model();
    let (blocks, m, k) = operands.a.shape();
    let n = operands.b.columns();
    let too_large = || Error::TooLarge { blocks, rows: m, columns: n, bytes: model.d.bytes() };
    let c = operands.c.map(|c| N::Number::slice(c.codes()).unwrap_or_default());
    let mut d: Vec<N::Number> = Vec::new();
    let count = blocks.checked_mul(m).and_then(|rows| rows.checked_mul(n)).ok_or_else(too_large)?;
    d.try_reserve_exact(count).map_err(|_| too_large())?;
    assert!(c.is_none_or(|c| c.len() == count), "C was checked: as many numbers as D has");

    let a = Reader::new(prepared, Side::A);
    let b = Reader::new(prepared, Side::B);
    let width = width::<N>(problem.level);
    let block_length = ((K_BLOCK / problem.step).max(1) * problem.step).min(k);
    let (runs, share) = (problem.runs, problem.share());
    let blocks_of_k = blocks_of_k(k, block_length, runs);
    let length = blocks_of_k.iter().map(|(range, _)| range.length).max().unwrap_or(0);
    let columns = COLUMN_BLOCK.min(n).next_multiple_of(width);
    let mut packed = Aligned::<N::Number>::new(length * columns).ok_or_else(too_large)?;
    let tiles = m.div_ceil(N::ROWS);
    let task_rows = tiles.div_ceil(4 * rayon::current_num_threads()).clamp(1, TASK_TILES) * N::ROWS;

    for (block, d) in d.spare_capacity_mut()[..count].chunks_exact_mut(m * n).enumerate() {
        for first_column in (0..n).step_by(COLUMN_BLOCK) {
            let columns = COLUMN_BLOCK.min(n - first_column);
            for &(range, (first_run, end_run)) in &blocks_of_k {
                let panel_size = width * range.length;
                let packed = &mut packed.slice()[..columns.div_ceil(width) * panel_size];
                let bounds: Vec<N::Bounds> = packed
                    .par_chunks_exact_mut(panel_size)
                    .with_min_len(share)
                    .with_max_len(1)
                    .enumerate()
                    .map(|(panel, numbers)| {
                        let start = block * k * n + range.first * n + first_column + panel * width;
                        b.columns(
                            operands.b.codes(),
                            start,
                            n,
                            width.min(columns - panel * width),
                            width,
                            numbers,
                        );
                        family.bounds(numbers)
                    })
                    .collect();
                let begins = range.first == 0 && first_column == 0;
                d.par_chunks_mut(task_rows * n).enumerate().with_min_len(share).with_max_len(1).for_each(
                    |(task, d)| {
                        if begins {
                            // initialised by the thread that will use it
                            match (c.map(|c| &c[(block * m + task * task_rows) * n..]), runs) {
                                (Some(c), None) => {
                                    d.iter_mut().zip(c).for_each(|(d, &c)| _ = d.write(family.load(c)));
                                }
                                (Some(c), Some(_)) => d.iter_mut().zip(c).for_each(|(d, &c)| _ = d.write(c)),
                                (None, _) => {
                                    let start = runs.map_or(N::Number::default(), |runs| runs.start());
                                    d.fill(MaybeUninit::new(start));
                                }
                            }
                        }
                        // SAFETY: the first task of these rows wrote all of them
                        let d = unsafe { &mut *(std::ptr::from_mut(d) as *mut [N::Number]) };
                        let work = Task {
                            family,
                            a: &a,
                            a_codes: operands.a.codes(),
                            a_start: (block * m + task * task_rows) * k + range.first,
                            a_stride: k,
                            b: packed,
                            b_bounds: &bounds,
                            range,
                            d,
                            n,
                            columns: first_column..first_column + columns,
                            runs: runs.map(|runs| (runs, first_run..end_run, task * task_rows)),
                            nan: (runs.is_none() && range.first + range.length == k)
                                .then(|| N::Number::of(model.emitted_nan())),
                        };
                        dispatch(problem.level, work);
                    },
                );
            }
        }
    }
    // SAFETY: K and N are not 0, so that there was a first task of every row
    unsafe { d.set_len(count) };
    Ok(Matrix::from_codes(model.d, (blocks, m, n), N::Number::into_codes(d)))
}

/// K in blocks that are packed at once, each with the runs that end in it: whole runs, or none where there are none.
fn blocks_of_k(k: usize, length: usize, runs: Option<&Runs<'_>>) -> Vec<(Range, (usize, usize))> {
    let Some(runs) = runs else {
        let block = |first| (Range { first, length: length.min(k - first) }, (0, 0));
        return (0..k).step_by(length).map(block).collect();
    };
    let mut blocks: Vec<(Range, (usize, usize))> = Vec::new();
    for run in 0..runs.ends.len() {
        let elements = runs.range(run);
        match blocks.last_mut() {
            Some((range, which)) if elements.end - range.first <= length => {
                range.length = elements.end - range.first;
                which.1 = run + 1;
            }
            _ => blocks.push((Range { first: elements.start, length: elements.len() }, (run, run + 1))),
        }
    }
    blocks
}

/// Columns of a panel.
fn width<N: Native>(level: Level) -> usize {
    struct Width<N>(std::marker::PhantomData<N>);
    impl<N: Native> Work for Width<N> {
        type Output = usize;
        unsafe fn run<S: Simd>(self) -> usize {
            N::vectors::<S>() * N::Number::lanes::<S>()
        }
    }
    dispatch(level, Width(std::marker::PhantomData::<N>))
}

/// Some rows of D through one block of K.
struct Task<'t, N: Native> {
    family: &'t N,
    a: &'t Reader<'t, N::Number>,
    a_codes: &'t Codes,
    /// Where the first row of A begins the block of K, and how far rows are apart.
    a_start: usize,
    a_stride: usize,
    /// Panel after panel.
    b: &'t [N::Number],
    b_bounds: &'t [N::Bounds],
    range: Range,
    /// Whole rows of D.
    d: &'t mut [N::Number],
    n: usize,
    columns: std::ops::Range<usize>,
    /// The runs, which of them end with the range, and the first row.
    runs: Option<(&'t Runs<'t>, std::ops::Range<usize>, usize)>,
    /// What to write for NaN, after the last block of K.
    nan: Option<N::Number>,
}

impl<N: Native> Work for Task<'_, N> {
    type Output = ();

    #[inline(always)]
    unsafe fn run<S: Simd>(self) {
        let Task { family, range, n, columns, d, .. } = self;
        let width = N::vectors::<S>() * N::Number::lanes::<S>();
        let (panel_size, group_size) = (width * range.length, N::ROWS * range.length);
        let m = d.len() / n;
        let groups = m.div_ceil(N::ROWS);
        let zero = N::Number::default();
        let mut a = vec![zero; groups * group_size];
        let mut a_bounds = Vec::with_capacity(groups);
        for (group, numbers) in a.chunks_exact_mut(group_size).enumerate() {
            let first = group * N::ROWS;
            let start = self.a_start + first * self.a_stride;
            self.a.rows(self.a_codes, start, self.a_stride, N::ROWS.min(m - first), N::ROWS, numbers);
            a_bounds.push(family.bounds(numbers));
        }
        let mut edge = vec![zero; N::ROWS * width];
        for (panel, numbers) in self.b.chunks_exact(panel_size).enumerate() {
            let b = || Packed { numbers, bounds: self.b_bounds[panel] };
            let first_column = columns.start + panel * width;
            let used = width.min(columns.end - first_column);
            let of_b: Vec<Vec<N::Number>> = match &self.runs {
                Some((runs, which, _)) => which
                    .clone()
                    .map(|run| runs.fold.of_columns(run, first_column..first_column + used))
                    .collect(),
                None => Vec::new(),
            };
            for (group, numbers) in a.chunks_exact(group_size).enumerate() {
                let a = Packed { numbers, bounds: a_bounds[group] };
                let rows = &mut d[group * N::ROWS * n..];
                if let Some((runs, which, first)) = &self.runs {
                    for (run, of_b) in which.clone().zip(&of_b) {
                        let elements = runs.range(run);
                        let part = elements.start - range.first..elements.end - range.first;
                        let k = Range { first: elements.start, length: part.len() };
                        let a = Packed { numbers: &a.numbers[part.start * N::ROWS..part.end * N::ROWS], ..a };
                        let b = Packed { numbers: &b().numbers[part.start * width..part.end * width], ..b() };
                        edge.fill(zero);
                        // SAFETY: `edge` is one tile, and the packed blocks hold the run's elements
                        unsafe { family.tile::<S>(a, b, k, edge.as_mut_ptr(), width) };
                        let lines = edge.chunks_exact(width).zip(rows.chunks_exact_mut(n)).enumerate();
                        for (line, (results, sums)) in lines {
                            let sums = &mut sums[first_column..first_column + used];
                            runs.fold.row(run, first + group * N::ROWS + line, of_b, (sums, results));
                        }
                    }
                    continue;
                }
                let whole = used == width && (group + 1) * N::ROWS <= m;
                if whole {
                    assert!((N::ROWS - 1) * n + first_column + width <= rows.len());
                    // SAFETY: the last row of the tile ends within D
                    unsafe { family.tile::<S>(a, b(), range, rows.as_mut_ptr().add(first_column), n) };
                    continue;
                }
                for (edge, row) in edge.chunks_exact_mut(width).zip(rows.chunks_exact(n)) {
                    edge[..used].copy_from_slice(&row[first_column..first_column + used]);
                }
                // SAFETY: `edge` is one tile
                unsafe { family.tile::<S>(a, b(), range, edge.as_mut_ptr(), width) };
                for (edge, row) in edge.chunks_exact(width).zip(rows.chunks_exact_mut(n)) {
                    row[first_column..first_column + used].copy_from_slice(&edge[..used]);
                }
            }
        }
        if let Some(nan) = self.nan {
            for row in d.chunks_exact_mut(n) {
                for number in &mut row[columns.clone()] {
                    *number = if number.is_nan() { nan } else { *number };
                }
            }
        }
    }
}

/// From codes to numbers.
enum Reader<'p, T> {
    /// The codes are the numbers.
    Same,
    /// For formats of up to 16 bits.
    Table(Arc<[T]>),
    /// For wider ones that are not the number's own, or are flushed.
    One(&'p Prepared<'p>, Side, Format),
}

impl<'p, T: Number> Reader<'p, T> {
    fn new(prepared: &'p Prepared<'p>, side: Side) -> Reader<'p, T> {
        let format = prepared.code_format(side);
        if format == T::FORMAT && !prepared.model().flush_operands.is_on() {
            return Reader::Same;
        }
        let number = |code| number(&format, &prepared.element(side, code));
        match T::tables().of(prepared, side, number) {
            Some(table) => Reader::Table(table),
            None => Reader::One(prepared, side, format),
        }
    }

    #[inline(always)]
    fn number<C: Copy + Into<u64>>(&self, code: C) -> T {
        match self {
            Reader::Same => T::of(code.into()),
            Reader::Table(table) => table[code.into() as usize],
            Reader::One(prepared, side, format) => number(format, &prepared.element(*side, code.into())),
        }
    }

    /// Packs `there` rows of A, `stride` apart from `start`, side by side among `rows`.
    #[inline(always)]
    fn rows(&self, codes: &Codes, start: usize, stride: usize, there: usize, rows: usize, numbers: &mut [T]) {
        #[inline(always)]
        fn side_by_side<T: Number, C: Copy + Into<u64>>(
            reader: &Reader<'_, T>,
            codes: &[C],
            (stride, there, rows): (usize, usize, usize),
            numbers: &mut [T],
        ) {
            let last = there.saturating_sub(1) * stride;
            // one run of codes for each row, and each pass over them writes without gaps
            for (index, numbers) in numbers.chunks_exact_mut(rows).enumerate() {
                let codes = codes[index..=index + last].iter().step_by(stride);
                numbers.iter_mut().zip(codes).for_each(|(number, &code)| *number = reader.number(code));
            }
        }
        let how = (stride, there, rows);
        match codes {
            Codes::U8(codes) => side_by_side(self, &codes[start..], how, numbers),
            Codes::U16(codes) => side_by_side(self, &codes[start..], how, numbers),
            Codes::U32(codes) => side_by_side(self, &codes[start..], how, numbers),
            Codes::U64(codes) => side_by_side(self, &codes[start..], how, numbers),
        }
    }

    /// Packs `there` of `width` columns of B, whose rows are `stride` apart from `start`.
    fn columns(
        &self,
        codes: &Codes,
        start: usize,
        stride: usize,
        there: usize,
        width: usize,
        numbers: &mut [T],
    ) {
        let same = matches!(self, Reader::Same).then(|| T::slice(codes)).flatten();
        for (index, line) in numbers.chunks_exact_mut(width).enumerate() {
            let from = start + index * stride;
            let (line, rest) = line.split_at_mut(there);
            match same {
                Some(numbers) => line.copy_from_slice(&numbers[from..from + there]),
                None => self.each(codes, from..from + there, line.iter_mut()),
            }
            rest.fill(T::default());
        }
    }

    #[inline(always)]
    fn each<'t>(&self, codes: &Codes, from: std::ops::Range<usize>, to: impl Iterator<Item = &'t mut T>)
    where
        T: 't,
    {
        match codes {
            Codes::U8(codes) => to.zip(&codes[from]).for_each(|(to, &code)| *to = self.number(code)),
            Codes::U16(codes) => to.zip(&codes[from]).for_each(|(to, &code)| *to = self.number(code)),
            Codes::U32(codes) => to.zip(&codes[from]).for_each(|(to, &code)| *to = self.number(code)),
            Codes::U64(codes) => to.zip(&codes[from]).for_each(|(to, &code)| *to = self.number(code)),
        }
    }
}

/// The number that a value of a format is.
fn number<T: Number>(format: &Format, value: &Unpacked) -> T {
    let infinity = T::FORMAT.infinity_code().unwrap_or(0);
    match value.class {
        Class::Nan => T::of(T::FORMAT.nan_code().unwrap_or(0)),
        Class::Infinity if value.negative => T::of(infinity | T::FORMAT.sign_bit()),
        Class::Infinity => T::of(infinity),
        Class::Zero | Class::Finite => T::from_finite(value, format),
    }
}
