//! What a rewriting did.

use crate::error::Doubt;

/// What was rewritten.
#[derive(Clone, Debug, Default)]
pub struct Rewrites {
    /// Lines of the multiplication (or division) and of the addition that are one operation.
    pub fused: Vec<(u32, u32)>,
    /// Lines of operations on constants that are computed at compile time, correctly rounded.
    pub folded: Vec<u32>,
    pub(crate) doubts: Vec<Doubt>,
}
