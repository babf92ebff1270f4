//! Codes to test with: all of them, or those where things tend to break.

use crate::encode::{Real, encode};
use crate::format::{Format, Specials};
use crate::overflow::Overflow;
use crate::rounding::Rounding;

/// Every code of a format in ascending order, NaNs and ignored sign bits included.
///
/// Padding is left zero: TF32 gives its 2^19 distinct words, not all 2^32. A format of up to 16 bits of
/// sign, exponent and fraction has at most 65,536 codes; nothing stops a caller from starting on the
/// 2^64 of FP64.
pub fn all_codes(format: &Format) -> impl Iterator<Item = u64> + use<> {
    let padding_bits = format.padding_bits;
    (0..=format.max_code() >> padding_bits).map(move |bits| bits << padding_bits)
}

/// Powers of two that [`notable_codes`] takes from a format of wide range; narrow ones give all of theirs.
const POWERS: usize = 64;

/// The codes where things tend to break, sorted and without repetition, a few hundred at most.
///
/// Zero, the smallest and largest subnormal, the smallest normal, one and the largest finite number,
/// each with its neighbors; powers of two across the whole range; infinity; NaNs, quiet and signalling,
/// with and without payload. Each with and without the top bit where the format has a sign bit, also
/// where that bit is ignored. Padding is zero.
pub fn notable_codes(format: &Format) -> Vec<u64> {
    let step = 1u64 << format.padding_bits;
    let largest_subnormal = format.min_normal_code().saturating_sub(step);
    let anchors = [
        0,
        format.min_positive_code(),
        largest_subnormal,
        format.min_normal_code(),
        format.one_code(),
        format.max_finite_code(),
    ];
    let mut codes: Vec<u64> =
        anchors.iter().flat_map(|&code| [code.saturating_sub(step), code, code + step]).collect();

    let smallest_power = format.min_exponent() - format.fraction_bits as i32; // UE8M0: no fraction, no subnormals
    let powers = smallest_power..=format.max_exponent();
    let stride = powers.clone().count().div_ceil(POWERS);
    let power = |exponent| encode(format, Real::exact(1, exponent), Rounding::TowardZero, Overflow::Saturate);
    codes.extend(powers.step_by(stride).map(power));
    codes.push(power(format.max_exponent()));

    codes.extend(format.infinity_code());
    codes.extend(format.nan_code());
    if let (Specials::Ieee, Some(infinity), Some(quiet)) =
        (format.specials, format.infinity_code(), format.nan_code())
    {
        let fraction = (1u64 << (format.fraction_bits + format.padding_bits)) - step;
        // signalling: top fraction bit clear, smallest and largest payload; quiet: the same payloads
        let quiet_bit = quiet & fraction;
        codes.extend([infinity | step, infinity | (fraction & !quiet_bit)]);
        codes.extend([quiet | step, infinity | fraction]);
    }

    let magnitude = format.max_code() >> format.sign.bits();
    codes.retain(|&code| code <= magnitude || Some(code) == format.nan_code());
    if format.sign.bits() == 1 {
        let sign = 1u64 << (format.bits() - 1);
        codes.extend(codes.clone().into_iter().map(|code| code | sign));
    }
    codes.sort_unstable();
    codes.dedup();
    codes
}
