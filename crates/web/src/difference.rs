//! The smallest input on which units differ.

use bitmma_analysis::apart::Rules;
use bitmma_analysis::verdict::{Parameter, Side, Verdict, diff};
use bitmma_probe::differ;
use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::link::{given, typed};
use crate::unit::{Asked, Unit};

const RULES: Rules = Rules { equivalent: differ::equivalent, differing: differ::differing };

/// Units.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Question {
    units: Vec<Asked>,
}

/// What a comparison of pairs came to: that of the first pair that differs, or of the last.
#[derive(Serialize)]
pub(crate) struct Difference {
    /// The two units, by their places.
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

/// Compares every pair until one differs.
pub(crate) fn difference(question: &Question) -> Result<Difference, Error> {
    let units: Vec<Unit> = Unit::read_all(&question.units)?.into_iter().collect::<Result<_, _>>()?;
    if units.len() < 2 {
        return Err(Error::new("one unit is chosen; a difference needs two"));
    }
    let mut last: Option<Result<Difference, Error>> = None;
    let mut incomparable = 0;
    for left in 0..units.len() {
        for right in left + 1..units.len() {
            match compared(&units, (left, right)) {
                Ok(found) if found.verdict == "differs" => return Ok(Difference { incomparable, ..found }),
                Ok(found) => last = Some(Ok(found)),
                Err(error) => {
                    incomparable += 1;
                    last = last.or(Some(Err(error)));
                }
            }
        }
    }
    let found = last.unwrap_or_else(|| Err(Error::new("there is no pair to compare")))?;
    Ok(Difference { incomparable, ..found })
}

fn compared(units: &[Unit], (left, right): (usize, usize)) -> Result<Difference, Error> {
    let side = |place: usize| {
        let unit: &Unit = &units[place];
        Side { name: unit.name(), model: unit.model.clone(), k: Some(unit.step) }
    };
    let found = diff(&side(left), &side(right), &RULES).map_err(|error| {
        Error::new(format!("{} and {}: {error}", units[left].name(), units[right].name()))
    })?;
    let model = &found.models[0];
    let input = match &found.verdict {
        Verdict::Differs(case, _) => {
            let until = given(case);
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
        pair: (left, right),
        verdict: found.verdict.name(),
        reason: found.verdict.reason(),
        parameters: found.parameters.clone(),
        input,
        share: found
            .share
            .map(|share| [(share.normal, share.cases_normal), (share.adversarial, share.cases_adversarial)]),
        incomparable: 0,
    })
}
