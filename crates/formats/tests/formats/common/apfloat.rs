//! Formats and rounding rules in `rustc_apfloat`'s terms.

use bitmma_formats::Rounding;
use rustc_apfloat::Round;
use rustc_apfloat::ieee::Semantics;

/// TF32 without its padding.
pub(crate) struct Tf32S;
impl Semantics for Tf32S {
    const BITS: usize = 19;
    const EXP_BITS: usize = 8;
}

/// E8M13 without its padding.
pub(crate) struct E8m13S;
impl Semantics for E8m13S {
    const BITS: usize = 22;
    const EXP_BITS: usize = 8;
}

/// The five rules of IEEE 754.
pub(crate) const RULES: [(Rounding, Round); 5] = [
    (Rounding::NearestEven, Round::NearestTiesToEven),
    (Rounding::NearestAway, Round::NearestTiesToAway),
    (Rounding::TowardZero, Round::TowardZero),
    (Rounding::Up, Round::TowardPositive),
    (Rounding::Down, Round::TowardNegative),
];
