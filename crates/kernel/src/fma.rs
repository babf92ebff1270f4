//! FMA: a chain of fused multiply-adds along K in FP32 or FP64, each by the processor's own. Where C is added last, each step
//! is a chain from zero.
//!
//! IEEE 754 leaves nothing open but which NaN comes out, and that is written once at the end. Directed roundings need
//! instructions that name theirs, those of AVX-512: the processor's rounding mode stays what it is.

use std::any::Any;
use std::marker::PhantomData;

use bitmma_arithmetic::{Conversion, Operation, Prepared};
use bitmma_formats::{Format, Rounding, decode};

use super::element::Range;
use super::family::{Family, Kernel, Rare};
use super::number::{Number, takes};
use super::pack::{Aligned, Cells, WIDEST};
use super::panels::widen::Widen;
use super::routes::{Route, count};
use super::simd::{DOWN, Level, NEAREST, Simd, TOWARD_ZERO, UP, by_fours, prefetch};
use super::tiles::Tiles;

/// The kernel, in FP32 or FP64.
pub(crate) struct Fma<T> {
    /// One of the roundings that [`Simd`] names.
    rounding: i32,
    /// The elements of a step, where C is added to what it comes to.
    last: Option<usize>,
    /// The format of C, where it is narrower.
    c: Option<Format>,
    numbers: PhantomData<T>,
}

impl<T: Number> Fma<T> {
    /// The kernel for a model on an instruction set, if it is one for it. Factors may be narrower than the sum: their
    /// numbers are numbers of it.
    pub(crate) fn plan(prepared: &Prepared<'_>, level: Level) -> Option<Fma<T>> {
        let model = prepared.model();
        let fits = model.operation == Operation::Fma
            && !model.flush_operands.is_on()
            && !model.flush_accumulator.is_on()
            && takes::<T>(model)
            && model.lowering.narrow_output.is_none();
        let last = match model.lowering.add_accumulator_last {
            None => None,
            Some(sum) if sum == Conversion::new(Rounding::NearestEven, T::FORMAT) => Some(prepared.k()),
            Some(_) => return None,
        };
        let rounding = match model.conversion.rounding {
            Rounding::NearestEven => NEAREST,
            _ if level < Level::Avx512 => return None,
            Rounding::TowardZero => TOWARD_ZERO,
            Rounding::Down => DOWN,
            Rounding::Up => UP,
            _ => return None,
        };
        let c = (model.c != T::FORMAT).then_some(model.c);
        fits.then_some(Fma { rounding, last, c, numbers: PhantomData })
    }
}

/// Rows of a tile: two multiply-adds a cycle of latency four need eight accumulators at least; these are 24 (12 where
/// there are 16 registers), with room left for a row of B and one number of A.
const ROWS: usize = 6;
/// Bytes ahead that one row asks for, which takes B from memory.
const AHEAD: usize = 4096;
/// Rows packed side by side.
const GROUP: usize = 2 * ROWS;

impl<T: Number> Family<T, T> for Fma<T> {
    fn level(&self, level: Level, columns: usize) -> Level {
        if self.rounding == NEAREST { level.for_columns(columns) } else { level }
    }

    #[inline(always)]
    fn load(&self, c: u64) -> T {
        match &self.c {
            None => T::of(c),
            Some(format) => T::from_value(&decode(format, c), format),
        }
    }

    fn resume(&self, d: u64) -> T {
        T::of(d)
    }
}

impl<T: Number> Kernel for Fma<T> {
    type Number = T;
    type Entry = T;
    type A = Aligned<T>;
    type B = Aligned<T>;
    const ROWS: usize = ROWS;
    const GROUP: usize = GROUP;
    const ALONE: bool = true;
    const WHOLE: bool = true;
    const K_BLOCK: usize = 2048 / size_of::<T>();

    fn width<S: Simd>() -> usize {
        vectors::<S>() * T::lanes::<S>()
    }

    fn pack_a(&self, cells: Cells<T>) -> Aligned<T> {
        cells.values
    }

    fn pack_b(&self, cells: Cells<T>) -> Aligned<T> {
        cells.values
    }

    fn strip(&self, packed: &mut Aligned<T>) {
        *packed = Aligned::default();
    }

    /// Of factors that are narrower than an FP32 sum.
    fn fill(
        &self,
        level: Level,
        widen: &Widen,
        words: &[i32],
        _: &Aligned<T>,
        into: &mut Option<Aligned<T>>,
    ) {
        let packed: &mut dyn Any = into.get_or_insert_with(Aligned::default);
        if let Some(packed) = packed.downcast_mut::<Aligned<f32>>() {
            let count = words.len() * 32 / widen.cell as usize;
            widen.numbers(
                level,
                Tiles::sizes(self, level).width / level.lanes(),
                words,
                packed.resized(count),
            );
        }
    }

