//! `bitmma function --check`: results from a file against the models.

use std::path::Path;

use bitmma_engine::Architecture;
use bitmma_engine::formats::F32;
use bitmma_engine::formats::text::display;
use bitmma_engine::functions::ptx::Form;

use super::{Arguments, accepted};
use crate::failure::{Failure, Outcome, Within};
use crate::{json, output, style};

/// Differences that are printed.
const SHOWN: usize = 20;
/// The columns.
const HEADER: &str = "function,x,y";

/// A line of the file.
struct Line {
    number: usize,
    form: Form,
    x: u32,
    y: u32,
}

/// Compares every line.
pub(super) fn run(
    path: &Path,
    architecture: Option<Architecture>,
    arguments: &Arguments,
) -> Result<Outcome, Failure> {
    let text = std::fs::read_to_string(path).within(path.display())?;
    let lines = read(&text).within(path.display())?;
    let mut assumed = vec![];
    if let Some(architecture) = architecture {
        let mut forms: Vec<Form> = lines.iter().map(|line| Form { ftz: false, ..line.form }).collect();
        forms.sort_unstable();
        forms.dedup();
        for form in forms {
            assumed.extend(accepted(architecture, form, arguments.assume)?.accepted.assumed);
        }
    }
    let differing: Vec<&Line> = lines.iter().filter(|line| line.form.evaluate(line.x) != line.y).collect();
    if arguments.json {
        let difference = |line: &&Line| {
            let code = |code: u32| format!("{code:#010x}");
            json::object! {
                line: line.number, function: line.form.to_string(), x: code(line.x),
                expected: code(line.form.evaluate(line.x)), actual: code(line.y),
            }
        };
        json::print(&json::object! {
            architecture: architecture.map(|architecture| architecture.name()),
            assumed: (!assumed.is_empty()).then(|| assumed.join("; ")),
            compared: lines.len(),
            differing: differing.len(),
            differences: differing.iter().map(difference).collect::<Vec<_>>(),
        })?;
    } else {
        output::print(&report(&lines, &differing, &assumed))?;
    }
    Ok(if differing.is_empty() { Outcome::Agrees } else { Outcome::Differs })
}

fn report(lines: &[Line], differing: &[&Line], assumed: &[String]) -> String {
    let mut text = String::new();
    for line in differing.iter().take(SHOWN) {
        let expected = line.form.evaluate(line.x);
        let shown = |code: u32| format!("{code:08x} ({})", display(&F32, code.into()));
        text += &format!(
            "line {}: {} of {}: {}, the model has {}\n",
            line.number,
            line.form,
            shown(line.x),
            style::lost(&shown(line.y)),
            shown(expected)
        );
    }
    if differing.len() > SHOWN {
        text += &format!("… and {} more\n", differing.len() - SHOWN);
    }
    for assumption in assumed {
        text += &format!("assumed: {assumption}\n");
    }
    let verdict = match differing.len() {
        0 => style::good("all agree"),
        1 => style::lost("1 differs"),
        count => style::lost(&format!("{count} differ")),
    };
    text + &format!("{}: {verdict}\n", output::counted(lines.len() as u64, "result"))
}

/// The lines below the header; empty ones and comments are left out.
fn read(text: &str) -> Result<Vec<Line>, Failure> {
    let mut rows = text
        .lines()
        .enumerate()
        .map(|(index, line)| (index + 1, line.trim()))
        .filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
    match rows.next() {
        Some((_, HEADER)) => {}
        Some((number, other)) => bail!("line {number}: the header is '{other}'; it must be '{HEADER}'"),
        None => bail!("the file is empty; its header must be '{HEADER}'"),
    }
    let lines: Vec<Line> = rows
        .map(|(number, line)| row(number, line).within(format!("line {number}")))
        .collect::<Result<_, _>>()?;
    if lines.is_empty() {
        bail!("no results below the header: nothing to compare");
    }
    Ok(lines)
}

fn row(number: usize, line: &str) -> Result<Line, Failure> {
    let cells: Vec<&str> = line.split(',').map(str::trim).collect();
    let [function, x, y] = cells[..] else {
        bail!("it has {} cells; there must be three: {HEADER}", cells.len());
    };
    Ok(Line { number, form: function.parse()?, x: code("x", x)?, y: code("y", y)? })
}

/// A code of FP32 in hexadecimal.
fn code(name: &str, text: &str) -> Result<u32, Failure> {
    let digits = text.strip_prefix("0x").unwrap_or(text);
    let is_code = (1..=8).contains(&digits.len()) && digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    match u32::from_str_radix(digits, 16) {
        Ok(code) if is_code => Ok(code),
        _ => Err(Failure::new(format!(
            "{name} is '{text}'; it must be an FP32 code of up to 8 hexadecimal digits"
        ))),
    }
}
