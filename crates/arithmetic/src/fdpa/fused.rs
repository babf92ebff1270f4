//! T-FDPA and ST-FDPA (paper, Algorithms 5 and 6): every term cut to F bits, then one exact sum.

use bitmma_formats::{Class, Real};

use super::{Vectors, ZeroSign, finish, finish_special};
use crate::align::cut;
use crate::convert::Conversion;
use crate::exact::Exact;
use crate::sums::FusedSum;
use crate::trace::{Step, Term, TermName, Trace};

/// d = rho(sum of RZ_F(s_k * 2^(e_k - e_max)) * 2^e_max) over L products and the accumulator.
///
/// With scale factors (ST-FDPA) their exponents are added to e_k; a zero product takes e_zero without
/// them (semantics, rule 2), and a NaN scale factor makes the result NaN (rule 10).
pub fn t_fdpa<T: Trace>(sum: &FusedSum, conversion: Conversion, vectors: &Vectors<'_>, trace: &mut T) -> u64 {
    let length = vectors.a.len();
    let scaled = !vectors.scale_a.is_empty();
    let scale = |k: usize| -> i32 {
        if !scaled {
            return 0;
        }
        let (alpha, beta) = vectors.scales(vectors.indices[k]);
        alpha.exponent + beta.exponent
    };

    let mut specials = vectors.specials();
    if scaled && (0..length).any(|k| scale_is_nan(vectors, k)) {
        specials.add_nan();
    }
    if let Some(special) = specials.outcome() {
        return finish_special(special, &conversion.container(), trace);
    }

    let exponent_of = |k: usize| {
        if vectors.product_is_zero(k) {
            sum.zero_exponent
        } else {
            Some(vectors.product_exponent(k) + scale(k))
        }
    };
    let c_exponent =
        if vectors.c.class == Class::Zero { sum.zero_exponent } else { Some(vectors.c.exponent) };
    // None is smaller than every exponent
    let maximum = (0..length).map(exponent_of).max().flatten().max(c_exponent);
    let Some(maximum) = maximum else {
        return finish(Real::zero(false), conversion, ZeroSign::Positive, trace);
    };

    let (last, c_last) = (maximum - sum.fraction_bits as i32, maximum - sum.accumulator_bits() as i32);
    let product = |k: usize| {
        let product = vectors.product(k);
        Exact { exponent: product.exponent + scale(k), ..product }
    };
    let mut total = 0;
    for k in 0..length {
        total += cut(product(k), last, sum.term_rounding);
    }
    let total = with_accumulator(Exact { significand: total, exponent: last }, sum, vectors, c_last);

    if T::ON {
        let products = (0..length)
            .map(|k| (TermName::Product(vectors.indices[k]), product(k), exponent_of(k)))
            .chain([(TermName::Accumulator, vectors.accumulator(), c_exponent)]);
        trace.step(aligned_with_accumulator(maximum, sum, products, total));
    }
    finish(Real::exact(total.significand, total.exponent), conversion, ZeroSign::Positive, trace)
}

/// The sum of the terms that were cut, and of the accumulator cut at 2^`c_last`; in units of the smaller of the
/// two last bits.
pub(super) fn with_accumulator(terms: Exact, sum: &FusedSum, vectors: &Vectors<'_>, c_last: i32) -> Exact {
    let c = cut(vectors.accumulator(), c_last, sum.term_rounding);
    let last = terms.exponent.min(c_last);
    let significand = (terms.significand << (terms.exponent - last)) + (c << (c_last - last));
    Exact { significand, exponent: last }
}

/// The report of terms aligned at `maximum`, the accumulator the last of them, and summed to `total`.
pub(super) fn aligned_with_accumulator(
    maximum: i32,
    sum: &FusedSum,
    terms: impl Iterator<Item = (TermName, Exact, Option<i32>)>,
    total: Exact,
) -> Step {
    let terms = terms
        .map(|(name, exact, exponent)| {
            let bits = if name == TermName::Accumulator { sum.accumulator_bits() } else { sum.fraction_bits };
            let last = maximum - bits as i32;
            let kept = Exact { significand: cut(exact, last, sum.term_rounding), exponent: last };
            Term { name, exact, exponent, kept }
        })
        .collect();
    let (fraction_bits, rounding) = (sum.fraction_bits, sum.term_rounding);
    Step::Aligned { maximum: "e_max", exponent: maximum, terms, fraction_bits, rounding, sum: total }
}

fn scale_is_nan(vectors: &Vectors<'_>, k: usize) -> bool {
    let (alpha, beta) = vectors.scales(vectors.indices[k]);
    alpha.class == Class::Nan || beta.class == Class::Nan
}

/// The report of terms aligned at `exponent`, cut to `fraction_bits` and summed to `sum` in units of the
/// last bit.
pub(super) fn aligned(
    maximum: &'static str,
    exponent: i32,
    fraction_bits: u32,
    rounding: bitmma_formats::Rounding,
    terms: impl Iterator<Item = (TermName, Exact, Option<i32>)>,
    sum: i128,
) -> Step {
    let last = exponent - fraction_bits as i32;
    let terms = terms
        .map(|(name, exact, exponent)| Term {
            name,
            exact,
            exponent,
            kept: Exact { significand: cut(exact, last, rounding), exponent: last },
        })
        .collect();
    Step::Aligned {
        maximum,
        exponent,
        terms,
        fraction_bits,
        rounding,
        sum: Exact { significand: sum, exponent: last },
    }
}
