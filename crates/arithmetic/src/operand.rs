//! What one elementary operation is given: its factors, scale factors and accumulator, decoded.

use bitmma_formats::{Class, Format, Unpacked, decode};

use crate::exact::Exact;
use crate::special::Specials;

/// A factor or summand with the fractional bits of its significand.
#[derive(Clone, Copy, Debug)]
pub struct Operand {
    /// The number unpacked.
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

    /// Zero of the same sign instead of a subnormal number.
    pub fn flushed(mut self) -> Operand {
        if self.value.is_finite() && self.value.significand < 1 << self.fraction_bits {
            self.value = Unpacked { class: Class::Zero, significand: 0, ..self.value };
        }
        self
    }

    /// Its value; it must be finite.
    #[inline]
    pub(crate) fn exact(&self) -> Exact {
        Exact {
            significand: i128::from(self.value.signed_significand()),
            exponent: self.value.exponent - self.fraction_bits,
        }
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
    pub(crate) fn product(&self, k: usize) -> Exact {
        let (a, b) = (&self.a[k], &self.b[k]);
        let significand = i128::from(a.signed_significand()) * i128::from(b.signed_significand());
        Exact { significand, exponent: a.exponent + b.exponent - self.product_fraction_bits }
    }

    /// The paper's e_k, without scale factors.
    #[inline]
    pub(crate) fn product_exponent(&self, k: usize) -> i32 {
        self.a[k].exponent + self.b[k].exponent
    }

    #[inline]
    pub(crate) fn product_is_zero(&self, k: usize) -> bool {
        self.a[k].class == Class::Zero || self.b[k].class == Class::Zero
    }

    /// The scale factors of element `k` of the operation.
    #[inline]
    pub(crate) fn scales(&self, k: usize) -> (&Unpacked, &Unpacked) {
        let block = self.indices[k] / self.block;
        (&self.scale_a[block], &self.scale_b[block])
    }

    pub(crate) fn scale_is_nan(&self, k: usize) -> bool {
        let (alpha, beta) = self.scales(k);
        alpha.class == Class::Nan || beta.class == Class::Nan
    }

    /// NaN and infinity among products and accumulator.
    #[inline]
    pub(crate) fn specials(&self) -> Specials {
        let mut specials = Specials::default();
        for (a, b) in self.a.iter().zip(self.b) {
            specials.add_product(a, b);
        }
        specials.add(&self.c.value);
        specials
    }
}
