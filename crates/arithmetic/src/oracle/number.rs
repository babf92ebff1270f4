//! Codes as numbers and numbers as codes, from the definition of a format.

use bitmma_formats::{Format, Rounding, Sign, Specials};
use dashu_int::IBig;

use super::dyadic::Dyadic;
use crate::convert::{Conversion, ResultFlush};

/// What a code stands for, or the exact product of several.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Number {
    /// Not a number.
    Nan,
    /// An infinity of either sign.
    Infinite {
        /// Whether it is the negative one.
        negative: bool,
    },
    /// A real number.
    Finite {
        /// Which.
        value: Dyadic,
        /// The paper's Exp(x): the unbiased exponent; of subnormal numbers and zeros the format's
        /// smallest; of a product the sum over its factors.
        exponent: i64,
        /// The sign, which a zero has too.
        negative: bool,
    },
}

/// What takes the place of a rounded value above the largest finite number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Overflow {
    /// Infinity, under every rule (`semantics.md`, 6).
    Infinity,
    /// IEEE 754 §7.4: the largest finite number where the rule points toward zero.
    Ieee,
}

/// Exponent of the smallest normal number.
fn min_exponent(format: &Format) -> i64 {
    let bias = i64::from(format.bias);
    if format.subnormals { 1 - bias } else { -bias }
}

/// `(-1)^s 2^(field - bias) (1 + fraction / 2^m)`, and `(-1)^s 2^(1 - bias) fraction / 2^m` for field 0.
fn finite(format: &Format, negative: bool, field: u64, fraction: u64) -> Number {
    let hidden = 1_u64 << format.fraction_bits;
    let (significand, exponent) = if field == 0 && format.subnormals {
        (fraction, min_exponent(format))
    } else {
        (hidden + fraction, field as i64 - i64::from(format.bias))
    };
    let magnitude = Dyadic::new(significand, exponent - i64::from(format.fraction_bits));
    let value = if negative { magnitude.negated() } else { magnitude };
    Number::Finite { value, exponent, negative }
}

/// The largest finite number of a format.
fn max_finite(format: &Format) -> Dyadic {
    let top_field = (1_u64 << format.exponent_bits) - 1;
    let top_fraction = (1_u64 << format.fraction_bits) - 1;
    let (field, fraction) = match format.specials {
        Specials::Ieee => (top_field - 1, top_fraction),
        Specials::AllOnesNan if format.fraction_bits == 0 => (top_field - 1, 0),
        Specials::AllOnesNan => (top_field, top_fraction - 1),
        Specials::NegativeZeroNan | Specials::None => (top_field, top_fraction),
    };
    match finite(format, false, field, fraction) {
        Number::Finite { value, .. } => value,
        Number::Nan | Number::Infinite { .. } => unreachable!("built from a finite field"),
    }
}

/// A number of `format`, which must be one of its values; zero takes the sign `negative`.
fn of_format(value: Dyadic, negative: bool, format: &Format) -> Number {
    let lowest = min_exponent(format);
    let exponent = if value.is_zero() { lowest } else { value.floor_log2().max(lowest) };
    Number::Finite { value, exponent, negative }
}

impl Number {
    /// +0; its exponent means nothing.
    pub(super) const ZERO: Number = Number::Finite { value: Dyadic::ZERO, exponent: 0, negative: false };

    /// What `code` means in `format`; with `flush`, a zero or subnormal number means +0.
    pub(super) fn read(format: &Format, code: u64, flush: bool) -> Number {
        let take = |from: u32, width: u32| (code >> from) & ((1 << width) - 1);
        let fraction = take(format.padding_bits, format.fraction_bits);
        let field = take(format.padding_bits + format.fraction_bits, format.exponent_bits);
        let top = take(format.padding_bits + format.fraction_bits + format.exponent_bits, 1) == 1;
        let negative = format.sign == Sign::Signed && top;

        let field_is_ones = field == (1 << format.exponent_bits) - 1;
        let fraction_is_ones = fraction == (1 << format.fraction_bits) - 1;
        match format.specials {
            Specials::Ieee if field_is_ones && fraction == 0 => return Number::Infinite { negative },
            Specials::Ieee if field_is_ones => return Number::Nan,
            Specials::AllOnesNan if field_is_ones && fraction_is_ones => return Number::Nan,
            Specials::NegativeZeroNan if negative && field == 0 && fraction == 0 => return Number::Nan,
            _ => {}
        }
        if flush && field == 0 && format.subnormals {
            return finite(format, false, 0, 0);
        }
        finite(format, negative, field, fraction)
    }

    /// The same number with the exponent it has in a format that contains it.
    pub(super) fn widened(self, format: &Format) -> Number {
        match self {
            Number::Finite { value, negative, .. } => of_format(value, negative, format),
            special => special,
        }
    }

