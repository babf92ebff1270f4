//! Every step as JSON.

use bitmma::arithmetic::special::Special;
use bitmma::arithmetic::{Step, Term};
use bitmma::explain::Explanation;
use bitmma::formats::Real;
use serde_json::{Value, json};

use crate::target::Target;
use crate::values::Inputs;
use crate::{describe, number};

fn exact_json(value: Real) -> Value {
    json!({
        "value": number::text(value),
        "significand": format!("{}{:#x}", if value.negative { "-" } else { "" }, value.significand),
        "exponent": value.exponent,
        "exact": !value.inexact,
    })
}

fn terms_json(terms: &[Term]) -> Vec<Value> {
    let term = |term: &Term| {
        json!({
            "name": term.name.to_string(),
            "exact": exact_json(number::real(term.exact)),
            "exponent": term.exponent,
            "kept": exact_json(number::real(term.kept)),
            "lost": exact_json(number::difference(term.exact, term.kept)),
        })
    };
    terms.iter().map(term).collect()
}

fn step_json(step: &Step) -> Value {
    match step {
        Step::Begin { operation, elements, accumulator, format } => json!({
            "step": "begin", "operation": operation, "elements": elements,
            "accumulator": describe::number(format, *accumulator),
        }),
        Step::Special(special) => json!({
            "step": "special",
            "result": match special {
                Special::Nan => "nan",
                Special::Infinity { negative: false } => "inf",
                Special::Infinity { negative: true } => "-inf",
            },
        }),
        Step::Aligned { maximum, exponent, terms, fraction_bits, rounding, sum } => json!({
            "step": "aligned", "maximum": maximum, "exponent": exponent, "fraction_bits": fraction_bits,
            "rounding": rounding.to_string(), "terms": terms_json(terms),
            "sum": exact_json(number::real(*sum)),
        }),
        Step::Exact { terms, sum } => json!({
            "step": "exact", "terms": terms_json(terms), "sum": exact_json(*sum),
        }),
        Step::Binary { operation, left, left_format, right, right_format, result, format } => json!({
            "step": "binary", "operation": operation, "left": describe::number(left_format, *left),
            "right": describe::number(right_format, *right), "result": describe::number(format, *result),
        }),
        Step::Converted { value, conversion, code, format } => json!({
            "step": "converted", "value": exact_json(*value), "conversion": conversion.to_string(),
            "result": describe::number(format, *code),
        }),
        Step::Changed { what, from, from_format, to, to_format } => json!({
            "step": "changed", "what": what, "from": describe::number(from_format, *from),
            "to": describe::number(to_format, *to),
        }),
        _ => json!({ "step": "unknown" }),
    }
}

/// Everything `explain` knows.
pub(super) fn page(
    target: &Target,
    inputs: &Inputs,
    explanation: &Explanation,
    revision: Option<&str>,
) -> Value {
    let model = &target.model;
    let scales = |codes: &[u64]| model.scale.map(|scale| describe::codes(&scale.format, codes));
    json!({
        "target": target.name,
        "revision": revision,
        "model": describe::model_json(model, Some(inputs.k())),
        "a": describe::codes(&model.a, &inputs.a),
        "b": describe::codes(&model.b, &inputs.b),
        "c": describe::code(&model.c, inputs.c),
        "scale_a": scales(&inputs.scale_a),
        "scale_b": scales(&inputs.scale_b),
        "steps": explanation.steps.iter().map(step_json).collect::<Vec<_>>(),
        "d": describe::number(&model.d, explanation.d),
    })
}
