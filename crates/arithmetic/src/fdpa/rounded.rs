//! TR-FDPA and GTR-FDPA (paper, Algorithms 8 and 9): truncated sums of products, then a rounded sum with
//! the accumulator.

use bitmma_formats::{Class, Real};

use super::fused::aligned;
use super::{Vectors, ZeroSign, finish, finish_special};
use crate::align::cut;
use crate::convert::Conversion;
use crate::exact::Exact;
use crate::special::Specials;
use crate::sums::RoundedSum;
use crate::trace::{TermName, Trace};

/// How the products are summed before the accumulator is added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grouping {
    /// TR-FDPA: all in one sum.
    One,
    /// GTR-FDPA: those of even and those of odd index apart, and a small accumulator dropped.
    EvenOdd,
}

/// A sum of products: T in units of 2^(exponent - F).
#[derive(Clone, Copy)]
struct Partial {
    sum: i128,
    exponent: i32,
}

/// d = rho of the truncated sum of products plus the accumulator.
///
/// Zero products bring no exponent; a sum whose products are all zero takes no part in what follows
/// (semantics, rule 4).
pub fn rounded_fdpa<T: Trace>(
    parameters: &RoundedSum,
    grouping: Grouping,
    conversion: Conversion,
    vectors: &Vectors<'_>,
    trace: &mut T,
) -> u64 {
    let mut specials = vectors.specials();
    if let Some(limit) = parameters.product_overflow {
        add_overflows(vectors, limit, &mut specials);
    }
    if let Some(special) = specials.outcome() {
        return finish_special(special, &conversion.container(), trace);
    }

    let products = match grouping {
        Grouping::One => partial_sum(parameters, vectors, 0, 1, "e_max", trace),
        Grouping::EvenOdd => {
            let even = partial_sum(parameters, vectors, 0, 2, "e_even", trace);
            let odd = partial_sum(parameters, vectors, 1, 2, "e_odd", trace);
            join(parameters, even, odd, trace)
        }
    };
    let value = add_accumulator(parameters, grouping, products, vectors, conversion, trace);
    finish(value, conversion, ZeroSign::OfValue, trace)
}

/// Rule 8: a product of magnitude 2^limit or more is infinite.
fn add_overflows(vectors: &Vectors<'_>, limit: i32, specials: &mut Specials) {
    for k in 0..vectors.a.len() {
        // 2^e_k <= |product| < 4 * 2^e_k for normal factors, less for subnormal ones
        if vectors.product_exponent(k) + 1 < limit {
            continue;
        }
        let product = vectors.product(k);
        if product.leading_exponent().is_some_and(|leading| leading >= limit) {
            specials.add_infinity(product.significand < 0);
        }
    }
}

/// Steps 1 and 2: products `first`, `first + step`, … aligned at their maximum, cut to F bits, summed.
/// `None` if every product is zero.
fn partial_sum<T: Trace>(
    parameters: &RoundedSum,
    vectors: &Vectors<'_>,
    first: usize,
    step: usize,
    name: &'static str,
    trace: &mut T,
) -> Option<Partial> {
    let elements = (first..vectors.a.len()).step_by(step);
    let exponent_of = |k: usize| (!vectors.product_is_zero(k)).then(|| vectors.product_exponent(k));
    let maximum = elements.clone().filter_map(exponent_of).max()?;
    let last = maximum - parameters.fraction_bits as i32;
    let sum = elements.clone().map(|k| cut(vectors.product(k), last, parameters.term_rounding)).sum();
    if T::ON {
        let terms =
            elements.map(|k| (TermName::Product(vectors.indices[k]), vectors.product(k), exponent_of(k)));
        let (bits, rounding) = (parameters.fraction_bits, parameters.term_rounding);
        trace.step(aligned(name, maximum, bits, rounding, terms, sum));
    }
    Some(Partial { sum, exponent: maximum })
}

