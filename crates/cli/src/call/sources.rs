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
    /// A plan from a file (`bitmma plan` prints one); nothing else is asked
    #[arg(long, value_name = "FILE", conflicts_with_all = ["lt_config", "parts", "table", "workspace", "assume"])]
    pub(crate) plan: Option<PathBuf>,
    /// The nine fields of the library's configuration as JSON, and `kernel`, its name
    #[arg(long, value_name = "JSON", conflicts_with_all = ["parts", "table", "workspace"])]
    lt_config: Option<String>,
    /// Parts that the library splits K into, as its log says
    #[arg(long, value_name = "N", value_parser = count::<usize>(1..=MOST_PARTS as u64), conflicts_with = "table")]
    parts: Option<usize>,
    /// The order in which the parts are added
    #[arg(long, requires = "parts", default_value = "serial")]
    merge: Merge,
    /// Decisions of the library: mmaemu's .npz, CSV, or the lines that scripts/collect-calls prints
    #[arg(long, value_name = "FILE")]
    table: Option<PathBuf>,
    /// Bytes of workspace that the caller gives the library [default: 1048576, as torch._scaled_mm]
    #[arg(long, value_name = "BYTES", value_parser = count::<u64>(0..=MOST))]
    workspace: Option<u64>,
    /// Take an assumption, which the answer shows: version, empty-parts, envelope, unsplit, block-scales; may be repeated
    #[arg(long, value_name = "ASSUMPTION", value_parser = Assume::NAMES)]
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
