//! `bitmma report`: what the arithmetic means, as one page with its numbers and pictures.

use std::path::{Path, PathBuf};

use bitmma_analysis::report;
use bitmma_analysis::sections::{Options, Part};

use crate::analyze::{self, OptionArguments};
use crate::failure::{Failure, Outcome};
use crate::output;
use crate::progress::Bar;

const HELP: &str = "\
The folder: index.html (one page, nothing from elsewhere), report.json (all numbers), tables/*.csv, \
figures/*.svg, *.pdf, *.png and *.csv, sections/*.json. The folder appears when everything is done. Until then, finished parts are in \
DIR.partial; an interrupted report continues from there when it is run again with the same options.

Examples:
  bitmma report -o report            # everything: some minutes
  bitmma report --quick -o report    # everything in small: seconds
  bitmma report -o mine hopper wgmma.m64n8k32.f32.e4m3.e4m3 \\
         --a x.npy --b w.npy         # with your own data";

/// Writes the full report: models, discrepancy, bounds, risks, bias, workarounds
#[derive(Clone, Debug, clap::Args)]
#[command(after_long_help = HELP)]
pub(crate) struct Arguments {
    /// Folder for the report; an earlier report in it is replaced
    #[arg(short, long, value_name = "DIR")]
    out: PathBuf,
    /// Only these parts, separated by commas
    ///
    /// models, discrepancy, bounds, risks, bias, published, design-space, workarounds.
    #[arg(long, hide_possible_values = true, value_name = "PART", value_delimiter = ',', value_parser = analyze::part())]
    only: Vec<Part>,
    #[command(flatten)]
    options: OptionArguments,
}

/// Runs it.
pub(crate) fn run(arguments: &Arguments) -> Result<Outcome, Failure> {
    let options = arguments.options.read()?;
    let parts = if arguments.only.is_empty() { Part::ALL.to_vec() } else { arguments.only.clone() };
    arguments.options.check(&parts)?;
    write(&arguments.out, &parts, &options)?;
    output::raw(&format!("{}\n", arguments.out.join("index.html").display()))?;
    Ok(Outcome::Agrees)
}

/// Makes the parts that are not finished yet, and the folder.
pub(crate) fn write(out: &Path, parts: &[Part], options: &Options) -> Result<(), Failure> {
    let bar =
        |part: Part, index: usize| Bar::new(format!("{} ({} of {})", part.name(), index + 1, parts.len()));
    report::write(out, parts, options, &analyze::stamp(), bar)?;
    Ok(())
}
