//! "Equivalent" is said of no two models that an input tells apart.

use bitmma_engine::arithmetic::{FusedSum, Operands};
use bitmma_engine::catalogue::catalogue;
use bitmma_engine::{Case, Model, Revision};
use bitmma_probe::differ::{differing, equivalent};
use bitmma_verify::inputs::{Family, case};

/// Every pair of models with the same formats and K, of the catalogue and changed in one parameter: none is called equivalent where
/// an input of any family, or one built to tell the two apart, differs; each model is equivalent to itself.
#[test]
fn no_pair_that_differs_is_called_equivalent() {
    let mut models: Vec<(Model, usize)> = vec![];
    for row in catalogue() {
        if let Some(mut model) = row.model(Revision::Hardware) {
            model.nan_code = None;
            let k = row.products();
            if !models.iter().any(|(other, other_k)| *other == model && *other_k == k) {
                models.push((model, k));
            }
        }
    }
    // and each model with one parameter changed: some of these compute alike
    let changes: [fn(&mut FusedSum); 4] = [
        |sum| sum.zero_exponent = None,
        |sum| sum.zero_exponent = Some(-400),
        |sum| sum.fraction_bits += 1,
        |sum| sum.max_length *= 2,
    ];
    for (model, k) in models.clone() {
        for change in changes {
            let mut changed = model.clone();
            let Some(sum) = changed.operation.fused_mut() else { continue };
            change(sum);
            models.push((changed, k));
        }
    }
    let (mut pairs, mut same, mut told_apart) = (0, 0, 0);
    for (index, (one, k)) in models.iter().enumerate() {
        assert!(equivalent(one, one, *k));
        for (other, other_k) in &models[index + 1..] {
            let formats = |model: &Model| (model.a, model.b, model.c, model.d, model.scale);
            if formats(one) != formats(other) || k != other_k || one == other {
                continue;
            }
            pairs += 1;
            let dot = |model: &Model, case: &Case| {
                let Case { a, b, c, scale_a, scale_b } = case;
                let d = model.dot(&Operands { a, b, c: *c, scale_a, scale_b }).unwrap();
                if model.d.is_nan(d) { None } else { Some(d) }
            };
            let differs = |case: &Case| dot(one, case) != dot(other, case);
            if equivalent(one, other, *k) {
                same += 1;
                let mut cases =
                    Family::ALL.into_iter().flat_map(|family| (0..50).map(move |at| (family, at)));
                let found = cases.find(|(family, at)| differs(&case(one, *k, *family, 7, *at)));
                assert!(found.is_none(), "{found:?} tells apart {one:?}\n{other:?}");
                assert!(differing(one, other, *k, 7, 100).is_none(), "{one:?}\n{other:?}");
            } else if let Some(case) = differing(one, other, *k, 7, 2_000) {
                assert!(differs(&case), "{case:?} does not tell apart {one:?}\n{other:?}");
                told_apart += 1;
            }
        }
    }
    // neither part is empty, and nearly every pair that is not proven equivalent is told apart
    assert!(same > 50, "{same} of {pairs} equivalent");
    assert!(told_apart * 100 > (pairs - same) * 95, "{told_apart} of {} told apart", pairs - same);
}
