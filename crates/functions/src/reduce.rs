//! From a number to the fraction that a polynomial takes, and from its sum to the result.
//!
//! Let x = ±1.f · 2^e, subnormal numbers normalized.

use bitmma_formats::F32;

use crate::angle::{self, Angle};
use crate::float::{Mode, add_f32, multiply_f32};
use crate::model::{Model, Reduction};
use crate::number::{Number, SIGN};
use crate::polynomial::{FRACTION, FRACTION_BITS, Polynomial, Terms};

/// What happens on the way to a result; see [`Model::steps`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// The table of special values has the result.
    Special,
    /// x = ±1.fraction · 2^exponent.
    Number {
        /// Its exponent; subnormal numbers are normalized.
        exponent: i32,
        /// 23 bits.
        fraction: u32,
    },
    /// `ex2`: x is halved, and the result squared.
    Halved,
    /// `lg2`: x is multiplied by 2^24, and 24 subtracted from the result.
    Scaled,
    /// `ex2`: x = integer + rest · 2^-23, cut.
    Integer {
        /// Rounded down.
        integer: i32,
        /// 23 bits.
        rest: u32,
    },
    /// `sin` and `cos`: x = (quadrant + fraction · 2^-23) · π/2, of which the lower bits were cleared.
    Angle {
        /// 0 to 3.
        quadrant: u32,
        /// 23 bits.
        fraction: u32,
        /// How many of the 25 bits were cleared.
        cleared: u32,
    },
    /// The polynomial, with all its terms.
    Sum(Terms),
    /// `lg2`: the exponent was added to the sum; its magnitude, with the lowest bits cleared.
    WithExponent {
        /// In units of the sum.
        magnitude: u64,
    },
}

impl Model {
    /// The result for an FP32 code, as an FP32 code.
    pub fn evaluate(&self, x: u32) -> u32 {
        self.watched(x, &mut |_| {})
    }

    /// The result, and the steps on the way to it.
    pub fn steps(&self, x: u32) -> (u32, Vec<Step>) {
        let mut steps = vec![];
        let result = self.watched(x, &mut |step| steps.push(step));
        (result, steps)
    }

    fn watched(&self, x: u32, watch: &mut impl FnMut(Step)) -> u32 {
        match self.specials.result(x) {
            Some(result) => {
                watch(Step::Special);
                result
            }
            None => number(self, x, watch),
        }
    }
}

/// The result for a number that has no special result; `watch` is told the steps.
fn number(model: &Model, x: u32, watch: &mut impl FnMut(Step)) -> u32 {
    let number = Number::of(x);
    watch(Step::Number { exponent: number.exponent, fraction: number.fraction });
    match model.reduction {
        Reduction::Rcp => rcp(model, number, watch),
        Reduction::Sqrt => sqrt(model, number, watch),
        Reduction::Rsqrt => rsqrt(model, number, watch),
        Reduction::Ex2 => ex2(model, x, number, watch),
        Reduction::Lg2 => lg2(model, x, number, watch),
        Reduction::Sin => sin_or_cos(model, number, false, watch),
        Reduction::Cos => sin_or_cos(model, number, true, watch),
    }
}

fn watched(polynomial: &Polynomial, fraction: u32, odd: bool, watch: &mut impl FnMut(Step)) -> u64 {
    let terms = polynomial.terms(fraction, odd);
    watch(Step::Sum(terms));
    terms.sum()
}

fn rcp(model: &Model, x: Number, watch: &mut impl FnMut(Step)) -> u32 {
    let polynomial = &model.polynomial;
    let mut sum = watched(polynomial, x.fraction, false, watch);
    let mut exponent = -x.exponent;
    if sum < 1 << polynomial.point {
        sum <<= 1;
        exponent -= 1;
    }
    Number { negative: x.negative, exponent, fraction: polynomial.fraction(sum) }.code()
}

fn sqrt(model: &Model, x: Number, watch: &mut impl FnMut(Step)) -> u32 {
    let polynomial = &model.polynomial;
    let sum = watched(polynomial, x.fraction, x.exponent & 1 == 1, watch);
    Number { negative: false, exponent: x.exponent >> 1, fraction: polynomial.fraction(sum) }.code()
}

