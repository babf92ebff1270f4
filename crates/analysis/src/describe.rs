//! Inputs and models in words.

use bitmma_engine::formats::{Format, text};
use bitmma_engine::{Case, Model};

use crate::dyadic::Dyadic;

/// `FP16`, `E4M3`, `BF16`.
pub fn format_name(format: &Format) -> String {
    match format.name.strip_prefix('f') {
        Some(width) => format!("FP{width}"),
        None => format.name.to_ascii_uppercase(),
    }
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

/// Words joined by commas, the first `most` of them.
pub fn list<T: ToString>(words: &[T], most: usize) -> String {
    let mut text: Vec<String> = words.iter().take(most).map(ToString::to_string).collect();
    if words.len() > most {
        text.push(format!("{} more", words.len() - most));
    }
    text.join(", ")
}
