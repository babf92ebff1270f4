//! From an exact value to the nearest code: the only place that rounds into a format.

use crate::format::{Format, Sign};
use crate::overflow::Overflow;
use crate::rounding::Rounding;

/// An exact value, or one known to lie in an open interval:
/// `(-1)^negative * (significand + rest) * 2^exponent`, with `rest` = 0 if `inexact` is false and some
/// unknown value strictly between 0 and 1 if it is true.
///
/// For an inexact value to be rounded rightly the significand has to reach below the last bit the format
/// keeps, by one bit for the rules to nearest; what is missing cannot be made up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Real {
    /// The sign, also of zero.
    pub negative: bool,
    /// Magnitude in units of 2^exponent.
    pub significand: u128,
    /// Weight of the significand's last bit, a power of two.
    pub exponent: i32,
    /// Whether something below the last bit was left out.
    pub inexact: bool,
}

impl Real {
    /// The exact value `significand * 2^exponent`; +0 for a significand of zero.
    #[inline]
    pub const fn exact(significand: i128, exponent: i32) -> Real {
        Real { negative: significand < 0, significand: significand.unsigned_abs(), exponent, inexact: false }
    }

    /// Zero of the given sign.
    pub const fn zero(negative: bool) -> Real {
        Real { negative, significand: 0, exponent: 0, inexact: false }
    }

    /// Whether the value is exactly zero.
    #[inline]
    pub const fn is_zero(&self) -> bool {
        self.significand == 0 && !self.inexact
    }
}

/// The code of `value` in `format`. A result of zero keeps the value's sign where the format has a
/// negative zero.
///
/// Of an integer what is beyond its range becomes its largest or smallest number, whatever `overflow` says:
/// [`encode_wrapping`] is the other rule.
///
/// UE8M0 has no zero: what would become zero becomes its smallest number. A value below zero becomes
/// NaN in a format without a sign.
///
/// # Panics
///
/// If the value is below zero and the floating-point format has neither a sign nor a NaN; none of the table is like that.
pub fn encode(format: &Format, value: Real, rounding: Rounding, overflow: Overflow) -> u64 {
    if format.is_integer() {
        let [least, largest] = format.integer_range();
        let (magnitude, is_whole) = rounded_magnitude(value, rounding);
        let limit = if value.negative { least } else { largest }.unsigned_abs();
        let magnitude = if is_whole { magnitude.min(limit) } else { limit } as u64;
        return if value.negative { magnitude.wrapping_neg() } else { magnitude } & format.max_code();
    }
    if value.negative && !format.is_signed() && !value.is_zero() {
        return format.nan_code().expect("a format without a sign has a NaN");
    }
    let magnitude = encode_magnitude(format, value, rounding);
    let magnitude = match magnitude {
        Some(code) => code,
        None => overflow_code(format, value.negative, rounding, overflow),
    };
    let is_nan = format.specials_nan(magnitude);
    let signed = value.negative && !is_nan && (magnitude != 0 || format.has_negative_zero());
    if signed { magnitude | format.sign_bit() } else { magnitude }
}

/// The code of `value` in an integer format, modulo 2 to the power of its bits.
pub fn encode_wrapping(format: &Format, value: Real, rounding: Rounding) -> u64 {
    let magnitude = rounded_magnitude(value, rounding).0 as u64;
    let code = if value.negative { magnitude.wrapping_neg() } else { magnitude };
    code & format.max_code()
}

/// The magnitude of the integer that a value is rounded to, modulo 2^128, and whether that is all of it.
fn rounded_magnitude(value: Real, rounding: Rounding) -> (u128, bool) {
    if value.exponent > 0 {
        let places = value.exponent as u32;
        let is_whole = value.significand == 0 || value.significand.leading_zeros() >= places;
        return (value.significand.checked_shl(places).unwrap_or(0), is_whole);
    }
    let (kept, half, rest) = cut(value, -i64::from(value.exponent));
    (kept + u128::from(rounding.rounds_up(value.negative, kept & 1 == 1, half, rest)), true)
}

/// What is left of the significand without its last bits, the first bit that falls off, and whether more falls off. A
/// negative number of bits appends zeros.
#[inline]
fn cut(value: Real, bits: i64) -> (u128, bool, bool) {
    if value.significand == 0 {
        (0, false, value.inexact)
    } else if bits <= 0 {
        (value.significand << -bits, false, value.inexact)
    } else if bits <= 128 {
        let below_half = value.significand & ((1 << (bits - 1)) - 1);
        let half = (value.significand >> (bits - 1)) & 1 == 1;
        let kept = if bits == 128 { 0 } else { value.significand >> bits };
        (kept, half, below_half != 0 || value.inexact)
    } else {
        (0, false, true)
    }
}

/// The code of the magnitude, sign bit clear; `None` if it rounds beyond the largest finite number.
#[inline]
fn encode_magnitude(format: &Format, value: Real, rounding: Rounding) -> Option<u64> {
    if value.is_zero() {
        return Some(0);
    }
    // exponent of the leading bit; a value known only to lie in (0, 2^exponent) counts as smaller than all
    let exponent = if value.significand == 0 {
        i32::MIN / 2
    } else {
        value.exponent.saturating_add(127 - value.significand.leading_zeros() as i32)
    };
    if exponent > format.max_exponent() {
        return None;
    }
    let exponent = exponent.max(format.min_exponent());
    let last_bit = exponent - format.fraction_bits as i32;

    let fall_off = i64::from(last_bit) - i64::from(value.exponent);
    let (kept, half, rest) = cut(value, fall_off);
    let kept = kept as u64;
    let rounded = kept + u64::from(rounding.rounds_up(value.negative, kept & 1 == 1, half, rest));

    let implicit = 1u64 << format.fraction_bits;
    let code = if rounded < implicit {
        rounded // subnormal or zero; the smallest number of UE8M0
    } else {
        (((exponent + format.bias) as u64) << format.fraction_bits) + (rounded - implicit)
    };
    let code = code << format.padding_bits;
    (code <= format.max_finite_code()).then_some(code)
}

fn overflow_code(format: &Format, negative: bool, rounding: Rounding, overflow: Overflow) -> u64 {
    let to_infinity = match overflow {
        Overflow::Infinity => true,
        // far beyond every number, so that the nearest rules round up, and RO does
        Overflow::Ieee => rounding.rounds_up(negative, false, true, true),
        Overflow::Saturate => false,
    };
    let infinity = if to_infinity { format.infinity_code().or(format.nan_code()) } else { None };
    infinity.unwrap_or(format.max_finite_code())
}

impl Format {
    /// Whether a code with its sign bit clear is this format's NaN where that is a fixed code.
    const fn specials_nan(&self, magnitude: u64) -> bool {
        match (self.sign, self.nan_code(), self.infinity_code()) {
            (Sign::Signed, Some(nan), None) => magnitude == nan,
            _ => false,
        }
    }
}
