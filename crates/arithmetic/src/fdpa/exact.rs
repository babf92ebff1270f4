//! E-FDPA (paper, Algorithm 4): an exact sum of L products and the accumulator, rounded once.

use crate::convert::Conversion;
use crate::operand::Vectors;
use crate::steps::{ZeroSign, exact_sum, finish, finish_special};
use crate::trace::{TermName, Trace};

/// Line 1: d = rho(c + sum of a_k * b_k).
pub(super) fn e_fdpa<T: Trace>(rho: Conversion, vectors: &Vectors<'_>, trace: &mut T) -> u64 {
    if let Some(special) = vectors.specials().outcome() {
        return finish_special(special, &rho.container(), trace);
    }
    let terms = (0..vectors.a.len()).map(|k| vectors.product(k)).chain([vectors.c.exact()]);
    let names = vectors.indices.iter().map(|k| TermName::Product(*k)).chain([TermName::Accumulator]);
    let sum = exact_sum(terms, names, trace);
    finish(sum, rho, ZeroSign::OfValue, trace)
}
