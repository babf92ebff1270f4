//! A format of numbers as a value, and the limits that follow from it.

use std::fmt;

/// What the top bit of a code does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Sign {
    /// One bit, set for negative values.
    Signed,
    /// One bit that is there and means nothing (UE4M3).
    Ignored,
    /// No such bit (UE8M0, U8).
    None,
    /// The top bit counts its place, negative: two's complement (S8).
    TwosComplement,
}

impl Sign {
    /// Bits the sign takes in a code: 1 or 0.
    #[inline]
    pub const fn bits(self) -> u32 {
        match self {
            Sign::Signed | Sign::Ignored | Sign::TwosComplement => 1,
            Sign::None => 0,
        }
    }
}

/// Which codes are not finite numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Specials {
    /// IEEE 754: the largest exponent field holds infinity (fraction 0) and NaN (any other fraction).
    Ieee,
    /// OCP E4M3: no infinity; NaN is the code whose exponent and fraction are all ones.
    AllOnesNan,
    /// FNUZ: no infinity, no negative zero; NaN is the code that would be negative zero.
    NegativeZeroNan,
    /// Every code is a finite number.
    None,
}

/// A binary floating-point format: fields from the top of the code down are sign, exponent, fraction,
/// padding; or an integer format, which has no exponent field and whose fraction field holds the number.
///
/// To [`decode`](crate::decode()) an integer is a subnormal number whose last bit counts one: its exponent is the width
/// of the fraction field.
///
/// A code occupies the low [`Format::bits`] bits of a `u64`. Padding bits are ignored by
/// [`decode`](crate::decode()) and written as zero by [`encode`](crate::encode()).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Format {
    /// The name used everywhere in the project, lower case.
    pub name: &'static str,
    /// What the top bit does.
    pub sign: Sign,
    /// Width of the exponent field, in bits; 0 for integers alone.
    pub exponent_bits: u32,
    /// Width of the fraction field, in bits.
    pub fraction_bits: u32,
    /// Low bits of the container that carry no information (13 for TF32 in an FP32 word).
    pub padding_bits: u32,
    /// What is subtracted from the exponent field of a normal number.
    pub bias: i32,
    /// Whether exponent field 0 means zero and subnormal numbers (true for all but UE8M0).
    pub subnormals: bool,
    /// Which codes are not finite numbers.
    pub specials: Specials,
    /// The document that defines the format.
    pub standard: &'static str,
}

impl Format {
    /// Width of a code, in bits: sign, exponent, fraction and padding.
    #[inline]
    pub const fn bits(&self) -> u32 {
        self.sign.bits() + self.exponent_bits + self.fraction_bits + self.padding_bits
    }

    /// Bytes of one code in memory: 1, 2, 4 or 8; codes of 4 and 6 bits take one byte each.
    #[inline]
    pub const fn bytes(&self) -> usize {
        match self.bits() {
            0..=8 => 1,
            9..=16 => 2,
            17..=32 => 4,
            _ => 8,
        }
    }

    /// Hexadecimal digits of one code in a recording (FP4: 1, FP6 and FP8: 2, TF32: 8).
    pub const fn hex_digits(&self) -> usize {
        self.bits().div_ceil(4) as usize
    }

    /// The largest code.
    #[inline]
    pub const fn max_code(&self) -> u64 {
        u64::MAX >> (64 - self.bits())
    }

    /// Whether its numbers are integers: S32, S8, U8, S4, U4, B1.
    #[inline]
    pub const fn is_integer(&self) -> bool {
        self.exponent_bits == 0
    }

    /// Whether A, B, C and D may have it: UE8M0 and UE4M3, which have no sign, are for scale factors.
    #[inline]
    pub const fn is_operand(&self) -> bool {
        self.is_signed() || self.is_integer()
    }

    /// The smallest and the largest number of an integer format.
    pub const fn integer_range(&self) -> [i128; 2] {
        let beyond = 1 << self.fraction_bits;
        [if matches!(self.sign, Sign::TwosComplement) { -beyond } else { 0 }, beyond - 1]
    }

