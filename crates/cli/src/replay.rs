//! `bitmma replay`: recordings compared with models.

use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::Duration;

use bitmma_document::{Table, style};
use bitmma_engine::Model;
use bitmma_engine::formats::text::display;
use bitmma_verify::origin::Origin;
use bitmma_verify::recording::{self, Answer, Record};
use bitmma_verify::replay::{self, Joined, Mismatch, Rules};
use serde::Serialize;

use crate::failure::{Failure, Outcome, Within};
use crate::json::object;
use crate::progress::Bar;
use crate::{describe, json, output, target};

const EXAMPLE: &str = "\
Examples:
  bitmma replay recordings/*/*.csv
  bitmma replay --revision paper recordings/vectors/cdna3.csv
  my-kernel --record | bitmma replay --strict-nan -

A recording is CSV with the header arch,instruction,a,b,c,scale_a,scale_b,d: one dot product a line, codes in \
hex, `nan` for any NaN. arch is an architecture or cpu; a unit that is in neither catalogue takes its model from a \
comment that `bitmma record --model` writes, or from --model. Each dot product is computed on the reference path and, \
if the model has one, by the kernel; both must agree. Exit code 0: every result agrees; 1: some differ; 2: an error.

JSON: schema, revision, model_file, strict_nan, instructions [{target, architecture, instruction, dot_products, \
by_kernel, mismatches, first {file, line, a, b, c, scale_a, scale_b, expected {value, code, format}, actual {value, \
code, format}, by_kernel_alone, explain}}], dot_products, by_kernel, mismatches, seconds.";

/// Compares recordings of real units with the models
#[derive(Clone, Debug, clap::Args)]
#[command(after_long_help = EXAMPLE)]
pub(crate) struct Arguments {
    /// Recordings; - reads the standard input
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    #[command(flatten)]
    revision: target::RevisionArgument,
    /// Treat NaNs of different codes as different
    ///
    /// Also where the vendor specifies no code.
    #[arg(long)]
    strict_nan: bool,
    /// Compare with a model from a TOML file
    ///
    /// It replaces the instructions' own models, and serves units that have none.
    #[arg(long, value_name = "TOML", conflicts_with = "revision")]
    model: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Records compared with their models between two looks at the clock.
const CHUNK: usize = 1 << 15;

/// Runs it.
pub(crate) fn run(arguments: &Arguments) -> Result<Outcome, Failure> {
    let model = arguments.model.as_deref().map(target::read_model).transpose()?;
    let rules = Rules { revision: arguments.revision.revision, strict_nan: arguments.strict_nan, model };
    let mut lines = Vec::new();
    let bar = Bar::new("");
    for (index, path) in arguments.files.iter().enumerate() {
        let shown = if is_stdin(path) { Path::new("standard input") } else { path };
        let records = read(path, rules.model.as_ref()).within(shown.display())?;
        if records.is_empty() {
            let empty = Failure::new("0 dot products: nothing to compare with a model");
            return Err(empty.within(shown.display()));
        }
        for (chunk_index, chunk) in records.chunks(CHUNK).enumerate() {
            let outcomes = replay::replay(chunk, &rules).within(shown.display())?;
            replay::join(&mut lines, index, outcomes);
            let done = (chunk_index * CHUNK) as f64 / records.len() as f64;
            let done = (1000.0 * (index as f64 + done)) as u64;
            bar.show(done, 1000 * arguments.files.len() as u64, |_| shown.display().to_string());
        }
    }
    let seconds = bar.spent();
    drop(bar);
    if arguments.json {
        json::print(&page(&lines, arguments, seconds))?;
    } else {
        output::print(&text(&lines, arguments, seconds))?;
    }
    let agrees = lines.iter().all(|line| line.outcome.mismatches == 0);
    Ok(if agrees { Outcome::Agrees } else { Outcome::Differs })
}

fn is_stdin(path: &Path) -> bool {
    path.as_os_str() == "-"
}

fn read(path: &Path, model: Option<&Model>) -> Result<Vec<Record>, Failure> {
    let source: Box<dyn Read> =
        if is_stdin(path) { Box::new(io::stdin().lock()) } else { Box::new(recording::open(path)?) };
    Ok(recording::read_with(source, model)?)
}

fn totals(lines: &[Joined]) -> (usize, usize) {
    (
        lines.iter().map(|line| line.outcome.total).sum(),
        lines.iter().map(|line| line.outcome.mismatches).sum(),
    )
}

fn by_kernel(lines: &[Joined]) -> usize {
    lines.iter().map(|line| line.outcome.by_kernel).sum()
}

fn text(lines: &[Joined], arguments: &Arguments, time: Duration) -> String {
    let mut table = Table::new(&["architecture", "instruction", ">dot products", ">mismatches"]);
    for line in lines {
        let mismatches = match line.outcome.mismatches {
            0 => style::good("0"),
            some => style::lost(&some.to_string()),
        };
        table.row([
            line.outcome.origin.architecture().to_owned(),
            line.outcome.origin.instruction().to_owned(),
            line.outcome.total.to_string(),
            mismatches,
        ]);
    }
    let mut text = if table.is_empty() { String::new() } else { table.render(crate::layout::width()) };
    let first = lines.iter().find_map(|line| Some((line, line.outcome.first.as_ref()?)));
    if let Some((line, mismatch)) = first {
        text += &mismatch_text(&line.outcome.origin, &arguments.files[line.recording], mismatch, arguments);
    }
    let (total, mismatches) = totals(lines);
    let milliseconds = time.as_millis().max(1);
    let verdict = output::counted(mismatches, "mismatch");
    let verdict = if mismatches == 0 { style::good(&verdict) } else { style::lost(&verdict) };
    text + &format!(
        "{} of {}: {verdict}; {} by kernels, too; {}.{:03} s, {} dot products per second\n",
        output::counted(total, "dot product"),
        output::counted(lines.len(), "instruction"),
        by_kernel(lines),
        milliseconds / 1000,
        milliseconds % 1000,
        total as u128 * 1000 / milliseconds
    )
}

/// The command that shows how the model came to its result, where it has a name or a file.
fn explain_command(origin: &Origin, record: &Record, arguments: &Arguments) -> Option<String> {
    let row = origin.signature();
    let mut command = match (&arguments.model, origin.row()) {
        (Some(path), _) => format!("bitmma explain --model {}", path.display()),
        (None, Some(_)) => format!("bitmma explain {} {}", origin.architecture(), origin.instruction()),
        (None, None) => return None,
    };
    if arguments.model.is_none() && arguments.revision.revision != bitmma_engine::Revision::default() {
        command += &format!(" --revision {}", arguments.revision.revision);
    }
    command += &format!(
        " -a '{}' -b '{}' -c {}",
        describe::codes(&row.a, &record.case.a).join(" "),
        describe::codes(&row.b, &record.case.b).join(" "),
        describe::code(&row.c, record.case.c)
    );
    if let Some(scale) = row.scale {
        command += &format!(
            " --scale-a '{}' --scale-b '{}'",
            describe::codes(&scale.format, &record.case.scale_a).join(" "),
            describe::codes(&scale.format, &record.case.scale_b).join(" ")
        );
    }
    Some(command)
}

fn mismatch_text(origin: &Origin, path: &Path, mismatch: &Mismatch, arguments: &Arguments) -> String {
    let row = origin.signature();
    let record = &mismatch.record;
    let list = |format, codes: &[u64]| {
        let words: Vec<String> = codes
            .iter()
            .map(|code| format!("{} ({})", display(format, *code), describe::code(format, *code)))
            .collect();
        words.join(", ")
    };
    let number = |code| format!("{}  {}  {}", display(&row.d, code), describe::code(&row.d, code), row.d);
    let expected = match record.d {
        Answer::Code(code) => number(code),
        Answer::Nan => "nan  (any code)".to_owned(),
    };
    let mut pairs = vec![
        ("where", format!("{}, line {}", path.display(), record.line)),
        ("instruction", format!("{} {}", origin.architecture(), origin.instruction())),
        ("a", list(&row.a, &record.case.a)),
        ("b", list(&row.b, &record.case.b)),
        ("c", list(&row.c, &[record.case.c])),
    ];
    if let Some(scale) = row.scale {
        pairs.push(("scale a", list(&scale.format, &record.case.scale_a)));
        pairs.push(("scale b", list(&scale.format, &record.case.scale_b)));
    }
    pairs.push(("expected", style::good(&expected)));
    let actual = if mismatch.by_kernel { "actual, by the kernel alone" } else { "actual" };
    pairs.push((actual, style::lost(&number(mismatch.actual))));
    let explain = explain_command(origin, record, arguments).map_or(String::new(), |line| line + "\n");
    format!(
        "\n{}\n{}\n{explain}\n",
        style::strong("The first mismatch"),
        Table::pairs(&pairs, 100).render(crate::layout::width())
    )
}

/// Everything, for programs.
fn page(lines: &[Joined], arguments: &Arguments, time: Duration) -> impl Serialize {
    let (dot_products, mismatches) = totals(lines);
    object! {
        revision: arguments.model.is_none().then(|| arguments.revision.revision.name()),
        model_file: arguments.model.as_ref().map(|path| path.display().to_string()),
        strict_nan: arguments.strict_nan,
        instructions: lines.iter().map(|line| row(line, arguments)).collect::<Vec<_>>(),
        dot_products: dot_products,
        by_kernel: by_kernel(lines),
        mismatches: mismatches,
        seconds: time.as_secs_f64(),
    }
}

/// What became of one instruction.
fn row(line: &Joined, arguments: &Arguments) -> impl Serialize + use<> {
    let replay::Outcome { origin, total, by_kernel, mismatches, first } = &line.outcome;
    let (architecture, instruction, signature) =
        (origin.architecture(), origin.instruction(), origin.signature());
    let first = first.as_ref().map(|mismatch| {
        let Record { case, d, line: at, .. } = &mismatch.record;
        let expected = match d {
            Answer::Code(code) => json::Coded::new(&signature.d, *code),
            Answer::Nan => json::Coded::any_nan(&signature.d),
        };
        object! {
            file: arguments.files[line.recording].display().to_string(),
            line: *at,
            #[serde(flatten)]
            operands: json::Operands::new(case, signature),
            expected: expected,
            actual: json::Coded::new(&signature.d, mismatch.actual),
            by_kernel_alone: mismatch.by_kernel,
            explain: explain_command(origin, &mismatch.record, arguments),
        }
    });
    object! {
        target: format!("{architecture} {instruction}"),
        architecture: architecture.to_owned(),
        instruction: instruction.to_owned(),
        dot_products: *total,
        by_kernel: *by_kernel,
        mismatches: *mismatches,
        first: first,
    }
}
