//! Scale factors: how numbers come into narrow formats. FP64 is what they are drawn and shown in.

use bitmma_engine::formats::text::to_f64_bits;
use bitmma_engine::formats::{Format, UE8M0};
use bitmma_verify::inputs::nearest;

/// The number that a code is.
pub(crate) fn value(format: &Format, code: u64) -> f64 {
    f64::from_bits(to_f64_bits(format, code))
}

/// The largest magnitude.
pub(crate) fn largest(numbers: &[f64]) -> f64 {
    numbers.iter().fold(0.0, |largest: f64, one| largest.max(one.abs()))
}

/// 2^exponent, of normal numbers.
pub(crate) fn power(exponent: i32) -> f64 {
    f64::from_bits(((1023 + exponent.clamp(-1000, 1000)) as u64) << 52)
}

/// The exponent of a number's leading bit.
pub(crate) fn exponent(number: f64) -> i32 {
    ((number.to_bits() >> 52) & 0x7ff) as i32 - 1023
}

/// The scale factor of a block whose largest magnitude is `peak`: of MX the power of two that OCP's rule names, otherwise that
/// over the format's largest number, rounded to nearest.
pub(crate) fn scale_code(scales: &Format, elements: &Format, peak: f64) -> u64 {
    if peak == 0.0 {
        return scales.one_code();
    }
    if *scales == UE8M0 {
        return nearest(scales, power((exponent(peak) - elements.max_exponent()).clamp(-127, 127)));
    }
    let code = nearest(scales, peak / value(elements, elements.max_finite_code()));
    if value(scales, code) == 0.0 { scales.min_positive_code() } else { code }
}
