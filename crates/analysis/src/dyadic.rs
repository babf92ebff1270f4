//! Integers times powers of two: exact sums, products and comparisons of any size.

use std::cmp::Ordering;
use std::ops::{Add, AddAssign, Mul, Neg, Sub};

use bitmma_engine::arithmetic::exact::Exact;
use bitmma_engine::explain::json::Number;
use bitmma_engine::formats::{Format, decode};
use dashu_int::ops::BitTest;
use dashu_int::{IBig, Sign, UBig};
use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};

use crate::number;

/// `significand * 2^exponent`, exact; equal numbers may be written in several ways.
#[derive(Clone, Debug, Default)]
pub struct Dyadic {
    significand: IBig,
    exponent: i64,
}

impl Dyadic {
    /// Zero.
    pub const ZERO: Dyadic = Dyadic { significand: IBig::ZERO, exponent: 0 };

    /// `significand * 2^exponent`.
    pub fn new(significand: i128, exponent: i64) -> Dyadic {
        Dyadic { significand: IBig::from(significand), exponent }
    }

    /// 2^exponent.
    pub fn power(exponent: i64) -> Dyadic {
        Dyadic { significand: IBig::ONE, exponent }
    }

    /// The value of a code; `None` for infinity and NaN.
    pub fn of_code(format: &Format, code: u64) -> Option<Dyadic> {
        let unpacked = decode(format, code);
        unpacked.is_finite().then(|| {
            let exponent = i64::from(unpacked.exponent) - i64::from(format.fraction_bits);
            Dyadic::new(i128::from(unpacked.signed_significand()), exponent)
        })
    }

    /// Significand, in hexadecimal digits, and exponent.
    pub fn to_hex(&self) -> (String, i64) {
        (format!("{:x}", self.significand), self.exponent)
    }

    /// Whether it is zero.
    pub fn is_zero(&self) -> bool {
        self.significand == IBig::ZERO
    }

    /// Whether it is below zero.
    pub fn is_negative(&self) -> bool {
        self.significand < IBig::ZERO
    }

    /// |x|
    pub fn magnitude(&self) -> Dyadic {
        if self.is_negative() { -self } else { self.clone() }
    }

    /// The largest power of two that is not above |x|, as an exponent; `None` for zero.
    pub fn floor_log2(&self) -> Option<i64> {
        let (_, magnitude) = self.significand.clone().into_parts();
        (magnitude != UBig::ZERO).then(|| self.exponent + magnitude.bit_len() as i64 - 1)
    }

    /// x · 2^power.
    #[must_use]
    pub fn scaled(&self, power: i64) -> Dyadic {
        Dyadic { significand: self.significand.clone(), exponent: self.exponent + power }
    }

    /// x · count.
    #[must_use]
    pub fn times(&self, count: usize) -> Dyadic {
        Dyadic { significand: &self.significand * IBig::from(count), exponent: self.exponent }
    }

    /// The nearest multiple of 2^last, ties to even.
    #[must_use]
    pub fn rounded_to_even(&self, last: i64) -> Dyadic {
        if self.exponent >= last || self.is_zero() {
            return self.clone();
        }
        let cut = (last - self.exponent) as usize;
        let (sign, magnitude) = self.significand.clone().into_parts();
        let kept = &magnitude >> cut;
        let twice = (magnitude - (&kept << cut)) << 1;
        let unit = UBig::ONE << cut;
        let up = twice > unit || (twice == unit && kept.bit(0));
        let kept = if up { kept + UBig::ONE } else { kept };
        Dyadic { significand: IBig::from_parts(sign, kept), exponent: last }
    }

    /// The nearest FP64 number, ties to even, for a picture or a quotient; beyond its range ±infinity
    /// or zero.
    pub fn to_f64(&self) -> f64 {
        let (sign, magnitude) = self.significand.clone().into_parts();
        let bits = magnitude.bit_len() as i64;
        if bits == 0 {
            return 0.0;
        }
        // 62 bits and a last one for whatever lies below them: twice what FP64 needs to round rightly
        let cut = (bits - 62).max(0);
        let top = &magnitude >> cut as usize;
        let rest = cut > 0 && (&top << cut as usize) != magnitude;
        let mut value = (u64::try_from(&top).unwrap_or(u64::MAX) | u64::from(rest)) as f64;
        let mut power = (self.exponent + cut).clamp(-5000, 5000);
        while power != 0 {
            let step = power.clamp(-1000, 1000);
            value *= f64::from_bits(((1023 + step) as u64) << 52);
            power -= step;
        }
        if sign == Sign::Negative { -value } else { value }
    }

