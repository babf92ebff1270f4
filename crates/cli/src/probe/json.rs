//! What came of a probe, as JSON.

use bitmma::Case;
use bitmma::formats::text::display;
use bitmma_probe::report::parameters::describe;
use bitmma_probe::{Counterexample, Outcome, Place, Verdict};
use serde_json::{Value, json};

use crate::{describe as words, output};

/// The whole outcome.
pub(super) fn outcome(outcome: &Outcome) -> Value {
    let signature = &outcome.signature;
    let k = signature.k;
    let features: Vec<Value> = outcome
        .features
        .iter()
        .map(|feature| json!({ "name": feature.name, "value": feature.value }))
        .collect();
    let mut object = json!({
        "unit": signature.name,
        "m": signature.m, "n": signature.n, "k": k, "blocks": signature.blocks,
        "a": signature.a.name, "b": signature.b.name, "c": signature.c.name, "d": signature.d.name,
        "scale": signature.scale.map(|scale| json!({ "format": scale.format.name, "block": scale.size })),
        "seed": outcome.seed,
        "verdict": match &outcome.verdict {
            Verdict::Found(_) => "found",
            Verdict::NotExplained(_) => "not explained",
            Verdict::Faulty(_) => "faulty",
        },
        "questions": outcome.questions,
        "tests": outcome.tests,
        "order": {
            "tree": outcome.order.tree.as_ref().map(|tree| tree.to_text(k)),
            "notes": outcome.order.notes,
        },
        "features": features,
        "revisions": outcome.revisions.iter().map(|one| counterexample(outcome, one)).collect::<Vec<_>>(),
    });
    output::extend(
        &mut object,
        match &outcome.verdict {
            Verdict::Found(found) => json!({ "model": {
                "parameters": found.parameters.iter().map(|one| json!({
                    "symbol": one.symbol, "value": one.value, "certainty": one.certainty.name(), "open": one.open,
                    "same": one.same, "ruled_out": one.ruled_out,
                })).collect::<Vec<_>>(),
                "toml": found.model.to_toml(),
                "equivalent": found.equivalent.iter().map(|model| {
                    describe(model, k).into_iter().map(|(symbol, value, _)| (symbol.to_owned(), json!(value)))
                        .collect::<serde_json::Map<_, _>>()
                }).collect::<Vec<_>>(),
                "tried": found.tried,
                "known_as": found.known_as,
            }}),
            Verdict::NotExplained(rest) => json!({ "nearest": rest.nearest.as_ref().map(|model| json!({
                "toml": model.to_toml(), "agrees": rest.agrees.0, "of": rest.agrees.1,
            }))}),
            Verdict::Faulty(faults) => json!({ "faults": faults.iter().map(|one| json!({
            "fault": one.fault.name(),
            "meaning": one.fault.text(),
            "place": place(one.place),
            "asked": one.asked,
            "case": case(outcome, &one.case),
            "answer": words::code(&signature.d, one.answer),
            "expected": words::code(&signature.d, one.expected),
            "elements": { "differ": one.elements.0, "of": one.elements.1 },
            "explanation": one.explanation,
        })).collect::<Vec<_>>() }),
        },
    );
    object
}

fn counterexample(outcome: &Outcome, one: &Counterexample) -> Value {
    let d = &outcome.signature.d;
    json!({
        "family": one.found.instruction.map(|(family, _)| family.name()),
        "instruction": one.found.instruction.map(|(_, index)| index),
        "place": place(one.found.place),
        "case": case(outcome, &one.smallest),
        "answer": words::code(d, one.answer),
        "answer_value": display(d, one.answer),
        "model": words::code(d, one.expected),
    })
}

fn place(place: Place) -> Value {
    json!({ "block": place.block, "row": place.row, "column": place.column })
}

fn case(outcome: &Outcome, case: &Case) -> Value {
    let signature = &outcome.signature;
    let codes = |format: &bitmma::formats::Format, codes: &[u64]| -> Vec<String> {
        codes.iter().map(|&one| words::code(format, one)).collect()
    };
    let scale = |given: &[u64]| signature.scale.map(|scale| codes(&scale.format, given));
    json!({
        "a": codes(&signature.a, &case.a),
        "b": codes(&signature.b, &case.b),
        "c": words::code(&signature.c, case.c),
        "scale_a": scale(&case.scale_a),
        "scale_b": scale(&case.scale_b),
    })
}
