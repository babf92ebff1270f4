//! NaN and infinity: resolved over all products and the accumulator before anything is aligned
//! (paper, "Special Value Handling"; semantics, rules 5 to 10).

use bitmma_formats::{Class, Format, Unpacked};

/// A result that is not a finite number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Special {
    /// Not a number.
    Nan,
    /// Infinity.
    Infinity {
        /// Its sign.
        negative: bool,
    },
}

impl Special {
    /// Its code in a format of results, which has NaN and infinity ([`Model::validate`](crate::Model::validate)).
    pub fn code(self, format: &Format) -> u64 {
        match self {
            Special::Nan => nan_code(format),
            Special::Infinity { negative } => {
                let sign = if negative { format.sign_bit() } else { 0 };
                let infinity = format.infinity_code();
                infinity.unwrap_or_else(|| unreachable!("a result in {format}, which has no infinity")) | sign
            }
        }
    }
}

/// The code of NaN in a format that has one.
pub(crate) fn nan_code(format: &Format) -> u64 {
    format.nan_code().unwrap_or_else(|| unreachable!("a NaN in {format}, which has none"))
}

/// What has been seen among the terms of a sum.
#[derive(Clone, Copy, Debug, Default)]
pub struct Specials {
    nan: bool,
    positive_infinity: bool,
    negative_infinity: bool,
}

impl Specials {
    /// Takes a summand into account.
    #[inline]
    pub fn add(&mut self, value: &Unpacked) {
        match value.class {
            Class::Nan => self.nan = true,
            Class::Infinity => self.add_infinity(value.negative),
            Class::Zero | Class::Finite => {}
        }
    }

    /// Takes an infinite summand into account.
    #[inline]
    pub fn add_infinity(&mut self, negative: bool) {
        if negative {
            self.negative_infinity = true;
        } else {
            self.positive_infinity = true;
        }
    }

    /// Takes a NaN into account, wherever it came from.
    #[inline]
    pub fn add_nan(&mut self) {
        self.nan = true;
    }

    /// Takes a product into account: NaN if a factor is NaN or infinity meets zero.
    #[inline]
    pub fn add_product(&mut self, a: &Unpacked, b: &Unpacked) {
        if a.is_finite() && b.is_finite() {
            return;
        }
        match (a.class, b.class) {
            (Class::Nan, _) | (_, Class::Nan) => self.nan = true,
            (Class::Zero, _) | (_, Class::Zero) => self.nan = true,
            _ => self.add_infinity(a.negative != b.negative),
        }
    }

    /// What the sum is if not finite: opposite infinities cancel into NaN.
    #[inline]
    pub fn outcome(&self) -> Option<Special> {
        if self.nan || (self.positive_infinity && self.negative_infinity) {
            return Some(Special::Nan);
        }
        (self.positive_infinity || self.negative_infinity)
            .then_some(Special::Infinity { negative: self.negative_infinity })
    }
}
