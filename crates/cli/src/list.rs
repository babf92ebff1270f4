//! `bitmma list`: the instructions there are.

use bitmma_engine::arithmetic::family;
use bitmma_engine::catalogue::{Evidence, Filter, processors};
use bitmma_engine::formats::{Format, table::FORMATS};
use bitmma_engine::{Architecture, Instruction, Revision};
use clap::builder::{PossibleValuesParser, TypedValueParser};

use crate::failure::{Failure, Outcome};
use crate::table::Table;
use crate::{describe, json, output, style, target};

const EXAMPLE: &str = "\
Examples:
  bitmma list --arch h100 --type e4m3
  bitmma list --model GST-FDPA
  bitmma list --json \\
         | jq '.instructions[] | select(.kind == \"composed\") | .instruction'

Columns: parameters are the paper's (L for the instruction's K, F, F2, G, P, rho); made is native (one \
instruction of the hardware), composed (of several) or unknown (exists, model not known); evidence is \
recorded (real GPUs answered), printed (in the paper) or inferred; shape is M×N×K and the blocks.

JSON: schema, instructions [{target, architecture, instruction, aliases, family, m and n (numbers, or) {first, last, \
step}, k, blocks, a, b, c, d, scale {format, block}, kind, composed_of {count, part, around}, dense (of a sparse one: the instruction that sums as it does), unknown, \
sass, revision, model {family, parameters, lowering}, precision, evidence, evidence_text, remark}].";

/// Lists the instructions: architecture, model, parameters, evidence, shape
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = EXAMPLE)]
pub(crate) struct Arguments {
    /// Only this architecture: a name (hopper), a compiler target (sm_90a) or a chip (h100)
    #[arg(long, value_name = "ARCH", value_parser = target::architecture(), hide_possible_values = true)]
    arch: Option<Architecture>,
    /// Only instructions with this format among A, B, C, D and the scale factors
    #[arg(long = "type", value_name = "FORMAT", value_parser = format())]
    format: Option<Format>,
    /// Only this model family, as docs/models.md names it; an unknown name lists them
    #[arg(long, value_name = "MODEL", value_parser = family(), ignore_case = true, hide_possible_values = true)]
    model: Option<&'static str>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

fn format() -> impl TypedValueParser<Value = Format> {
    let used =
        |format: &Format| Filter { format: Some(*format), ..Filter::default() }.rows().next().is_some();
    target::format(FORMATS.into_iter().filter(used).collect())
}

fn family() -> impl TypedValueParser<Value = &'static str> {
    PossibleValuesParser::new(family::names(|_| true))
        .try_map(|name| bitmma_engine::catalogue::model_family(&name))
}

/// Runs it.
pub(crate) fn run(arguments: &Arguments) -> Result<Outcome, Failure> {
    let filter = Filter { architecture: arguments.arch, format: arguments.format, model: arguments.model };
    let rows: Vec<&'static Instruction> = filter.rows().collect();
    if arguments.json {
        let rows = rows.iter().map(|row| json::instruction(row, Revision::Hardware));
        json::print(&json::object! { instructions: rows.collect::<Vec<_>>() })?;
        return Ok(Outcome::Agrees);
    }
    let mut table =
        Table::new(&["architecture", "model", "parameters", "made", "evidence", "shape", "instruction"])
            .less(if arguments.arch.is_some() { &[5, 4, 0, 3] } else { &[5, 4, 3] });
    for row in &rows {
        let model = row.model_ref(Revision::Hardware);
        table.row([
            row.architecture.name().to_owned(),
            model.map_or("?".to_owned(), |model| model.operation.name().to_owned()),
            model.map_or("?".to_owned(), |model| describe::short(model, row.products())),
            describe::kind(row).to_owned(),
            describe::evidence(row).to_owned(),
            describe::shape(row),
            style::strong(&row.name()),
        ]);
    }
    let text = if rows.is_empty() { String::new() } else { table.render() };
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
    let kind = |kind: &'static str| count(&|row| describe::kind(row) == kind);
    let known = |row: &Instruction| row.unknown.is_none();
    let recorded = count(&|row| known(row) && matches!(row.evidence, Evidence::Recorded { .. }));
    let printed = count(&|row| known(row) && matches!(row.evidence, Evidence::Printed { .. }));
    let inferred = count(&|row| known(row) && matches!(row.evidence, Evidence::Inferred { .. }));
    format!(
        "{}: {} native, {} composed, {} unknown; models: {recorded} recorded, {printed} printed, \
         {inferred} inferred",
        output::counted(rows.len(), "instruction"),
        kind("native"),
        kind("composed"),
        kind("unknown")
    )
}
