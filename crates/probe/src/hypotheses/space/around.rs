//! The conversions of a model, changed together and apart.

use bitmma_engine::Model;
use bitmma_engine::arithmetic::{Chains, Conversion};

/// The model's conversions: rho, of chains that are merged, of C that is added last, of D that is narrowed.
fn conversions(model: &mut Model) -> Vec<&mut Conversion> {
    let lowering = &mut model.lowering;
    let merge = lowering.chains.as_mut().map(|Chains { merge, .. }| merge);
    let rest = [merge, lowering.add_accumulator_last.as_mut(), lowering.narrow_output.as_mut()];
    std::iter::once(&mut model.conversion).chain(rest.into_iter().flatten()).collect()
}

/// The model with each of the values that `of` makes of a conversion, for every choice of conversions that get it; the
/// others get the first.
pub(super) fn subsets(model: &Model, of: impl Fn(Conversion) -> Vec<Conversion>) -> Vec<Model> {
    let mut plain = model.clone();
    conversions(&mut plain).into_iter().for_each(|conversion| *conversion = of(*conversion)[0]);
    let count = conversions(&mut plain).len();
    let values = of(plain.conversion).len();
    let mut models = vec![plain.clone()];
    for value in 1..values {
        for chosen in 1..1 << count {
            let mut changed = plain.clone();
            for (at, conversion) in conversions(&mut changed).into_iter().enumerate() {
                if chosen >> at & 1 == 1 {
                    *conversion = of(*conversion)[value];
                }
            }
            models.push(changed);
        }
    }
    models
}
