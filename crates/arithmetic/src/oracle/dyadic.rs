//! Exact rationals whose denominators are powers of two: all that sums of products ever need.

use std::cmp::Ordering;
use std::ops::{Add, Mul, Sub};

use bitmma_formats::Rounding;
use dashu_int::IBig;
use dashu_int::ops::BitTest;

/// The rational number `significand * 2^exponent`; not normalised, so one number has many writings.
#[derive(Clone, Debug)]
pub(super) struct Dyadic {
    significand: IBig,
    exponent: i64,
}

impl Dyadic {
    /// Zero.
    pub(super) const ZERO: Dyadic = Dyadic { significand: IBig::ZERO, exponent: 0 };

    /// `significand * 2^exponent`.
    pub(super) fn new(significand: impl Into<IBig>, exponent: i64) -> Dyadic {
        Dyadic { significand: significand.into(), exponent }
    }

    /// Whether the number is zero.
    pub(super) fn is_zero(&self) -> bool {
        self.significand.is_zero()
    }

    /// Whether the number is below zero.
    pub(super) fn is_negative(&self) -> bool {
        self.significand < IBig::ZERO
    }

    /// The number without its sign.
    pub(super) fn magnitude(&self) -> Dyadic {
        if self.is_negative() { self.negated() } else { self.clone() }
    }

    /// The number with the other sign.
    pub(super) fn negated(&self) -> Dyadic {
        Dyadic { significand: -&self.significand, exponent: self.exponent }
    }

    /// `self * 2^power`.
    pub(super) fn scaled(&self, power: i64) -> Dyadic {
        Dyadic { significand: self.significand.clone(), exponent: self.exponent + power }
    }

    /// The largest integer n with `2^n <= |self|`; the number is not zero.
    pub(super) fn floor_log2(&self) -> i64 {
        debug_assert!(!self.is_zero(), "zero has no logarithm");
        self.significand.bit_len() as i64 - 1 + self.exponent
    }

    /// The largest integer that is not above the number.
    pub(super) fn floor(&self) -> IBig {
        match usize::try_from(self.exponent) {
            Ok(up) => &self.significand << up,
            Err(_) => &self.significand >> (self.exponent.unsigned_abs() as usize),
        }
    }

    /// The integer that stands for the number under `rule`; an integer stands for itself.
    pub(super) fn to_integer(&self, rule: Rounding) -> IBig {
        let floor = self.floor();
        let fraction = self - &Dyadic::new(floor.clone(), 0);
        if fraction.is_zero() {
            return floor;
        }
        let ceiling = &floor + IBig::ONE;
        let half = Dyadic::new(1, -1);
        let (toward_zero, away) = if self.is_negative() { (&ceiling, &floor) } else { (&floor, &ceiling) };
        let (even, odd) = if floor.bit(0) { (&ceiling, &floor) } else { (&floor, &ceiling) };
        let nearest_or = |tie| match fraction.cmp(&half) {
            Ordering::Less => &floor,
            Ordering::Equal => tie,
            Ordering::Greater => &ceiling,
        };
        match rule {
            Rounding::TowardZero => toward_zero,
            Rounding::AwayFromZero => away,
            Rounding::Up => &ceiling,
            Rounding::Down => &floor,
            Rounding::NearestEven => nearest_or(even),
            Rounding::NearestOdd => nearest_or(odd),
            Rounding::NearestUp => nearest_or(&ceiling),
            Rounding::NearestDown => nearest_or(&floor),
            Rounding::NearestZero => nearest_or(toward_zero),
            Rounding::NearestAway => nearest_or(away),
            Rounding::ToOdd => odd,
        }
        .clone()
    }

    /// The multiple of `2^quantum` that stands for the number under `rule`.
    ///
    /// The paper's "cut to F fractional bits after the exponent e" is `cut(e - F, rule)`.
    pub(super) fn cut(&self, quantum: i64, rule: Rounding) -> Dyadic {
        if self.exponent >= quantum {
            return self.clone(); // an integer times 2^quantum already
        }
        Dyadic { significand: self.scaled(-quantum).to_integer(rule), exponent: quantum }
    }

    /// The significand the number has when written with this exponent, not above its own.
    fn significand_at(&self, exponent: i64) -> IBig {
        &self.significand << ((self.exponent - exponent) as usize)
    }
}

impl Add for &Dyadic {
    type Output = Dyadic;

    fn add(self, other: &Dyadic) -> Dyadic {
        if self.is_zero() {
            return other.clone();
        }
        if other.is_zero() {
            return self.clone();
        }
        let exponent = self.exponent.min(other.exponent);
        Dyadic { significand: self.significand_at(exponent) + other.significand_at(exponent), exponent }
    }
}

