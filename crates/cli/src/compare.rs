//! `bitmma compare`: one input through every instruction.

mod own;
mod why;

use std::collections::BTreeMap;
use std::path::PathBuf;

use bitmma_analysis::compare::{Answer, Comparison, Input, Reason, compare};
use bitmma_document::{Table, style};
use bitmma_engine::catalogue::Evidence;
use bitmma_engine::formats::text::{display, to_f64_bits};
use bitmma_engine::formats::{self, Format};
use bitmma_engine::{Architecture, Instruction, Revision};
use serde::Serialize;

use self::own::OwnAnswer;
use crate::failure::{Failure, Outcome};
use crate::{describe, json, output, target, values};

const EXAMPLE: &str = "\
Examples:
  bitmma compare                    # the paper's Equation 1 and its table
  bitmma compare hopper cdna3 --composed
  bitmma compare --model mine.toml  # and the result of your own model
  bitmma compare --why              # and what each lost, at which step
  bitmma compare a100 h100 mi300x -a '1 0x1p-12 0x1p-12' \\
         -b '1 0x1p-12 -0x1p-13' -c 0

The input is the first row of A and the first column of B, zeros after it, and the first element of C; \
scale factors are one. An instruction that cannot hold the input exactly is left out, and counted unless it is of integers.

JSON: schema, revision, input {a, b, c}, with --model model {file, value, code, format, same}, answers [{target, architecture, instruction, class, kind, value, code, format, \
with --why losses [{operation, source, term, exact, kept, lost, last_bit}]}], left_out [{target, architecture, instruction, \
reason}].";

/// Computes one input with every instruction: a table of the results
#[derive(Clone, Debug, clap::Args)]
#[command(after_long_help = EXAMPLE)]
pub(crate) struct Arguments {
    /// Only these architectures (hopper, sm_90a, h100)
    #[arg(value_name = "ARCH", value_parser = target::architecture(), hide_possible_values = true)]
    architectures: Vec<Architecture>,
    /// Elements of A along K [default: the paper's Equation 1]
    #[arg(short, long, value_name = "VALUES", allow_hyphen_values = true, requires = "b")]
    a: Option<String>,
    /// Elements of B along K
    #[arg(short, long, value_name = "VALUES", allow_hyphen_values = true, requires = "a")]
    b: Option<String>,
    /// Element of C [default: 0, with -a and -b]
    #[arg(short, long, value_name = "VALUE", allow_hyphen_values = true, requires = "a")]
    c: Option<String>,
    /// Also compute with a model from a TOML file
    ///
    /// The output says which instructions give the same result.
    #[arg(long, value_name = "FILE")]
    model: Option<PathBuf>,
    /// Round values that a format cannot represent
    ///
    /// Without it, instructions of that format are left out.
    #[arg(long)]
    round: bool,
    /// Include instructions that the compiler composes of others
    #[arg(long)]
    composed: bool,
    /// Show what each instruction lost, at which step and in which term
    #[arg(long)]
    why: bool,
    #[command(flatten)]
    revision: target::RevisionArgument,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// A column of the paper's table: instructions by what A and B are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Class {
    Wide,
    Tf32Bf16,
    Fp16,
    Fp8,
    Narrow,
    Scaled,
    Integer,
}

impl Class {
    const ALL: [Class; 7] =
        [Class::Wide, Class::Tf32Bf16, Class::Fp16, Class::Fp8, Class::Narrow, Class::Scaled, Class::Integer];

    fn of(row: &Instruction) -> Class {
        let bits = |format: Format| format.bits() - format.padding_bits;
        match bits(row.a).max(bits(row.b)) {
            _ if row.d.is_integer() => Class::Integer,
            _ if row.scale.is_some() => Class::Scaled,
            32.. => Class::Wide,
            _ if row.a == formats::F16 => Class::Fp16,
            9.. => Class::Tf32Bf16,
            8 if bits(row.a) == bits(row.b) => Class::Fp8,
            _ => Class::Narrow,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Class::Wide => "FP64/FP32",
            Class::Tf32Bf16 => "TF32/BF16",
            Class::Fp16 => "FP16",
            Class::Fp8 => "FP8",
            Class::Narrow => "FP6/FP4",
            Class::Scaled => "MX/NV",
            Class::Integer => "integer",
        }
    }
}

