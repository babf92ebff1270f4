//! IEEE 754 fused multiply-add and addition (paper, Algorithm 3), and fused multiply-adds that flush.

use bitmma_formats::{Class, Format, Overflow, Real, Rounding, Unpacked, decode};

use crate::convert::{Conversion, ResultFlush};
use crate::exact::{self, Exact};
use crate::fdpa::{Vectors, finish_special, special_code};
use crate::special::Specials;
use crate::trace::{Step, Term, TermName, Trace};

/// A factor or summand with the fractional bits of its significand.
#[derive(Clone, Copy, Debug)]
pub struct Operand {
    /// The number taken apart.
    pub value: Unpacked,
    /// Fractional bits of its significand.
    pub fraction_bits: i32,
}

impl Operand {
    /// The operand with this code.
    #[inline]
    pub fn new(format: &Format, code: u64) -> Operand {
        Operand { value: decode(format, code), fraction_bits: format.fraction_bits as i32 }
    }

    /// Zero of the same sign in place of a subnormal number.
    fn flushed(mut self) -> Operand {
        if self.value.is_finite() && self.value.significand < 1 << self.fraction_bits {
            self.value = Unpacked { class: Class::Zero, significand: 0, ..self.value };
        }
        self
    }

    fn exact(&self) -> Exact {
        Exact {
            significand: i128::from(self.value.signed_significand()),
            exponent: self.value.exponent - self.fraction_bits,
        }
    }
}

/// The exact product of two finite operands.
fn product(a: &Operand, b: &Operand) -> Exact {
    let (x, y) = (a.exact(), b.exact());
    Exact { significand: x.significand * y.significand, exponent: x.exponent + y.exponent }
}

/// a*b + c rounded once; signs of zero and overflow as IEEE 754 §6.3 and §7.4 say. `index` is the
/// element's place along K, for the report.
pub fn fma<T: Trace>(
    a: &Operand,
    b: &Operand,
    c: &Operand,
    index: usize,
    conversion: Conversion,
    trace: &mut T,
) -> u64 {
    let mut specials = Specials::default();
    specials.add_product(&a.value, &b.value);
    specials.add(&c.value);
    if let Some(special) = specials.outcome() {
        return finish_special(special, &conversion.container(), trace);
    }
    let negative_product = a.value.negative != b.value.negative;
    let terms = [product(a, b), c.exact()];
    let sum = exact::sum(terms.into_iter());
    let value = with_ieee_zero(sum, negative_product, c.value.negative, &terms, conversion.rounding);
    let code = conversion.apply(value, Overflow::Ieee);
    if T::ON {
        let names = [TermName::Product(index), TermName::Accumulator];
        let terms = names
            .into_iter()
            .zip(terms)
            .map(|(name, exact)| Term { name, exact, exponent: exact.leading_exponent(), kept: exact })
            .collect();
        trace.step(Step::Exact { terms, sum });
        trace.step(Step::Converted { value, conversion, code, format: conversion.container() });
    }
    code
}

/// FTZ-FMA: the products of `vectors` added to `c` one by one, the last first, by fused multiply-adds that
/// flush what goes in and what comes out.
pub(crate) fn ftz_fma<T: Trace>(
    vectors: &Vectors<'_>,
    (a_format, b_format): (&Format, &Format),
    c: &Operand,
    conversion: Conversion,
    trace: &mut T,
) -> u64 {
    let conversion = Conversion { flush: ResultFlush::AfterRounding, ..conversion };
    let container = conversion.container();
    let flushed = |format: &Format, value: Unpacked| {
        Operand { value, fraction_bits: format.fraction_bits as i32 }.flushed()
    };
    let mut accumulator = c.flushed();
    let mut code = 0;
    for ((a, b), index) in vectors.a.iter().zip(vectors.b).zip(vectors.indices).rev() {
        let (a, b) = (flushed(a_format, *a), flushed(b_format, *b));
        code = fma(&a, &b, &accumulator, *index, conversion, trace);
        accumulator = Operand::new(&container, code);
    }
    code
}

/// x + y rounded once, as IEEE 754.
pub fn add(x: &Operand, y: &Operand, conversion: Conversion) -> u64 {
    let mut specials = Specials::default();
    specials.add(&x.value);
    specials.add(&y.value);
    if let Some(special) = specials.outcome() {
        return special_code(special, &conversion.container());
    }
    let terms = [x.exact(), y.exact()];
    let sum = exact::sum(terms.into_iter());
    let value = with_ieee_zero(sum, x.value.negative, y.value.negative, &terms, conversion.rounding);
    conversion.apply(value, Overflow::Ieee)
}

/// x * y rounded once, as IEEE 754.
pub fn multiply(x: &Operand, y: &Operand, conversion: Conversion) -> u64 {
    let mut specials = Specials::default();
    specials.add_product(&x.value, &y.value);
    if let Some(special) = specials.outcome() {
        return special_code(special, &conversion.container());
    }
    let product = product(x, y);
    let value = Real {
        negative: x.value.negative != y.value.negative,
        ..Real::exact(product.significand, product.exponent)
    };
    conversion.apply(value, Overflow::Ieee)
}

/// IEEE 754 §6.3: a sum that is exactly zero is +0 (-0 under RD), unless both summands are zeros of one
/// sign, which it keeps.
fn with_ieee_zero(
    sum: Real,
    x_negative: bool,
    y_negative: bool,
    terms: &[Exact; 2],
    rounding: Rounding,
) -> Real {
    if !sum.is_zero() {
        return sum;
    }
    let both_zero = terms.iter().all(|term| term.significand == 0);
    let negative =
        if both_zero && x_negative == y_negative { x_negative } else { rounding == Rounding::Down };
    Real::zero(negative)
}

/// The same number in another format, by a conversion instruction's rounding and overflow.
pub fn change_format(from: &Format, code: u64, conversion: Conversion) -> u64 {
    let value = decode(from, code);
    match value.class {
        Class::Nan => conversion.container().nan_code().unwrap_or(0),
        Class::Infinity => special_code(
            crate::special::Special::Infinity { negative: value.negative },
            &conversion.container(),
        ),
        Class::Zero | Class::Finite => {
            let exact = Operand { value, fraction_bits: from.fraction_bits as i32 }.exact();
            let real = Real { negative: value.negative, ..Real::exact(exact.significand, exact.exponent) };
            conversion.apply(real, Overflow::Ieee)
        }
    }
}
