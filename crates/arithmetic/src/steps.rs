//! The steps that algorithms share: an exact sum; the largest exponent, terms cut below it, and their sum; rho.

use bitmma_formats::{Format, Overflow, Real, Rounding};

use crate::align::cut;
use crate::convert::Conversion;
use crate::exact::{self, Exact};
use crate::special::Special;
use crate::trace::{Step, Term, TermName, Trace};

/// The terms of a sum by their number k: what they are, s_k 2^e_k, exact, and the exponent that each brings into the
/// maximum (`None`: it brings none).
#[derive(Clone, Copy)]
pub(crate) struct Terms<N, S, E> {
    pub(crate) name: N,
    pub(crate) exact: S,
    pub(crate) exponent: E,
}

/// The accumulator as the last term of a sum.
#[derive(Clone, Copy)]
pub(crate) struct Accumulator {
    /// s_c 2^e_c.
    pub(crate) exact: Exact,
    /// e_c, as it enters the maximum.
    pub(crate) exponent: Option<i32>,
    /// Fractional bits that are kept of it.
    pub(crate) bits: u32,
    /// Whether nothing is kept of it after all (Algorithm 9, lines 26 to 28).
    pub(crate) dropped: bool,
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
pub(crate) type Maximum = (&'static str, i32);

/// The largest of the exponents; `None` if no term brings one.
#[inline]
pub(crate) fn largest(exponents: impl Iterator<Item = Option<i32>>) -> Option<i32> {
    exponents.flatten().max()
}

/// s_k' = RZ_F(s_k 2^(e_k - e_max)) of the terms `which`, and S, their sum: each cut to `bits` fractional bits below the
/// maximum, the accumulator to bits of its own. The sum is in units of the smaller of the two last bits.
#[inline(always)]
pub(crate) fn aligned_sum<T: Trace>(
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
    which.for_each(|k| {
        let exact = (terms.exact)(k);
        let significand = cut(exact, last, rounding);
        total += significand;
        if T::ON {
            let kept = Exact { significand, exponent: last };
            used.push(Term { name: (terms.name)(k), exact, exponent: (terms.exponent)(k), kept });
        }
    });
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

/// Which sign a result of zero has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ZeroSign {
    /// +0, whatever the terms and whatever was cut.
    Positive,
    /// +0 for an exact zero, -0 for a negative value that rounds to zero.
    OfValue,
}

/// The end of every fused operation: rho, then the sign of zero.
#[inline]
pub(crate) fn finish<T: Trace>(value: Real, conversion: Conversion, zero: ZeroSign, trace: &mut T) -> u64 {
    let format = conversion.container();
    let code = conversion.apply(value, Overflow::Infinity);
    let code = if zero == ZeroSign::Positive && code == format.sign_bit() { 0 } else { code };
    if T::ON {
        trace.step(Step::Converted { value, conversion, code, format });
    }
    code
}

/// Reports an operation on two numbers, each a code and its format.
pub(crate) fn report_binary<T: Trace>(
    operation: &'static str,
    (left, left_format): (u64, Format),
    (right, right_format): (u64, Format),
    (result, format): (u64, Format),
    trace: &mut T,
) {
    if T::ON {
        trace.step(Step::Binary { operation, left, left_format, right, right_format, result, format });
    }
}

/// The code of a result that is NaN or infinite.
pub(crate) fn finish_special<T: Trace>(special: Special, format: &Format, trace: &mut T) -> u64 {
    if T::ON {
        trace.step(Step::Special(special));
    }
    special.code(format)
}
