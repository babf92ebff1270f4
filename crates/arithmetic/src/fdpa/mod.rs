//! Elementary operations: one file for each way of summing, each in the steps of the paper's algorithms.
//!
//! Every step that is computed is reported to a [`Trace`] with the values that were used.

mod dot_add;
mod exact;
mod fused;
mod grouped;
mod rounded;
mod steps;

use bitmma_formats::{Class, Format, Overflow, Real, Unpacked};

use crate::convert::Conversion;
use crate::exact::Exact;
use crate::family::Operation;
use crate::fma::{Operand, fma, ftz_fma};
use crate::ftz::add_mul;
use crate::special::{Special, Specials};
use crate::trace::{Step, Trace};
pub(crate) use steps::exact_sum;

/// One elementary operation; its result is a code of rho's container.
pub(crate) fn operate<T: Trace>(
    operation: &Operation,
    rho: Conversion,
    vectors: &Vectors<'_>,
    trace: &mut T,
) -> u64 {
    match operation {
        Operation::FtzAddMul { .. } => add_mul(vectors, rho, trace),
        Operation::Fma => {
            let [a, b] = vectors.factors(0);
            fma(&a, &b, &vectors.c, vectors.indices[0], rho, trace)
        }
        Operation::FtzFma { .. } => ftz_fma(vectors, rho, trace),
        Operation::EFdpa { .. } => exact::e_fdpa(rho, vectors, trace),
        Operation::DotAdd { .. } => dot_add::dot_add(rho, vectors, trace),
        Operation::TFdpa(sum) | Operation::StFdpa(sum) => fused::t_fdpa(sum, rho, vectors, trace),
        Operation::GstFdpa { sum, group } => grouped::gst_fdpa(sum, *group, rho, vectors, trace),
        Operation::TrFdpa(sum) => rounded::tr_fdpa(sum, rho, vectors, trace),
        Operation::GtrFdpa(sum) => rounded::gtr_fdpa(sum, rho, vectors, trace),
    }
}

/// The operands of one elementary operation.
#[derive(Clone, Copy, Debug)]
pub struct Vectors<'a> {
    /// L elements of A.
    pub a: &'a [Unpacked],
    /// L elements of B.
    pub b: &'a [Unpacked],
    /// Formats of the elements of A and of B.
    pub formats: [&'a Format; 2],
    /// Where each of the L elements is along K.
    pub indices: &'a [usize],
    /// Scale factors of A for the whole of K; empty for operations without.
    pub scale_a: &'a [Unpacked],
    /// Scale factors of B for the whole of K; empty for operations without.
    pub scale_b: &'a [Unpacked],
    /// Elements that share a scale factor; not zero.
    pub block: usize,
    /// Fractional bits of the significand of a scale factor.
    pub scale_fraction_bits: i32,
    /// Fractional bits of a product of significands of A and B.
    pub product_fraction_bits: i32,
    /// The accumulator.
    pub c: Operand,
}

impl Vectors<'_> {
    /// Element `k` of A and of B.
    #[inline]
    pub(crate) fn factors(&self, k: usize) -> [Operand; 2] {
        let operand = |value, format: &Format| Operand { value, fraction_bits: format.fraction_bits as i32 };
        [operand(self.a[k], self.formats[0]), operand(self.b[k], self.formats[1])]
    }

    /// s_k 2^e_k of product `k`, exact: signed significands multiplied, exponents added.
    #[inline]
    fn product(&self, k: usize) -> Exact {
        let (a, b) = (&self.a[k], &self.b[k]);
        let significand = i128::from(a.signed_significand()) * i128::from(b.signed_significand());
        Exact { significand, exponent: a.exponent + b.exponent - self.product_fraction_bits }
    }

    /// The paper's e_k, without scale factors.
    #[inline]
    fn product_exponent(&self, k: usize) -> i32 {
        self.a[k].exponent + self.b[k].exponent
    }

    #[inline]
    fn product_is_zero(&self, k: usize) -> bool {
        self.a[k].class == Class::Zero || self.b[k].class == Class::Zero
    }

    /// The accumulator, exact.
    #[inline]
    fn accumulator(&self) -> Exact {
        self.c.exact()
    }

    /// Exp(c).
    #[inline]
    fn c_exponent(&self) -> Option<i32> {
        Some(self.c.value.exponent)
    }

    /// The scale factors of element `k` of the operation.
    #[inline]
    fn scales(&self, k: usize) -> (&Unpacked, &Unpacked) {
        let block = self.indices[k] / self.block;
        (&self.scale_a[block], &self.scale_b[block])
    }

    fn scale_is_nan(&self, k: usize) -> bool {
        let (alpha, beta) = self.scales(k);
        alpha.class == Class::Nan || beta.class == Class::Nan
    }

    /// NaN and infinity among products and accumulator.
    #[inline]
    fn specials(&self) -> Specials {
        let mut specials = Specials::default();
        for (a, b) in self.a.iter().zip(self.b) {
            specials.add_product(a, b);
        }
        specials.add(&self.c.value);
        specials
    }
}

/// Which sign a result of zero has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ZeroSign {
    /// +0, whatever the terms and whatever was cut.
    Positive,
    /// +0 for an exact zero, -0 for a negative value that rounds to zero.
    OfValue,
}

/// The end of every fused operation: rho, then the sign of zero.
#[inline]
pub fn finish<T: Trace>(value: Real, conversion: Conversion, zero: ZeroSign, trace: &mut T) -> u64 {
    let format = conversion.container();
    let code = conversion.apply(value, Overflow::Infinity);
    let code = if zero == ZeroSign::Positive && code == format.sign_bit() { 0 } else { code };
    if T::ON {
        trace.step(Step::Converted { value, conversion, code, format });
    }
    code
}

/// The code of a result that is NaN or infinite.
pub fn finish_special<T: Trace>(special: Special, format: &Format, trace: &mut T) -> u64 {
    if T::ON {
        trace.step(Step::Special(special));
    }
    special.code(format)
}
