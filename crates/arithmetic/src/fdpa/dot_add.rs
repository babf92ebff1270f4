//! Dot-Add: products summed exactly and rounded, then an IEEE 754 addition (Arm's BFDotAdd with FPCR.EBF = 1).

use crate::convert::Conversion;
use crate::fma::{Summand, ieee_sum, product, specials, summand};
use crate::operand::{Operand, Vectors};
use crate::special::Specials;
use crate::trace::{TermName, Trace};

/// d = rho(rho(sum of a_k * b_k) + c). NaN, infinity and zero are resolved in each of the two sums as IEEE 754 says.
pub(super) fn dot_add<T: Trace>(rho: Conversion, vectors: &Vectors<'_>, trace: &mut T) -> u64 {
    let mut special = Specials::default();
    let term = |k: usize| {
        let [a, b] = vectors.factors(k);
        special.add_product(&a.value, &b.value);
        product(TermName::Product(vectors.indices[k]), [&a, &b])
    };
    let products: Vec<Summand> = (0..vectors.a.len()).map(term).collect();
    let dot = ieee_sum(special, &products, rho, trace);

    let (dot, c) = (Operand::new(&rho.container(), dot), &vectors.c);
    let terms = [summand(TermName::Products, &dot), summand(TermName::Accumulator, c)];
    ieee_sum(specials(&[], &[&dot, c]), &terms, rho, trace)
}
