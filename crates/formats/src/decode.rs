//! From a code to sign, exponent and significand.

use crate::encode::Real;
use crate::format::{Format, Sign, Specials};

/// What kind of value a code is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Class {
    /// Zero of either sign.
    Zero,
    /// A normal or subnormal number.
    Finite,
    /// Infinity of either sign.
    Infinity,
    /// Not a number.
    Nan,
}

/// A code unpacked. For finite values the value is
/// `(-1)^negative * significand * 2^(exponent - fraction_bits)`, `fraction_bits` being the format's.
///
/// `exponent` is the paper's Exp(x): the unbiased exponent of a normal number, the format's minimum
/// exponent of a subnormal number and of zero. The significand is not normalized. For infinity and NaN
/// `exponent` and `significand` are 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Unpacked {
    /// What kind of value it is.
    pub class: Class,
    /// The sign bit; false for unsigned formats.
    pub negative: bool,
    /// The paper's Exp(x), a power of two.
    pub exponent: i32,
    /// The significand in units of 2^-fraction_bits, implicit bit included.
    pub significand: u64,
}

impl Unpacked {
    /// The significand with its sign (paper: SignedSig(x), in units of 2^-fraction_bits).
    #[inline]
    pub const fn signed_significand(&self) -> i64 {
        let magnitude = self.significand as i64; // at most 53 bits
        if self.negative { -magnitude } else { magnitude }
    }

    /// The value of a finite number or zero that was taken from a code of `format`.
    #[inline]
    pub fn real(&self, format: &Format) -> Real {
        Real {
            negative: self.negative,
            significand: self.significand.into(),
            exponent: self.exponent - format.fraction_bits as i32,
            inexact: false,
        }
    }

    /// Zero or a finite number.
    #[inline]
    pub const fn is_finite(&self) -> bool {
        matches!(self.class, Class::Zero | Class::Finite)
    }
}

impl Format {
    /// Whether a code is NaN.
    pub fn is_nan(&self, code: u64) -> bool {
        decode(self, code).class == Class::Nan
    }
}

/// As [`decode`], of an integer.
#[inline(never)] // what decodes floating-point numbers would not have it beside every code
fn decode_integer(format: &Format, code: u64) -> Unpacked {
    let value = format.integer(code);
    let class = if value == 0 { Class::Zero } else { Class::Finite };
    let (negative, significand) = (value < 0, value.unsigned_abs());
    Unpacked { class, negative, exponent: format.min_exponent(), significand }
}

/// Takes a code apart. Bits above the format's width and padding bits are ignored.
#[inline]
pub fn decode(format: &Format, code: u64) -> Unpacked {
    if format.is_integer() {
        return decode_integer(format, code);
    }
    let negative = matches!(format.sign, Sign::Signed) && (code >> (format.bits() - 1)) & 1 == 1;
    let bits = code >> format.padding_bits;
    let fraction = bits & ((1 << format.fraction_bits) - 1);
    let exponent_ones = (1u64 << format.exponent_bits) - 1;
    let exponent_field = (bits >> format.fraction_bits) & exponent_ones;

    let special = |class| Unpacked { class, negative, exponent: 0, significand: 0 };
    match format.specials {
        Specials::Ieee if exponent_field == exponent_ones => {
            return special(if fraction == 0 { Class::Infinity } else { Class::Nan });
        }
        Specials::AllOnesNan
            if exponent_field == exponent_ones && fraction == (1 << format.fraction_bits) - 1 =>
        {
            return special(Class::Nan);
        }
        Specials::NegativeZeroNan if negative && exponent_field == 0 && fraction == 0 => {
            return special(Class::Nan);
        }
        _ => {}
    }

    if format.subnormals && exponent_field == 0 {
        let class = if fraction == 0 { Class::Zero } else { Class::Finite };
        return Unpacked { class, negative, exponent: format.min_exponent(), significand: fraction };
    }
    let significand = fraction | (1 << format.fraction_bits);
    Unpacked { class: Class::Finite, negative, exponent: exponent_field as i32 - format.bias, significand }
}
