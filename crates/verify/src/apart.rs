//! How two models are told apart, for those who cannot ask the probe themselves.

use bitmma_engine::{Case, Model};

/// What the probe knows of two models.
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    /// Whether no input of K elements tells them apart, by argument; `false` says nothing.
    pub equivalent: fn(&Model, &Model, usize) -> bool,
    /// An input of K elements that tells them apart, from a seed, of so many constructed ones.
    pub differing: fn(&Model, &Model, usize, u64, u64) -> Option<Case>,
}