    fn is_filled(&self, packed: &Aligned<T>, filled: &Aligned<T>) -> bool {
        packed.len() == filled.len()
            && packed.iter().zip(&**filled).fold(true, |same, (x, y)| same & (x.code() == y.code()))
    }

    fn bytes(&self, packed: &Aligned<T>) -> usize {
        size_of_val::<[T]>(packed)
    }

    fn code(&self, packed: &Aligned<T>, element: usize) -> Option<u64> {
        Some(packed[element].code())
    }

    #[inline(always)]
    fn rows<S: Simd>(
        &self,
        s: S,
        a: &Aligned<T>,
        b: &Aligned<T>,
        _: Range,
        state: &mut [T],
        _: &mut Rare<'_, T>,
    ) {
        count(Route::Fma);
        match self.rounding {
            DOWN => all_tiles::<S, T, DOWN>(s, self.last, (a, b), state),
            UP => all_tiles::<S, T, UP>(s, self.last, (a, b), state),
            TOWARD_ZERO => all_tiles::<S, T, TOWARD_ZERO>(s, self.last, (a, b), state),
            _ => all_tiles::<S, T, NEAREST>(s, self.last, (a, b), state),
        }
    }
}

/// The tiles of a group of rows and a panel, one below the other.
#[inline(always)]
fn all_tiles<S: Simd, T: Number, const ROUNDING: i32>(
    s: S,
    last: Option<usize>,
    (a, b): (&[T], &[T]),
    state: &mut [T],
) {
    let width = Fma::<T>::width::<S>();
    for (tile, state) in state.chunks_mut(ROWS * width).enumerate() {
        let row = tile * ROWS;
        let Some(step) = last else {
            tile_of::<S, T, ROUNDING>(s, (a, row), b, state);
            continue;
        };
        let mut sums = [T::default(); ROWS * WIDEST];
        let sums = &mut sums[..state.len()];
        for (a, b) in a.chunks_exact(step * GROUP).zip(b.chunks_exact(step * width)) {
            tile_of::<S, T, ROUNDING>(s, (a, row), b, sums);
            for (c, sum) in state.iter_mut().zip(&mut *sums) {
                *c = *sum + *c;
                *sum = T::default();
            }
        }
    }
}

/// One tile, from a row of the group on.
#[inline(always)]
fn tile_of<S: Simd, T: Number, const ROUNDING: i32>(s: S, a: (&[T], usize), b: &[T], state: &mut [T]) {
    match (vectors::<S>(), state.len() == Fma::<T>::width::<S>()) {
        (4, false) => multiply::<S, T, ROWS, 4, ROUNDING>(s, a, b, state),
        (4, true) => multiply::<S, T, 1, 4, ROUNDING>(s, a, b, state),
        (_, false) => multiply::<S, T, ROWS, 2, ROUNDING>(s, a, b, state),
        (_, true) => multiply::<S, T, 1, 2, ROUNDING>(s, a, b, state),
    }
}

/// Vectors side by side in a tile.
fn vectors<S: Simd>() -> usize {
    if S::MANY { 4 } else { 2 }
}

/// One tile of `R` rows of `VECTORS` vectors, from a row of the group on.
#[inline(always)]
fn multiply<S: Simd, T: Number, const R: usize, const VECTORS: usize, const ROUNDING: i32>(
    s: S,
    (a, row): (&[T], usize),
    b: &[T],
    state: &mut [T],
) {
    let (lanes, width) = (T::lanes::<S>(), VECTORS * T::lanes::<S>());
    assert!(state.len() == R * width && row <= GROUP - R);
    let mut sums = [[T::splat(s, T::default()); VECTORS]; R];
    for (sum, state) in sums.as_flattened_mut().iter_mut().zip(state.chunks_exact(lanes)) {
        *sum = T::load(s, state);
    }
    by_fours!(a, GROUP; b, width => |numbers, line| {
        let numbers = &numbers[row..][..R];
        let mut columns = [T::splat(s, T::default()); VECTORS];
        for vector in 0..VECTORS {
            if R == 1 {
                prefetch(line, vector * lanes + AHEAD / size_of::<T>());
            }
            columns[vector] = T::load(s, &line[vector * lanes..]);
        }
        for row in 0..R {
            let factor = T::splat(s, numbers[row]);
            for vector in 0..VECTORS {
                let (column, sum) = (columns[vector], sums[row][vector]);
                sums[row][vector] = match ROUNDING {
                    NEAREST => T::fma(s, factor, column, sum),
                    _ => T::fma_toward::<S, ROUNDING>(s, factor, column, sum),
                };
            }
        }
    });
    for (&sum, state) in sums.as_flattened().iter().zip(state.chunks_exact_mut(lanes)) {
        T::store(s, state, sum);
    }
}
