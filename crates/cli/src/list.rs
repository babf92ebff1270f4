//! `bitmma list`: the instructions there are.

use bitmma_document::{Table, style};
use bitmma_engine::arithmetic::family;
use bitmma_engine::catalogue::{Evidence, Filter, processors, words};
use bitmma_engine::formats::{Format, table};
use bitmma_engine::{Architecture, Instruction, Revision};
use clap::builder::{PossibleValuesParser, TypedValueParser};

use crate::failure::{Failure, Outcome};
use crate::{describe, json, output, target};

const EXAMPLE: &str = "\
Examples:
  bitmma list h100
  bitmma list h100 wgmma e4m3
  bitmma list nvfp4
  bitmma list --arch h100 --type e4m3
  bitmma list --model GST-FDPA
  bitmma list --json \\
         | jq '.instructions[] | select(.kind == \"composed\") | .instruction'

Columns: parameters are the paper's (L for the instruction's K, F, F2, G, P, rho); made is native (one \
instruction of the hardware), composed (of several) or unknown (exists, model not known); evidence is \
recorded (on real GPUs), printed (in the paper), defined (by a manual) or inferred; shape is M×N×K and the blocks.

JSON: schema, instructions [{target, architecture, instruction, aliases, family, m and n (numbers, or) {first, last, step, \
doubled_from (where it is twice as large from there on)}, k, blocks, a, b, c, d, scale {format, block}, kind, composed_of {count, part, around}, dense (of a sparse one: the instruction that sums as it does), unknown, \
sass, revision, model {family, parameters, lowering}, precision, evidence, evidence_text, remark}].";

/// Lists instructions with their model, parameters, evidence and shape
#[derive(Clone, Debug, clap::Args)]
#[command(after_long_help = EXAMPLE)]
pub(crate) struct Arguments {
    /// Architecture or chip, and words that must match (h100 wgmma e4m3)
    ///
    /// An architecture (hopper), compiler target (sm_90a) or chip (h100), then words that must all match: wgmma e4m3, sparse,
    /// 16x8x16. Words alone search all architectures.
    #[arg(value_name = "ARCH")]
    words: Vec<String>,
    /// Same as ARCH
    #[arg(long, value_name = "ARCH", value_parser = target::architecture(), hide_possible_values = true)]
    arch: Option<Architecture>,
    /// Only instructions with this format
    ///
    /// Among A, B, C, D and the scale factors: f64, f32, tf32, xf32, bf16, f16, e5m2, e4m3, e5m2fnuz, e4m3fnuz, e3m2, e2m3, e2m1,
    /// ue8m0, ue4m3, s32, s8, u8, s4, u4 or b1.
    #[arg(hide_possible_values = true, long = "type", value_name = "FORMAT", value_parser = format())]
    format: Option<Format>,
    /// Only this model family (T-FDPA, FMA, …)
    ///
    /// docs/models.md describes them; an unknown name lists them.
    #[arg(long, value_name = "MODEL", value_parser = family(), ignore_case = true, hide_possible_values = true)]
    model: Option<&'static str>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

fn format() -> impl TypedValueParser<Value = Format> {
    let used =
        |format: &Format| Filter { format: Some(*format), ..Filter::default() }.rows().next().is_some();
    target::format(table::all().filter(used).collect())
}

fn family() -> impl TypedValueParser<Value = &'static str> {
    PossibleValuesParser::new(family::names(|_| true))
        .try_map(|name| bitmma_engine::catalogue::model_family(&name))
}

impl Arguments {
    /// The architecture, and the words after it.
    fn chosen(&self) -> Result<(Option<Architecture>, Option<String>), Failure> {
        let Some((first, rest)) = self.words.split_first() else { return Ok((self.arch, None)) };
        let words = |words: &[String]| target::spelling(words);
        match (first.parse::<Architecture>(), self.arch) {
            (Ok(architecture), None) => Ok((Some(architecture), words(rest))),
            (Ok(architecture), Some(arch)) if architecture == arch => Ok((Some(arch), words(rest))),
            (Ok(architecture), Some(arch)) => {
                bail!("ARCH is {architecture}, and --arch is {arch}; give one of them")
            }
            // words alone
            (Err(_), Some(arch)) => Ok((Some(arch), words(&self.words))),
            (Err(error), None) => match described(None, &self.words.join(" ")) {
                Ok(rows) if !rows.is_empty() => Ok((None, words(&self.words))),
                _ => Err(error.into()),
            },
        }
    }
}