/// Runs it.
pub(crate) fn run(arguments: &Arguments) -> Result<Outcome, Failure> {
    let input = match (&arguments.a, &arguments.b) {
        (Some(a), Some(b)) => {
            let c = values::words(arguments.c.as_deref().unwrap_or("0"));
            let [c] = c[..] else {
                bail!("C has {} values; it takes one", c.len());
            };
            Input { a: values::words(a), b: values::words(b), c, round: arguments.round }
        }
        _ => Input::equation_1(),
    };
    check(&input)?;
    let architectures = if arguments.architectures.is_empty() {
        Architecture::ALL.to_vec()
    } else {
        arguments.architectures.clone()
    };
    let revision = arguments.revision.revision;
    let comparison = compare(&input, &architectures, revision, arguments.composed)?;
    let own = arguments.model.as_deref().map(|path| OwnAnswer::new(path, &input, &comparison)).transpose()?;
    if arguments.json {
        json::print(&Page { model: own, ..Page::new(&comparison, &input, revision, arguments.why)? })?;
    } else {
        let mut text = if arguments.a.is_none() {
            paper_table(&comparison, &architectures, revision, arguments.composed)
        } else {
            answers_table(&comparison)
        };
        if let Some(own) = &own {
            text = format!("{}\n\n{text}", own.text());
        }
        if arguments.why {
            text += &why::text(&comparison, &input, revision)?;
        }
        output::print(&text)?;
    }
    Ok(Outcome::Agrees)
}

/// Rejects a word that is a number in no format; a number that only some formats have is accepted.
fn check(input: &Input<'_>) -> Result<(), Failure> {
    let formats = formats::FORMATS;
    for (name, words) in [("A", &input.a[..]), ("B", &input.b), ("C", &[input.c])] {
        for (index, word) in words.iter().enumerate() {
            let lower = word.to_ascii_lowercase();
            if lower.starts_with("0x") && !lower.contains('p') {
                bail!(
                    "{name}[{index}]: '{word}' is a code, which is another number in every format; \
                     write a value ({word}p0)"
                );
            }
            let readable = formats.iter().any(|format| values::read(format, word, input.round).is_ok());
            if !readable {
                values::read(&formats::F64, word, input.round)
                    .map_err(|failure| failure.within(format!("{name}[{index}]")))?;
            }
        }
    }
    Ok(())
}

/// A value as the paper writes it: `-0.5`, `0.0`.
fn decimal(row: &Instruction, d: u64) -> String {
    let text = display(&row.d, d);
    let whole = text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
    if whole { format!("{text}.0") } else { text }
}

/// A key by which answers stand in ascending order, NaN last.
fn ascending(row: &Instruction, d: u64) -> u64 {
    let bits = to_f64_bits(&row.d, d);
    let sign = 1 << 63;
    if bits & sign == 0 { bits | sign } else { !bits }
}