    /// self / other for a table; zero over zero is zero.
    pub fn ratio(&self, other: &Dyadic) -> f64 {
        if self.is_zero() {
            return 0.0;
        }
        // brought near one first, so that neither over- nor underflows
        let shift = other.floor_log2().unwrap_or(0);
        self.scaled(-shift).to_f64() / other.scaled(-shift).to_f64()
    }

    /// The significands of two numbers at their smaller exponent.
    fn aligned(&self, other: &Dyadic) -> (IBig, IBig, i64) {
        let exponent = match (self.is_zero(), other.is_zero()) {
            (true, _) => other.exponent,
            (_, true) => self.exponent,
            _ => self.exponent.min(other.exponent),
        };
        let at = |x: &Dyadic| match x.is_zero() {
            true => IBig::ZERO,
            false if x.exponent == exponent => x.significand.clone(),
            false => &x.significand << (x.exponent - exponent) as usize,
        };
        (at(self), at(other), exponent)
    }
}

/// Characters that an exact decimal may take before a number is written in hexadecimal.
const DECIMAL: usize = 18;
/// Characters that an exact hexadecimal number may take before only its leading digits are written.
const HEXADECIMAL: usize = 30;

impl Dyadic {
    /// An odd significand and its exponent; zero as it is.
    fn reduced(&self) -> (Sign, UBig, i64) {
        let (sign, magnitude) = self.significand.clone().into_parts();
        let zeros = magnitude.trailing_zeros().unwrap_or(0);
        (sign, magnitude >> zeros, self.exponent + zeros as i64)
    }

    /// The exact decimal, if it takes at most 18 characters.
    fn decimal(&self) -> Option<String> {
        let (sign, odd, exponent) = self.reduced();
        if odd == UBig::ZERO {
            return Some("0".to_owned());
        }
        // a decimal of that length has no more than 60 bits after the point, or in all
        if exponent < -60 || exponent + odd.bit_len() as i64 > 60 {
            return None;
        }
        let places = (-exponent).max(0) as usize;
        // x = odd·2^exponent = odd·5^places / 10^places
        let digits = match exponent >= 0 {
            true => (odd << exponent as usize).to_string(),
            false => (odd * UBig::from(5_u8).pow(places)).to_string(),
        };
        let digits = format!("{digits:0>width$}", width = places + 1);
        let (whole, fraction) = digits.split_at(digits.len() - places);
        let minus = if sign == Sign::Negative { "-" } else { "" };
        let point = if fraction.is_empty() { "" } else { "." };
        let text = format!("{minus}{whole}{point}{fraction}");
        (text.len() <= DECIMAL).then_some(text)
    }
}

/// The exact value as a reader wants it: a decimal, a power of two (`2^-126`), or a hexadecimal float; after `≈` its leading
/// digits where even that is long.
impl std::fmt::Display for Dyadic {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if let Some(text) = self.decimal() {
            return f.pad(&text);
        }
        let (sign, odd, exponent) = self.reduced();
        let minus = if sign == Sign::Negative { "-" } else { "" };
        if odd == UBig::ONE {
            return f.pad(&format!("{minus}2^{exponent}"));
        }
        let bits = odd.bit_len() - 1;
        // the fraction, filled up to whole hexadecimal digits
        let digits = bits.div_ceil(4);
        let fraction = (odd - (UBig::ONE << bits)) << (4 * digits - bits);
        let text = format!("{minus}0x1.{fraction:0>digits$x}p{:+}", exponent + bits as i64);
        if text.len() <= HEXADECIMAL {
            return f.pad(&text);
        }
        f.pad(&format!("≈{:.16e}", self.to_f64()))
    }
}

impl Dyadic {
    /// The nearest decimal of that many digits, 17 at most; a power of two where it is beyond FP64.
    pub fn rounded(&self, digits: usize) -> String {
        let nearest = self.to_f64();
        match self.floor_log2() {
            Some(power) if nearest == 0.0 || nearest.is_infinite() => {
                format!("≈{}2^{power}", if self.is_negative() { "-" } else { "" })
            }
            _ => number::rounded(nearest, digits),
        }
    }
}

