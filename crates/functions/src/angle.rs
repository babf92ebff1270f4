//! Range reduction of `sin` and `cos`: a quadrant and a fraction of it, by FP64 steps.

use bitmma_formats::{F64, Overflow, Real, Rounding, decode, encode};

use crate::number::Number;
use crate::polynomial::{FRACTION, FRACTION_BITS};

/// 2/π in FP32: 0x1.45f306p-1, in units of 2^-24.
pub(crate) const QUADRANTS_PER_RADIAN: u64 = 0xa2_f983;
const QUADRANTS_PER_RADIAN_EXPONENT: i32 = -24;
/// π/2: 0x1.921fb6546df20p0, in units of 2^-47.
pub(crate) const QUADRANT: u64 = 0xc90f_db2a_36f9;
const QUADRANT_EXPONENT: i32 = -47;
/// The largest rest: 0x1.921fb6p0, in units of 2^-47.
pub(crate) const LIMIT: u64 = 0xc90f_db00_0000;
/// From 2^33 on, a magnitude counts as zero.
pub(crate) const LARGEST_EXPONENT: i32 = 32;

/// An angle in quadrants: quadrant + fraction · 2^-23.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Angle {
    /// 0 to 3.
    pub(crate) quadrant: u32,
    /// 23 bits.
    pub(crate) fraction: u32,
    /// How many of the lower bits of quadrant and fraction were cleared.
    pub(crate) cleared: u32,
}

/// A number that FP64 holds, not negative: significand · 2^exponent.
#[derive(Clone, Copy)]
struct Double {
    significand: u64,
    exponent: i32,
}

impl Double {
    /// The nearest to significand · 2^exponent, ties to even.
    fn nearest(significand: u128, exponent: i32) -> Double {
        let exact = Real { negative: false, significand, exponent, inexact: false };
        let value = decode(&F64, encode(&F64, exact, Rounding::NearestEven, Overflow::Ieee));
        Double { significand: value.significand, exponent: value.exponent - F64.fraction_bits as i32 }
    }

    /// This number times 2/π in FP32, rounded to nearest even.
    fn in_quadrants(self) -> Double {
        let product = u128::from(self.significand) * u128::from(QUADRANTS_PER_RADIAN);
        Double::nearest(product, self.exponent + QUADRANTS_PER_RADIAN_EXPONENT)
    }

    /// The exponent of its first bit; of zero, that of 1.
    fn first(self) -> i32 {
        if self.significand == 0 { 0 } else { self.exponent + 63 - self.significand.leading_zeros() as i32 }
    }

    /// Its units, cut to an integer; below 2^64.
    fn integer(self) -> u64 {
        match self.exponent {
            0.. => self.significand << self.exponent,
            _ => self.significand.checked_shr(self.exponent.unsigned_abs()).unwrap_or(0),
        }
    }
}

/// The angle of the magnitude of a number; `None` where it counts as zero.
pub(crate) fn reduce(x: Number) -> Option<Angle> {
    if x.exponent > LARGEST_EXPONENT {
        return None;
    }
    let magnitude =
        Double { significand: x.significand().into(), exponent: x.exponent - FRACTION_BITS as i32 };
    let turns = magnitude.in_quadrants();
    let quadrants = turns.integer();
    let y = rest(magnitude, quadrants).in_quadrants();
    let first = y.first();
    let upper = (y.significand >> (F64.fraction_bits - FRACTION_BITS)) as u32; // 24 of 53 bits
    let fraction = upper >> (-first).clamp(0, 24) & FRACTION;
    // quadrant and fraction as one word of 25 bits, of which only that many bits are right
    let word = ((quadrants & 3) as u32) << FRACTION_BITS | fraction;
    // (the unit first clears x.exponent - 8 of them, which are fewer)
    let cleared = turns.first().clamp(0, 25) as u32;
    let word = word >> cleared << cleared;
    Some(Angle { quadrant: word >> FRACTION_BITS, fraction: word & FRACTION, cleared })
}

/// |x| - k·π/2, rounded once, within [0, π/2 in FP32]; for k = 0 it is x, which lies within.
fn rest(x: Double, quadrants: u64) -> Double {
    if quadrants == 0 {
        return x;
    }
    // x is above 1: its last bit weighs 2^-23 or more
    let magnitude = i128::from(x.significand) << (x.exponent - QUADRANT_EXPONENT);
    let exact = magnitude - i128::from(quadrants) * i128::from(QUADRANT);
    Double::nearest(exact.clamp(0, LIMIT.into()).unsigned_abs(), QUADRANT_EXPONENT)
}
