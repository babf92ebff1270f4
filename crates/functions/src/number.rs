//! A number of FP32 by its sign, exponent and fraction.

use bitmma_formats::{F32, Overflow, Real, Rounding, encode};

use crate::float::f32_code;
use crate::polynomial::{FRACTION, FRACTION_BITS};

/// The sign bit, and the code of -0.
pub(crate) const SIGN: u32 = 1 << 31;

/// A number other than zero: (-1)^negative · 1.fraction · 2^exponent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Number {
    pub(crate) negative: bool,
    pub(crate) exponent: i32,
    pub(crate) fraction: u32,
}

impl Number {
    /// The number of a code that is neither zero nor infinite nor NaN.
    pub(crate) fn of(x: u32) -> Number {
        let (negative, field, fraction) = (x & SIGN != 0, (x >> FRACTION_BITS & 0xff) as i32, x & FRACTION);
        if field != 0 {
            return Number { negative, exponent: field - F32.bias, fraction };
        }
        let shift = fraction.leading_zeros() - (31 - FRACTION_BITS);
        Number {
            negative,
            exponent: F32.min_exponent() - shift as i32,
            fraction: fraction << shift & FRACTION,
        }
    }

    /// 1.fraction in units of 2^-23.
    pub(crate) const fn significand(&self) -> u32 {
        1 << FRACTION_BITS | self.fraction
    }

    /// The code, rounded to nearest even where the number is subnormal.
    pub(crate) fn code(self) -> u32 {
        let sign = if self.negative { SIGN } else { 0 };
        if (F32.min_exponent()..=F32.max_exponent()).contains(&self.exponent) {
            return sign | ((self.exponent + F32.bias) as u32) << FRACTION_BITS | self.fraction;
        }
        let value = Real {
            negative: self.negative,
            significand: self.significand().into(),
            exponent: self.exponent - FRACTION_BITS as i32,
            inexact: false,
        };
        f32_code(encode(&F32, value, Rounding::NearestEven, Overflow::Ieee))
    }
}
