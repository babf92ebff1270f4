//! "Equivalent" is said of no two models that an input tells apart.

use bitmma_engine::Revision;
use bitmma_engine::arithmetic::Operands;
use bitmma_engine::catalogue::catalogue;
use bitmma_probe::differ::{differing, equivalent};
use bitmma_verify::inputs::{Family, case};

/// Every pair of different models of the catalogue with the same formats and K: none is called equivalent where one of the inputs of
/// all families, or of those built to tell the two apart, differs; each model is equivalent to itself.
#[test]
fn no_pair_that_differs_is_called_equivalent() {
    let mut models: Vec<(bitmma_engine::Model, usize)> = vec![];
    for row in catalogue() {
        if let Some(mut model) = row.model(Revision::Hardware) {
            model.nan_code = None;
            let k = row.products();
            if !models.iter().any(|(other, other_k)| *other == model && *other_k == k) {
                models.push((model, k));
            }
        }
    }
    let mut pairs = 0;
    for (index, (one, k)) in models.iter().enumerate() {
        assert!(equivalent(one, one, *k));
        for (other, other_k) in &models[index + 1..] {
            let formats = |model: &bitmma_engine::Model| (model.a, model.b, model.c, model.d, model.scale);
            if formats(one) != formats(other) || k != other_k {
                continue;
            }
            pairs += 1;
            if !equivalent(one, other, *k) {
                continue;
            }
            let dot = |model: &bitmma_engine::Model, case: &bitmma_engine::Case| {
                let bitmma_engine::Case { a, b, c, scale_a, scale_b } = case;
                let d = model.dot(&Operands { a, b, c: *c, scale_a, scale_b }).unwrap();
                if model.d.is_nan(d) { None } else { Some(d) }
            };
            for family in Family::ALL {
                for at in 0..200 {
                    let case = case(one, *k, family, 7, at);
                    assert_eq!(dot(one, &case), dot(other, &case), "{one:?}\n{other:?}\n{case:?}");
                }
            }
            assert!(differing(one, other, *k, 7, 500).is_none(), "{one:?}\n{other:?}");
        }
    }
    assert!(pairs > 50, "{pairs}");
}
