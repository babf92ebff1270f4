//! FP64 by the host in rounding to nearest, and operations of any format in integers.

use bitmma_engine::formats::{Class, F64, Format, Overflow, Real, Rounding, decode, encode};
use bitmma_functions::float::{self, nan};

use super::float::Mode;

/// The NaN that arithmetic returns in FP64.
pub(crate) const NAN: u64 = 0xfff8_0000_0000_0000;

#[inline(always)]
pub(crate) fn of(value: f64) -> u64 {
    if value.is_nan() { NAN } else { value.to_bits() }
}

#[inline(always)]
pub(crate) fn is_nan(code: u64) -> bool {
    code & !(1 << 63) > 0x7ff0_0000_0000_0000
}

fn mode(mode: Mode) -> float::Mode {
    float::Mode { rounding: mode.rounding, ftz: mode.flush }
}

/// x · y + z in any format and rounding.
pub(crate) fn fma(format: &Format, at: Mode, x: u64, y: u64, z: u64) -> u64 {
    float::fma(format, x, y, z, mode(at))
}

pub(crate) fn add(format: &Format, at: Mode, x: u64, y: u64) -> u64 {
    float::add(format, x, y, mode(at))
}

pub(crate) fn multiply(format: &Format, at: Mode, x: u64, y: u64) -> u64 {
    float::multiply(format, x, y, mode(at))
}

fn flushed(format: &Format, at: Mode, code: u64) -> u64 {
    if at.flush { float::flush(format, code) } else { code }
}

fn special(format: &Format, infinity: Option<bool>) -> u64 {
    match (infinity, format.infinity_code()) {
        (Some(negative), Some(code)) => code | if negative { format.sign_bit() } else { 0 },
        _ => nan(format).unwrap_or(0),
    }
}

/// x / y in FP32 or FP64, in any rounding.
pub(crate) fn divide(format: &Format, at: Mode, x: u64, y: u64) -> u64 {
    let [x, y] = [x, y].map(|code| decode(format, flushed(format, at, code)));
    let negative = x.negative != y.negative;
    match (x.class, y.class) {
        (Class::Nan, _)
        | (_, Class::Nan)
        | (Class::Zero, Class::Zero)
        | (Class::Infinity, Class::Infinity) => return special(format, None),
        (Class::Infinity, _) | (_, Class::Zero) => return special(format, Some(negative)),
        (Class::Zero, _) | (_, Class::Infinity) => return if negative { format.sign_bit() } else { 0 },
        _ => {}
    }
    let (x, y) = (x.real(format), y.real(format));
    // 70 bits or more of the quotient
    let shift = x.significand.leading_zeros() as i32;
    let whole = x.significand << shift;
    let value = Real {
        negative,
        significand: whole / y.significand,
        exponent: x.exponent - shift - y.exponent,
        inexact: !whole.is_multiple_of(y.significand),
    };
    flushed(format, at, encode(format, value, at.rounding, Overflow::Ieee))
}

/// √x in FP32 or FP64, in any rounding.
pub(crate) fn square_root(format: &Format, at: Mode, x: u64) -> u64 {
    let code = flushed(format, at, x);
    let x = decode(format, code);
    match x.class {
        Class::Zero => return code,
        Class::Nan => return special(format, None),
        _ if x.negative => return special(format, None),
        Class::Infinity => return special(format, Some(false)),
        Class::Finite => {}
    }
    let x = x.real(format);
    let shift = x.significand.leading_zeros() as i32;
    let shift = shift - (x.exponent - shift).rem_euclid(2);
    let whole = x.significand << shift;
    let root = whole.isqrt();
    let value = Real {
        negative: false,
        significand: root,
        exponent: (x.exponent - shift) / 2,
        inexact: root * root != whole,
    };
    flushed(format, at, encode(format, value, at.rounding, Overflow::Ieee))
}

/// FP64 multiply-add to nearest.
pub(crate) fn fma_nearest(x: u64, y: u64, z: u64) -> u64 {
    fma(&F64, Mode { rounding: Rounding::NearestEven, ..Mode::NEAREST }, x, y, z)
}
