//! Where an answer is in D.

use bitmma_engine::Signature;

/// An element of D.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Which of the unit's independent products.
    pub block: usize,
    /// Row of A and D.
    pub row: usize,
    /// Column of B and D.
    pub column: usize,
}

impl Place {
    /// The element at `index`, row-major, block after block.
    pub(crate) fn of(signature: &Signature, index: usize) -> Place {
        let Signature { m, n, .. } = *signature;
        Place { block: index / (m * n), row: index / n % m, column: index % n }
    }

    pub(crate) fn index(&self, signature: &Signature) -> usize {
        (self.block * signature.m + self.row) * signature.n + self.column
    }
}
