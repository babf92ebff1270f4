//! Accumulators as FP32 numbers: from codes of C, and as codes of D.

use bitmma_formats::{Format, decode, table};

use crate::element::Entry;

/// The FP32 number that an FP32 or FP16 code is; every NaN of FP16 the same.
pub(crate) fn f32_of(format: &Format, code: u64) -> f32 {
    match *format == table::F32 {
        true => f32::from_bits(code as u32),
        false => f32::from_value(&decode(format, code), format),
    }
}

/// The code of a number that the format holds exactly.
pub(crate) fn code_of(format: &Format, number: f32) -> u64 {
    let bits = u64::from(number.to_bits());
    if *format == table::F32 {
        return bits;
    }
    let sign = bits >> 31 << 15;
    let exponent = (bits >> 23 & 255) as i32 - 127;
    let magnitude = match exponent {
        128 => 0x7c00,
        -14..=15 => (((exponent + 15) as u64) << 10) | (bits >> 13 & 0x3ff),
        // subnormal or zero: the implicit bit moves into the fraction
        _ if bits << 33 == 0 => 0,
        _ => (bits & 0x7f_ffff | 0x80_0000) >> (13 + (-14 - exponent)),
    };
    sign | magnitude
}
