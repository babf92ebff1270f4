//! Conversions.

use bitmma_engine::formats::{
    BF16, Class, E4M3, E5M2, F16, F32, F64, Format, Overflow, Real, Rounding, TF32, decode, encode,
};
use bitmma_functions::convert::{Modifiers, convert as convert_code};
use bitmma_functions::float::{flush as flush_code, nan};

use super::narrow::{from_half, to_brain, to_half};
use super::single;
use crate::lanes::{Registers, WideLanes, map1, map2};
use crate::program::{Convert, Slot, Type};

fn format(kind: Type) -> Option<&'static Format> {
    Some(match kind {
        Type::F16 | Type::F16x2 => &F16,
        Type::BF16 | Type::BF16x2 => &BF16,
        Type::F32 => &F32,
        Type::F64 => &F64,
        Type::TF32 => &TF32,
        Type::E4M3x2 => &E4M3,
        Type::E5M2x2 => &E5M2,
        _ => return None,
    })
}

pub(crate) fn convert(registers: &mut Registers, mask: u32, convert: &Convert) {
    let Convert { to, from, rounding, integral, flush, saturate, finite, relu, d, a, b } = *convert;
    let plain = !(integral || flush || saturate || finite || relu);
    let nearest = rounding == Some(Rounding::NearestEven);
    // what kernels use most
    if let (Slot::Word(d, _), Slot::Word(a, _)) = (d, a)
        && plain
    {
        let a = registers.word(a);
        let value = match (to, from, b) {
            (Type::F32, Type::F16, _) => Some(map1(a, from_half)),
            (Type::F32, Type::BF16, _) => Some(map1(a, |a| a << 16)),
            (Type::F16, Type::F32, _) if nearest => Some(map1(a, to_half)),
            (Type::BF16, Type::F32, _) if nearest => Some(map1(a, to_brain)),
            (Type::F16x2, Type::F32, Some(Slot::Word(b, _))) if nearest => {
                Some(map2(a, registers.word(b), |a, b| to_half(a) << 16 | to_half(b)))
            }
            (Type::BF16x2, Type::F32, Some(Slot::Word(b, _))) if nearest => {
                Some(map2(a, registers.word(b), |a, b| to_brain(a) << 16 | to_brain(b)))
            }
            // the host rounds to nearest even
            (Type::F32, Type::S32, _) if nearest => Some(map1(a, |a| (a as i32 as f32).to_bits())),
            (Type::F32, Type::U32, _) if nearest => Some(map1(a, |a| (a as f32).to_bits())),
            _ => None,
        };
        if let Some(value) = value {
            registers.set_word(d, mask, &value);
            return;
        }
    }
    let one = |code: u64| scalar(convert, code);
    let value: WideLanes = match (to, from) {
        (_, Type::F16x2) => map1(&registers.any(a), |a| one(a & 0xffff) | one(a >> 16 & 0xffff) << 8),
        (Type::F16x2, Type::E4M3x2 | Type::E5M2x2) => {
            map1(&registers.any(a), |a| one(a & 0xff) | one(a >> 8 & 0xff) << 16)
        }
        _ => match b {
            Some(b) => {
                let shift = to.bits() / 2;
                map2(&registers.any(a), &registers.any(b), |a, b| one(a) << shift | one(b))
            }
            None => map1(&registers.any(a), one),
        },
    };
    // the result is as wide as its type; a wider register gets it extended
    let value = match (to.bits(), to.is_signed()) {
        (64, _) => value,
        (bits, true) => map1(&value, |value| ((value << (64 - bits)) as i64 >> (64 - bits)) as u64),
        (bits, false) => map1(&value, |value| value & (u64::MAX >> (64 - bits))),
    };
    registers.set_any(d, mask, &value);
}

