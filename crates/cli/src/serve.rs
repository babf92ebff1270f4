//! `bitmma serve`: one of our units, for any program that speaks the protocol.

use bitmma_hardware::process;
use bitmma_verify::open::KINDS;

use crate::failure::{Failure, Outcome};
use crate::target;
use crate::unit::LimitArguments;

const HELP: &str = "\
A line of JSON that says what the unit is goes to the standard output; then batches are read from the standard \
input and answered, until it ends. The protocol is in docs/protocol.md.

Example: an instruction simulated on another machine, held against its model here
  bitmma verify 'exec:ssh other bitmma serve cpu:vdpbf16ps' --tests 1e8";

/// Answers for a unit over the standard input and output
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = format!("{HELP}\n\n{KINDS}"))]
pub(crate) struct Arguments {
    /// The unit
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