/// The nearest FP64 number, and exactly: a significand in hex, times two to an exponent.
impl Serialize for Dyadic {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let (digits, exponent) = self.to_hex();
        let (minus, digits) = digits.strip_prefix('-').map_or(("", &*digits), |digits| ("-", digits));
        let mut object = to.serialize_struct("Dyadic", 3)?;
        object.serialize_field("value", &Number::from(self.to_f64()))?;
        object.serialize_field("significand", &format!("{minus}0x{digits}"))?;
        object.serialize_field("exponent", &exponent)?;
        object.end()
    }
}

impl From<Exact> for Dyadic {
    fn from(exact: Exact) -> Dyadic {
        Dyadic::new(exact.significand, i64::from(exact.exponent))
    }
}

impl Neg for &Dyadic {
    type Output = Dyadic;
    fn neg(self) -> Dyadic {
        Dyadic { significand: -&self.significand, exponent: self.exponent }
    }
}

impl Add for &Dyadic {
    type Output = Dyadic;
    fn add(self, other: &Dyadic) -> Dyadic {
        let (x, y, exponent) = self.aligned(other);
        Dyadic { significand: x + y, exponent }
    }
}

impl AddAssign<&Dyadic> for Dyadic {
    fn add_assign(&mut self, other: &Dyadic) {
        *self = &*self + other;
    }
}

impl Sub for &Dyadic {
    type Output = Dyadic;
    fn sub(self, other: &Dyadic) -> Dyadic {
        let (x, y, exponent) = self.aligned(other);
        Dyadic { significand: x - y, exponent }
    }
}

impl Mul for &Dyadic {
    type Output = Dyadic;
    fn mul(self, other: &Dyadic) -> Dyadic {
        Dyadic {
            significand: &self.significand * &other.significand,
            exponent: self.exponent + other.exponent,
        }
    }
}

impl PartialEq for Dyadic {
    fn eq(&self, other: &Dyadic) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Dyadic {}

impl PartialOrd for Dyadic {
    fn partial_cmp(&self, other: &Dyadic) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Dyadic {
    fn cmp(&self, other: &Dyadic) -> Ordering {
        let (x, y, _) = self.aligned(other);
        x.cmp(&y)
    }
}

#[cfg(test)]
mod tests {
    use super::Dyadic;

    #[test]
    fn exact_where_fp64_is_not() {
        let (large, small) = (Dyadic::power(1000), Dyadic::power(-1000));
        assert_eq!(&(&(&large + &small) - &large), &small);
        assert_eq!(Dyadic::new(12, 3), Dyadic::new(3, 5));
        assert!(Dyadic::new(-1, 900) < Dyadic::new(1, -900));
        assert_eq!(Dyadic::new(12, 0).floor_log2(), Some(3));
        assert_eq!(Dyadic::ZERO.floor_log2(), None);
    }

    #[test]
    fn text_is_exact_and_says_where_it_is_not() {
        let shown = |significand, exponent| Dyadic::new(significand, exponent).to_string();
        assert_eq!(shown(0, 5), "0");
        assert_eq!(shown(0, -5), "0");
        assert_eq!(shown(-7, -3), "-0.875");
        assert_eq!(shown(-67_108_871, -3), "-8388608.875");
        assert_eq!(shown(3, 10), "3072");
        assert_eq!(shown(1, -126), "2^-126");
        assert_eq!(shown(-1, 200), "-2^200");
        assert_eq!(shown(0x10001, -16), "1.0000152587890625");
        assert_eq!(shown(0x100_0001, -24), "0x1.000001p+0");
        assert_eq!(shown(5, -100), "0x1.4p-98");
        assert_eq!(shown(-(1 + (1 << 120)), -120), "≈-1.0000000000000000e0");
    }

    #[test]
    fn to_fp64_rounds_to_nearest_even() {
        let one_and =
            |bits: &[i64]| bits.iter().fold(Dyadic::power(0), |sum, bit| &sum + &Dyadic::power(*bit));
        assert_eq!(one_and(&[-53]).to_f64().to_bits(), 1.0_f64.to_bits());
        assert_eq!(one_and(&[-53, -300]).to_f64().to_bits(), 1.0_f64.to_bits() + 1);
        assert_eq!(one_and(&[-52, -53]).to_f64().to_bits(), 1.0_f64.to_bits() + 2);
        assert_eq!((-&Dyadic::power(-1074)).to_f64().to_bits(), (-f64::from_bits(1)).to_bits());
        assert!(Dyadic::power(2000).to_f64().is_infinite());
        assert!((Dyadic::power(-4000).ratio(&Dyadic::power(-4001)) - 2.0).abs() < 1e-15);
    }
}
