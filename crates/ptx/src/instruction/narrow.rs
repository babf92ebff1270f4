//! FP16 and BF16 by way of FP32 and FP64, where rounding twice cannot show.
//!
//! Sums and products of FP16 or BF16 numbers are rounded to FP32 and then to the format. That rounds the exact value, as
//! FP32's 24 bits are at least 2·p + 2 for p = 11 and p = 8 (Figueroa, "When is double rounding innocuous?"). Among
//! subnormal numbers: FP16's lie among FP32's normal ones. A BF16 sum that is subnormal is a multiple of 2^-133 and exact.
//! A BF16 product has 16 bits; to be mistaken for a tie it would have to have its first bit at 2^-134 at most from the tie and
//! another one below 2^-149, 16 places or more further down. Multiply-adds go through FP64 rounded to odd.

use bitmma_engine::formats::{BF16, F16};
use bitmma_kernel::Narrow;

use super::single::{fused_to_odd, is_nan};

/// FP16 to FP32, exactly; NaN is FP32's.
#[inline(always)]
pub(crate) fn from_half(code: u32) -> u32 {
    let (sign, magnitude) = ((code & 0x8000) << 16, code & 0x7fff);
    if magnitude >= 0x7c00 {
        return if magnitude > 0x7c00 { super::single::NAN } else { sign | 0x7f80_0000 };
    }
    // the exponent moves from bias 15 to 127; subnormal numbers become normal
    let value = f32::from_bits(magnitude << 13) * f32::from_bits((127 + 112) << 23);
    value.to_bits() | sign
}

const HALF: Narrow = Narrow::of(&F16, false);
const BRAIN: Narrow = Narrow::of(&BF16, false);

/// FP32 to FP16, to nearest even.
#[inline(always)]
pub(crate) fn to_half(code: u32) -> u32 {
    if is_nan(code) { 0x7fff } else { HALF.code(code) }
}

/// FP32 to BF16, to nearest even.
#[inline(always)]
pub(crate) fn to_brain(code: u32) -> u32 {
    if is_nan(code) { 0x7fff } else { BRAIN.code(code) }
}

/// An FP64 number rounded to odd, rounded to odd again into FP32: what is left out sets the last bit. For numbers that are
/// FP32's normal ones.
#[inline(always)]
fn to_single_odd(value: f64) -> u32 {
    let bits = value.to_bits();
    let single = (value as f32).to_bits();
    let back = f64::from(f32::from_bits(single)).to_bits();
    // to nearest may have gone away from zero; go back, then set the last bit
    let cut = if back & !(1 << 63) > bits & !(1 << 63) { single - 1 } else { single };
    if back == bits { single } else { cut | 1 }
}

/// a · b + c of FP16 numbers, rounded once. The exact result is zero or at least 2^-48.
#[inline(always)]
pub(crate) fn half_fma(a: u32, b: u32, c: u32) -> u32 {
    let of = |code: u32| f64::from(f32::from_bits(from_half(code)));
    let exact = fused_to_odd(of(a), of(b), of(c));
    if exact.is_nan() { 0x7fff } else { to_half(to_single_odd(exact)) }
}
