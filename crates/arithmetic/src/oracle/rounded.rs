//! TR- and GTR-FDPA: products summed first, the accumulator added in a second, rounded sum.

use super::dyadic::Dyadic;
use super::element::Element;
use super::number::{Number, Overflow, finite_parts, special_sum};
use crate::convert::Conversion;
use crate::sums::RoundedSum;

/// A sum of products and the exponent at which it stands; `None` where every product is zero.
struct Partial {
    sum: Dyadic,
    exponent: Option<i64>,
}

/// TR-FDPA (Algorithm 8).
pub(super) fn truncated(
    elements: &[Element],
    accumulator: &Number,
    parameters: &RoundedSum,
    conversion: &Conversion,
) -> Number {
    let products = products(elements, parameters);
    special(&products, accumulator, conversion).unwrap_or_else(|| {
        let all = truncated_sum(products.iter(), parameters);
        add_accumulator(&all, accumulator, false, parameters, conversion)
    })
}

/// GTR-FDPA (Algorithm 9).
pub(super) fn grouped(
    elements: &[Element],
    accumulator: &Number,
    parameters: &RoundedSum,
    conversion: &Conversion,
) -> Number {
    let products = products(elements, parameters);
    special(&products, accumulator, conversion).unwrap_or_else(|| {
        let even = truncated_sum(products.iter().step_by(2), parameters);
        let odd = truncated_sum(products.iter().skip(1).step_by(2), parameters);
        // step 3: T' = RD_F(T 2^(e - e_max)) of both
        let exponent = even.exponent.max(odd.exponent);
        let mut sum = Dyadic::ZERO;
        if let Some(exponent) = exponent {
            let quantum = exponent - i64::from(parameters.fraction_bits);
            sum = &even.sum.cut(quantum, parameters.sum_rounding)
                + &odd.sum.cut(quantum, parameters.sum_rounding);
        }
        add_accumulator(&Partial { sum, exponent }, accumulator, true, parameters, conversion)
    })
}

/// Step 1: exact products, those of magnitude `2^product_overflow` or more infinite (`semantics.md`, 8).
fn products(elements: &[Element], parameters: &RoundedSum) -> Vec<Number> {
    let limit = parameters.product_overflow.map(|power| Dyadic::new(1, i64::from(power)));
    let limited = |product: Number| match (&product, &limit) {
        (Number::Finite { value, negative, .. }, Some(limit)) if value.magnitude() >= *limit => {
            Number::Infinite { negative: *negative }
        }
        _ => product,
    };
    elements.iter().map(|element| limited(element.product.clone())).collect()
}

/// The result where a product or the accumulator is not finite.
fn special(products: &[Number], accumulator: &Number, conversion: &Conversion) -> Option<Number> {
    let mut terms = products.to_vec();
    terms.push(accumulator.clone());
    special_sum(&terms).map(|special| special.in_reach_of(&conversion.format))
}

/// Step 2: products cut to F bits at their largest exponent and summed; zero products have no part in it.
fn truncated_sum<'a>(products: impl Iterator<Item = &'a Number> + Clone, parameters: &RoundedSum) -> Partial {
    let parts = products.map(finite_parts).filter(|(value, _)| !value.is_zero());
    let exponent = parts.clone().map(|(_, exponent)| exponent).max();
    let mut sum = Dyadic::ZERO;
    if let Some(exponent) = exponent {
        let quantum = exponent - i64::from(parameters.fraction_bits);
        for (value, _) in parts {
            sum = &sum + &value.cut(quantum, parameters.term_rounding);
        }
    }
    Partial { sum, exponent }
}

/// The last two steps: the rounded sum with the accumulator, and rho.
///
/// An exact zero is +0, a negative value that rounds to zero is -0 (`semantics.md`, 5).
fn add_accumulator(
    products: &Partial,
    accumulator: &Number,
    special_truncation: bool,
    parameters: &RoundedSum,
    conversion: &Conversion,
) -> Number {
    let (c, own_exponent) = finite_parts(accumulator);
    let c_exponent =
        if c.is_zero() { parameters.zero_accumulator_exponent.map(i64::from) } else { Some(own_exponent) };
    let Some(exponent) = products.exponent.max(c_exponent) else {
        return Number::round(&Dyadic::ZERO, false, conversion, Overflow::Infinity);
    };
    let bits = i64::from(parameters.fraction_bits);
    let sum_bits = i64::from(parameters.sum_fraction_bits);
    let rule = parameters.sum_rounding;

    // T' = RD_F2(T 2^(e_max - E)); one bit more on hardware
    let kept = if parameters.renormalize { sum_bits + 1 } else { sum_bits };
    let products = products.sum.cut(exponent - kept, rule);
    // s_c' = RD_F(s_c 2^(e_c - E)), 0 if e_c < E - F - 1 and the truncation is the special one
    let lost = special_truncation && c_exponent.is_none_or(|own| own < exponent - bits - 1);
    let c = if lost { Dyadic::ZERO } else { c.cut(exponent - bits, rule) };
    // S = T' + s_c'
    let sum = &products + &c;

    let negative = sum.is_negative();
    // semantics, 11: at its own exponent, not below that of a subnormal result (FP32: -126)
    let normalised = if parameters.renormalize && !sum.is_zero() {
        let own = sum.floor_log2().max(i64::from(conversion.format.min_exponent()));
        sum.cut(own - sum_bits, rule)
    } else {
        sum
    };
    Number::round(&normalised, negative, conversion, Overflow::Infinity)
}
