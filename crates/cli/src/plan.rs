//! `bitmma plan`: the plan of a library's call, without running it.

use bitmma_calls::platform::{Platform, decide};
use bitmma_engine::formats::{BF16, Format};

use crate::call::{SourceArguments, format_parser, summary};
use crate::count::{MOST, count};
use crate::failure::{Failure, Outcome};
use crate::output;

const HELP: &str = "\
Examples:
  bitmma plan h100-pcie --m 64 --n 512 --k 4096 --type e4m3 --fast \\
         --table heur_h100.npz
  bitmma plan gb200/cublaslt-13.1.1 --m 4096 --n 4096 --k 8192 --type bf16 \\
         --lt-config '{\"id\": 66, \"splitk\": 8, \"stages\": 35}'
  bitmma plan rtx4060 --m 16 --n 512 --k 1920 --type e4m3 --fast \\
         --parts 3 --merge pairwise > mine.toml

The output is a plan file (TOML) with its origin and its assumptions as comments; `bitmma call --plan` runs it.

JSON: schema, platform, m, n, k, origin, evidence, source, assumed, remark, plan.";

/// Prints the plan of a library call: how K is split, summed and merged
#[derive(Clone, Debug, clap::Args)]
#[command(after_long_help = HELP)]
pub(crate) struct Arguments {
    /// GPU and library, as in rtx4060/cublaslt-12.8.3.14
    platform: String,
    /// Rows of D
    #[arg(long, value_name = "N", value_parser = count::<usize>(1..=MOST))]
    m: usize,
    /// Columns of D
    #[arg(long, value_name = "N", value_parser = count::<usize>(1..=MOST))]
    n: usize,
    /// Columns of A, rows of B
    #[arg(long, value_name = "N", value_parser = count::<usize>(1..=MOST))]
    k: usize,
    /// Format of A and B: e4m3, e5m2, f16, bf16, f32
    #[arg(hide_possible_values = true, long = "type", value_name = "FORMAT", value_parser = format_parser())]
    type_a: Format,
    /// Format of B, if it is not that of A
    #[arg(long, hide_possible_values = true, hide_short_help = true, value_name = "FORMAT", value_parser = format_parser())]
    type_b: Option<Format>,
    /// Format of D [default: bf16]
    #[arg(long, hide_possible_values = true, value_name = "FORMAT", value_parser = format_parser())]
    out_type: Option<Format>,
    /// Use fast accumulation: use_fast_accum=True
    #[arg(long)]
    fast: bool,
    #[command(flatten)]
    sources: SourceArguments,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Prints the plan.
pub(crate) fn run(arguments: &Arguments) -> Result<Outcome, Failure> {
    let platform = Platform::parse(&arguments.platform)?;
    let formats =
        (arguments.type_a, arguments.type_b.unwrap_or(arguments.type_a), arguments.out_type.unwrap_or(BF16));
    let query = platform.query((arguments.m, arguments.n, arguments.k), formats, arguments.fast);
    let decision = decide(&platform, &query, &arguments.sources.read()?)?;
    if arguments.json {
        let Arguments { m, n, k, .. } = *arguments;
        crate::json::print(&crate::json::object! {
            platform: platform.name(),
            m: m,
            n: n,
            k: k,
            #[serde(flatten)]
            decision: decision,
        })?;
    } else {
        let comments: String = summary(&decision).lines().map(|line| format!("# {line}\n")).collect();
        output::raw(&format!("{comments}{}", decision.plan.to_toml()))?;
    }
    Ok(Outcome::Agrees)
}
