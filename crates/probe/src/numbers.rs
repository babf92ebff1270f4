//! Numbers written by exponent and fraction, and random choices that are the same everywhere.

use bitmma_engine::formats::{Class, Format, Overflow, Real, Rounding, decode, encode};

/// A small generator whose stream is named by two numbers (SplitMix64: Steele, Lea, Flood 2014).
#[derive(Clone, Debug)]
pub(crate) struct Random(u64);

impl Random {
    /// Stream `index` of `seed`.
    pub(crate) fn new(seed: u64, index: u64) -> Random {
        let mut random = Random(seed ^ index.wrapping_mul(0xd134_2543_de82_ef95));
        random.bits();
        random.bits();
        random
    }

    /// 64 random bits.
    pub(crate) fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `bound`, which is not zero.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        (self.bits() % bound as u64) as usize
    }

    /// A number from `low` to `high`, both included; `low` where there is none between.
    pub(crate) fn between(&mut self, low: i32, high: i32) -> i32 {
        if high <= low { low } else { low + self.below((high - low + 1) as usize) as i32 }
    }

    /// True `percent` times in a hundred.
    pub(crate) fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    /// One of several.
    pub(crate) fn one<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())]
    }

    /// 52 bits of a fraction, of the kinds that carry, tie and stick.
    pub(crate) fn fraction(&mut self) -> u64 {
        const ALL: u64 = (1 << 52) - 1;
        match self.below(10) {
            0..=3 => 0,
            4..=6 => self.bits() & ALL,
            7 => ALL,
            8 => 1 << (51 - self.below(12)),
            _ => ALL ^ (1 << self.below(52)),
        }
    }
}

/// The code of ±2^`exponent` · (1 + `fraction`/2^52), cut to what the format holds.
pub(crate) fn number(format: &Format, negative: bool, exponent: i32, fraction: u64) -> u64 {
    let significand = u128::from(fraction | (1 << 52));
    let real = Real {
        negative: negative && format.is_signed(),
        significand,
        exponent: exponent - 52,
        inexact: false,
    };
    encode(format, real, Rounding::TowardZero, Overflow::Saturate)
}

/// The code of ±2^`exponent`.
pub(crate) fn power(format: &Format, negative: bool, exponent: i32) -> u64 {
    number(format, negative, exponent, 0)
}

/// Exponents of normal numbers.
pub(crate) fn normal_exponents(format: &Format) -> (i32, i32) {
    (format.min_exponent(), format.max_exponent())
}

/// Exponents of the leading bits of all numbers, subnormal ones too.
pub(crate) fn all_exponents(format: &Format) -> (i32, i32) {
    let below = if format.subnormals { format.fraction_bits as i32 } else { 0 };
    (format.min_exponent() - below, format.max_exponent())
}

/// `exponent` as a sum of one from `a` and one from `b`, each as near to half as the ranges allow.
pub(crate) fn split(exponent: i32, a: (i32, i32), b: (i32, i32)) -> (i32, i32) {
    let half = exponent.div_euclid(2);
    let first = half.clamp(a.0.max(exponent - b.1), a.1.min(exponent - b.0).max(a.0.max(exponent - b.1)));
    (first.clamp(a.0, a.1), (exponent - first).clamp(b.0, b.1))
}

/// Whether the code is a finite number with its leading bit in place.
pub(crate) fn is_normal(format: &Format, code: u64) -> bool {
    let value = decode(format, code);
    value.class == Class::Finite && value.significand >> format.fraction_bits == 1
}

/// Whether two codes are the same answer, one NaN being as good as another.
pub(crate) fn same(format: &Format, one: u64, other: u64) -> bool {
    one == other || (format.is_nan(one) && format.is_nan(other))
}
