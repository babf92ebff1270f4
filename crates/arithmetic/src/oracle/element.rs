//! What an operation sums: products of multiplicands.

use super::number::Number;

/// One pair of multiplicands, multiplied exactly, and what scales it.
pub(super) struct Element {
    /// a times b.
    pub(super) product: Number,
    /// alpha times beta; `None` for an operation without scale factors.
    pub(super) scale: Option<Number>,
}

impl Element {
    /// `a b alpha beta`, exactly.
    pub(super) fn scaled_product(&self) -> Number {
        match &self.scale {
            Some(scale) => self.product.times(scale),
            None => self.product.clone(),
        }
    }
}
