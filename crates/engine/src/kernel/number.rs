//! FP32 and FP64 numbers in vectors, for kernels that compute in the processor's own arithmetic.

use bitmma_formats::{Format, Unpacked};

use super::elementwise::Word;
use super::simd::Simd;
use super::tables::Tables;
use crate::matrix::Codes;

/// FP32 or FP64: what a family computes in.
pub(super) trait Number: Word + 'static {
    /// A vector of them.
    type Vector<S: Simd>: Copy;

    /// Numbers in a vector.
    fn lanes<S: Simd>() -> usize;
    /// A finite number or zero of a format held by [`Word::FORMAT`].
    fn from_finite(value: &Unpacked, format: &Format) -> Self;
    /// Whether it is not one.
    fn is_nan(self) -> bool;
    /// The numbers that codes of [`Word::FORMAT`] are; `None` for codes of another width.
    fn slice(codes: &Codes) -> Option<&[Self]>;
    /// Tables of such numbers.
    fn tables() -> &'static Tables<Self>;
    /// The codes of numbers.
    fn into_codes(numbers: Vec<Self>) -> Codes;

    /// # Safety
    ///
    /// The processor has the instruction set; so for all that follow.
    unsafe fn splat<S: Simd>(value: Self) -> Self::Vector<S>;
    unsafe fn load<S: Simd>(from: *const Self) -> Self::Vector<S>;
    unsafe fn store<S: Simd>(to: *mut Self, value: Self::Vector<S>);
    /// x·y + z, rounded once.
    unsafe fn fma<S: Simd>(x: Self::Vector<S>, y: Self::Vector<S>, z: Self::Vector<S>) -> Self::Vector<S>;
}

macro_rules! number {
    ($number:ident, $codes:ident, $vector:ident, $share:literal, $splat:ident,
     $load:ident, $store:ident, $fma:ident) => {
        impl Number for $number {
            type Vector<S: Simd> = S::$vector;

            fn lanes<S: Simd>() -> usize {
                S::LANES / $share
            }
            fn from_finite(value: &Unpacked, format: &Format) -> $number {
                // exact: FP64 holds every unit and every number of the formats held by FP32, and FP64 itself
                // is never taken apart
                let unit = value.exponent - format.fraction_bits as i32;
                let magnitude = value.significand as f64 * f64::from_bits(((unit + 1023) as u64) << 52);
                let magnitude = magnitude as $number;
                if value.negative { -magnitude } else { magnitude }
            }
            #[inline(always)]
            fn is_nan(self) -> bool {
                <$number>::is_nan(self)
            }
            fn slice(codes: &Codes) -> Option<&[$number]> {
                let Codes::$codes(codes) = codes else { return None };
                // SAFETY: the same size and alignment, and every code is a number
                Some(unsafe { std::slice::from_raw_parts(codes.as_ptr().cast(), codes.len()) })
            }
            fn tables() -> &'static Tables<$number> {
                static TABLES: Tables<$number> = Tables::new();
                &TABLES
            }
            fn into_codes(numbers: Vec<$number>) -> Codes {
                Codes::$codes(numbers.into_iter().map($number::to_bits).collect()) // in place
            }

            #[inline(always)]
            unsafe fn splat<S: Simd>(value: $number) -> S::$vector {
                unsafe { S::$splat(value) }
            }
            #[inline(always)]
            unsafe fn load<S: Simd>(from: *const $number) -> S::$vector {
                unsafe { S::$load(from) }
            }
            #[inline(always)]
            unsafe fn store<S: Simd>(to: *mut $number, value: S::$vector) {
                unsafe { S::$store(to, value) }
            }
            #[inline(always)]
            unsafe fn fma<S: Simd>(x: S::$vector, y: S::$vector, z: S::$vector) -> S::$vector {
                unsafe { S::$fma(x, y, z) }
            }
        }
    };
}

number!(f32, U32, F, 1, f_splat, f_load, f_store, f_fma);
number!(f64, U64, D, 2, d_splat, d_load, d_store, d_fma);
