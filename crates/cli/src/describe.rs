//! Instructions and models in words, as tables and as JSON.

use bitmma_engine::arithmetic::parameter::{Missing, Parameter as OfOperation, Value as Known};
use bitmma_engine::arithmetic::{Chains, InputFlush, Lowering};
use bitmma_engine::catalogue::Evidence;
use bitmma_engine::formats::Format;
pub(crate) use bitmma_engine::formats::text::hex as code;
use bitmma_engine::{Instruction, Model};
use serde_json::{Value, json};

/// A parameter of a model.
pub(crate) struct Parameter {
    /// The paper's symbol, or the key of the model file.
    pub(crate) symbol: &'static str,
    /// Its value.
    pub(crate) value: Value,
    /// What it is.
    pub(crate) meaning: String,
}

impl Parameter {
    /// The value without quotes.
    pub(crate) fn text(&self) -> String {
        match &self.value {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        }
    }
}

/// Every parameter of a model, in the order of the model file; `k` adds L.
pub(crate) fn parameters(model: &Model, k: Option<usize>) -> Vec<Parameter> {
    let mut all = Vec::new();
    let mut add = |symbol, value: Value, meaning: &str| {
        all.push(Parameter { symbol, value, meaning: meaning.to_owned() });
    };
    for (parameter, value) in model.operation.parameters() {
        let row = parameter.row();
        match (row.missing, value) {
            (Missing::As(_), Known::None) => {}
            (Missing::None(none), _) => {
                add(row.key, json_of(value), &format!("{}; null: {none}", row.meaning));
            }
            _ => add(row.key, json_of(value), row.meaning),
        }
        if let (OfOperation::MaxLength, Some(k)) = (parameter, k) {
            add("L", json!(model.length(k)), "products in one sum, for this K");
        }
    }
    if model.operation.flushes() {
        add("flush", json!("subnormal inputs and results"), "what becomes zero of its sign");
    }
    add("rho", json!(model.conversion.to_string()), "how each sum becomes a number");
    let flushed = [
        ("flush_operands", model.flush_operands, "which zero subnormal numbers of A and B are read as"),
        ("flush_accumulator", model.flush_accumulator, "which zero subnormal numbers of C are read as"),
    ];
    for (symbol, flush, meaning) in flushed {
        match flush {
            InputFlush::Never => {}
            InputFlush::Positive => add(symbol, json!("positive"), meaning),
            InputFlush::Signed => add(symbol, json!("signed"), meaning),
        }
    }
    match model.nan_code {
        Some(nan) => add("nan", json!(code(&model.d, nan)), "the code of every NaN result"),
        None => add("nan", json!("any"), "the vendor specifies no code for NaN results"),
    }
    all
}

/// A parameter's value as JSON.
fn json_of(value: Known) -> Value {
    match value {
        Known::None => Value::Null,
        // a length, a number of bits or an exponent
        Known::Number(number) => i64::try_from(number).map_or(Value::Null, Value::from),
        Known::Rounding(rounding) => Value::from(rounding.to_string()),
        Known::Flag(flag) => Value::from(flag),
    }
}

/// Parameters in one short line, as in `L=16 F=25 RZ-FP32`.
pub(crate) fn short(model: &Model, k: usize) -> String {
    let own: String =
        model.short(k).into_iter().map(|(symbol, value)| format!("{symbol}={value} ")).collect();
    format!("{own}{}", model.conversion)
}

/// Whether the hardware has it, as one word.
pub(crate) fn kind(row: &Instruction) -> &'static str {
    match (row.unknown, &row.composed_of) {
        (Some(_), _) => "unknown",
        (None, Some(_)) => "composed",
        (None, None) => "native",
    }
}

/// Evidence in one word.
pub(crate) fn evidence(row: &Instruction) -> &'static str {
    match row.evidence {
        Evidence::Recorded { .. } => "recorded",
        Evidence::Printed { .. } => "printed",
        Evidence::Inferred { .. } => "inferred",
    }
}

/// `16×8×16`, or `32×32×4 ×2` for two blocks, or `16×8×32 2:4` with a sparse A.
pub(crate) fn shape(row: &Instruction) -> String {
    let blocks = if row.blocks == 1 { String::new() } else { format!(" ×{}", row.blocks) };
    let sparse = if row.family.is_sparse() { " 2:4" } else { "" };
    format!("{}×{}×{}{blocks}{sparse}", row.m, row.n, row.k)
}

/// Codes with all their digits.
pub(crate) fn codes(format: &Format, codes: &[u64]) -> Vec<String> {
    codes.iter().map(|one| code(format, *one)).collect()
}

/// What a compiler puts around the operation, in words; empty for a native instruction.
pub(crate) fn lowering(lowering: &Lowering) -> Vec<String> {
    let mut words = Vec::new();
    if let Some(format) = lowering.widen_operands {
        words.push(format!("A and B widened to {format}"));
    }
    if let Some(format) = lowering.widen_accumulator {
        words.push(format!("C widened to {format}"));
    }
    match lowering.order {
        bitmma_engine::arithmetic::Order::Sequential => {}
        bitmma_engine::arithmetic::Order::Reversed => words.push("elements from K-1 down to 0".to_owned()),
        bitmma_engine::arithmetic::Order::Interleaved { run, period } => {
            words.push(format!("elements in {} passes, {run} of every {period} each", period / run));
        }
    }
    if let Some(Chains { count, merge }) = lowering.chains {
        words.push(format!("{count} chains, each of a part of these, added one after the other, {merge}"));
    }
    if let Some(conversion) = lowering.add_accumulator_last {
        words.push(format!("C added last, {conversion}"));
    }
    if let Some(conversion) = lowering.narrow_output {
        words.push(format!("the result narrowed, {conversion}"));
    }
    words
}
