//! `diff`: what is said of two models agrees with a search, and with the equality of canonical models.

use bitmma_analysis::subject::essence;
use bitmma_analysis::verdict::{Verdict, verdict};
use bitmma_engine::arithmetic::{FusedSum, Operands};
use bitmma_engine::catalogue::catalogue;
use bitmma_engine::{Case, Model, Revision};
use bitmma_probe::differ::{RULES, equivalent};
use bitmma_verify::inputs::{Family, case};

/// Every two models of the catalogue that take and give the same formats, at the K of their instructions; and each with
/// one parameter changed, as some of these compute alike.
fn pairs() -> Vec<(Model, Model, usize)> {
    let mut models: Vec<(Model, usize)> = vec![];
    for row in catalogue() {
        let Some(mut model) = row.model(Revision::Hardware) else { continue };
        model.nan_code = None;
        let k = row.products();
        if !models.contains(&(model.clone(), k)) {
            models.push((model, k));
        }
    }
    let mut pairs = vec![];
    for (index, (one, k)) in models.iter().enumerate() {
        for (other, other_k) in &models[index + 1..] {
            let formats = |model: &Model| (model.a, model.b, model.c, model.d, model.scale);
            if formats(one) == formats(other) && k == other_k {
                pairs.push((one.clone(), other.clone(), *k));
            }
        }
    }
    let changes: [fn(&mut FusedSum); 4] = [
        |sum| sum.zero_exponent = None,
        |sum| sum.zero_exponent = Some(-400),
        |sum| sum.fraction_bits += 1,
        |sum| sum.max_length *= 2,
    ];
    for (model, k) in &models {
        for change in changes {
            let mut changed = model.clone();
            let Some(sum) = changed.operation.fused_mut() else { continue };
            change(sum);
            pairs.push((model.clone(), changed, *k));
        }
    }
    pairs
}

#[test]
fn verdicts_agree_with_a_search_and_with_canonical_models() {
    let all = std::env::var("BITMMA_TESTS").is_ok_and(|value| value == "all");
    let pairs = pairs();
    let (step, each) = if all { (1, 10_000) } else { (pairs.len() / 12, 100) };
    let is_canonical = |one: &Model, other: &Model, k: usize| {
        essence(one, k) == essence(other, k) || equivalent(one, other, k)
    };
    // some of the few that are the same, too
    let alike =
        pairs.iter().filter(|(one, other, k)| is_canonical(one, other, *k)).take(if all { 0 } else { 4 });
    let chosen: Vec<&(Model, Model, usize)> = pairs.iter().step_by(step.max(1)).chain(alike).collect();
    let (mut same, mut differs, mut unknown) = (0, 0, 0);
    for (one, other, k) in chosen {
        let dot = |model: &Model, case: &Case| {
            let Case { a, b, c, scale_a, scale_b } = case;
            let d = model.dot(&Operands { a, b, c: *c, scale_a, scale_b }).unwrap();
            if model.d.is_nan(d) { None } else { Some(d) }
        };
        let differ_on = |case: &Case| dot(one, case) != dot(other, case);
        // ten families
        let mut cases = Family::ALL.into_iter().flat_map(|family| (0..each).map(move |at| (family, at)));
        let witness = cases.find(|(family, at)| differ_on(&case(one, *k, *family, 11, *at)));
        let canonical = is_canonical(one, other, *k);
        match verdict(one, other, *k, &RULES).unwrap() {
            Verdict::Same(why) => {
                assert!(witness.is_none(), "{why}; {witness:?} tells apart {one:?}\n{other:?}");
                assert!(canonical || why == "every input was tried", "{why}: {one:?}\n{other:?}");
                same += 1;
            }
            Verdict::Differs(case, _) => {
                assert!(differ_on(&case), "{case:?} does not tell apart {one:?}\n{other:?}");
                assert!(!canonical, "{one:?}\n{other:?}");
                differs += 1;
            }
            Verdict::Unknown(_) => {
                assert!(witness.is_none() && !canonical, "{witness:?} tells apart {one:?}\n{other:?}");
                unknown += 1;
            }
        }
    }
    println!("of {} pairs {same} are the same, {differs} differ, {unknown} are not known", pairs.len());
    assert!(same > 0 && differs > 0);
    assert!(unknown * 20 <= same + differs, "{unknown} of {}", same + differs + unknown);
}