/// Answers of one group in ascending order, each with the instructions that gave it.
fn by_value<'a>(
    answers: impl Iterator<Item = &'a Answer>,
) -> BTreeMap<u64, (String, Vec<&'static Instruction>)> {
    let mut groups: BTreeMap<u64, (String, Vec<&'static Instruction>)> = BTreeMap::new();
    for answer in answers {
        let entry = groups.entry(ascending(answer.row, answer.d));
        entry.or_insert_with(|| (decimal(answer.row, answer.d), Vec::new())).1.push(answer.row);
    }
    groups
}

/// The results that go into a cell: those of models that were printed or recorded; all where there are
/// none of these.
fn shown(groups: &BTreeMap<u64, (String, Vec<&'static Instruction>)>) -> Vec<u64> {
    let known =
        |rows: &[&Instruction]| rows.iter().any(|row| !matches!(row.evidence, Evidence::Inferred { .. }));
    let shown: Vec<u64> = groups.iter().filter(|(_, (_, rows))| known(rows)).map(|(key, _)| *key).collect();
    if shown.is_empty() { groups.keys().copied().collect() } else { shown }
}

/// Names of instructions, the first few of them.
fn names(rows: &[&Instruction], most: usize) -> String {
    let mut text: Vec<String> = rows.iter().take(most).map(|row| row.name()).collect();
    if rows.len() > most {
        text.push(format!("{} more", rows.len() - most));
    }
    text.join(", ")
}

/// The paper's table of divergent results, and what has to be said about it.
fn paper_table(
    comparison: &Comparison,
    architectures: &[Architecture],
    revision: Revision,
    composed: bool,
) -> String {
    let any = |class: Class| comparison.answers.iter().any(|answer| Class::of(answer.row) == class);
    let columns: Vec<Class> =
        Class::ALL.into_iter().filter(|class| *class <= Class::Fp8 || any(*class)).collect();
    let mut headings = vec!["architecture"];
    headings.extend(columns.iter().map(|class| class.name()));
    let mut table = Table::new(&headings);
    let mut several = String::new();
    for architecture in architectures {
        let kinds: &[bool] = if composed { &[false, true] } else { &[false] };
        for &is_composed in kinds {
            let of_kind = |row: &Instruction| {
                row.architecture == *architecture && row.composed_of.is_some() == is_composed
            };
            let label =
                if is_composed { format!("{architecture}, composed") } else { architecture.to_string() };
            let mut cells = vec![label.clone()];
            let mut empty = true;
            for class in &columns {
                let mine = comparison
                    .answers
                    .iter()
                    .filter(|answer| of_kind(answer.row) && Class::of(answer.row) == *class);
                let groups = by_value(mine);
                let shown = shown(&groups);
                let exists = comparison
                    .left_out
                    .iter()
                    .any(|(row, _)| of_kind(row) && row.unknown.is_none() && Class::of(row) == *class);
                let cell: Vec<String> = shown.iter().map(|key| groups[key].0.clone()).collect();
                empty &= cell.is_empty();
                cells.push(match (cell.is_empty(), exists) {
                    (false, _) => cell.join(" or "),
                    (true, true) => style::dim("left out"),
                    (true, false) => style::dim("N/A"),
                });
                if groups.len() > 1 {
                    several += &format!("\n{label}, {}:\n", class.name());
                    for (key, (value, rows)) in &groups {
                        let why = match rows[0].evidence {
                            Evidence::Inferred { why } if !shown.contains(key) => {
                                format!("\n  {:>6}  (not in the table; inferred: {why})", "")
                            }
                            _ => String::new(),
                        };
                        several += &format!("  {value:>6}  {}{}\n", names(rows, 3), style::dim(&why));
                    }
                }
            }
            if !(is_composed && empty) {
                table.row(cells);
            }
        }
    }
    format!(
        "{}\n{}\n\n{}{several}\n{}",
        style::strong(
            "Paper, Equation 1: a = (-2^13, -0.5, -0.25, -0.125, 0, …), b = (2^10, 1, 1, 1, 0, …), c = 2^23"
        ),
        style::dim(&format!(
            "d = c + a·b is exactly -0.875. Each cell: results of the architecture's native instructions, revision \
             {revision}."
        )),
        table.render(crate::layout::width()),
        closing(comparison)
    )
}

/// How many answered, and why the others did not.
fn closing(comparison: &Comparison) -> String {
    let Comparison { answers, left_out, given, .. } = comparison;
    let all = answers.len() + left_out.len();
    let mut lines = vec![format!("{} of {all} instructions computed it", answers.len())];
    for (operands, named) in [("ab", "A or B"), ("c", "C")] {
        let mut formats: BTreeMap<&str, usize> = BTreeMap::new();
        for (_, reason) in left_out {
            if let Reason::Value { operand, format, .. } = reason
                && operands.contains(*operand)
            {
                *formats.entry(format).or_default() += 1;
            }
        }
        let total: usize = formats.values().sum();
        let formats: Vec<String> =
            formats.iter().map(|(format, count)| format!("{format} {count}")).collect();
        let formats = formats.join(", ");
        lines.push(format!("{total:>5}  left out: {named} cannot hold the input ({formats})"));
    }
    let mut count = |holds: fn(&Reason) -> bool, text: &str| {
        let count = left_out.iter().filter(|(_, reason)| holds(reason)).count();
        lines.push(format!("{count:>5}  left out: {text}"));
    };
    count(|reason| matches!(reason, Reason::Short(_)), &format!("K is less than {given}"));
    count(
        |reason| matches!(reason, Reason::Composed),
        "the compiler composes them of others (--composed takes them in)",
    );
    count(|reason| matches!(reason, Reason::Unknown), "it is not known how they compute");
    lines.retain(|line| !line.starts_with("    0  "));
    lines.iter().map(|line| style::dim(line) + "\n").collect()
}

/// Every result for the user's input, with who gave it.
fn answers_table(comparison: &Comparison) -> String {
    type Key = (u64, &'static str, u64, Architecture);
    let mut groups: BTreeMap<Key, Vec<&Answer>> = BTreeMap::new();
    for answer in &comparison.answers {
        let Answer { row, d, .. } = answer;
        let key = (ascending(row, *d), row.d.name, *d, row.architecture);
        groups.entry(key).or_default().push(answer);
    }
    let mut table = Table::new(&[">answer", "code", "architecture", "instructions (by A and B)"]);
    let mut last: Option<(u64, u64, &str)> = None;
    let mut different = 0;
    for ((order, format, d, architecture), answers) in &groups {
        let row = answers[0].row;
        let first = last.map(|(order, ..)| order) != Some(*order);
        let same_code = last == Some((*order, *d, *format));
        last = Some((*order, *d, *format));
        different += usize::from(first);
        let code = format!("{} {format}", describe::code(&row.d, *d));
        table.row([
            if first { style::strong(&display(&row.d, *d)) } else { String::new() },
            if same_code { String::new() } else { code },
            architecture.name().to_owned(),
            who(comparison, answers),
        ]);
    }
    let table = if groups.is_empty() { String::new() } else { table.render(crate::layout::width()) + "\n" };
    format!("{table}{}; {}", output::counted(different, "different result"), closing(comparison))
}

/// Who gave a result, on one architecture and in one format: by name where others of the same class
/// answered otherwise or where it is one alone, else by class and number.
fn who(comparison: &Comparison, answers: &[&Answer]) -> String {
    let mut parts = Vec::new();
    for class in Class::ALL {
        for composed in [false, true] {
            let alike = |answer: &Answer| {
                let (row, first) = (answer.row, answers[0].row);
                let kin = (row.architecture, row.d) == (first.architecture, first.d);
                kin && Class::of(row) == class && row.composed_of.is_some() == composed
            };
            let mine: Vec<&Instruction> =
                answers.iter().filter(|answer| alike(answer)).map(|answer| answer.row).collect();
            let all = comparison.answers.iter().filter(|answer| alike(answer)).count();
            let composed = if composed { ", composed" } else { "" };
            match mine.len() {
                0 => {}
                count if count == all && count > 1 => {
                    parts.push(format!("{}{composed}: all {count}", class.name()));
                }
                _ => parts.push(format!("{}{composed}: {}", class.name(), names(&mine, 3))),
            }
        }
    }
    parts.join("\n")
}

/// What one instruction returns.
#[derive(Serialize)]
struct Answered {
    target: String,
    architecture: &'static str,
    instruction: String,
    class: &'static str,
    kind: &'static str,
    #[serde(flatten)]
    answer: json::Coded,
    /// With --why.
    #[serde(skip_serializing_if = "Option::is_none")]
    losses: Option<Vec<why::Lost>>,
}

/// An instruction that does not hold the input.
#[derive(Serialize)]
struct LeftOut {
    target: String,
    architecture: &'static str,
    instruction: String,
    reason: String,
}

#[derive(Serialize)]
struct Given<'i> {
    a: &'i [&'i str],
    b: &'i [&'i str],
    c: &'i str,
}

