//! IEEE 754 fused multiply-add and addition (paper, Algorithm 3), and fused multiply-adds that flush.

use bitmma_formats::{Format, Overflow, Real, Rounding};

use crate::convert::{Conversion, ResultFlush};
use crate::exact::Exact;
use crate::operand::{Operand, Vectors};
use crate::special::Specials;
use crate::steps::{exact_sum, finish_special};
use crate::trace::{Step, TermName, Trace};

/// A summand and its sign, which a zero has too.
pub(crate) type Summand = (TermName, Exact, bool);

/// An operand as a summand.
pub(crate) fn summand(name: TermName, x: &Operand) -> Summand {
    (name, x.exact(), x.value.negative)
}

/// The exact product of two operands.
pub(crate) fn product(name: TermName, [x, y]: [&Operand; 2]) -> Summand {
    let (a, b) = (x.exact(), y.exact());
    let exact = Exact { significand: a.significand * b.significand, exponent: a.exponent + b.exponent };
    (name, exact, x.value.negative != y.value.negative)
}

/// NaN and infinity in a sum of products and summands.
pub(crate) fn specials(products: &[(&Operand, &Operand)], summands: &[&Operand]) -> Specials {
    let mut specials = Specials::default();
    products.iter().for_each(|(x, y)| specials.add_product(&x.value, &y.value));
    summands.iter().for_each(|x| specials.add(&x.value));
    specials
}

/// The summands added exactly and rounded once; overflow as IEEE 754 §7.4 says. `specials` has the NaNs and infinities among
/// them.
///
/// IEEE 754 §6.3: a sum that is exactly zero is +0 (-0 under RD), unless all summands are zeros of one
/// sign, which it keeps.
pub(crate) fn ieee_sum<T: Trace>(
    specials: Specials,
    terms: &[Summand],
    rho: Conversion,
    trace: &mut T,
) -> u64 {
    if let Some(special) = specials.outcome() {
        return finish_special(special, &rho.container(), trace);
    }
    let exact = terms.iter().map(|(_, exact, _)| *exact);
    let mut value = exact_sum(exact, terms.iter().map(|(name, ..)| *name), trace);
    if value.is_zero() {
        let all =
            |wanted: bool| terms.iter().all(|(_, exact, sign)| exact.significand == 0 && *sign == wanted);
        value = Real::zero(all(true) || (rho.rounding == Rounding::Down && !all(false)));
    }
    let code = rho.apply(value, Overflow::Ieee);
    if T::ON {
        trace.step(Step::Converted { value, conversion: rho, code, format: rho.container() });
    }
    code
}

/// a*b + c rounded once (paper, Algorithm 3); `index` is the element's place along K, for the report.
pub fn fma<T: Trace>(
    a: &Operand,
    b: &Operand,
    c: &Operand,
    index: usize,
    rho: Conversion,
    trace: &mut T,
) -> u64 {
    let terms = [product(TermName::Product(index), [a, b]), summand(TermName::Accumulator, c)];
    ieee_sum(specials(&[(a, b)], &[c]), &terms, rho, trace)
}

/// FTZ-FMA: the products of `vectors` added to c one by one, the last first, by fused multiply-adds that
/// flush what goes in and what comes out.
pub(crate) fn ftz_fma<T: Trace>(vectors: &Vectors<'_>, rho: Conversion, trace: &mut T) -> u64 {
    let rho = Conversion { flush: ResultFlush::AfterRounding, ..rho };
    let container = rho.container();
    let mut accumulator = vectors.c.flushed();
    let mut code = 0;
    for k in (0..vectors.a.len()).rev() {
        let [a, b] = vectors.factors(k).map(Operand::flushed);
        code = fma(&a, &b, &accumulator, vectors.indices[k], rho, trace);
        accumulator = Operand::new(&container, code);
    }
    code
}

/// x + y rounded once, as IEEE 754.
pub fn add(x: &Operand, y: &Operand, rho: Conversion) -> u64 {
    let terms = [x, y].map(|one| summand(TermName::Accumulator, one));
    ieee_sum(specials(&[], &[x, y]), &terms, rho, &mut ())
}

/// x * y rounded once, as IEEE 754.
pub fn multiply(x: &Operand, y: &Operand, rho: Conversion) -> u64 {
    ieee_sum(specials(&[(x, y)], &[]), &[product(TermName::Products, [x, y])], rho, &mut ())
}

/// The same number in another format, by a conversion instruction's rounding and overflow.
pub fn change_format(from: &Format, code: u64, rho: Conversion) -> u64 {
    let x = Operand::new(from, code);
    ieee_sum(specials(&[], &[&x]), &[summand(TermName::Accumulator, &x)], rho, &mut ())
}