    /// The number that a code of an integer format is.
    #[inline]
    pub const fn integer(&self, code: u64) -> i64 {
        let unused = 64 - self.bits();
        match self.sign {
            Sign::TwosComplement => (code << unused) as i64 >> unused,
            _ => (code & self.max_code()) as i64,
        }
    }

    /// Exponent of the smallest normal number; subnormal numbers and zero have it too.
    #[inline]
    pub const fn min_exponent(&self) -> i32 {
        if self.subnormals { 1 - self.bias } else { -self.bias }
    }

    /// Exponent of the largest finite number.
    #[inline]
    pub const fn max_exponent(&self) -> i32 {
        (self.max_finite_code() >> (self.fraction_bits + self.padding_bits)) as i32 - self.bias
    }

    /// Whether negative zero has a code of its own.
    pub const fn has_negative_zero(&self) -> bool {
        matches!(self.sign, Sign::Signed) && !matches!(self.specials, Specials::NegativeZeroNan)
    }

    /// Whether negative numbers can be written.
    pub const fn is_signed(&self) -> bool {
        matches!(self.sign, Sign::Signed | Sign::TwosComplement)
    }

    /// The code with exponent and fraction all ones, sign and padding zero.
    const fn all_ones(&self) -> u64 {
        (u64::MAX >> (64 - self.exponent_bits - self.fraction_bits)) << self.padding_bits
    }

    /// The bit that negates a number, 0 where there is none; integers have none.
    #[inline]
    pub const fn sign_bit(&self) -> u64 {
        match self.sign {
            Sign::Signed => 1 << (self.bits() - 1),
            Sign::Ignored | Sign::None | Sign::TwosComplement => 0,
        }
    }

    /// The code of positive infinity, if the format has one.
    #[inline]
    pub const fn infinity_code(&self) -> Option<u64> {
        match self.specials {
            Specials::Ieee => {
                let exponent_ones = u64::MAX >> (64 - self.exponent_bits);
                Some(exponent_ones << (self.fraction_bits + self.padding_bits))
            }
            _ => None,
        }
    }

    /// The code of the quiet NaN with a positive sign and no payload, if the format has a NaN
    /// (IEEE 754 §6.2.1: the top fraction bit is set).
    #[inline]
    pub const fn nan_code(&self) -> Option<u64> {
        match self.specials {
            Specials::Ieee => match self.infinity_code() {
                Some(infinity) => Some(infinity | (1 << (self.fraction_bits + self.padding_bits - 1))),
                None => None,
            },
            Specials::AllOnesNan => Some(self.all_ones()),
            Specials::NegativeZeroNan => Some(1 << (self.bits() - 1)),
            Specials::None => None,
        }
    }

    /// The code of the largest finite number.
    #[inline]
    pub const fn max_finite_code(&self) -> u64 {
        let step = 1 << self.padding_bits;
        match self.specials {
            Specials::Ieee => match self.infinity_code() {
                Some(infinity) => infinity - step,
                None => self.all_ones(),
            },
            Specials::AllOnesNan => self.all_ones() - step,
            Specials::NegativeZeroNan | Specials::None => self.all_ones(),
        }
    }

    /// The code of the smallest number above zero.
    pub const fn min_positive_code(&self) -> u64 {
        if self.subnormals { 1 << self.padding_bits } else { 0 }
    }

    /// The code of the smallest normal number; of integers, the code of one.
    pub const fn min_normal_code(&self) -> u64 {
        if self.is_integer() {
            1
        } else if self.subnormals {
            1 << (self.fraction_bits + self.padding_bits)
        } else {
            0
        }
    }

    /// The place of a code in the order of values: 0 for zeros of both signs, one more with each larger code of a positive
    /// number, the same below zero. Infinities follow the largest numbers; a sign bit that is ignored does not count.
    #[inline]
    pub const fn place(&self, code: u64) -> i128 {
        if self.is_integer() {
            return self.integer(code) as i128;
        }
        let magnitude = (code & self.max_code() >> self.sign.bits()) as i128;
        if code & self.sign_bit() == 0 { magnitude } else { -magnitude }
    }

    /// The code of the number one.
    pub const fn one_code(&self) -> u64 {
        if self.is_integer() {
            return 1;
        }
        (self.bias as u64) << (self.fraction_bits + self.padding_bits)
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name)
    }
}
