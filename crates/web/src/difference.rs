//! The smallest input on which units differ.

use bitmma_analysis::discrepancy::{Simplicity, answer, comparable, simplicity};
use bitmma_analysis::verdict::{Diff, Parameter, Side, Verdict, diff_of_several};
use bitmma_engine::Case;
use bitmma_probe::differ::RULES;
use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::link::{given, typed};
use crate::unit::{Asked, Unit};

/// Units.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Question {
    units: Vec<Asked>,
}

/// What a comparison of units came to.
#[derive(Serialize)]
pub(crate) struct Difference {
    /// Two units of which the rest is said, by their places.
    pair: (usize, usize),
    /// same, differs or unknown
    verdict: &'static str,
    reason: String,
    parameters: Vec<Parameter>,
    input: Option<Input>,
    /// Of random inputs, how many differ: of N(0,1), and of adversarial ones.
    share: Option<[(u64, u64); 2]>,
    /// Pairs that take other formats.
    incomparable: usize,
}

/// The input as it can be typed.
#[derive(Serialize)]
struct Input {
    a: String,
    b: String,
    c: String,
    scale_a: String,
    scale_b: String,
}

/// Compares units that take the same formats: the smallest input on which any two differ has the fewest numbers that are not zero,
/// then the fewest bits set in them.
pub(crate) fn difference(question: &Question) -> Result<Difference, Error> {
    let units: Vec<Unit> = Unit::read_all(&question.units)?.into_iter().collect::<Result<_, _>>()?;
    if units.len() < 2 {
        return Err(Error::new("one unit is chosen; a difference needs two"));
    }
    let mut groups: Vec<Vec<usize>> = vec![];
    for (place, unit) in units.iter().enumerate() {
        let mut known = groups.iter_mut();
        match known.find(|group| comparable(&units[group[0]].model, &unit.model).is_ok()) {
            Some(group) => group.push(place),
            None => groups.push(vec![place]),
        }
    }
    let pairs = |count: usize| count * count.saturating_sub(1) / 2;
    let incomparable = pairs(units.len()) - groups.iter().map(|group| pairs(group.len())).sum::<usize>();
    let mut best: Option<((usize, usize), Diff)> = None;
    for group in groups.iter().filter(|group| group.len() > 1) {
        let (pair, found) = compared(&units, group)?;
        if best.as_ref().is_none_or(|(_, best)| rank(&found) < rank(best)) {
            best = Some((pair, found));
        }
    }
    let Some((pair, found)) = best else {
        let [left, right] = [0, 1].map(|place| &units[place]);
        return match comparable(&left.model, &right.model) {
            Err(error) => Err(Error::new(format!("{} and {}: {error}", left.name(), right.name()))),
            Ok(()) => Err(Error::new("there is no pair to compare")),
        };
    };
    let model = &found.models[0];
    let input = match &found.verdict {
        Verdict::Differs(case, _) => {
            // zeros at the end are left out where the page shows the difference without them
            let until = given(case);
            let until = if is_shown(&units, pair, case, until) { until } else { case.a.len() };
            let scales =
                |codes: &[u64]| model.scale.map_or(String::new(), |scale| typed(&scale.format, codes));
            Some(Input {
                a: typed(&model.a, &case.a[..until]),
                b: typed(&model.b, &case.b[..until]),
                c: typed(&model.c, &[case.c]),
                scale_a: scales(&case.scale_a),
                scale_b: scales(&case.scale_b),
            })
        }
        _ => None,
    };
    Ok(Difference {
        pair,
        verdict: found.verdict.name(),
        reason: found.verdict.reason(),
        parameters: found.differences.clone(),
        input,
        share: found
            .share
            .map(|share| [(share.normal, share.cases_normal), (share.adversarial, share.cases_adversarial)]),
        incomparable,
    })
}

fn compared(units: &[Unit], group: &[usize]) -> Result<((usize, usize), Diff), Error> {
    let side = |place: &usize| {
        let unit = &units[*place];
        Side { name: unit.name(), model: unit.model.clone(), k: Some(unit.step) }
    };
    let sides: Vec<Side> = group.iter().map(side).collect();
    let ((left, right), found) = diff_of_several(&sides, &RULES)
        .map_err(|error| Error::new(format!("{} and {}: {error}", sides[0].name, sides[1].name)))?;
    Ok(((group[left], group[right]), found))
}

/// Differences first, the smallest of them before the others; then what is not known.
fn rank(found: &Diff) -> (u8, Option<Simplicity>) {
    match &found.verdict {
        Verdict::Differs(case, _) => (0, Some(simplicity(&found.models[0], case))),
        Verdict::Unknown(_) => (1, None),
        Verdict::Same(_) => (2, None),
    }
}

/// Whether two units differ on the first `until` elements of a case, as the page computes them.
fn is_shown(units: &[Unit], (left, right): (usize, usize), case: &Case, until: usize) -> bool {
    let result = |unit: &Unit| {
        let k = unit.length(until).ok()?;
        let mut case = case.clone();
        case.a.resize(k, 0);
        case.b.resize(k, 0);
        if let Some(scale) = unit.model.scale {
            case.scale_a.resize(k / scale.size, scale.format.one_code());
            case.scale_b.resize(k / scale.size, scale.format.one_code());
        }
        let model = unit.for_length(k);
        Some(answer(&model.d, model.dot(&case.operands()).ok()?))
    };
    result(&units[left]) != result(&units[right])
}
