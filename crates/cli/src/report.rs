//! `bitmma report`: what the arithmetic means, as one page with its numbers and pictures.

mod folder;

use std::path::PathBuf;

use bitmma_analysis::page::About;
use bitmma_analysis::sections::{Effort, Options, Part};
use bitmma_analysis::table::Section;
use serde_json::json;

use crate::analyze::{self, Bar, OptionArguments};
use crate::failure::{Failure, Outcome};
use crate::output;

use folder::Folder;

const HELP: &str = "\
The folder: index.html (one page, no script, nothing from elsewhere), report.json (all numbers), tables/*.csv, \
figures/*.svg, *.png and *.csv, sections/*.json. It appears when everything is done. What is finished stands in \
DIR.partial until then: a report that was interrupted goes on from there when it is called with the same options.

Examples:
  bitmma report -o report                 # everything: some minutes
  bitmma report --quick -o report         # everything in small: seconds
  bitmma report -o mine hopper wgmma.m64n8k32.f32.e4m3.e4m3 --a x.npy --b w.npy   # with one's own data";

/// Writes the report: discrepancies, error bounds, risks, bias, design space, workarounds
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = HELP)]
pub(crate) struct Arguments {
    /// The folder to make; one that holds a report is replaced
    #[arg(short, long, value_name = "DIR")]
    out: PathBuf,
    /// Only these parts
    #[arg(long, value_name = "PART", value_delimiter = ',', value_parser = analyze::part())]
    only: Vec<Part>,
    #[command(flatten)]
    options: OptionArguments,
}

/// Runs it.
pub(crate) fn run(arguments: &Arguments) -> Result<Outcome, Failure> {
    let options = arguments.options.read()?;
    let parts = if arguments.only.is_empty() { Part::ALL.to_vec() } else { arguments.only.clone() };
    write(&arguments.out, &parts, &options)?;
    output::print(&format!("{}\n", arguments.out.join("index.html").display()))?;
    Ok(Outcome::Agrees)
}

/// Makes the parts that are not finished yet, and the folder.
pub(crate) fn write(out: &std::path::Path, parts: &[Part], options: &Options) -> Result<(), Failure> {
    let folder = Folder::new(out)?;
    let mut sections: Vec<Section> = Vec::new();
    for (index, part) in parts.iter().enumerate() {
        let made_with = format!("{} {}", analyze::stamp(), options.fingerprint(*part));
        let section = match folder.finished(part.name(), &made_with) {
            Some(section) => section,
            None => {
                let bar = Bar::new(&format!("{} ({} of {})", part.name(), index + 1, parts.len()));
                let section = bitmma_analysis::sections::section(*part, options, &bar)?;
                bar.clear();
                section
            }
        };
        folder.keep(&section, &made_with)?;
        sections.push(section);
    }
    let numbers = json!({
        "bitmma": env!("CARGO_PKG_VERSION"),
        "seed": options.seed,
        "revision": options.revision.name(),
        "effort": options.effort,
        "data": options.data.as_ref().map(|data| data.product.about.clone()),
        "sections": sections,
    });
    folder.finish(&about(options), &numbers, &sections)
}

/// The head of the page.
fn about(options: &Options) -> About {
    let effort = match options.effort {
        Effort::Quick => " This is the quick report: fewer cases of everything.",
        Effort::Full => "",
    };
    let mut text = vec![
        "What the arithmetic of GPU matrix units means: where instructions differ, how large their errors can be and are, which \
         designs are risky, and what helps. Tables and pictures follow the sections \"Discrepancy Analysis\" and \"Accuracy \
         Analysis\" of P. Xie and others, Bit-Accurate Modeling of GPU Matrix Multiply-Accumulate Units; the paper's numbers stand \
         beside ours, and where they differ the page says why."
            .to_owned(),
        format!(
            "bitmma {}, models of revision {}, seed {}: the same call gives the same numbers, bit for bit.{effort}",
            env!("CARGO_PKG_VERSION"),
            options.revision,
            options.seed
        ),
    ];
    if let Some(data) = &options.data {
        text.push(format!("Own data: {}, {}.", data.name, data.product.about));
    }
    About { title: "bitmma: what the arithmetic means".to_owned(), text }
}
