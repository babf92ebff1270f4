//! A kernel that differs: what a test prints, and what a campaign writes to a folder.

use std::path::Path;

use super::assemble::Tools;
use super::compare::{Outcome, Way, outcomes, shrunk};
use super::generate::{Entry, text};

/// The bits that differ, a line for each slot and lane.
fn difference(entry: &Entry, expected: &[u8], actual: &[u8]) -> String {
    let mut lines = format!("parameter {:#x}\nslot lane expected actual\n", entry.parameter());
    for (at, (one, other)) in expected.chunks(8).zip(actual.chunks(8)).enumerate() {
        if one != other {
            let value = |bytes: &[u8]| u64::from_le_bytes(bytes.try_into().expect("eight bytes"));
            lines.push_str(&format!("{} {} {:x} {:x}\n", at / 32, at % 32, value(one), value(other)));
        }
    }
    lines
}

fn machine_code(tools: &Tools, entry: &Entry, target: &str, way: Way) -> String {
    let compiled = tools.compile(&text(std::slice::from_ref(entry), target), target, way.options);
    let function = compiled.ok().and_then(|compiled| compiled.functions.get(&entry.name()).cloned());
    function.map(|function| function.text()).unwrap_or_default()
}

/// What a test says of a kernel that differs: seed, the shortest text, its machine code, bits.
pub(super) fn explained(tools: &Tools, entry: &Entry, target: &str, way: Way) -> String {
    let entry = shrunk(tools, entry, target, way);
    let outcome = outcomes(tools, std::slice::from_ref(&entry), target, way).pop();
    let lines = match &outcome {
        Some(Outcome::Differs { expected, actual }) => difference(&entry, expected, actual),
        other => format!("{other:?}"),
    };
    let lines: Vec<&str> = lines.lines().take(6).collect();
    let body = entry.body.join("\n");
    let code = machine_code(tools, &entry, target, way);
    format!("{target}, {}, seed {}:\n{body}\n{code}{}", entry.family(), entry.seed, lines.join("\n"))
}

/// Files of a kernel: its text, its machine code, inputs, and the outputs where they differ.
pub(super) fn write(
    folder: &Path,
    tools: &Tools,
    entry: &Entry,
    target: &str,
    way: Way,
) -> std::io::Result<()> {
    std::fs::create_dir_all(folder)?;
    let family = entry.family().replace('/', "-");
    let file = |ending: &str| folder.join(format!("{target}-{family}-{}.{ending}", entry.name()));
    std::fs::write(file("ptx"), text(std::slice::from_ref(entry), target))?;
    std::fs::write(file("sass"), machine_code(tools, entry, target, way))?;
    std::fs::write(file("inputs"), entry.inputs())?;
    if let Some(Outcome::Differs { expected, actual }) =
        outcomes(tools, std::slice::from_ref(entry), target, way).pop()
    {
        std::fs::write(file("difference"), difference(entry, &expected, &actual))?;
        std::fs::write(file("expected"), expected)?;
        std::fs::write(file("actual"), actual)?;
    }
    Ok(())
}
