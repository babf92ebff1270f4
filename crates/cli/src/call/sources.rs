//! Where a call's plan comes from, as flags.

use std::path::PathBuf;

use bitmma_calls::Plan;
use bitmma_calls::cublaslt::{Assume, Config};
use bitmma_calls::plan::{MOST_PARTS, MergeOrder};
use bitmma_calls::platform::Sources;
use bitmma_calls::torch::format_of;
use bitmma_engine::formats::{BF16, E4M3, E5M2, F16, F32, Format};
use clap::ValueEnum;
use clap::builder::{PossibleValuesParser, TypedValueParser};

use crate::count::{MOST, count};
use crate::failure::{Failure, Within};

/// Formats that a call takes or gives.
pub(crate) fn format_parser() -> impl TypedValueParser<Value = Format> {
    PossibleValuesParser::new([E4M3, E5M2, F16, BF16, F32].map(|format| format.name))
        .try_map(|name| format_of(&name).ok_or("no such format"))
}

/// Flags that say where a plan comes from.
#[derive(Clone, Debug, clap::Args)]
#[group(skip)]
pub(crate) struct SourceArguments {
    /// Take the plan from a file
    ///
    /// `bitmma plan` prints one.
    #[arg(help_heading = "Plan", long, value_name = "FILE", conflicts_with_all = ["lt_config", "parts", "table", "workspace", "assume"])]
    pub(crate) plan: Option<PathBuf>,
    /// Configuration of cuBLASLt as JSON
    ///
    /// The nine fields of the library's configuration, and `kernel`, its name.
    #[arg(help_heading = "Plan", long, value_name = "JSON", conflicts_with_all = ["parts", "table", "workspace"])]
    lt_config: Option<String>,
    /// Number of parts of K, from the library's log
    #[arg(help_heading = "Plan", long, value_name = "N", value_parser = count::<usize>(1..=MOST_PARTS as u64), conflicts_with = "table")]
    parts: Option<usize>,
    /// Order in which the parts are added: serial or pairwise
    ///
    /// serial: ((p0 + p1) + p2) + …; pairwise: the pairs of cuBLASLt's CUSTOM_OPTION 1.
    #[arg(
        help_heading = "Plan",
        long,
        hide_possible_values = true,
        hide_short_help = true,
        requires = "parts",
        default_value = "serial"
    )]
    merge: Merge,
    /// Table of the library's decisions
    ///
    /// mmaemu's .npz, CSV, or the lines that scripts/collect-calls prints.
    #[arg(help_heading = "Plan", long, value_name = "FILE")]
    table: Option<PathBuf>,
    /// Bytes of workspace given to the library [default: 1048576, as torch._scaled_mm]
    #[arg(help_heading = "Plan", long, hide_short_help = true, value_name = "BYTES", value_parser = count::<u64>(0..=MOST))]
    workspace: Option<u64>,
    /// Accept an unverified assumption
    ///
    /// The output records it: version, empty-parts, envelope, unsplit or block-scales; may be repeated. docs/calls.md explains them.
    #[arg(help_heading = "Plan", long, hide_possible_values = true, value_name = "ASSUMPTION", value_parser = Assume::NAMES)]
    assume: Vec<String>,
}

/// Orders of a merge.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Merge {
    /// ((p0 + p1) + p2) + …
    Serial,
    /// The pairs of cuBLASLt's CUSTOM_OPTION 1
    Pairwise,
}

impl SourceArguments {
    /// Whether a flag asks for a library's decision, and not for a plan or nothing.
    pub(crate) fn asks_library(&self) -> bool {
        self.lt_config.is_some()
            || self.parts.is_some()
            || self.table.is_some()
            || self.workspace.is_some()
            || !self.assume.is_empty()
    }

    /// Reads what the flags name.
    pub(crate) fn read(&self) -> Result<Sources, Failure> {
        let mut assume = Assume::default();
        for name in &self.assume {
            assume.add(name).within("--assume")?;
        }
        let order = match self.merge {
            Merge::Serial => MergeOrder::Serial,
            Merge::Pairwise => MergeOrder::Pairwise,
        };
        Ok(Sources {
            plan: self.plan.as_deref().map(Plan::read).transpose().within("--plan")?,
            config: self.lt_config.as_deref().map(Config::from_json).transpose().within("--lt-config")?,
            split: self.parts.map(|parts| (parts, order)),
            table: self.table.clone(),
            workspace: self.workspace,
            assume,
        })
    }
}
