//! E-, T-, ST- and GST-FDPA: sums of products and an accumulator that are rounded once.

use super::dyadic::Dyadic;
use super::element::Element;
use super::number::{Number, Overflow, finite_parts, special_sum};
use crate::convert::Conversion;
use crate::sums::FusedSum;

/// E-FDPA: `rho(c + sum of a_k b_k)`.
///
/// An exact zero is +0, a negative value that rounds to zero is -0 (`semantics.md`, 5).
pub(super) fn exact(elements: &[Element], accumulator: &Number, conversion: &Conversion) -> Number {
    let mut terms: Vec<Number> = elements.iter().map(|element| element.product.clone()).collect();
    terms.push(accumulator.clone());
    if let Some(special) = special_sum(&terms) {
        return special.in_reach_of(&conversion.format);
    }
    let mut sum = Dyadic::ZERO;
    for term in &terms {
        sum = &sum + finite_parts(term).0;
    }
    Number::round(&sum, sum.is_negative(), conversion, Overflow::Infinity)
}

/// T- and ST-FDPA (Algorithms 5 and 6): every product, and the accumulator, is a term.
pub(super) fn truncated(
    elements: &[Element],
    accumulator: &Number,
    parameters: &FusedSum,
    conversion: &Conversion,
) -> Number {
    let mut numbers: Vec<Number> = elements.iter().map(Element::scaled_product).collect();
    numbers.push(accumulator.clone());
    if let Some(special) = special_sum(&numbers) {
        return special.in_reach_of(&conversion.format);
    }
    let terms: Vec<Term> = numbers.iter().map(Term::of_number).collect();
    cut_and_sum(&terms, parameters, conversion)
}

/// GST-FDPA (Algorithm 7): the exact, then scaled, dot product of every `group` elements is a term.
pub(super) fn grouped(
    elements: &[Element],
    accumulator: &Number,
    parameters: &FusedSum,
    group: usize,
    conversion: &Conversion,
) -> Number {
    let mut numbers: Vec<Number> = elements.iter().map(Element::scaled_product).collect();
    numbers.push(accumulator.clone());
    if let Some(special) = special_sum(&numbers) {
        return special.in_reach_of(&conversion.format);
    }
    let mut terms: Vec<Term> = elements.chunks(group).map(Term::of_group).collect();
    terms.push(Term::of_number(accumulator));
    cut_and_sum(&terms, parameters, conversion)
}

/// A finite term and the exponent it brings into e_max.
struct Term {
    value: Dyadic,
    /// `None`: a zero term, which has none of its own.
    exponent: Option<i64>,
}

impl Term {
    /// A product or an accumulator; a zero term if it is zero.
    fn of_number(number: &Number) -> Term {
        let (value, exponent) = finite_parts(number);
        Term { value: value.clone(), exponent: (!value.is_zero()).then_some(exponent) }
    }

    /// A group, `e_g = Exp(alpha) + Exp(beta)`; a zero term if each of its products is zero or one of its
    /// scale factors is (`semantics.md`, 3). Products that cancel make no zero term.
    fn of_group(elements: &[Element]) -> Term {
        let scale = elements[0].scale.as_ref().expect("a grouped sum has scale factors");
        let (scale, exponent) = finite_parts(scale);
        let products = elements.iter().map(|element| finite_parts(&element.product).0);
        let any = products.clone().any(|product| !product.is_zero());
        let mut dot = Dyadic::ZERO;
        for product in products {
            dot = &dot + product;
        }
        Term { value: &dot * scale, exponent: (any && !scale.is_zero()).then_some(exponent) }
    }
}

/// Step 2 and 3 of Algorithms 5 to 7; the accumulator is the last term. Every zero, exact or rounded, is +0.
fn cut_and_sum(terms: &[Term], parameters: &FusedSum, conversion: &Conversion) -> Number {
    let floor = parameters.zero_exponent.map(i64::from);
    let largest = terms.iter().filter_map(|term| term.exponent.or(floor)).max();
    let mut sum = Dyadic::ZERO;
    if let (Some(largest), Some((accumulator, products))) = (largest, terms.split_last()) {
        let bits = parameters.fraction_bits;
        let quantum = |bits: u32| largest - i64::from(bits);
        for product in products {
            sum = &sum + &product.value.cut(quantum(bits), parameters.term_rounding);
        }
        let bits = parameters.accumulator_fraction_bits.unwrap_or(bits);
        sum = &sum + &accumulator.value.cut(quantum(bits), parameters.term_rounding);
    }
    Number::round(&sum, false, conversion, Overflow::Infinity)
}
