//! What came of a probe, as JSON.

use bitmma::Signature;
use bitmma_probe::report::parameters::describe;
use bitmma_probe::{Counterexample, Evidence, Outcome, Parameter, Verdict};
use serde::Serialize;
use serde_json::{Map, Value};

use crate::json::{Coded, Formats, Model, Operands, Place};

/// The whole outcome.
#[derive(Serialize)]
pub(super) struct Page {
    target: String,
    m: usize,
    n: usize,
    k: usize,
    blocks: usize,
    #[serde(flatten)]
    formats: Formats,
    seed: u64,
    verdict: &'static str,
    questions: u64,
    tests: u64,
    order: Order,
    features: Vec<Feature>,
    revisions: Vec<Revised>,
    #[serde(flatten)]
    ended: Ended,
}

#[derive(Serialize)]
struct Order {
    tree: Option<String>,
    notes: Vec<String>,
}

#[derive(Serialize)]
struct Feature {
    name: String,
    value: String,
}

/// A case that contradicted an earlier model.
#[derive(Serialize)]
struct Revised {
    family: Option<&'static str>,
    instruction: Option<u64>,
    place: Place,
    case: Operands,
    expected: Coded,
    actual: Coded,
}

/// How it ended.
#[derive(Serialize)]
enum Ended {
    #[serde(rename = "model")]
    Found(Found),
    #[serde(rename = "nearest")]
    NotExplained(Option<Nearest>),
    #[serde(rename = "faults")]
    Faulty(Vec<Fault>),
}

#[derive(Serialize)]
struct Found {
    #[serde(flatten)]
    model: Model,
    toml: String,
    known: Vec<Known>,
    equivalent: Vec<Map<String, Value>>,
    tried: u64,
    known_as: Vec<String>,
}

/// How well a parameter is known.
#[derive(Serialize)]
struct Known {
    symbol: String,
    value: String,
    certainty: &'static str,
    open: Vec<String>,
    same: Vec<String>,
    ruled_out: usize,
}

#[derive(Serialize)]
struct Nearest {
    #[serde(flatten)]
    model: Model,
    toml: String,
    agrees: u64,
    of: u64,
}

#[derive(Serialize)]
struct Fault {
    fault: &'static str,
    meaning: &'static str,
    place: Place,
    asked: String,
    case: Operands,
    expected: Coded,
    actual: Coded,
    elements: Elements,
    explanation: Option<String>,
}

#[derive(Serialize)]
struct Elements {
    differ: usize,
    of: usize,
}

impl From<bitmma_probe::Place> for Place {
    fn from(place: bitmma_probe::Place) -> Place {
        Place { block: place.block, row: place.row, column: place.column }
    }
}

impl Page {
    pub(super) fn new(outcome: &Outcome) -> Page {
        let signature = &outcome.signature;
        let Signature { name, m, n, k, blocks, a, b, c, d, scale } = signature;
        let (verdict, ended) = match &outcome.verdict {
            Verdict::Found(found) => (
                "found",
                Ended::Found(Found {
                    model: Model::new(&found.model, Some(*k)),
                    toml: found.model.to_toml(),
                    known: found.parameters.iter().map(Known::from).collect(),
                    equivalent: found
                        .equivalent
                        .iter()
                        .map(|model| {
                            let all = describe(model, *k).into_iter();
                            all.map(|(symbol, value, _)| (symbol.to_owned(), Value::from(value))).collect()
                        })
                        .collect(),
                    tried: found.tried,
                    known_as: found.known_as.clone(),
                }),
            ),
            Verdict::NotExplained(rest) => (
                "not explained",
                Ended::NotExplained(rest.nearest.as_ref().map(|model| Nearest {
                    model: Model::new(model, Some(*k)),
                    toml: model.to_toml(),
                    agrees: rest.agrees.0,
                    of: rest.agrees.1,
                })),
            ),
            Verdict::Faulty(faults) => {
                ("faulty", Ended::Faulty(faults.iter().map(|one| Fault::new(one, signature)).collect()))
            }
        };
        Page {
            target: name.clone(),
            m: *m,
            n: *n,
            k: *k,
            blocks: *blocks,
            formats: Formats::new([*a, *b, *c, *d], *scale),
            seed: outcome.seed,
            verdict,
            questions: outcome.questions,
            tests: outcome.tests,
            order: Order {
                tree: outcome.order.tree.as_ref().map(|tree| tree.to_text(*k)),
                notes: outcome.order.notes.clone(),
            },
            features: outcome
                .features
                .iter()
                .map(|one| Feature { name: one.name.to_string(), value: one.value.to_string() })
                .collect(),
            revisions: outcome.revisions.iter().map(|one| Revised::new(one, signature)).collect(),
            ended,
        }
    }
}

impl Revised {
    fn new(one: &Counterexample, signature: &Signature) -> Revised {
        Revised {
            family: one.found.instruction.map(|(family, _)| family.name()),
            instruction: one.found.instruction.map(|(_, index)| index),
            place: one.found.place.into(),
            case: Operands::new(&one.smallest, signature),
            expected: Coded::new(&signature.d, one.expected),
            actual: Coded::new(&signature.d, one.answer),
        }
    }
}

impl From<&Parameter> for Known {
    fn from(one: &Parameter) -> Known {
        Known {
            symbol: one.symbol.to_string(),
            value: one.value.to_string(),
            certainty: one.certainty.name(),
            open: one.open.clone(),
            same: one.same.clone(),
            ruled_out: one.ruled_out,
        }
    }
}

impl Fault {
    fn new(one: &Evidence, signature: &Signature) -> Fault {
        Fault {
            fault: one.fault.name(),
            meaning: one.fault.text(),
            place: one.place.into(),
            asked: one.asked.clone(),
            case: Operands::new(&one.case, signature),
            expected: Coded::new(&signature.d, one.expected),
            actual: Coded::new(&signature.d, one.answer),
            elements: Elements { differ: one.elements.0, of: one.elements.1 },
            explanation: one.explanation.clone(),
        }
    }
}