    /// The number of the conversion's container that stands for `value`; a zero, exact, rounded or flushed, takes
    /// the sign `negative`.
    pub(super) fn round(
        value: &Dyadic,
        negative: bool,
        conversion: &Conversion,
        overflow: Overflow,
    ) -> Number {
        let format = &conversion.format;
        if value.is_zero() {
            return of_format(Dyadic::ZERO, negative, &conversion.container());
        }
        let exponent = value.floor_log2().max(min_exponent(format));
        let rounded = value.cut(exponent - i64::from(format.fraction_bits), conversion.rounding);
        let largest = max_finite(format);
        let smallest_normal = Dyadic::new(1, min_exponent(format));
        let judged = match conversion.flush {
            ResultFlush::Never => smallest_normal.clone(),
            ResultFlush::BeforeRounding => value.magnitude(),
            // as many bits as a normal number has, wherever they lie
            ResultFlush::AfterRounding => {
                let last_bit = value.floor_log2() - i64::from(format.fraction_bits);
                value.cut(last_bit, conversion.rounding).magnitude()
            }
            ResultFlush::Subnormal => rounded.magnitude(),
        };
        if judged < smallest_normal {
            return of_format(Dyadic::ZERO, negative, &conversion.container());
        }
        if rounded.magnitude() <= largest {
            let negative = if rounded.is_zero() { negative } else { rounded.is_negative() };
            return of_format(rounded, negative, &conversion.container());
        }
        let stays_finite = conversion.saturate
            || overflow == Overflow::Ieee
                && match conversion.rounding {
                    Rounding::TowardZero => true,
                    Rounding::Up => value.is_negative(),
                    Rounding::Down => !value.is_negative(),
                    Rounding::AwayFromZero
                    | Rounding::NearestEven
                    | Rounding::NearestOdd
                    | Rounding::NearestUp
                    | Rounding::NearestDown
                    | Rounding::NearestZero
                    | Rounding::NearestAway
                    | Rounding::ToOdd => false,
                };
        if stays_finite {
            let bound = if value.is_negative() { largest.negated() } else { largest };
            return of_format(bound, value.is_negative(), &conversion.container());
        }
        Number::Infinite { negative: value.is_negative() }.in_reach_of(format)
    }

    /// A special value as `format` knows it: infinity is NaN where there is only NaN (OCP 8-bit
    /// Floating Point Specification, non-saturating conversion), the largest number where there is neither.
    pub(super) fn in_reach_of(self, format: &Format) -> Number {
        match (self, format.specials) {
            (Number::Infinite { .. }, Specials::AllOnesNan | Specials::NegativeZeroNan) => Number::Nan,
            (Number::Infinite { negative }, Specials::None) => {
                let largest = max_finite(format);
                let value = if negative { largest.negated() } else { largest };
                of_format(value, negative, format)
            }
            (number, _) => number,
        }
    }

    /// The number converted as a conversion instruction does, with IEEE 754's overflow and signs.
    pub(super) fn convert(&self, conversion: &Conversion) -> Number {
        match self {
            Number::Finite { value, negative, .. } => {
                Number::round(value, *negative, conversion, Overflow::Ieee)
            }
            special => special.clone().in_reach_of(&conversion.format),
        }
    }

    /// The code of the number in `format`, which has it; `nan` for a NaN.
    pub(super) fn code(&self, format: &Format, nan: u64) -> u64 {
        let below_sign = format.exponent_bits + format.fraction_bits;
        let ones = |width: u32| (1_u64 << width) - 1;
        let (negative, magnitude) = match self {
            Number::Nan => return nan,
            Number::Infinite { negative } => (*negative, ones(format.exponent_bits) << format.fraction_bits),
            Number::Finite { value, negative, .. } if value.is_zero() => {
                (*negative && format.specials != Specials::NegativeZeroNan, 0)
            }
            Number::Finite { value, negative, .. } => {
                let exponent = value.floor_log2().max(min_exponent(format));
                let significand = value.magnitude().scaled(i64::from(format.fraction_bits) - exponent);
                let significand = u64::try_from(exactly(&significand)).expect("has fraction_bits + 1 bits");
                let normal = significand >> format.fraction_bits != 0;
                let field = if normal { (exponent + i64::from(format.bias)) as u64 } else { 0 };
                (*negative, field << format.fraction_bits | significand & ones(format.fraction_bits))
            }
        };
        let sign = u64::from(negative && format.sign == Sign::Signed) << below_sign;
        (sign | magnitude) << format.padding_bits
    }

    /// The exact product: exponents add, signs multiply, infinity times zero is NaN.
    pub(super) fn times(&self, other: &Number) -> Number {
        use Number::{Finite, Infinite, Nan};
        match (self, other) {
            (Nan, _) | (_, Nan) => Nan,
            (Infinite { negative: x }, Infinite { negative: y }) => Infinite { negative: x != y },
            (Infinite { negative: x }, Finite { value, negative: y, .. })
            | (Finite { value, negative: y, .. }, Infinite { negative: x }) => {
                if value.is_zero() {
                    Nan
                } else {
                    Infinite { negative: x != y }
                }
            }
            (
                Finite { value: x, exponent: e, negative: s },
                Finite { value: y, exponent: f, negative: t },
            ) => Finite { value: x * y, exponent: e + f, negative: s != t },
        }
    }
}

/// The integer that `x` is.
fn exactly(x: &Dyadic) -> IBig {
    let integer = x.floor();
    debug_assert!(Dyadic::new(integer.clone(), 0) == *x, "{x:?} is not a value of the format");
    integer
}

/// What NaNs and infinities among the terms of one sum make of it, whatever the finite terms are;
/// `None` if all are finite (paper, "Special Value Handling"; `semantics.md`, 7).
pub(super) fn special_sum(terms: &[Number]) -> Option<Number> {
    let has = |wanted: Number| terms.contains(&wanted);
    match (
        has(Number::Nan),
        has(Number::Infinite { negative: false }),
        has(Number::Infinite { negative: true }),
    ) {
        (true, _, _) | (_, true, true) => Some(Number::Nan),
        (_, true, _) => Some(Number::Infinite { negative: false }),
        (_, _, true) => Some(Number::Infinite { negative: true }),
        (false, false, false) => None,
    }
}

/// Value and exponent of a number that is known to be finite.
pub(super) fn finite_parts(number: &Number) -> (&Dyadic, i64) {
    match number {
        Number::Finite { value, exponent, .. } => (value, *exponent),
        Number::Nan | Number::Infinite { .. } => unreachable!("special values were resolved before"),
    }
}
