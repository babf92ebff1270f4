//! Why a unit's result is what it is, in one sentence.

use bitmma_analysis::account::{Account, Loss};
use bitmma_engine::formats::decode;
use bitmma_engine::formats::text::display;

use crate::explain::Computed;

/// Why a result is not exact, or not that of the first unit.
pub(crate) fn sentence(one: &Computed, first: Option<&Computed>) -> String {
    let Some(account) = &one.account else {
        return "Sums of integers: nothing is rounded; a sum beyond the range wraps or saturates.".to_owned();
    };
    if let Some(why) = not_finite(one) {
        return why;
    }
    match first {
        Some(other) if other.answer != one.answer => {
            parting(account, other).unwrap_or_else(|| alone(one, account))
        }
        Some(other) if is_same(account, other) => {
            "The same result as the first unit, by the same losses.".to_owned()
        }
        Some(_) if !account.losses.is_empty() => {
            format!("The same result as the first unit. {}", alone(one, account))
        }
        _ => alone(one, account),
    }
}

fn is_same(account: &Account, other: &Computed) -> bool {
    other.account.as_ref().is_some_and(|other| {
        !account.losses.is_empty()
            && other.losses.len() == account.losses.len()
            && other.losses.iter().zip(&account.losses).all(|(x, y)| is_alike(x, y))
    })
}

fn is_alike(x: &Loss, y: &Loss) -> bool {
    x.term == y.term && x.exact == y.exact && x.kept == y.kept
}

/// What it lost, the largest loss first.
fn alone(one: &Computed, account: &Account) -> String {
    let losses = &account.losses;
    let largest = losses.iter().max_by(|x, y| x.error().magnitude().cmp(&y.error().magnitude()));
    match (largest, losses.len()) {
        (None, _) if one.is_exact => "Nothing is lost: the result is the exact one.".to_owned(),
        (None, _) => "Only bits of operands are lost that are not read.".to_owned(),
        (Some(loss), 1) => format!("{}.", capital(&loss.in_words(&plain))),
        (Some(loss), many) => format!("{}: the largest of {many} losses.", capital(&loss.in_words(&plain))),
    }
}

/// The first loss that only one of the two has.
fn parting(account: &Account, other: &Computed) -> Option<String> {
    let others = &other.account.as_ref()?.losses;
    let shared = account.losses.iter().zip(others).take_while(|(x, y)| is_alike(x, y)).count();
    Some(match (account.losses.get(shared), others.get(shared)) {
        (Some(own), Some(its)) if own.term == its.term => {
            format!("{}; the first unit keeps {} of it.", capital(&own.in_words(&plain)), its.kept)
        }
        (Some(own), _) => format!("{}; the first unit does not lose this.", capital(&own.in_words(&plain))),
        (None, Some(its)) => {
            format!("It does not lose what the first unit does: {}.", its.in_words(&plain))
        }
        (None, None) => return None,
    })
}

fn plain(text: &str) -> String {
    text.to_owned()
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}

/// Which operands make the result infinite or NaN, or that a sum did.
fn not_finite(one: &Computed) -> Option<String> {
    let model = &one.model;
    if decode(&model.d, one.d).is_finite() {
        return None;
    }
    let result = display(&model.d, one.d);
    let case = &one.inputs.case;
    let mut reasons: Vec<String> = vec![];
    for (k, (a, b)) in case.a.iter().zip(&case.b).enumerate() {
        if !decode(&model.a, *a).is_finite() || !decode(&model.b, *b).is_finite() {
            reasons.push(format!("a{k}*b{k} = {} * {}", display(&model.a, *a), display(&model.b, *b)));
        }
    }
    if !decode(&model.c, case.c).is_finite() {
        reasons.push(format!("c = {}", display(&model.c, case.c)));
    }
    if let Some(scale) = model.scale {
        for (name, codes) in [("scale_a", &case.scale_a), ("scale_b", &case.scale_b)] {
            for (block, code) in codes.iter().enumerate() {
                if !decode(&scale.format, *code).is_finite() {
                    reasons.push(format!("{name}{block} = {}", display(&scale.format, *code)));
                }
            }
        }
    }
    let more = reasons.len().saturating_sub(2);
    reasons.truncate(2);
    if more > 0 {
        reasons.push(format!("{more} more"));
    }
    Some(match reasons.is_empty() {
        false => format!("The result is {result} before anything is summed: {}.", reasons.join(", ")),
        true => format!(
            "The result is {result}: a product or sum is beyond the largest number of {}, {}.",
            model.conversion.format,
            display(&model.conversion.format, model.conversion.format.max_finite_code())
        ),
    })
}
