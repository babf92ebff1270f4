//! Exact rationals whose denominators are powers of two: all that sums of products ever need.

use std::cmp::Ordering;
use std::ops::{Add, Mul};

use bitmma_formats::Rounding;
use dashu_int::ops::{Abs, BitTest};
use dashu_int::{IBig, UBig};
use dashu_ratio::Relaxed;

/// A rational number whose denominator is a power of two.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Dyadic(Relaxed);

impl Dyadic {
    /// Zero.
    pub(super) const ZERO: Dyadic = Dyadic(Relaxed::ZERO);

    /// `significand * 2^exponent`.
    pub(super) fn new(significand: impl Into<IBig>, exponent: i64) -> Dyadic {
        Dyadic(Relaxed::from(significand.into())).scaled(exponent)
    }

    /// Whether the number is zero.
    pub(super) fn is_zero(&self) -> bool {
        self.0.is_zero()
    }

    /// Whether the number is below zero.
    pub(super) fn is_negative(&self) -> bool {
        self.0 < Relaxed::ZERO
    }

    /// The number without its sign.
    pub(super) fn magnitude(&self) -> Dyadic {
        Dyadic(self.0.clone().abs())
    }

    /// The number with the other sign.
    pub(super) fn negated(&self) -> Dyadic {
        Dyadic(-&self.0)
    }

    /// `self * 2^power`.
    pub(super) fn scaled(&self, power: i64) -> Dyadic {
        let factor = UBig::ONE << (power.unsigned_abs() as usize);
        Dyadic(if power < 0 { &self.0 / factor } else { &self.0 * factor })
    }

    /// The largest integer n with `2^n <= |self|`; the number is not zero.
    pub(super) fn floor_log2(&self) -> i64 {
        debug_assert!(!self.is_zero(), "zero has no logarithm");
        self.0.numerator().bit_len() as i64 - self.0.denominator().bit_len() as i64
    }

    /// The largest integer that is not above the number.
    pub(super) fn floor(&self) -> IBig {
        self.0.floor()
    }

    /// The integer that stands for the number under `rule`; an integer stands for itself.
    pub(super) fn to_integer(&self, rule: Rounding) -> IBig {
        let floor = self.floor();
        let fraction = &self.0 - &floor;
        if fraction.is_zero() {
            return floor;
        }
        let ceiling = &floor + IBig::ONE;
        let half = Relaxed::from_parts(IBig::ONE, UBig::from(2u8));
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
        Dyadic::new(self.scaled(-quantum).to_integer(rule), quantum)
    }
}

impl Add for &Dyadic {
    type Output = Dyadic;

    fn add(self, other: &Dyadic) -> Dyadic {
        Dyadic(&self.0 + &other.0)
    }
}

impl Mul for &Dyadic {
    type Output = Dyadic;

    fn mul(self, other: &Dyadic) -> Dyadic {
        Dyadic(&self.0 * &other.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
