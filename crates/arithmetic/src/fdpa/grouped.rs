//! GST-FDPA (paper, Algorithm 7): exact dot products of groups, scaled, then summed as in T-FDPA.

use bitmma_formats::{Class, Real};

use super::fused::{aligned_with_accumulator, with_accumulator};
use super::{Vectors, ZeroSign, finish, finish_special};
use crate::align::cut;
use crate::convert::Conversion;
use crate::exact::Exact;
use crate::sums::FusedSum;
use crate::trace::{TermName, Trace};

/// d = rho(sum over groups of RZ_F(s_g * 2^(e_g - e_max)) * 2^e_max), the accumulator being one term more.
///
/// A group is a zero term when every one of its products is zero or a scale factor is zero; one whose
/// products cancel keeps e_g (semantics, rule 3).
pub fn gst_fdpa<T: Trace>(
    sum: &FusedSum,
    group: usize,
    scale_fraction_bits: i32,
    conversion: Conversion,
    vectors: &Vectors<'_>,
    trace: &mut T,
) -> u64 {
    let groups = vectors.a.len() / group;

    let mut specials = vectors.specials();
    for g in 0..groups {
        let (alpha, beta) = vectors.scales(vectors.indices[g * group]);
        specials.add_product(alpha, beta);
        // infinity under a zero scale factor is infinity times zero
        let zero = alpha.class == Class::Zero || beta.class == Class::Zero;
        let mut elements = vectors.a[g * group..(g + 1) * group].iter().zip(&vectors.b[g * group..]);
        if zero && elements.any(|(a, b)| a.class == Class::Infinity || b.class == Class::Infinity) {
            specials.add_nan();
        }
    }
    if let Some(special) = specials.outcome() {
        return finish_special(special, &conversion.container(), trace);
    }

    let exponent_of = |g: usize| {
        let elements = g * group..(g + 1) * group;
        let (alpha, beta) = vectors.scales(vectors.indices[g * group]);
        let zero = alpha.class == Class::Zero
            || beta.class == Class::Zero
            || elements.into_iter().all(|k| vectors.product_is_zero(k));
        if zero { sum.zero_exponent } else { Some(alpha.exponent + beta.exponent) }
    };
    let c_exponent =
        if vectors.c.class == Class::Zero { sum.zero_exponent } else { Some(vectors.c.exponent) };
    let maximum = (0..groups).map(exponent_of).max().flatten().max(c_exponent);
    let Some(maximum) = maximum else {
        return finish(Real::zero(false), conversion, ZeroSign::Positive, trace);
    };

    let (last, c_last) = (maximum - sum.fraction_bits as i32, maximum - sum.accumulator_bits() as i32);
    let mut total = 0;
    for g in 0..groups {
        total += cut(scaled_group(vectors, g, group, scale_fraction_bits), last, sum.term_rounding);
    }
    let total = with_accumulator(Exact { significand: total, exponent: last }, sum, vectors, c_last);

    if T::ON {
        let terms = (0..groups)
            .map(|g| {
                let first = vectors.indices[g * group];
                let name = TermName::Group { first, last: first + group - 1 };
                (name, scaled_group(vectors, g, group, scale_fraction_bits), exponent_of(g))
            })
            .chain([(TermName::Accumulator, vectors.accumulator(), c_exponent)]);
        trace.step(aligned_with_accumulator(maximum, sum, terms, total));
    }
    finish(Real::exact(total.significand, total.exponent), conversion, ZeroSign::Positive, trace)
}

/// s_g: the exact dot product of a group times the significands of its scale factors.
///
/// The products of a group span few enough bits for 128 (see `validate`).
fn scaled_group(vectors: &Vectors<'_>, g: usize, group: usize, scale_fraction_bits: i32) -> Exact {
    let elements = g * group..(g + 1) * group;
    let lowest = elements.clone().map(|k| vectors.product(k).exponent).min().unwrap_or(0);
    let dot: i128 = elements
        .map(|k| vectors.product(k))
        .map(|product| product.significand << (product.exponent - lowest))
        .sum();
    let (alpha, beta) = vectors.scales(vectors.indices[g * group]);
    let scale = i128::from(alpha.significand) * i128::from(beta.significand);
    Exact {
        significand: dot * scale,
        exponent: lowest + alpha.exponent + beta.exponent - 2 * scale_fraction_bits,
    }
}