/// One number.
fn scalar(convert: &Convert, code: u64) -> u64 {
    let Convert { to, from, rounding, integral, flush, saturate, finite, relu, .. } = *convert;
    let narrow = code & (u64::MAX >> (64 - element_bits(from)));
    match (format(from), format(to)) {
        (None, None) => integer_to_integer(to, from, narrow, saturate),
        (None, Some(format)) => {
            let value = signed(from, narrow);
            encode(format, Real::exact(value, 0), rounding.unwrap_or(Rounding::NearestEven), Overflow::Ieee)
        }
        (Some(format), None) => {
            let code = if flush && *format == F32 { flush_code(format, narrow) } else { narrow };
            float_to_integer(format, to, code, rounding.unwrap_or(Rounding::TowardZero))
        }
        (Some(source), Some(target)) => {
            if integral {
                let code = if flush && *source == F32 { flush_code(source, narrow) } else { narrow };
                let whole = to_integral(source, code, rounding.unwrap_or(Rounding::NearestEven));
                return clamp(target, whole, saturate);
            }
            let rounding = rounding.unwrap_or(Rounding::NearestEven);
            let modifiers = Modifiers { rounding, satfinite: finite, relu, ftz: flush };
            clamp(target, convert_code(source, target, narrow, modifiers), saturate)
        }
    }
}

fn element_bits(kind: Type) -> u32 {
    match kind {
        Type::F16x2 => 16,
        Type::E4M3x2 | Type::E5M2x2 => 8,
        _ => kind.bits(),
    }
}

/// `.sat` of a float.
fn clamp(format: &Format, code: u64, saturate: bool) -> u64 {
    let negative = code & format.sign_bit() != 0;
    match saturate {
        false => code,
        true if negative || format.is_nan(code) => 0,
        true => code.min(format.one_code()),
    }
}

fn signed(kind: Type, code: u64) -> i128 {
    let up = 64 - kind.bits();
    if kind.is_signed() { i128::from((code << up) as i64 >> up) } else { i128::from(code) }
}

/// The least and the greatest number of an integer type.
fn range(kind: Type) -> (i128, i128) {
    let bits = kind.bits();
    if kind.is_signed() { (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) } else { (0, (1 << bits) - 1) }
}

fn integer_to_integer(to: Type, from: Type, code: u64, saturate: bool) -> u64 {
    let value = signed(from, code);
    let (least, greatest) = range(to);
    if saturate { value.clamp(least, greatest) as u64 } else { value as u64 }
}

/// A whole number of the same sign.
fn rounded(value: Real, rounding: Rounding) -> Real {
    if value.exponent >= 0 {
        return value;
    }
    let below = value.exponent.unsigned_abs();
    let (kept, half, rest) = match below {
        1..=127 => {
            let half = value.significand >> (below - 1) & 1 == 1;
            (value.significand >> below, half, value.significand & ((1 << (below - 1)) - 1) != 0)
        }
        _ => (0, false, value.significand != 0),
    };
    let up = rounding.rounds_up(value.negative, kept & 1 == 1, half, rest);
    Real { significand: kept + u128::from(up), exponent: 0, ..value }
}

/// NaN becomes zero; of FP64, and of integers of 64 bits, the number whose first bit alone is set (PTX ISA, `cvt`).
fn float_to_integer(format: &Format, to: Type, code: u64, rounding: Rounding) -> u64 {
    let value = decode(format, code);
    let (least, greatest) = range(to);
    match value.class {
        Class::Nan if *format == F64 || to.bits() == 64 => 1 << (to.bits() - 1),
        Class::Nan => 0,
        Class::Infinity => {
            if value.negative {
                least as u64
            } else {
                greatest as u64
            }
        }
        _ => {
            let whole = rounded(value.real(format), rounding);
            let magnitude = match whole.exponent {
                exponent if exponent > 64 && whole.significand != 0 => 1 << 100,
                exponent => whole.significand.checked_shl(exponent as u32).unwrap_or(0),
            };
            let magnitude = magnitude.min(1 << 100) as i128;
            let value = if whole.negative { -magnitude } else { magnitude };
            value.clamp(least, greatest) as u64
        }
    }
}

fn to_integral(format: &Format, code: u64, rounding: Rounding) -> u64 {
    let value = decode(format, code);
    match value.class {
        Class::Nan => nan(format).unwrap_or(single::NAN.into()),
        Class::Infinity | Class::Zero => code,
        Class::Finite => encode(format, rounded(value.real(format), rounding), rounding, Overflow::Ieee),
    }
}
