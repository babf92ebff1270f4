//! FMA, FTZ-AddMul and FTZ-FMA: operations that round as IEEE 754 says.

use super::dyadic::Dyadic;
use super::element::Element;
use super::number::{Number, Overflow, finite_parts, special_sum};
use crate::convert::Conversion;
use bitmma_formats::Rounding;

/// The sum of all terms, rounded once, with IEEE 754's sign of zero (§6.3): that of all, or, where they differ, +0,
/// but -0 toward negative infinity.
pub(super) fn sum(terms: &[Number], conversion: &Conversion) -> Number {
    if let Some(special) = special_sum(terms) {
        return special.in_reach_of(&conversion.format);
    }
    let sum = terms.iter().fold(Dyadic::ZERO, |sum, term| &sum + finite_parts(term).0);
    let has = |sign: bool| {
        terms.iter().any(|term| matches!(term, Number::Finite { negative, .. } if *negative == sign))
    };
    let negative = if !sum.is_zero() {
        sum.is_negative()
    } else if has(true) && has(false) {
        conversion.rounding == Rounding::Down
    } else {
        has(true)
    };
    Number::round(&sum, negative, conversion, Overflow::Ieee)
}

/// `x + y`, rounded once.
pub(super) fn add(x: &Number, y: &Number, conversion: &Conversion) -> Number {
    sum(&[x.clone(), y.clone()], conversion)
}

/// FMA (Algorithm 3): `a b + d`, the product exact.
pub(super) fn fused_multiply_add(element: &Element, accumulator: &Number, conversion: &Conversion) -> Number {
    add(&element.product, accumulator, conversion)
}

/// One step of Algorithm 2: products rounded one by one, summed pairwise, added to the accumulator.
pub(super) fn pairwise(elements: &[Element], accumulator: &Number, conversion: &Conversion) -> Number {
    let mut sums: Vec<Number> =
        elements.iter().map(|element| flushed(element.product.convert(conversion), conversion)).collect();
    while sums.len() > 1 {
        sums = sums.chunks(2).map(|pair| flushing_add(&pair[0], &pair[1], conversion)).collect();
    }
    flushing_add(accumulator, &sums[0], conversion)
}

/// FTZ-Add (Algorithm 1).
fn flushing_add(x: &Number, y: &Number, conversion: &Conversion) -> Number {
    flushed(add(x, y, conversion), conversion)
}

/// `z * 0.0` if `|z|` is below the smallest normal number, z otherwise.
fn flushed(z: Number, conversion: &Conversion) -> Number {
    let smallest_normal = Dyadic::new(1, 1 - i64::from(conversion.format.bias));
    match z {
        Number::Finite { value, negative, exponent } if value.magnitude() < smallest_normal => {
            Number::Finite { value: Dyadic::ZERO, negative, exponent }
        }
        z => z,
    }
}

/// A subnormal number replaced by the zero that has its sign.
pub(super) fn signed_zero_if_subnormal(number: Number) -> Number {
    match number {
        Number::Finite { value, exponent, negative } if value.magnitude() < Dyadic::new(1, exponent) => {
            Number::Finite { value: Dyadic::ZERO, exponent, negative }
        }
        number => number,
    }
}

/// FTZ-FMA: from the last element to the first, `a b + d` rounded to as many bits as the format has, at
/// whatever exponent that takes; below the smallest normal number it is zero, else it is rounded as ever.
pub(super) fn flushing_chain(elements: &[Element], accumulator: &Number, conversion: &Conversion) -> Number {
    elements.iter().rfold(accumulator.clone(), |accumulator, element| {
        let accumulator = signed_zero_if_subnormal(accumulator);
        let (Number::Finite { value: x, .. }, Number::Finite { value: y, .. }) =
            (&element.product, &accumulator)
        else {
            return add(&element.product, &accumulator, conversion);
        };
        let (sum, result) = (x + y, add(&element.product, &accumulator, conversion));
        if sum.is_zero() {
            return result;
        }
        let smallest_normal = Dyadic::new(1, 1 - i64::from(conversion.format.bias));
        let last_bit = sum.floor_log2() - i64::from(conversion.format.fraction_bits);
        if sum.cut(last_bit, conversion.rounding).magnitude() >= smallest_normal {
            return result;
        }
        match result {
            Number::Finite { exponent, .. } => {
                Number::Finite { value: Dyadic::ZERO, exponent, negative: sum.is_negative() }
            }
            special => special,
        }
    })
}
