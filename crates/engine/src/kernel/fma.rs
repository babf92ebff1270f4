//! FMA: a chain of fused multiply-adds along K, RNE-FP32 or RNE-FP64, each by the processor's own.
//!
//! IEEE 754 leaves nothing open but which NaN comes out, and that is written once at the end. Directed
//! roundings are left to the reference path: the processor's rounding mode stays what it is.

use std::marker::PhantomData;

use bitmma_arithmetic::{Operation, Prepared};

use super::native::{Native, Packed, takes};
use super::number::Number;
use super::pack::Range;
use super::simd::Simd;

/// The kernel, in FP32 or FP64.
pub(super) struct Fma<T>(PhantomData<T>);

impl<T: Number> Fma<T> {
    /// The kernel for a model, if it is one for it. Factors may be narrower than the sum: their numbers are
    /// numbers of it.
    pub(super) fn plan(prepared: &Prepared<'_>) -> Option<Fma<T>> {
        let model = prepared.model();
        let fits = model.operation == Operation::Fma
            && !model.flush_operands.is_on()
            && !model.flush_accumulator.is_on()
            && takes::<T>(model);
        fits.then_some(Fma(PhantomData))
    }
}

impl<T: Number> Native for Fma<T> {
    type Number = T;
    type Bounds = ();

    // two multiply-adds a cycle of latency four need eight accumulators at least; these are 24 (12 where
    // there are 16 registers), with room left for a row of B and one number of A
    const ROWS: usize = 6;

    fn vectors<S: Simd>() -> usize {
        if S::LANES >= 16 { 4 } else { 2 }
    }

    fn load(&self, c: T) -> T {
        c
    }

    fn bounds(&self, _: &[T]) {}

    #[inline(always)]
    unsafe fn tile<S: Simd>(
        &self,
        a: Packed<'_, Self>,
        b: Packed<'_, Self>,
        k: Range,
        d: *mut T,
        stride: usize,
    ) {
        unsafe {
            match Self::vectors::<S>() {
                4 => tile::<S, T, 4>(a.numbers, b.numbers, k.length, d, stride),
                _ => tile::<S, T, 2>(a.numbers, b.numbers, k.length, d, stride),
            }
        }
    }
}

/// One tile of `VECTORS` vectors in a row.
#[inline(always)]
unsafe fn tile<S: Simd, T: Number, const VECTORS: usize>(
    a: &[T],
    b: &[T],
    length: usize,
    d: *mut T,
    stride: usize,
) {
    const ROWS: usize = Fma::<f32>::ROWS;
    unsafe {
        let lanes = T::lanes::<S>();
        assert!(a.len() == length * ROWS && b.len() == length * VECTORS * lanes);
        let at = |row: usize, vector: usize| d.add(row * stride + vector * lanes);
        let mut sums = [[T::splat::<S>(T::default()); VECTORS]; ROWS];
        for (row, sums) in sums.iter_mut().enumerate() {
            for (vector, sum) in sums.iter_mut().enumerate() {
                *sum = T::load::<S>(at(row, vector));
            }
        }
        let (mut a, mut b) = (a.as_ptr(), b.as_ptr());
        for _ in 0..length {
            let mut columns = [T::splat::<S>(T::default()); VECTORS];
            for (vector, column) in columns.iter_mut().enumerate() {
                *column = T::load::<S>(b.add(vector * lanes));
            }
            for (row, sums) in sums.iter_mut().enumerate() {
                let factor = T::splat::<S>(*a.add(row));
                for (sum, column) in sums.iter_mut().zip(columns) {
                    *sum = T::fma::<S>(factor, column, *sum);
                }
            }
            (a, b) = (a.add(ROWS), b.add(VECTORS * lanes));
        }
        for (row, sums) in sums.iter().enumerate() {
            for (vector, &sum) in sums.iter().enumerate() {
                T::store::<S>(at(row, vector), sum);
            }
        }
    }
}