impl Sub for &Dyadic {
    type Output = Dyadic;

    fn sub(self, other: &Dyadic) -> Dyadic {
        let exponent = self.exponent.min(other.exponent);
        Dyadic { significand: self.significand_at(exponent) - other.significand_at(exponent), exponent }
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
        let exponent = self.exponent.min(other.exponent);
        self.significand_at(exponent).cmp(&other.significand_at(exponent))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dashu_ratio::RBig;

    /// The same number as a general rational.
    fn ratio(x: &Dyadic) -> RBig {
        let power = IBig::ONE << (x.exponent.unsigned_abs() as usize);
        if x.exponent < 0 {
            RBig::from_parts_signed(x.significand.clone(), power)
        } else {
            RBig::from(&x.significand * power)
        }
    }

    #[test]
    fn agrees_with_general_rationals() {
        let numbers: Vec<Dyadic> = (-9..=9).flat_map(|s| (-4..=4).map(move |e| Dyadic::new(s, e))).collect();
        for x in &numbers {
            assert_eq!(x.floor(), ratio(x).floor(), "{x:?}");
            for y in &numbers {
                assert_eq!(ratio(&(x + y)), ratio(x) + ratio(y), "{x:?} + {y:?}");
                assert_eq!(ratio(&(x - y)), ratio(x) - ratio(y), "{x:?} - {y:?}");
                assert_eq!(ratio(&(x * y)), ratio(x) * ratio(y), "{x:?} * {y:?}");
                assert_eq!(x.cmp(y), ratio(x).cmp(&ratio(y)), "{x:?} against {y:?}");
            }
        }
    }

    #[test]
    fn logarithm_is_the_place_of_the_leading_bit() {
        for (significand, exponent, expected) in [(1, 0, 0), (-1, 5, 5), (3, -1, 0), (-4, -2, 0), (255, 1, 8)]
        {
            assert_eq!(Dyadic::new(significand, exponent).floor_log2(), expected);
        }
    }

    /// Quarters from -2 to 2, rounded by hand.
    #[test]
    fn eleven_rules() {
        use Rounding::*;
        #[rustfmt::skip]
        let rows: [(Rounding, [i32; 17]); 11] = [
            //            -2 -1.75 -1.5 -1.25 -1 -.75 -.5 -.25 0 .25 .5 .75 1 1.25 1.5 1.75 2
            (TowardZero,   [-2, -1, -1, -1, -1,  0,  0,  0, 0, 0, 0, 0, 1, 1, 1, 1, 2]),
            (AwayFromZero, [-2, -2, -2, -2, -1, -1, -1, -1, 0, 1, 1, 1, 1, 2, 2, 2, 2]),
            (Up,           [-2, -1, -1, -1, -1,  0,  0,  0, 0, 1, 1, 1, 1, 2, 2, 2, 2]),
            (Down,         [-2, -2, -2, -2, -1, -1, -1, -1, 0, 0, 0, 0, 1, 1, 1, 1, 2]),
            (NearestEven,  [-2, -2, -2, -1, -1, -1,  0,  0, 0, 0, 0, 1, 1, 1, 2, 2, 2]),
            (NearestOdd,   [-2, -2, -1, -1, -1, -1, -1,  0, 0, 0, 1, 1, 1, 1, 1, 2, 2]),
            (NearestUp,    [-2, -2, -1, -1, -1, -1,  0,  0, 0, 0, 1, 1, 1, 1, 2, 2, 2]),
            (NearestDown,  [-2, -2, -2, -1, -1, -1, -1,  0, 0, 0, 0, 1, 1, 1, 1, 2, 2]),
            (NearestZero,  [-2, -2, -1, -1, -1, -1,  0,  0, 0, 0, 0, 1, 1, 1, 1, 2, 2]),
            (NearestAway,  [-2, -2, -2, -1, -1, -1, -1,  0, 0, 0, 1, 1, 1, 1, 2, 2, 2]),
            (ToOdd,        [-2, -1, -1, -1, -1, -1, -1, -1, 0, 1, 1, 1, 1, 1, 1, 1, 2]),
        ];
        for (rule, expected) in rows {
            for (index, expected) in expected.into_iter().enumerate() {
                let x = Dyadic::new(index as i32 - 8, -2);
                assert_eq!(x.to_integer(rule), IBig::from(expected), "{rule} of {}/4", index as i32 - 8);
                // the same a thousand places further down
                let cut = x.scaled(-1000).cut(-1000, rule);
                assert_eq!(cut, Dyadic::new(expected, -1000), "{rule} of {}/4 * 2^-1000", index as i32 - 8);
            }
        }
    }
}
