//! IEEE 754 fused multiply-add and addition (paper, Algorithm 3), and fused multiply-adds that flush.

use bitmma_formats::{Class, Format, Overflow, Real, Rounding, decode};

use crate::convert::{Conversion, ResultFlush};
use crate::exact::Exact;
use crate::operand::{Operand, Vectors};
use crate::special::{Special, Specials};
use crate::steps::{exact_sum, finish_special};
use crate::trace::{Step, TermName, Trace};

/// A summand and its sign, which a zero has too.
pub(crate) type Summand = (TermName, Exact, bool);

/// The exact product of two finite operands.
pub(crate) fn product(name: TermName, [x, y]: [&Operand; 2]) -> Summand {
    let (a, b) = (x.exact(), y.exact());
    let exact = Exact { significand: a.significand * b.significand, exponent: a.exponent + b.exponent };
    (name, exact, x.value.negative != y.value.negative)
}

/// The summands added exactly and rounded once; overflow as IEEE 754 §7.4 says.
///
/// IEEE 754 §6.3: a sum that is exactly zero is +0 (-0 under RD), unless all summands are zeros of one
/// sign, which it keeps.
pub(crate) fn ieee_sum<T: Trace>(terms: &[Summand], rho: Conversion, trace: &mut T) -> u64 {
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
    let mut specials = Specials::default();
    specials.add_product(&a.value, &b.value);
    specials.add(&c.value);
    if let Some(special) = specials.outcome() {
        return finish_special(special, &rho.container(), trace);
    }
    let terms =
        [product(TermName::Product(index), [a, b]), (TermName::Accumulator, c.exact(), c.value.negative)];
    ieee_sum(&terms, rho, trace)
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
    let mut specials = Specials::default();
    specials.add(&x.value);
    specials.add(&y.value);
    if let Some(special) = specials.outcome() {
        return special.code(&rho.container());
    }
    let terms = [x, y].map(|one| (TermName::Accumulator, one.exact(), one.value.negative));
    ieee_sum(&terms, rho, &mut ())
}

/// x * y rounded once, as IEEE 754.
pub fn multiply(x: &Operand, y: &Operand, rho: Conversion) -> u64 {
    let mut specials = Specials::default();
    specials.add_product(&x.value, &y.value);
    if let Some(special) = specials.outcome() {
        return special.code(&rho.container());
    }
    let (_, exact, negative) = product(TermName::Products, [x, y]);
    rho.apply(Real { negative, ..Real::exact(exact.significand, exact.exponent) }, Overflow::Ieee)
}

/// The same number in another format, by a conversion instruction's rounding and overflow.
pub fn change_format(from: &Format, code: u64, rho: Conversion) -> u64 {
    let value = decode(from, code);
    match value.class {
        Class::Nan => Special::Nan.code(&rho.container()),
        Class::Infinity => Special::Infinity { negative: value.negative }.code(&rho.container()),
        Class::Zero | Class::Finite => {
            let exact = Operand { value, fraction_bits: from.fraction_bits as i32 }.exact();
            let real = Real { negative: value.negative, ..Real::exact(exact.significand, exact.exponent) };
            rho.apply(real, Overflow::Ieee)
        }
    }
}