/// Algorithm 9, step 3: the sums of even and odd products aligned at the larger exponent.
fn join<T: Trace>(
    parameters: &RoundedSum,
    even: Option<Partial>,
    odd: Option<Partial>,
    trace: &mut T,
) -> Option<Partial> {
    let exponent_of = |partial: Option<Partial>| partial.map(|partial| partial.exponent);
    let maximum = exponent_of(even).max(exponent_of(odd))?;
    let bits = parameters.fraction_bits;
    let last = maximum - bits as i32;
    let exact = |partial: Option<Partial>| match partial {
        Some(Partial { sum, exponent }) => Exact { significand: sum, exponent: exponent - bits as i32 },
        None => Exact { significand: 0, exponent: last },
    };
    let sum =
        cut(exact(even), last, parameters.sum_rounding) + cut(exact(odd), last, parameters.sum_rounding);
    if T::ON {
        let terms = [(TermName::Even, even), (TermName::Odd, odd)]
            .map(|(name, partial)| (name, exact(partial), exponent_of(partial)));
        trace.step(aligned("e_max", maximum, bits, parameters.sum_rounding, terms.into_iter(), sum));
    }
    Some(Partial { sum, exponent: maximum })
}

/// The last step: the accumulator added, with what an MI300X does beyond the algorithms as printed
/// (semantics, rule 11).
fn add_accumulator<T: Trace>(
    parameters: &RoundedSum,
    grouping: Grouping,
    products: Option<Partial>,
    vectors: &Vectors<'_>,
    conversion: Conversion,
    trace: &mut T,
) -> Real {
    let bits = parameters.fraction_bits as i32;
    let sum_bits = parameters.sum_fraction_bits + u32::from(parameters.renormalize);
    let accumulator = vectors.accumulator();
    let c_exponent = if vectors.c.class == Class::Zero {
        parameters.zero_accumulator_exponent
    } else {
        Some(vectors.c.exponent)
    };
    let Some(maximum) = products.map(|products| products.exponent).max(c_exponent) else {
        return Real::zero(false);
    };

    // E - F for the accumulator, E - F2 (or one bit more) for the sum of products
    let (c_last, sum_last) = (maximum - bits, maximum - sum_bits as i32);
    let dropped = grouping == Grouping::EvenOdd && c_exponent.is_some_and(|c| c < c_last - 1);
    let kept_accumulator = Exact {
        significand: if dropped { 0 } else { cut(accumulator, c_last, parameters.sum_rounding) },
        exponent: c_last,
    };
    let products =
        products.map(|products| Exact { significand: products.sum, exponent: products.exponent - bits });
    let products = products.unwrap_or(Exact { significand: 0, exponent: sum_last });
    let kept_products =
        Exact { significand: cut(products, sum_last, parameters.sum_rounding), exponent: sum_last };

    let last = c_last.min(sum_last);
    let in_units = |term: Exact| term.significand << (term.exponent - last);
    let sum = Exact { significand: in_units(kept_accumulator) + in_units(kept_products), exponent: last };
    if T::ON {
        use crate::trace::{Step, Term};
        let exponent = products.leading_exponent().map(|_| products.exponent + bits);
        let terms = vec![
            Term { name: TermName::Products, exact: products, exponent, kept: kept_products },
            Term {
                name: TermName::Accumulator,
                exact: accumulator,
                exponent: c_exponent,
                kept: kept_accumulator,
            },
        ];
        let (fraction_bits, rounding) = (sum_bits, parameters.sum_rounding);
        trace.step(Step::Aligned { maximum: "E", exponent: maximum, terms, fraction_bits, rounding, sum });
    }
    if !parameters.renormalize {
        return Real::exact(sum.significand, sum.exponent);
    }

    let Some(leading) = sum.leading_exponent() else {
        return Real::zero(false);
    };
    let own = leading.max(conversion.format.min_exponent());
    let last = own - parameters.sum_fraction_bits as i32;
    let kept = cut(sum, last, parameters.sum_rounding);
    if T::ON {
        let terms = [(TermName::Sum, sum, Some(own))].into_iter();
        let bits = parameters.sum_fraction_bits;
        trace.step(aligned("e'", own, bits, parameters.sum_rounding, terms, kept));
    }
    Real { negative: sum.significand < 0, ..Real::exact(kept, last) }
}