#[derive(Serialize)]
struct Page<'i> {
    revision: &'static str,
    input: Given<'i>,
    /// With `--model`.
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<OwnAnswer>,
    answers: Vec<Answered>,
    left_out: Vec<LeftOut>,
}

impl<'i> Page<'i> {
    fn new(
        comparison: &Comparison,
        input: &'i Input<'i>,
        revision: Revision,
        why: bool,
    ) -> Result<Page<'i>, Failure> {
        let answered = |Answer { row, d }: &Answer| {
            let losses = match why {
                true => input.account(row, revision)?.as_ref().map(why::losses),
                false => None,
            };
            Ok(Answered {
                target: row.target(),
                architecture: row.architecture.name(),
                instruction: row.name(),
                class: Class::of(row).name(),
                kind: describe::kind(row),
                answer: json::Coded::new(&row.d, *d),
                losses,
            })
        };
        let left_out = comparison.left_out.iter().map(|(row, reason)| LeftOut {
            target: row.target(),
            architecture: row.architecture.name(),
            instruction: row.name(),
            reason: comparison.text(reason).to_string(),
        });
        Ok(Page {
            revision: revision.name(),
            model: None,
            input: Given { a: &input.a, b: &input.b, c: input.c },
            answers: comparison.answers.iter().map(answered).collect::<Result<_, Failure>>()?,
            left_out: left_out.collect(),
        })
    }
}
