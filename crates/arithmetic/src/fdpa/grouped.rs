//! GST-FDPA (paper, Algorithm 7): exact dot products of groups, scaled, then summed as in T-FDPA.

use bitmma_formats::Class;

use super::fused::truncated_sum;
use crate::convert::Conversion;
use crate::exact::Exact;
use crate::operand::Vectors;
use crate::steps::{Terms, finish_special};
use crate::sums::FusedSum;
use crate::trace::{TermName, Trace};

/// d = rho(sum over groups of RZ_F(s_g * 2^(e_g - e_max)) * 2^e_max), the accumulator being one term more.
///
/// A group is a zero term when every one of its products is zero or a scale factor is zero; one whose
/// products cancel keeps e_g (semantics, rule 3).
pub(super) fn gst_fdpa<T: Trace>(
    sum: &FusedSum,
    group: usize,
    rho: Conversion,
    vectors: &Vectors<'_>,
    trace: &mut T,
) -> u64 {
    let groups = vectors.a.len() / group;
    let elements = |g: usize| g * group..(g + 1) * group;
    let scales = |g: usize| vectors.scales(g * group);
    let scale_is_zero = |g: usize| {
        let (alpha, beta) = scales(g);
        alpha.class == Class::Zero || beta.class == Class::Zero
    };

    let mut specials = vectors.specials();
    for g in 0..groups {
        let (alpha, beta) = scales(g);
        specials.add_product(alpha, beta);
        // infinity under a zero scale factor is infinity times zero
        let infinite = |k: usize| [vectors.a[k].class, vectors.b[k].class].contains(&Class::Infinity);
        if scale_is_zero(g) && elements(g).any(infinite) {
            specials.add_nan();
        }
    }
    if let Some(special) = specials.outcome() {
        return finish_special(special, &rho.container(), trace);
    }

    // Step 1, lines 3 to 5: p_g, s_g and e_g
    let s = |g: usize| scaled(dot(vectors, elements(g)), vectors, g * group);
    let e = |g: usize| {
        if scale_is_zero(g) || elements(g).all(|k| vectors.product_is_zero(k)) {
            return sum.zero_exponent;
        }
        let (alpha, beta) = scales(g);
        Some(alpha.exponent + beta.exponent)
    };
    let name = |g: usize| {
        let first = vectors.indices[g * group];
        TermName::Group { first, last: first + group - 1 }
    };
    // Steps 2 and 3, lines 8 to 16, are those of Algorithm 5
    truncated_sum(sum, groups, &Terms { name, exact: s, exponent: e }, rho, vectors, trace)
}

/// p_g: the exact dot product of a group, which spans few enough bits for 128 (see `validate`).
fn dot(vectors: &Vectors<'_>, elements: std::ops::Range<usize>) -> Exact {
    let products = elements.map(|k| vectors.product(k));
    let lowest = products.clone().map(|product| product.exponent).min().unwrap_or(0);
    let in_units = |product: Exact| product.significand << (product.exponent - lowest);
    Exact { significand: products.map(in_units).sum(), exponent: lowest }
}

/// s_g 2^e_g: p_g times the scale factors of element `k`.
fn scaled(dot: Exact, vectors: &Vectors<'_>, k: usize) -> Exact {
    let (alpha, beta) = vectors.scales(k);
    let scale = i128::from(alpha.significand) * i128::from(beta.significand);
    Exact {
        significand: dot.significand * scale,
        exponent: dot.exponent + alpha.exponent + beta.exponent - 2 * vectors.scale_fraction_bits,
    }
}
