//! FP32 and FP64 numbers in vectors, for kernels that compute in the processor's own arithmetic.

use bitmma_arithmetic::{Model, Order};
use bitmma_formats::{Class, Format, Unpacked, table};

use super::element::Entry;
use super::elementwise::{Word, power};
use super::simd::Simd;
use super::tables::Tables;

/// FP32 or FP64: what a family computes in.
pub(crate) trait Number: Word + Entry<Value = Self> {
    /// A vector of them.
    type Vector<S: Simd>: Copy;

    /// Numbers in a vector.
    fn lanes<S: Simd>() -> usize;
    /// Whether it is not one.
    fn is_nan(self) -> bool;
    fn splat<S: Simd>(s: S, value: Self) -> Self::Vector<S>;
    fn load<S: Simd>(s: S, from: &[Self]) -> Self::Vector<S>;
    fn store<S: Simd>(s: S, to: &mut [Self], value: Self::Vector<S>);
    /// x·y + z, rounded once.
    fn fma<S: Simd>(s: S, x: Self::Vector<S>, y: Self::Vector<S>, z: Self::Vector<S>) -> Self::Vector<S>;
    /// The same rounded to `DIRECTION` ([`Simd::f_fma_toward`]).
    fn fma_toward<S: Simd, const DIRECTION: i32>(
        s: S,
        x: Self::Vector<S>,
        y: Self::Vector<S>,
        z: Self::Vector<S>,
    ) -> Self::Vector<S>;
}

macro_rules! number {
    ($number:ident, $vector:ident, $share:literal, $splat:ident, $load:ident, $store:ident, $fma:ident, $toward:ident) => {
        impl Number for $number {
            type Vector<S: Simd> = S::$vector;

            fn lanes<S: Simd>() -> usize {
                S::LANES / $share
            }
            #[inline(always)]
            fn is_nan(self) -> bool {
                <$number>::is_nan(self)
            }
            #[inline(always)]
            fn splat<S: Simd>(s: S, value: $number) -> S::$vector {
                s.$splat(value)
            }
            #[inline(always)]
            fn load<S: Simd>(s: S, from: &[$number]) -> S::$vector {
                s.$load(from)
            }
            #[inline(always)]
            fn store<S: Simd>(s: S, to: &mut [$number], value: S::$vector) {
                s.$store(to, value);
            }
            #[inline(always)]
            fn fma<S: Simd>(s: S, x: S::$vector, y: S::$vector, z: S::$vector) -> S::$vector {
                s.$fma(x, y, z)
            }
            #[inline(always)]
            fn fma_toward<S: Simd, const DIRECTION: i32>(
                s: S,
                x: S::$vector,
                y: S::$vector,
                z: S::$vector,
            ) -> S::$vector {
                s.$toward::<DIRECTION>(x, y, z)
            }
        }

        impl Entry for $number {
            type Value = $number;
            const EXPONENTS: bool = false;

            fn from_value(value: &Unpacked, format: &Format) -> $number {
                let infinity = if value.negative { <$number>::NEG_INFINITY } else { <$number>::INFINITY };
                match value.class {
                    Class::Nan => <$number>::NAN,
                    Class::Infinity => infinity,
                    Class::Zero | Class::Finite => {
                        // exact: FP64 holds every unit and every number of the formats held by FP32, and FP64
                        // itself is never unpacked
                        let unit = value.exponent - format.fraction_bits as i32;
                        let magnitude = (value.significand as f64 * power(unit)) as $number;
                        if value.negative { -magnitude } else { magnitude }
                    }
                }
            }
            fn tables() -> &'static Tables<$number> {
                static TABLES: Tables<$number> = Tables::new();
                &TABLES
            }
            fn is_code(codes: &Format) -> bool {
                *codes == <$number as Word>::FORMAT
            }
            #[inline(always)]
            fn of_code(code: u64) -> $number {
                <$number as Word>::of(code)
            }
            #[inline(always)]
            fn value(self) -> $number {
                self
            }
        }
    };
}

number!(f32, F, 1, f_splat, f_load, f_store, f_fma, f_fma_toward);
number!(f64, D, 2, d_splat, d_load, d_store, d_fma, d_fma_toward);

/// Whether the processor's own arithmetic can be a model's but for its rounding: FP32 or FP64 throughout but for narrower
/// factors and a narrower C. C may be added last, D narrowed.
pub(crate) fn takes<T: Number>(model: &Model) -> bool {
    let number = <T as Word>::FORMAT;
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
    let lowering = &model.lowering;
    held(&model.a)
        && held(&model.b)
        && held(&model.c)
        && [lowering.widen_operands, lowering.widen_accumulator].iter().flatten().all(|wide| *wide == number)
        && (model.d == number || lowering.narrow_output.is_some())
        && model.conversion.format == number
        && model.conversion.is_plain()
        && model.scale.is_none()
        && lowering.order == Order::Sequential
        && lowering.chains.is_none()
}
