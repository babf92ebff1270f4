//! The step at which a D that was observed departs.

use bitmma_engine::arithmetic::run::Start;
use bitmma_engine::explain::json::Coded;
use bitmma_engine::formats::{Class, Format, decode};
use serde::Serialize;

use super::{Element, Step, Walk};
use crate::dyadic::Dyadic;

/// Which one step, had it another result, leads to the D that was observed.
#[derive(Clone, Debug, Serialize)]
pub struct Departure {
    /// The D that was given.
    pub observed: Coded,
    /// Whether it is the D that was computed.
    pub agrees: bool,
    /// The first step whose result, moved to a neighbour, leads to it.
    pub step: Option<usize>,
    /// That neighbour.
    pub instead: Option<Coded>,
    /// The steps of which that is so.
    pub steps_alike: usize,
    /// Whether every step was tried; else those that were affordable.
    pub complete: bool,
}

/// Steps that are computed again, at most.
const BUDGET: usize = 1 << 17;

/// The number above or below; none beyond the largest.
fn neighbour(format: &Format, code: u64, up: bool) -> Option<u64> {
    let one = 1_u64 << format.padding_bits;
    let (sign, magnitude) = (code & format.sign_bit(), code & !format.sign_bit());
    let away = (sign == 0) == up;
    let next = match (magnitude, away) {
        (0, _) => one | if up { 0 } else { format.sign_bit() },
        (_, true) => magnitude.checked_add(one)? | sign,
        (_, false) => (magnitude - one) | sign,
    };
    (next <= format.max_code() && decode(format, next).is_finite()).then_some(next)
}

/// The neighbours of a step's result, the one nearer to the exact result first.
fn others(format: &Format, step: &Step) -> Vec<u64> {
    let up = step.exact.as_ref().zip(Dyadic::of_code(format, step.code));
    let up = up.is_none_or(|(exact, value)| *exact >= value);
    [up, !up].into_iter().filter_map(|up| neighbour(format, step.code, up)).collect()
}

/// Tries one step after the other.
pub(super) fn departure(walk: &Walk<'_>, element: &Element, observed: u64) -> Departure {
    let (format, computed) = element.code;
    let is_nan = |code| decode(&format, code).class == Class::Nan;
    let is_observed = |code| code == observed || (is_nan(code) && is_nan(observed));
    let mut found = Departure {
        observed: Coded::new(&format, observed),
        agrees: is_observed(computed),
        step: None,
        instead: None,
        steps_alike: 0,
        complete: true,
    };
    if found.agrees {
        return found;
    }
    let steps: Vec<&Step> = element.steps().collect();
    let own = element.model.d;
    let mut spent = 0;
    for (index, step) in steps.iter().enumerate() {
        if spent > BUDGET {
            found.complete = false;
            break;
        }
        let leads = others(&own, step).into_iter().find(|&other| {
            let code = with(walk, &steps, (index, other), &mut spent);
            is_observed(code)
        });
        if let Some(other) = leads {
            found.step.get_or_insert(index);
            found.instead.get_or_insert_with(|| Coded::new(&own, other));
            found.steps_alike += 1;
        }
    }
    found
}

/// D where one step has another result.
fn with(walk: &Walk<'_>, steps: &[&Step], (changed, code): (usize, u64), spent: &mut usize) -> u64 {
    let mut first = 0;
    let mut of_chain = |(_, chain): (usize, &super::Chain), _: &mut Vec<super::Event>| {
        let count = chain_steps(walk, chain);
        let own = first..first + count;
        first = own.end;
        let mut d = steps.get(own.end.wrapping_sub(1)).map_or(0, |step| step.code);
        if own.contains(&changed) {
            d = code;
            for step in &steps[changed + 1..own.end] {
                *spent += 1;
                let mut case = step.case.clone();
                case.c = d;
                d = walk.run(&case, Start::D(d), &mut vec![]);
                if d == step.code {
                    // from here on nothing differs
                    return steps[own.end - 1].code;
                }
            }
        }
        d
    };
    walk.resolve(&mut of_chain, &mut vec![])
}

/// Steps of a chain.
fn chain_steps(walk: &Walk<'_>, chain: &super::Chain) -> usize {
    let length: usize = chain.iter().map(|piece| piece.padded).sum();
    length.div_ceil(walk.prepared.k())
}
