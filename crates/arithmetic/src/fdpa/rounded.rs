//! TR-FDPA and GTR-FDPA (paper, Algorithms 8 and 9): truncated sums of products, then a rounded sum with
//! the accumulator, then what an MI300X does beyond the algorithms as printed (semantics, rule 11).

use bitmma_formats::{Class, Real};

use crate::convert::Conversion;
use crate::exact::Exact;
use crate::operand::{Operand, Vectors};
use crate::special::Specials;
use crate::steps::{Accumulator, Terms, ZeroSign, aligned_sum, finish, finish_special, largest};
use crate::sums::RoundedSum;
use crate::trace::{TermName, Trace};

/// T 2^e_max, a sum of products, and e_max; `None` where every product is zero (semantics, rule 4).
type Partial = Option<(Exact, i32)>;

/// TR-FDPA (Algorithm 8).
pub(super) fn tr_fdpa<T: Trace>(
    sum: &RoundedSum,
    rho: Conversion,
    vectors: &Vectors<'_>,
    trace: &mut T,
) -> u64 {
    if let Some(special) = specials(sum, vectors).outcome() {
        return finish_special(special, &rho.container(), trace);
    }
    // Steps 1 and 2, lines 1 to 11: T
    let products = truncated_sum(sum, vectors, (0, 1), "e_max", trace);
    // Steps 3 and 4, lines 12 to 20: S and d
    let value = rounded_sum(sum, products, false, rho, &vectors.c, trace);
    finish(value, rho, ZeroSign::OfValue, trace)
}

/// Steps 3 and 4 of TR-FDPA alone, of finite numbers: the code of d from T, in units of 2^(e_max - F), with e_max, and from
/// the code of c; without T where every product is zero.
pub fn tr_fdpa_end(sum: &RoundedSum, rho: Conversion, t: Option<(i128, i32)>, c: u64) -> u64 {
    let exact = |(significand, e_max)| Exact { significand, exponent: e_max - sum.fraction_bits as i32 };
    let products = t.map(|t| (exact(t), t.1));
    let value = rounded_sum(sum, products, false, rho, &Operand::new(&rho.container(), c), &mut ());
    finish(value, rho, ZeroSign::OfValue, &mut ())
}

/// GTR-FDPA (Algorithm 9).
pub(super) fn gtr_fdpa<T: Trace>(
    sum: &RoundedSum,
    rho: Conversion,
    vectors: &Vectors<'_>,
    trace: &mut T,
) -> u64 {
    if let Some(special) = specials(sum, vectors).outcome() {
        return finish_special(special, &rho.container(), trace);
    }
    // Steps 1 and 2, lines 1 to 14: T_even and T_odd
    let even = truncated_sum(sum, vectors, (0, 2), "e_even", trace);
    let odd = truncated_sum(sum, vectors, (1, 2), "e_odd", trace);
    // Step 3, lines 16 to 19: T
    let products = join(sum, even, odd, trace);
    // Steps 4 and 5, lines 20 to 31: S and d
    let value = rounded_sum(sum, products, true, rho, &vectors.c, trace);
    finish(value, rho, ZeroSign::OfValue, trace)
}

/// NaN and infinity, those of overflowing products among them.
#[inline]
fn specials(sum: &RoundedSum, vectors: &Vectors<'_>) -> Specials {
    let mut specials = vectors.specials();
    if let Some(limit) = sum.product_overflow {
        add_overflows(vectors, limit, &mut specials);
    }
    specials
}

/// A product of magnitude 2^limit or more is infinite (semantics, rule 8).
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

