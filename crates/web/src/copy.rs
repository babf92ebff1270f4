//! The same question to the command and to the Python package. Operands go as codes, so that nothing is rounded again.

use std::fmt::Write as _;

use bitmma_engine::formats::Format;
use bitmma_engine::formats::text::{display, hex, parse};
use bitmma_engine::formats::{Overflow, Rounding};
use bitmma_engine::{Case, Model};
use serde::Serialize;

use crate::unit::Unit;

/// Texts to copy.
#[derive(Serialize)]
pub(crate) struct Copies {
    command: String,
    python: String,
}

/// What to type for a code: the decimal where the format itself reads it back, and the code elsewhere.
fn word(format: &Format, code: u64) -> String {
    let text = display(format, code);
    match parse(format, &text, Rounding::NearestEven, Overflow::Ieee) {
        Ok(parsed) if parsed.code == code && parsed.names_code() && text.len() <= 12 => text,
        _ => hex(format, code),
    }
}

fn words(format: &Format, codes: &[u64]) -> String {
    codes.iter().map(|code| word(format, *code)).collect::<Vec<_>>().join(" ")
}

/// NumPy's type of the codes of a format.
fn dtype(format: &Format) -> &'static str {
    match format.bits() {
        ..=8 => "np.uint8",
        9..=16 => "np.uint16",
        17..=32 => "np.uint32",
        _ => "np.uint64",
    }
}

fn array(format: &Format, codes: &[u64]) -> String {
    let codes: Vec<String> = codes.iter().map(|code| hex(format, *code)).collect();
    format!("np.array([{}], {})", codes.join(", "), dtype(format))
}

/// The texts; of A and B the first `given` elements were given.
pub(crate) fn copies(unit: &Unit, model: &Model, case: &Case, given: usize) -> Copies {
    let k = case.a.len();
    let given = given.clamp(1, k);
    let is_own = unit.edits.is_empty() && k <= unit.step && *model == unit.model;
    let name = (unit.found.instruction.architecture.name(), unit.asked());
    let toml = if is_own { String::new() } else { model.to_toml() };
    let mut command = String::new();
    if is_own {
        let _ = write!(command, "bitmma explain {} '{}'", name.0, name.1);
    } else {
        let _ =
            write!(command, "cat > unit.toml <<'END'\n{toml}END\nbitmma explain --model unit.toml -k {k}");
    }
    let _ = write!(
        command,
        " -a '{}' -b '{}' -c '{}'",
        words(&model.a, &case.a[..given]),
        words(&model.b, &case.b[..given]),
        word(&model.c, case.c)
    );
    if let Some(scale) = model.scale {
        let _ = write!(
            command,
            " --scale-a '{}' --scale-b '{}'",
            words(&scale.format, &case.scale_a),
            words(&scale.format, &case.scale_b)
        );
    }
    let of_unit = match is_own {
        true => format!("unit = bitmma.mma(\"{}\", \"{}\")", name.0, name.1),
        false => format!("unit = bitmma.Unit.from_toml(\"\"\"\n{toml}\"\"\")"),
    };
    let mut python = format!("import numpy as np\nimport bitmma\n\n{of_unit}\n");
    let _ = writeln!(python, "a = {}", array(&model.a, &case.a));
    let _ = writeln!(python, "b = {}", array(&model.b, &case.b));
    let _ = writeln!(python, "c = {}", array(&model.c, &[case.c]));
    let mut more = String::new();
    if let Some(scale) = model.scale {
        let _ = writeln!(python, "scale_a = {}", array(&scale.format, &case.scale_a));
        let _ = writeln!(python, "scale_b = {}", array(&scale.format, &case.scale_b));
        more += ", scale_a=scale_a, scale_b=scale_b";
    }
    let _ = writeln!(python, "print(bitmma.explain(unit, a, b, c{more}))");
    Copies { command, python }
}
