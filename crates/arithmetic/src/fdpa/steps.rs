//! The steps that algorithms share: an exact sum; the largest exponent, terms cut below it, and their sum.

use bitmma_formats::{Real, Rounding};

use crate::align::cut;
use crate::exact::{self, Exact};
use crate::trace::{Step, Term, TermName, Trace};

/// The terms of a sum by their number k: what they are, s_k 2^e_k, exact, and the exponent that each brings into the
/// maximum (`None`: it brings none).
#[derive(Clone, Copy)]
pub(super) struct Terms<N, S, E> {
    pub(super) name: N,
    pub(super) exact: S,
    pub(super) exponent: E,
}

/// The accumulator as the last term of a sum.
#[derive(Clone, Copy)]
pub(super) struct Accumulator {
    /// s_c 2^e_c.
    pub(super) exact: Exact,
    /// e_c, as it enters the maximum.
    pub(super) exponent: Option<i32>,
    /// Fractional bits that are kept of it.
    pub(super) bits: u32,
    /// Whether nothing is kept of it after all (Algorithm 9, lines 26 to 28).
    pub(super) dropped: bool,
}

/// The exact sum of all terms; their names are for the report.
#[inline]
pub(crate) fn exact_sum<T: Trace>(
    terms: impl Iterator<Item = Exact> + Clone,
    names: impl Iterator<Item = TermName>,
    trace: &mut T,
) -> Real {
    let sum = exact::sum(terms.clone());
    if T::ON {
        let term =
            |(name, exact): (_, Exact)| Term { name, exact, exponent: exact.leading_exponent(), kept: exact };
        trace.step(Step::Exact { terms: names.zip(terms).map(term).collect(), sum });
    }
    sum
}

/// e_max, under the name that the paper gives it in that step, and its value.
pub(super) type Maximum = (&'static str, i32);

/// The largest of the exponents; `None` if no term brings one.
#[inline]
pub(super) fn largest(exponents: impl Iterator<Item = Option<i32>>) -> Option<i32> {
    exponents.max().flatten() // None is smaller than every exponent
}

/// s_k' = RZ_F(s_k 2^(e_k - e_max)) of the terms `which`, and S, their sum: each cut to `bits` fractional bits below the
/// maximum, the accumulator to bits of its own. The sum is in units of the smaller of the two last bits.
#[inline(always)]
pub(super) fn aligned_sum<T: Trace>(
    (maximum, exponent): Maximum,
    which: impl Iterator<Item = usize>,
    terms: &Terms<impl Fn(usize) -> TermName, impl Fn(usize) -> Exact, impl Fn(usize) -> Option<i32>>,
    accumulator: Option<Accumulator>,
    (bits, rounding): (u32, Rounding),
    trace: &mut T,
) -> Exact {
    let mut used: Vec<Term> = Vec::new();
    let last = exponent - bits as i32;
    let mut total = 0;
    for k in which {
        let exact = (terms.exact)(k);
        let significand = cut(exact, last, rounding);
        total += significand;
        if T::ON {
            let kept = Exact { significand, exponent: last };
            used.push(Term { name: (terms.name)(k), exact, exponent: (terms.exponent)(k), kept });
        }
    }
    let mut sum = Exact { significand: total, exponent: last };
    if let Some(c) = accumulator {
        let last = exponent - c.bits as i32;
        let significand = if c.dropped { 0 } else { cut(c.exact, last, rounding) };
        let kept = Exact { significand, exponent: last };
        sum = sum.plus(kept);
        if T::ON {
            let (name, exact, exponent) = (TermName::Accumulator, c.exact, c.exponent);
            used.push(Term { name, exact, exponent, kept });
        }
    }
    if T::ON {
        trace.step(Step::Aligned { maximum, exponent, terms: used, fraction_bits: bits, rounding, sum });
    }
    sum
}
