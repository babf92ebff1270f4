//! E-FDPA (paper, Algorithm 4): an exact sum of L products and the accumulator, rounded once.

use super::{Vectors, ZeroSign, finish, finish_special};
use crate::convert::Conversion;
use crate::exact;
use crate::trace::{Step, Term, TermName, Trace};

/// d = rho(c + sum of a_k * b_k).
pub fn e_fdpa<T: Trace>(conversion: Conversion, vectors: &Vectors<'_>, trace: &mut T) -> u64 {
    if let Some(special) = vectors.specials().outcome() {
        return finish_special(special, &conversion.container(), trace);
    }
    let length = vectors.a.len();
    let terms = (0..length).map(|k| vectors.product(k)).chain([vectors.accumulator()]);
    let sum = exact::sum(terms.clone());
    if T::ON {
        let names = (0..length).map(|k| TermName::Product(vectors.indices[k])).chain([TermName::Accumulator]);
        let terms = names
            .zip(terms)
            .map(|(name, exact)| Term { name, exact, exponent: exact.leading_exponent(), kept: exact })
            .collect();
        trace.step(Step::Exact { terms, sum });
    }
    finish(sum, conversion, ZeroSign::OfValue, trace)
}
