//! What came of a probe, as JSON.

use bitmma_engine::Signature;
use bitmma_probe::report::parameters::describe;
use bitmma_probe::{Counterexample, Evidence, Outcome, Parameter, Verdict};
use serde::Serialize;
use serde_json::{Map, Value};

use crate::json::{Coded, Formats, Model, Operands, Place, object};

/// How it ended.
#[derive(Serialize)]
enum Ended<F, N, E> {
    #[serde(rename = "model")]
    Found(F),
    #[serde(rename = "nearest")]
    NotExplained(Option<N>),
    #[serde(rename = "faults")]
    Faulty(Vec<E>),
}

impl From<bitmma_probe::Place> for Place {
    fn from(place: bitmma_probe::Place) -> Place {
        Place { block: place.block, row: place.row, column: place.column }
    }
}

/// The whole outcome.
pub(super) fn page(outcome: &Outcome) -> impl Serialize {
    let signature = &outcome.signature;
    let Signature { name, m, n, k, blocks, a, b, c, d, scale } = signature;
    let equivalent = |model: &bitmma_engine::Model| -> Map<String, Value> {
        let all = describe(model, *k).into_iter();
        all.map(|(symbol, value, _)| (symbol.to_owned(), Value::from(value))).collect()
    };
    let (verdict, ended) = match &outcome.verdict {
        Verdict::Found(found) => (
            "found",
            Ended::Found(object! {
                #[serde(flatten)]
                model: Model::new(&found.model, Some(*k)),
                toml: found.model.to_toml(),
                known: found.parameters.iter().map(known).collect::<Vec<_>>(),
                equivalent: found.equivalent.iter().map(equivalent).collect::<Vec<_>>(),
                tried: found.tried,
                known_as: &found.known_as,
            }),
        ),
        Verdict::NotExplained(rest) => {
            let nearest = |model: &bitmma_engine::Model| {
                object! {
                    #[serde(flatten)]
                    model: Model::new(model, Some(*k)),
                    toml: model.to_toml(),
                    agrees: rest.agrees.0,
                    of: rest.agrees.1,
                }
            };
            ("not explained", Ended::NotExplained(rest.nearest.as_ref().map(nearest)))
        }
        Verdict::Faulty(faults) => {
            ("faulty", Ended::Faulty(faults.iter().map(|one| fault(one, signature)).collect()))
        }
    };
    let tree = outcome.order.tree.as_ref().map(|tree| tree.to_text(*k));
    let features = outcome.features.iter();
    let features = features.map(|one| object! { name: one.name.to_string(), value: one.value.to_string() });
    object! {
        target: name,
        m: *m,
        n: *n,
        k: *k,
        blocks: *blocks,
        #[serde(flatten)]
        formats: Formats::new([*a, *b, *c, *d], *scale),
        seed: outcome.seed,
        verdict: verdict,
        questions: outcome.questions,
        tests: outcome.tests,
        order: object! { tree: tree, notes: &outcome.order.notes },
        features: features.collect::<Vec<_>>(),
        revisions: outcome.revisions.iter().map(|one| revised(one, signature)).collect::<Vec<_>>(),
        #[serde(flatten)]
        ended: ended,
    }
}

/// A case that contradicted an earlier model.
fn revised(one: &Counterexample, signature: &Signature) -> impl Serialize + use<> {
    object! {
        family: one.found.instruction.map(|(family, _)| family.name()),
        instruction: one.found.instruction.map(|(_, index)| index),
        place: Place::from(one.found.place),
        case: Operands::new(&one.smallest, signature),
        expected: Coded::new(&signature.d, one.expected),
        actual: Coded::new(&signature.d, one.answer),
    }
}

/// How well a parameter is known.
fn known(one: &Parameter) -> impl Serialize + use<> {
    object! {
        symbol: one.symbol.to_string(),
        value: one.value.to_string(),
        certainty: one.certainty.name(),
        open: one.open.clone(),
        same: one.same.clone(),
        ruled_out: one.ruled_out,
    }
}

fn fault(one: &Evidence, signature: &Signature) -> impl Serialize + use<> {
    object! {
        fault: one.fault.name(),
        meaning: one.fault.text(),
        place: Place::from(one.place),
        asked: one.asked.clone(),
        case: Operands::new(&one.case, signature),
        expected: Coded::new(&signature.d, one.expected),
        actual: Coded::new(&signature.d, one.answer),
        elements: object! { differ: one.elements.0, of: one.elements.1 },
        explanation: one.explanation.clone(),
    }
}
