//! T-FDPA and ST-FDPA (paper, Algorithms 5 and 6): every term cut to F bits, then one exact sum.
//!
//! Lines are those of Algorithm 5; Algorithm 6 has the same, and adds the exponents of scale factors in line 4.

use bitmma_formats::{Class, Real};

use crate::convert::Conversion;
use crate::exact::Exact;
use crate::operand::Vectors;
use crate::steps::{Accumulator, Terms, ZeroSign, aligned_sum, finish, finish_special, largest};
use crate::sums::FusedSum;
use crate::trace::{TermName, Trace};

/// d = rho(sum of RZ_F(s_k * 2^(e_k - e_max)) * 2^e_max) over L products and the accumulator.
///
/// A zero product takes e_zero without the exponents of scale factors (semantics, rule 2), and a NaN scale factor
/// makes the result NaN (rule 10).
pub(super) fn t_fdpa<T: Trace>(sum: &FusedSum, rho: Conversion, vectors: &Vectors<'_>, trace: &mut T) -> u64 {
    let length = vectors.a.len();
    let scaled = !vectors.scale_a.is_empty();
    let mut specials = vectors.specials();
    if scaled && (0..length).any(|k| vectors.scale_is_nan(k)) {
        specials.add_nan();
    }
    if let Some(special) = specials.outcome() {
        return finish_special(special, &rho.container(), trace);
    }

    // Step 1, lines 3 and 4: exact products s_k 2^e_k
    let scale = |k: usize| {
        if !scaled {
            return 0;
        }
        let (alpha, beta) = vectors.scales(k);
        alpha.exponent + beta.exponent
    };
    let s = |k: usize| {
        let product = vectors.product(k);
        Exact { exponent: product.exponent + scale(k), ..product }
    };
    let e = |k: usize| match vectors.product_is_zero(k) {
        true => sum.zero_exponent,
        false => Some(vectors.product_exponent(k) + scale(k)),
    };
    let name = |k: usize| TermName::Product(vectors.indices[k]);
    truncated_sum(sum, length, &Terms { name, exact: s, exponent: e }, rho, vectors, trace)
}

/// Steps 2 and 3 of Algorithms 5 to 7: `count` terms, and the accumulator.
#[inline]
pub(super) fn truncated_sum<T: Trace>(
    sum: &FusedSum,
    count: usize,
    terms: &Terms<impl Fn(usize) -> TermName, impl Fn(usize) -> Exact, impl Fn(usize) -> Option<i32>>,
    rho: Conversion,
    vectors: &Vectors<'_>,
    trace: &mut T,
) -> u64 {
    // Step 2, lines 7 and 8: s_L and e_L, those of c
    let e_c =
        if vectors.c.value.class == Class::Zero { sum.zero_exponent } else { Some(vectors.c.value.exponent) };
    let bits = sum.accumulator_bits();
    let c = Accumulator { exact: vectors.c.exact(), exponent: e_c, bits, dropped: false };
    // line 9: e_max
    let Some(e_max) = largest((0..count).map(|k| (terms.exponent)(k))).max(e_c) else {
        return finish(Real::zero(false), rho, ZeroSign::Positive, trace);
    };
    // lines 11 and 13: every s_k', and S
    let cut = (sum.fraction_bits, sum.term_rounding);
    let sum = aligned_sum(("e_max", e_max), 0..count, terms, Some(c), cut, trace);
    // Step 3, line 15: rho
    finish(Real::exact(sum.significand, sum.exponent), rho, ZeroSign::Positive, trace)
}
