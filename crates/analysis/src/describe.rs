//! Inputs and models in words.

use bitmma_engine::Architecture::{self, Blackwell, RtxBlackwell};
use bitmma_engine::arithmetic::parameter::{Missing, Parameter as OfOperation, Value as Known};
use bitmma_engine::arithmetic::{Chains, InputFlush, Lowering, Order};
use bitmma_engine::formats::{Format, text};
use bitmma_engine::{Case, Model};
use serde_json::{Value, json};

use crate::dyadic::Dyadic;

/// `FP16`, `E4M3`, `BF16`.
pub fn format_name(format: &Format) -> String {
    match format.name.strip_prefix('f') {
        Some(width) => format!("FP{width}"),
        None => format.name.to_ascii_uppercase(),
    }
}

/// `Hopper`, `RTX Blackwell`, `CDNA3`.
pub fn architecture_name(architecture: Architecture) -> String {
    let word = |word: &str| match word {
        "rtx" | "cdna1" | "cdna2" | "cdna3" => word.to_ascii_uppercase(),
        _ => word[..1].to_ascii_uppercase() + &word[1..],
    };
    architecture.name().split('-').map(word).collect::<Vec<_>>().join(" ")
}

/// `Hopper, Blackwell`: both kinds of Blackwell are one word where both are meant.
pub fn chips(architectures: &[Architecture]) -> String {
    let both = architectures.contains(&Blackwell);
    let shown = architectures.iter().filter(|one| !(both && **one == RtxBlackwell));
    shown.map(|one| architecture_name(*one)).collect::<Vec<_>>().join(", ")
}

/// What people call a kind of input: FP8 for all its formats.
pub fn kind(a: &Format, b: &Format, scaled: bool) -> String {
    let one = |format: &Format| match format.bits() {
        8 => "FP8".to_owned(),
        6 => "FP6".to_owned(),
        4 => "FP4".to_owned(),
        _ => format_name(format),
    };
    let (a, b) = (one(a), one(b));
    let kind = if a == b { a } else { format!("{a}×{b}") };
    if scaled { format!("MX {kind}") } else { kind }
}

/// A number: decimal where that is short, a hexadecimal float where it is not.
pub fn number(format: &Format, code: u64) -> String {
    let decimal = text::display(format, code);
    if decimal.len() <= 10 { decimal } else { text::display_hex_float(format, code) }
}

/// The non-zero elements of an input: `a0 = 1, b0 = 0.5, c = -0x1p-25`.
pub fn input(model: &Model, case: &Case) -> String {
    let mut parts = Vec::new();
    for index in 0..case.a.len() {
        let (a, b) = (case.a[index], case.b[index]);
        if a != 0 || b != 0 {
            parts.push(format!("a{index} = {}", number(&model.a, a)));
            parts.push(format!("b{index} = {}", number(&model.b, b)));
        }
    }
    if let Some(scale) = model.scale {
        let one = scale.format.one_code();
        for (name, codes) in [("scale A", &case.scale_a), ("scale B", &case.scale_b)] {
            for (index, code) in codes.iter().enumerate().filter(|(_, code)| **code != one) {
                parts.push(format!("{name}[{index}] = {}", number(&scale.format, *code)));
            }
        }
    }
    if case.c != 0 || parts.is_empty() {
        parts.push(format!("c = {}", number(&model.c, case.c)));
    }
    parts.join(", ")
}

/// What became of a number: `-8388608.875 becomes -8388608, losing -0.875`, all three exact.
pub fn loss(before: &Dyadic, after: &Dyadic) -> String {
    format!("{before} becomes {after}, losing {}", before - after)
}

/// `T-FDPA, L = 16, F = 25, ρ = RZ-FP32`.
pub fn parameters(model: &Model, k: usize) -> String {
    let own = model.short(k).into_iter().map(|(symbol, value)| format!("{symbol} = {value}"));
    let parts = std::iter::once(model.operation.name().to_owned()).chain(own);
    parts.chain([format!("ρ = {}", model.conversion)]).collect::<Vec<_>>().join(", ")
}

/// Parameters in one short line, as in `L=16 F=25 RZ-FP32`.
pub fn short(model: &Model, k: usize) -> String {
    let own: String =
        model.short(k).into_iter().map(|(symbol, value)| format!("{symbol}={value} ")).collect();
    format!("{own}{}", model.conversion)
}

/// Words joined by commas, the first `most` of them.
pub fn list<T: ToString>(words: &[T], most: usize) -> String {
    let mut text: Vec<String> = words.iter().take(most).map(ToString::to_string).collect();
    if words.len() > most {
        text.push(format!("{} more", words.len() - most));
    }
    text.join(", ")
}

/// A parameter of a model.
pub struct Parameter {
    /// The paper's symbol, or the key of the model file.
    pub symbol: &'static str,
    /// Its value.
    pub value: Value,
    /// What it is.
    pub meaning: String,
}

impl Parameter {
    /// The value without quotes.
    pub fn text(&self) -> String {
        match &self.value {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        }
    }
}

/// Every parameter of a model, in the order of the model file; `k` adds L.
pub fn model_parameters(model: &Model, k: Option<usize>) -> Vec<Parameter> {
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
        Some(nan) => add("nan", json!(text::hex(&model.d, nan)), "the code of every NaN result"),
        None if model.is_integer() => {}
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

/// What a compiler puts around the operation, in words; empty for a native instruction.
pub fn lowering(lowering: &Lowering) -> Vec<String> {
    let mut words = Vec::new();
    if let Some(format) = lowering.widen_operands {
        words.push(format!("A and B widened to {format}"));
    }
    if let Some(format) = lowering.widen_accumulator {
        words.push(format!("C widened to {format}"));
    }
    match lowering.order {
        Order::Sequential => {}
        Order::Reversed => words.push("elements from K-1 down to 0".to_owned()),
        Order::Interleaved { run, period } => {
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