/// Steps 1 and 2 of both algorithms, for the products `first`, `first + step`, …: the largest exponent (line 7; 7 and
/// 8), the products cut to F bits (line 9; 10 and 11), their sum (line 11; 13 and 14).
fn truncated_sum<T: Trace>(
    sum: &RoundedSum,
    vectors: &Vectors<'_>,
    (first, step): (usize, usize),
    maximum: &'static str,
    trace: &mut T,
) -> Partial {
    let products = (first..vectors.a.len()).step_by(step);
    let e = |k: usize| (!vectors.product_is_zero(k)).then(|| vectors.product_exponent(k));
    let e_max = largest(products.clone().map(e))?;
    let name = |k: usize| TermName::Product(vectors.indices[k]);
    let terms = Terms { name, exact: |k: usize| vectors.product(k), exponent: e };
    let cut = (sum.fraction_bits, sum.term_rounding);
    let t = aligned_sum((maximum, e_max), products, &terms, None, cut, trace);
    Some((t, e_max))
}

/// Step 3 of Algorithm 9: e_max (line 16), both sums cut to F bits below it (17 and 18), T (19).
fn join<T: Trace>(sum: &RoundedSum, even: Partial, odd: Partial, trace: &mut T) -> Partial {
    let e_max = exponent_of(even).max(exponent_of(odd))?;
    let absent = Exact { significand: 0, exponent: e_max - sum.fraction_bits as i32 };
    let part = |k: usize| if k == 0 { even } else { odd };
    let terms = Terms {
        name: |k: usize| [TermName::Even, TermName::Odd][k],
        exact: |k: usize| part(k).map_or(absent, |(t, _)| t),
        exponent: |k: usize| exponent_of(part(k)),
    };
    let cut = (sum.fraction_bits, sum.sum_rounding);
    let t = aligned_sum(("e_max", e_max), 0..2, &terms, None, cut, trace);
    Some((t, e_max))
}

fn exponent_of(partial: Partial) -> Option<i32> {
    partial.map(|(_, e_max)| e_max)
}

/// Step 3 of Algorithm 8, lines 13 to 18, and step 4 of Algorithm 9, lines 21 to 29: S.
fn rounded_sum<T: Trace>(
    sum: &RoundedSum,
    products: Partial,
    special_truncation: bool,
    rho: Conversion,
    c: &Operand,
    trace: &mut T,
) -> Real {
    // s_c and e_c (lines 13 and 14; 21 and 22)
    let zero = c.value.class == Class::Zero;
    let e_c = if zero { sum.zero_accumulator_exponent } else { Some(c.value.exponent) };
    // E (line 15; 23)
    let Some(e) = exponent_of(products).max(e_c) else { return Real::zero(false) };
    // one bit more of T where the sum is normalized
    let bits = sum.sum_fraction_bits + u32::from(sum.renormalize);
    let t = products.map_or(Exact { significand: 0, exponent: e - bits as i32 }, |(t, _)| t);
    let own = exponent_of(products).filter(|_| t.significand != 0);
    let terms = Terms { name: |_| TermName::Products, exact: |_| t, exponent: |_| own };
    // (lines 26 to 28 of Algorithm 9)
    let dropped = special_truncation && e_c.is_some_and(|e_c| e_c < e - sum.fraction_bits as i32 - 1);
    let c = Accumulator { exact: c.exact(), exponent: e_c, bits: sum.fraction_bits, dropped };
    // T', s_c' and S (lines 16 to 18; 24, 25 and 29)
    let s = aligned_sum(("E", e), 0..1, &terms, Some(c), (bits, sum.sum_rounding), trace);
    if sum.renormalize { normalised(sum, s, rho, trace) } else { Real::exact(s.significand, s.exponent) }
}

/// Rule 11 of the semantics: S cut to F2 bits below its own exponent e', which is not below that of rho's format.
fn normalised<T: Trace>(sum: &RoundedSum, s: Exact, rho: Conversion, trace: &mut T) -> Real {
    let Some(leading) = s.leading_exponent() else { return Real::zero(false) };
    let own = leading.max(rho.format.min_exponent());
    let terms = Terms { name: |_| TermName::Sum, exact: |_| s, exponent: |_| Some(own) };
    let cut = (sum.sum_fraction_bits, sum.sum_rounding);
    let kept = aligned_sum(("e'", own), 0..1, &terms, None, cut, trace);
    Real { negative: s.significand < 0, ..Real::exact(kept.significand, kept.exponent) }
}
