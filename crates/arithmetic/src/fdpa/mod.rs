//! Fused dot-product-add operations: a file for each way of summing (paper, Algorithms 4 to 9).

mod exact;
mod fused;
mod grouped;
mod rounded;

pub use exact::e_fdpa;
pub use fused::t_fdpa;
pub use grouped::gst_fdpa;
pub use rounded::{Grouping, rounded_fdpa};

use bitmma_formats::{Class, Format, Overflow, Real, Unpacked};

use crate::convert::Conversion;
use crate::exact::Exact;
use crate::special::{Special, Specials};
use crate::trace::{Step, Trace};

/// The operands of one elementary operation.
#[derive(Clone, Copy, Debug)]
pub struct Vectors<'a> {
    /// L elements of A.
    pub a: &'a [Unpacked],
    /// L elements of B.
    pub b: &'a [Unpacked],
    /// Where each of the L elements stands along K.
    pub indices: &'a [usize],
    /// Scale factors of A for the whole of K; empty for operations without.
    pub scale_a: &'a [Unpacked],
    /// Scale factors of B for the whole of K; empty for operations without.
    pub scale_b: &'a [Unpacked],
    /// Elements that share a scale factor; not zero.
    pub block: usize,
    /// Fractional bits of a product of significands of A and B.
    pub product_fraction_bits: i32,
    /// The accumulator.
    pub c: Unpacked,
    /// Fractional bits of its significand.
    pub c_fraction_bits: i32,
}

impl Vectors<'_> {
    /// Product `k` of the operation, exact: signed significands multiplied, exponents added.
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
        Exact {
            significand: i128::from(self.c.signed_significand()),
            exponent: self.c.exponent - self.c_fraction_bits,
        }
    }

    /// The scale factors of the element at `index` along K.
    #[inline]
    fn scales(&self, index: usize) -> (&Unpacked, &Unpacked) {
        (&self.scale_a[index / self.block], &self.scale_b[index / self.block])
    }

    /// NaN and infinity among products and accumulator.
    #[inline]
    fn specials(&self) -> Specials {
        let mut specials = Specials::default();
        for (a, b) in self.a.iter().zip(self.b) {
            specials.add_product(a, b);
        }
        specials.add(&self.c);
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
    special_code(special, format)
}

/// The code of NaN or infinity in a format that has both.
pub fn special_code(special: Special, format: &Format) -> u64 {
    match special {
        Special::Nan => format.nan_code().unwrap_or(0),
        Special::Infinity { negative } => {
            let infinity = format.infinity_code().unwrap_or(format.max_finite_code());
            if negative { infinity | format.sign_bit() } else { infinity }
        }
    }
}
