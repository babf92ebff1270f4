//! Dot-Add: products summed exactly and rounded, then an IEEE 754 addition (Arm's BFDotAdd with FPCR.EBF = 1).

use crate::convert::Conversion;
use crate::fma::{Summand, ieee_sum, product};
use crate::operand::Operand;
use crate::operand::Vectors;
use crate::special::Specials;
use crate::steps::finish_special;
use crate::trace::{TermName, Trace};

/// d = rho(rho(sum of a_k * b_k) + c). NaN, infinity and zero are resolved in each of the two sums as IEEE 754 says.
pub(super) fn dot_add<T: Trace>(rho: Conversion, vectors: &Vectors<'_>, trace: &mut T) -> u64 {
    let format = rho.container();
    let mut specials = Specials::default();
    for (a, b) in vectors.a.iter().zip(vectors.b) {
        specials.add_product(a, b);
    }
    let dot = match specials.outcome() {
        Some(special) => finish_special(special, &format, trace),
        None => {
            let term = |k: usize| {
                let [a, b] = vectors.factors(k);
                product(TermName::Product(vectors.indices[k]), [&a, &b])
            };
            let products: Vec<Summand> = (0..vectors.a.len()).map(term).collect();
            ieee_sum(&products, rho, trace)
        }
    };

    let (dot, c) = (Operand::new(&format, dot), &vectors.c);
    let mut specials = Specials::default();
    specials.add(&dot.value);
    specials.add(&c.value);
    if let Some(special) = specials.outcome() {
        return finish_special(special, &format, trace);
    }
    let terms = [
        (TermName::Products, dot.exact(), dot.value.negative),
        (TermName::Accumulator, c.exact(), c.value.negative),
    ];
    ieee_sum(&terms, rho, trace)
}
