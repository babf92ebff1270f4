//! Exact values of intermediate results, as text.

use bitmma_engine::arithmetic::exact::Exact;
use bitmma_engine::formats::text::{decimal, display};
use bitmma_engine::formats::{F64, Format, Overflow, Real, Rounding, decode, encode};

/// The exact value of a finite code.
pub fn of_code(format: &Format, code: u64) -> Exact {
    let value = decode(format, code);
    Exact {
        significand: i128::from(value.signed_significand()),
        exponent: value.exponent - format.fraction_bits as i32,
    }
}

/// A real number as significand and exponent; `None` if it is not known exactly, or too long.
pub fn exact(value: Real) -> Option<Exact> {
    let zeros = value.significand.trailing_zeros() % 128;
    let magnitude = i128::try_from(value.significand >> zeros).ok()?;
    let significand = if value.negative { -magnitude } else { magnitude };
    (!value.inexact).then_some(Exact { significand, exponent: value.exponent + zeros as i32 })
}

/// The leading bits of a real number that is too long for [`exact()`].
pub fn leading(value: Real) -> Exact {
    let cut = Real { significand: value.significand >> 2, exponent: value.exponent + 2, ..value };
    exact(Real { inexact: false, ..cut }).unwrap_or(Exact { significand: 0, exponent: 0 })
}

/// A value in decimal: the shortest that names the same FP64 number, after `≈` where FP64 does not hold
/// it, as a power of two where it is beyond FP64.
pub fn text(value: Real) -> String {
    let code = encode(&F64, value, Rounding::NearestEven, Overflow::Infinity);
    let nearest = decode(&F64, code);
    if !nearest.is_finite() || (code << 1 == 0 && !value.is_zero()) {
        let leading = value.exponent + 127 - value.significand.leading_zeros() as i32;
        let sign = if value.negative { "-" } else { "" };
        return format!("≈{sign}2^{leading}");
    }
    let same = exact(value).is_some_and(|value| value.minus(of_code(&F64, code)).is_zero());
    format!("{}{}", if same { "" } else { "≈" }, display(&F64, code))
}

/// The nearest decimal of so many digits, 17 at most.
pub fn rounded(value: f64, digits: usize) -> String {
    let text = format!("{value:.*e}", digits.clamp(1, 17) - 1);
    decimal(text.parse().unwrap_or(value))
}

/// Digits a cell of a table has room for.
const DIGITS: usize = 8;

/// A value for a cell of a table: digits beyond the first few are left out, and `…` says so.
pub fn short(text: &str) -> String {
    let (mantissa, exponent) = text.split_once('e').unwrap_or((text, ""));
    let Some(point) = mantissa.find('.') else { return text.to_owned() };
    let start = mantissa.find(|digit: char| ('1'..='9').contains(&digit)).unwrap_or(point);
    let end = (start + DIGITS).max(point + 2);
    if mantissa.len() <= end + 2 {
        return text.to_owned();
    }
    let e = if exponent.is_empty() { "" } else { "e" };
    format!("{}…{e}{exponent}", &mantissa[..end])
}