/// The rows that have all words, of one architecture or of all.
fn described(architecture: Option<Architecture>, text: &str) -> Result<Vec<&'static Instruction>, Failure> {
    let architectures = architecture.map_or(Architecture::ALL.to_vec(), |one| vec![one]);
    let mut rows = vec![];
    for one in architectures {
        rows.extend(words::matching(one, text)?);
    }
    if rows.is_empty() {
        let on = architecture.map_or(String::new(), |one| format!(" of {one}"));
        bail!("no instruction{on} has all of '{text}'");
    }
    Ok(rows)
}

/// Runs it.
pub(crate) fn run(arguments: &Arguments) -> Result<Outcome, Failure> {
    let (architecture, words) = arguments.chosen()?;
    let filter = Filter { architecture, format: arguments.format, model: arguments.model };
    let mut rows: Vec<&'static Instruction> = filter.rows().collect();
    if let Some(words) = &words {
        let matching = described(architecture, words)?;
        rows.retain(|row| matching.iter().any(|other| std::ptr::eq(*other, *row)));
    }
    if arguments.json {
        let rows = rows.iter().map(|row| json::instruction(row, Revision::Hardware));
        json::print(&json::object! { instructions: rows.collect::<Vec<_>>() })?;
        return Ok(Outcome::Agrees);
    }
    let mut table =
        Table::new(&["architecture", "model", "parameters", "made", "evidence", "shape", "instruction"])
            .less(if architecture.is_some() { &[5, 4, 0, 3] } else { &[5, 4, 3] });
    for row in &rows {
        let model = row.model_ref(Revision::Hardware);
        table.row([
            row.architecture.name().to_owned(),
            model.map_or("?".to_owned(), |model| model.operation.name().to_owned()),
            model.map_or("?".to_owned(), |model| describe::short(model, row.products())),
            row.kind().to_owned(),
            describe::evidence(row).to_owned(),
            describe::shape(row),
            style::strong(&row.name()),
        ]);
    }
    let text = if rows.is_empty() { String::new() } else { table.render(crate::layout::width()) };
    output::print(&format!("{text}{}\n", style::dim(&counts(&rows))))?;
    let of_processors: Vec<String> = processors()
        .iter()
        .filter(|row| arguments.model == Some(row.model.operation.name()))
        .map(|row| format!("cpu:{}", row.name))
        .collect();
    if !of_processors.is_empty() {
        output::print(&style::dim(&format!("instructions of processors: {}\n", of_processors.join(", "))))?;
    }
    Ok(Outcome::Agrees)
}

fn counts(rows: &[&Instruction]) -> String {
    let count = |holds: &dyn Fn(&Instruction) -> bool| rows.iter().filter(|row| holds(row)).count();
    let kind = |kind: &'static str| count(&|row| row.kind() == kind);
    let known = |row: &Instruction| row.unknown.is_none();
    let recorded = count(&|row| known(row) && matches!(row.evidence, Evidence::Recorded { .. }));
    let printed = count(&|row| known(row) && matches!(row.evidence, Evidence::Printed { .. }));
    let defined = count(&|row| known(row) && matches!(row.evidence, Evidence::Defined { .. }));
    let defined = if defined == 0 { String::new() } else { format!(", {defined} defined") };
    let inferred = count(&|row| known(row) && matches!(row.evidence, Evidence::Inferred { .. }));
    format!(
        "{}: {} native, {} composed, {} unknown; models: {recorded} recorded, {printed} printed, \
         {inferred} inferred{defined}",
        output::counted(rows.len(), "instruction"),
        kind("native"),
        kind("composed"),
        kind("unknown")
    )
}