fn rsqrt(model: &Model, x: Number, watch: &mut impl FnMut(Step)) -> u32 {
    let polynomial = &model.polynomial;
    let odd = x.exponent & 1 == 1;
    if !odd && x.fraction == 0 {
        return Number { negative: false, exponent: -(x.exponent >> 1), fraction: 0 }.code();
    }
    let sum = watched(polynomial, x.fraction, odd, watch) << 1;
    Number { negative: false, exponent: -(x.exponent >> 1) - 1, fraction: polynomial.fraction(sum) }.code()
}

/// -126: below it, x is halved and the result squared.
pub(crate) const EX2_HALVED: u32 = 0xc2fc_0000;

fn ex2(model: &Model, code: u32, x: Number, watch: &mut impl FnMut(Step)) -> u32 {
    if code > EX2_HALVED {
        watch(Step::Halved);
        let root = ex2_in_range(model, Number { exponent: x.exponent - 1, ..x }, watch);
        return multiply_f32(root, root, Mode::NEAREST);
    }
    ex2_in_range(model, x, watch)
}

fn ex2_in_range(model: &Model, x: Number, watch: &mut impl FnMut(Step)) -> u32 {
    let polynomial = &model.polynomial;
    let overflow = || if x.negative { 0 } else { model.specials.infinity };
    if x.exponent >= 8 {
        return overflow(); // 256 and beyond
    }
    // the magnitude in units of 2^-23, cut
    let significand = x.significand();
    let magnitude = if x.exponent >= 0 {
        significand << x.exponent
    } else {
        significand.checked_shr(x.exponent.unsigned_abs()).unwrap_or(0)
    };
    let (mut integer, mut rest) = ((magnitude >> FRACTION_BITS) as i32, magnitude & FRACTION);
    if x.negative {
        integer = -integer;
        if rest != 0 {
            rest ^= FRACTION;
            integer -= 1;
        }
    }
    watch(Step::Integer { integer, rest });
    if integer > F32.max_exponent() || integer < F32.min_exponent() {
        return overflow();
    }
    let fraction = polynomial.fraction(watched(polynomial, rest, false, watch));
    Number { negative: false, exponent: integer, fraction }.code()
}

/// Bits of the sum of `lg2` that are cleared before it is normalized.
pub(crate) const LG2_CLEARED: u32 = 20;

fn lg2(model: &Model, code: u32, x: Number, watch: &mut impl FnMut(Step)) -> u32 {
    let is_subnormal = code >> FRACTION_BITS == 0;
    let exponent = x.exponent + if is_subnormal { 24 } else { 0 };
    if is_subnormal {
        watch(Step::Scaled);
    }
    if exponent == 0 && x.fraction == 0 {
        return 0;
    }
    let polynomial = &model.polynomial;
    let sum = i128::from(watched(polynomial, x.fraction, false, watch))
        + (i128::from(exponent) << polynomial.point);
    let magnitude = sum.unsigned_abs() >> LG2_CLEARED << LG2_CLEARED;
    watch(Step::WithExponent { magnitude: magnitude as u64 });
    let result = normalised(model, magnitude as u64, exponent < 0);
    if is_subnormal { add_f32(result, MINUS_24, Mode::NEAREST) } else { result }
}

/// -24.
const MINUS_24: u32 = 0xc1c0_0000;

fn sin_or_cos(model: &Model, x: Number, cos: bool, watch: &mut impl FnMut(Step)) -> u32 {
    let Some(Angle { quadrant, fraction, cleared }) = angle::reduce(x) else {
        watch(Step::Special);
        return model.specials.of_zero(x.negative);
    };
    watch(Step::Angle { quadrant, fraction, cleared });
    let odd = quadrant & 1 == 1;
    let (complement, negative) = match cos {
        false => (odd, x.negative != (quadrant >= 2)),
        true => (!odd, quadrant == 1 || quadrant == 2),
    };
    let fraction = if complement { fraction ^ FRACTION } else { fraction };
    normalised(model, watched(&model.polynomial, fraction, false, watch), negative)
}

/// The code of a sum whose first bit may lie anywhere: the 23 bits below its first one, cut. Zero keeps the sign.
fn normalised(model: &Model, sum: u64, negative: bool) -> u32 {
    if sum == 0 {
        return if negative { SIGN } else { 0 };
    }
    let first = 63 - sum.leading_zeros();
    let below = sum << (63 - first); // the first bit at place 63
    let fraction = (below >> (63 - FRACTION_BITS)) as u32 & FRACTION;
    Number { negative, exponent: first as i32 - model.polynomial.point as i32, fraction }.code()
}
