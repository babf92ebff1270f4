//! Cutting an exact term to a number of fractional bits: the only place that does so.

use bitmma_formats::Rounding;

use crate::exact::Exact;

/// The term in units of 2^`last`, cut there by `rounding` (paper: RZ_F, RD_F of a term aligned at e_max,
/// with `last` = e_max - F).
///
/// The caller sees to it that the result has fewer than 127 bits; a zero stays zero whatever its
/// exponent.
#[inline]
pub fn cut(term: Exact, last: i32, rounding: Rounding) -> i128 {
    if term.significand == 0 {
        return 0;
    }
    let fall_off = last.saturating_sub(term.exponent);
    if fall_off <= 0 {
        return term.significand << -fall_off;
    }
    let negative = term.significand < 0;
    let magnitude = term.significand.unsigned_abs();
    let kept = magnitude.checked_shr(fall_off as u32).unwrap_or(0);
    // most units cut toward zero, whatever is cut off
    let up = rounding != Rounding::TowardZero && {
        let (half, rest) = if fall_off <= 128 {
            let half = magnitude >> (fall_off - 1) & 1 == 1;
            (half, magnitude & ((1 << (fall_off - 1)) - 1) != 0)
        } else {
            (false, true)
        };
        rounding.rounds_up(negative, kept & 1 == 1, half, rest)
    };
    let rounded = (kept + u128::from(up)) as i128;
    if negative { -rounded } else { rounded }
}
