//! `bitmma dot`: the result of one dot product.

use bitmma_document::style;
use bitmma_engine::catalogue::Found;
use bitmma_engine::formats::text::display;

use crate::failure::{Failure, Outcome};
use crate::{describe, json, output, target, values};

const EXAMPLE: &str = "\
Examples:
  bitmma dot hopper mma.m16n8k16.f32.f16.f16.f32 \\
         -a '-8192 -0.5 -0.25' -b '1024 1 1' -c 0x1p23
  bitmma dot b200 \\
         tcgen05.mma.m128n256k64.kind::mxf4nvf4.block16.f32.e2m1.e2m1.ue4m3 \\
         -a '1.5 6' -b '0.5 6' --scale-a '2 1 1 1' --scale-b '0x38 1 1 1'

JSON: schema, target, architecture, instruction, revision, model_file, model {family, parameters, lowering}, \
options {promote_every, remarks}, d {value, code, format}.";

/// Computes one dot product and prints the result as value and code
#[derive(Clone, Debug, clap::Args)]
#[command(after_long_help = EXAMPLE)]
pub(crate) struct Arguments {
    #[command(flatten)]
    target: target::Arguments,
    #[command(flatten)]
    values: values::Arguments,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Runs it.
pub(crate) fn run(arguments: &Arguments) -> Result<Outcome, Failure> {
    let target = arguments.target.resolve_with_options()?.of_one_dot();
    let inputs = arguments.values.read(&target)?;
    let d = target.model.dot(&inputs.operands())?;
    inputs.notes.iter().for_each(|note| output::note(note));
    let format = &target.model.d;
    if arguments.json {
        json::print(&json::object! {
            #[serde(flatten)]
            computes: json::computes(&target, &arguments.target, inputs.k(), Found::name),
            options: json::options(&target.options),
            d: json::Coded::new(format, d),
        })?;
    } else {
        let value = style::strong(&display(format, d));
        output::print(&format!("{value}  {}  {format}\n", describe::code(format, d)))?;
    }
    Ok(Outcome::Agrees)
}
