//! `bitmma function --check`: results from a file against the models.

use std::path::Path;

use bitmma_document::style;
use bitmma_engine::Architecture;
use bitmma_engine::formats::F32;
use bitmma_engine::formats::text::display;
use bitmma_engine::functions::ptx::Form;
use bitmma_files::reading;

use super::{Arguments, accepted};
use crate::failure::{Failure, Outcome, Within};
use crate::{json, output};

/// Differences that are printed.
const SHOWN: usize = 20;
/// The columns, in any order and among others.
const COLUMNS: [&str; 3] = ["function", "x", "y"];

/// What the file should hold.
const EXPECTED: &str = "a table of results (CSV with function, x and y)";

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
    let text = reading::text(path, EXPECTED).within(path.display())?;
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
        .trim_start_matches('\u{feff}') // as spreadsheets begin UTF-8
        .lines()
        .enumerate()
        .map(|(index, line)| (index + 1, line.trim()))
        .filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
    let Some((number, header)) = rows.next() else {
        bail!("the file is empty; its header must be '{}'", COLUMNS.join(","))
    };
    let columns = Columns::of(header).within(format!("line {number}"))?;
    let lines: Vec<Line> = rows
        .map(|(number, line)| columns.line(number, line).within(format!("line {number}")))
        .collect::<Result<_, _>>()?;
    if lines.is_empty() {
        bail!("no results below the header: nothing to compare");
    }
    Ok(lines)
}

/// Where function, x and y are in a line, and how many cells it has.
struct Columns {
    places: [usize; 3],
    count: usize,
}

impl Columns {
    fn of(header: &str) -> Result<Columns, Failure> {
        let names: Vec<&str> = header.split(',').map(str::trim).collect();
        let mut places = [0; 3];
        for (place, wanted) in places.iter_mut().zip(COLUMNS) {
            let mut found = (0..names.len()).filter(|&index| names[index].eq_ignore_ascii_case(wanted));
            match (found.next(), found.next()) {
                (Some(index), None) => *place = index,
                (first, _) => bail!(
                    "the header '{header}' has {} column '{wanted}'; it must name function, x and y once each",
                    if first.is_none() { "no" } else { "more than one" }
                ),
            }
        }
        Ok(Columns { places, count: names.len() })
    }

    fn line(&self, number: usize, line: &str) -> Result<Line, Failure> {
        let cells: Vec<&str> = line.split(',').map(str::trim).collect();
        if cells.len() != self.count {
            bail!("it has {}; the header has {}", output::counted(cells.len() as u64, "cell"), self.count);
        }
        let [function, x, y] = self.places.map(|place| cells[place]);
        Ok(Line { number, form: function.parse()?, x: code("x", x)?, y: code("y", y)? })
    }
}

/// A code of FP32 in hexadecimal.
fn code(name: &str, text: &str) -> Result<u32, Failure> {
    let digits = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")).unwrap_or(text);
    let is_code = (1..=8).contains(&digits.len()) && digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    match u32::from_str_radix(digits, 16) {
        Ok(code) if is_code => Ok(code),
        _ => Err(Failure::new(format!(
            "{name} is '{text}'; it must be an FP32 code of up to 8 hexadecimal digits"
        ))),
    }
}
