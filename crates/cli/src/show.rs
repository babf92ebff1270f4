//! `bitmma show`: everything about one instruction, or about a model from a file.

use bitmma_document::{Table, style};
use bitmma_engine::catalogue::{Found, Options, find_with_options};
use bitmma_engine::formats::Format;
use bitmma_engine::{Model, Revision};

use crate::failure::{Failure, Outcome};
use crate::{describe, json, meant, output, target};

const EXAMPLE: &str = "\
Examples:
  bitmma show h100 wgmma e4m3
  bitmma show mi300x v_mfma_f32_16x16x32_fp8_fp8
  bitmma show hopper HMMA.16816.F32 --toml > mine.toml    # then edit F, and
  bitmma dot --model mine.toml -a '1 0x1p-24' -b '1 1'

If the words fit several models, a table shows what distinguishes these.

JSON: schema, the keys of an instruction in `bitmma list --json`, options {promote_every, remarks}; for --model: schema, model_file, model \
{family, parameters, lowering}, a, b, c, d, scale {format, block}.";

/// Shows one instruction: formats, model, parameters, precision, evidence
#[derive(Clone, Debug, clap::Args)]
#[command(after_long_help = EXAMPLE)]
pub(crate) struct Arguments {
    #[command(flatten)]
    target: target::Arguments,
    /// Print the model as a TOML file, for --model
    #[arg(long, conflicts_with = "json")]
    toml: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Runs it.
pub(crate) fn run(arguments: &Arguments) -> Result<Outcome, Failure> {
    let revision = arguments.target.revision.revision;
    if let (Some(architecture), Some(words), false, false) =
        (arguments.target.architecture, arguments.target.spelling(), arguments.json, arguments.toml)
        && let Err(error) = find_with_options(architecture, &words)
        && let Some((heading, table)) = meant::several(&error)
    {
        output::print(&format!("{heading}\n\n{table}"))?;
        return Ok(Outcome::Agrees);
    }
    let (found, options) = match arguments.target.found_with_options()? {
        Some((found, options)) => (Some(found), options),
        None => (None, Options::default()),
    };
    if arguments.toml {
        let target = arguments.target.resolve()?; // a model file has no promotion
        let heading = match &target.found {
            Some(found) => {
                format!("# {}, K = {}, revision {revision}\n", target.name, found.instruction.products())
            }
            None => format!("# {}\n", target.name),
        };
        output::raw(&format!("{heading}{}", target.model.to_toml()))?;
        return Ok(Outcome::Agrees);
    }
    match (found, arguments.json) {
        (Some(found), true) => json::print(&json::object! {
            #[serde(flatten)]
            instruction: json::instruction(found.instruction, revision),
            options: json::options(&options),
        })?,
        (Some(found), false) => output::print(&instruction(&found, &options, revision))?,
        (None, as_json) => {
            let target = arguments.target.resolve()?;
            let model = &target.model;
            if as_json {
                json::print(&json::object! {
                    model_file: &target.name,
                    model: json::Model::new(model, None),
                    #[serde(flatten)]
                    formats: json::Formats::new([model.a, model.b, model.c, model.d], model.scale),
                })?;
            } else {
                output::print(&self::model(&target.name, model))?;
            }
        }
    }
    Ok(Outcome::Agrees)
}

const WIDTH: usize = 100;

/// What surrounds a model's operation, each after a semicolon.
fn around(model: &Model) -> String {
    describe::lowering(&model.lowering).into_iter().map(|words| format!("; {words}")).collect()
}

fn formats(formats: [Format; 4]) -> Vec<(&'static str, String)> {
    let line = |format: Format| {
        let padding = match format.padding_bits {
            0 => String::new(),
            bits => format!(", the low {bits} bits ignored"),
        };
        if format.is_integer() {
            let [least, largest] = format.integer_range();
            let bits =
                if format.bits() == 1 { "1 bit".to_owned() } else { format!("{} bits", format.bits()) };
            return format!(
                "{:<9} {bits}: an integer, {least} to {largest} ({})",
                format.name, format.standard
            );
        }
        format!(
            "{:<9} {} bits: sign {}, exponent {}, fraction {}{padding} ({})",
            format.name,
            format.bits(),
            format.sign.bits(),
            format.exponent_bits,
            format.fraction_bits,
            format.standard
        )
    };
    ["A", "B", "C", "D"].into_iter().zip(formats.map(line)).collect()
}

fn scale_text(format: Format, size: usize) -> String {
    format!("{format}, one for each {size} elements along K ({})", format.standard)
}

/// Everything about a model.
pub(crate) fn model(name: &str, model: &Model) -> String {
    let mut pairs = formats([model.a, model.b, model.c, model.d]);
    if let Some(scale) = model.scale {
        pairs.push(("scale", scale_text(scale.format, scale.size)));
    }
    pairs.push(("model", format!("{}{}", model.operation.name(), around(model))));
    let pairs = Table::pairs(&pairs, WIDTH).render(crate::layout::width());
    format!("{}\n{pairs}{}", style::strong(name), parameters(model, None))
}

fn parameters(model: &Model, k: Option<usize>) -> String {
    let mut table = Table::new(&["parameter", ">value", "meaning"]);
    for parameter in describe::parameters(model, k) {
        let value = match parameter.text().as_str() {
            "null" => "none".to_owned(),
            "true" => "yes".to_owned(),
            "false" => "no".to_owned(),
            other => other.to_owned(),
        };
        let meaning = parameter.meaning.replace("null:", "none:");
        table.row([style::strong(parameter.symbol), value, style::dim(&meaning)]);
    }
    format!("\n{}", table.render(crate::layout::width()))
}

pub(crate) fn instruction(found: &Found, options: &Options, revision: Revision) -> String {
    let row = found.instruction;
    let blocks = match row.blocks {
        1 => String::new(),
        blocks => format!(", {blocks} blocks: {blocks} independent products A×B+C"),
    };
    let sparse = match row.family.is_sparse() {
        true => format!(
            "; A is 2:4 sparse: {} of {} elements are stored; A stands for these, B for the rows that they meet",
            row.products(),
            row.k
        ),
        false => String::new(),
    };
    let shape = format!("M = {}, N = {}, K = {}{blocks}{sparse}", row.m.in_words(), row.n.in_words(), row.k);
    let made = match (&row.composed_of, row.unknown) {
        (_, Some(reason)) => format!("unknown: {reason}"),
        (Some(parts), None) => format!("composed: {parts}"),
        (None, None) => "native: one instruction of the hardware".to_owned(),
    };
    let of_stored = |dense| format!("{dense}, over the {} products of stored elements", row.products());
    let mut pairs = vec![("shape", shape)];
    pairs.extend(formats([row.a, row.b, row.c, row.d]));
    pairs.extend(row.scale.map(|scale| ("scale", scale_text(scale.format, scale.size))));
    pairs.extend([("family", row.family.name().to_owned()), ("made", made)]);
    pairs.extend(row.dense.as_ref().map(|dense| ("sums as", of_stored(dense))));
    pairs.extend(row.sass().map(|sass| ("SASS", sass)));
    for (index, alias) in row.aliases().into_iter().enumerate() {
        pairs.push((if index == 0 { "aliases" } else { "" }, alias));
    }
    if let Some(model) = row.model_ref(revision) {
        let around = around(model);
        pairs.push(("model", format!("{}, revision {revision}{around}", model.operation.name())));
    }
    pairs.extend([("precision", row.precision_line(revision)), ("evidence", row.evidence.to_string())]);
    pairs.extend(row.remark.map(|remark| ("remark", remark.to_owned())));
    pairs.extend(options.remarks.iter().map(|remark| ("option", remark.clone())));
    let heading = format!("{} {}", row.architecture, style::strong(&row.name()));
    let parameters =
        row.model_ref(revision).map_or(String::new(), |model| parameters(model, Some(row.products())));
    format!("{heading}\n{}{parameters}", Table::pairs(&pairs, WIDTH).render(crate::layout::width()))
}
