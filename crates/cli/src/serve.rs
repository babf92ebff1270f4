//! `bitmma serve`: one of our units, for any program that speaks the protocol.

use bitmma_hardware::process;
use bitmma_verify::open::KINDS;

use crate::failure::{Failure, Outcome};
use crate::target;
use crate::unit::LimitArguments;

const HELP: &str = "\
The command writes a line of JSON that describes the unit, then reads batches from the standard input and writes their \
results, until the input ends. docs/protocol.md has the protocol.

Example: verify an instruction of another machine's processor
  bitmma verify 'exec:ssh other bitmma serve cpu:vdpbf16ps' --tests 1e8";

/// Serves a unit to other programs over standard input and output
#[derive(Clone, Debug, clap::Args)]
#[command(after_long_help = format!("{HELP}\n\n{KINDS}"))]
pub(crate) struct Arguments {
    /// Unit to serve: sim:ARCH/INSTRUCTION, cpu:NAME, …
    #[arg(value_name = "UNIT")]
    unit: String,
    #[command(flatten)]
    revision: target::RevisionArgument,
    #[command(flatten)]
    limits: LimitArguments,
}

/// Serves until the input ends.
pub(crate) fn run(arguments: &Arguments) -> Result<Outcome, Failure> {
    let unit = arguments.limits.open(&arguments.unit, arguments.revision.revision)?;
    process::serve(&*unit, std::io::stdin().lock(), std::io::stdout().lock())?;
    Ok(Outcome::Agrees)
}
