//! `bitmma call`: what a library's matrix product returns.

mod report;
mod sources;

use std::collections::BTreeMap;
use std::path::PathBuf;

use bitmma_calls::call::{Operands, Scales};
use bitmma_calls::compare::{Comparison, compare};
use bitmma_calls::explain::explain;
use bitmma_calls::platform::{Decision, Platform, Sources};
use bitmma_calls::scaled::{Recipe, decide_scaled};
use bitmma_calls::torch::{Layout, Request};
use bitmma_calls::{Error, execute};
use bitmma_engine::formats::{BF16, E4M3, F32, Format};
use bitmma_engine::{Matrix, threads};
use clap::ValueEnum;

use crate::count::count;
use crate::failure::{Failure, Outcome, Within};
use crate::files::{Output, Source};
use crate::layout::longer;
use crate::{operands, output, values};

pub(crate) use report::{Called, product, summary};
pub(crate) use sources::{SourceArguments, format_parser};

const HELP: &str = "\
PLATFORM is DEVICE/cublaslt-VERSION, as in rtx4060/cublaslt-12.8.3.14 or h100-pcie; docs/calls.md lists what is known. \
Whether a library splits K does not follow from the shape. The plan comes from --plan, --lt-config, --parts, --table, \
or built-in decisions; a call that nobody measured is declined with the reason. --assume accepts an unverified \
assumption, which the output records.

scaled_mm is torch._scaled_mm; what the library rejects is rejected. Scales are numbers, or FP32 files whose shapes say \
what they are, as in torch: M×1 and 1×N row-wise; M×ceil(K/128) or ceil(M/128)×ceil(K/128) with ceil(K/128)×N or \
ceil(K/128)×ceil(N/128) in blocks (B's transposed with --b-transposed). A plan with [blocks] takes any block. matmul and linear take 16-bit operands; linear's B \
is N×K.

Examples:
  bitmma call rtx4060 scaled_mm --a x.npy --b w.npy --b-transposed \\
         --scale-a 0.01 --scale-b 0.02 --fast \\
         --parts 3 --merge pairwise --out d.safetensors --explain 0,0
  bitmma call h100-pcie scaled_mm --a x.npy --b w.npy --bt --fast \\
         --assume unsplit --compare-with rtx4060 --out d.safetensors
  bitmma call h100-sxm/cublaslt-13.1.1 linear \\
         --a x.safetensors:x --b w.safetensors:w --out d.safetensors \\
         --lt-config '{\"id\": 66, \"splitk\": 2, \"reduction\": 2, \"stages\": 35}'

JSON: schema, platform, function, m, n, k, a, b, out, fast, origin, evidence, source, assumed, remark, plan, explanation, comparisons \
[{platform, origin, assumed, remark, elements, differing, share, largest_ulp, first, causes}].";

/// Reproduces a library call on a GPU: torch._scaled_mm, matmul, linear
#[derive(Clone, Debug, clap::Args)]
#[command(after_long_help = HELP, mut_arg("plan", longer), mut_arg("table", longer), mut_arg("json", longer))]
pub(crate) struct Arguments {
    /// GPU and library, as in rtx4060/cublaslt-12.8.3.14
    ///
    /// `plan` stands for any GPU, with --plan.
    platform: String,
    /// Function to reproduce
    #[arg(value_enum)]
    function: Function,
    /// A, M×K: .npy, or .safetensors with :TENSOR
    #[arg(short, help_heading = "Matrices", long, value_name = "FILE")]
    a: Source,
    /// B, K×N; N×K with --b-transposed or linear
    #[arg(short, help_heading = "Matrices", long, value_name = "FILE")]
    b: Source,
    /// B is N×K in its file
    #[arg(long, help_heading = "Matrices", visible_alias = "bt")]
    b_transposed: bool,
    /// Format of A [default: e4m3 for scaled_mm, bf16 otherwise]
    #[arg(long, help_heading = "Matrices", hide_short_help = true, value_name = "FORMAT", value_parser = format_parser())]
    type_a: Option<Format>,
    /// Format of B [default: that of A]
    #[arg(long, help_heading = "Matrices", hide_short_help = true, value_name = "FORMAT", value_parser = format_parser())]
    type_b: Option<Format>,
    /// Format of D [default: bf16]
    #[arg(long, help_heading = "Matrices", hide_short_help = true, value_name = "FORMAT", value_parser = format_parser())]
    out_type: Option<Format>,
    /// Scale of A: a number or a file
    ///
    /// A number is rounded to FP32; a file has row-wise or block scales.
    #[arg(long, help_heading = "Matrices", value_name = "VALUE|FILE", allow_hyphen_values = true)]
    scale_a: Option<String>,
    /// Scale of B, likewise
    #[arg(long, help_heading = "Matrices", value_name = "VALUE|FILE", allow_hyphen_values = true)]
    scale_b: Option<String>,
    /// Scale of the result, used where D is FP8
    #[arg(
        long,
        help_heading = "Matrices",
        hide_short_help = true,
        value_name = "VALUE",
        allow_hyphen_values = true
    )]
    scale_result: Option<String>,
    /// Use fast accumulation: use_fast_accum=True
    #[arg(long)]
    fast: bool,
    #[command(flatten)]
    sources: SourceArguments,
    /// Compare the result with that of another platform; may be repeated
    #[arg(long, hide_short_help = true, value_name = "PLATFORM")]
    compare_with: Vec<String>,
    /// Follow one element through parts, merge and epilogue
    #[arg(hide_short_help = true, long, value_name = "ROW,COLUMN", value_parser = place, allow_hyphen_values = true)]
    explain: Option<(usize, usize)>,
    /// File for D: .npy or .safetensors
    #[arg(short, help_heading = "Matrices", long, value_name = "FILE")]
    out: PathBuf,
    /// Threads [default: one for each core]
    #[arg(long, hide_short_help = true, value_name = "N", value_parser = count::<usize>(1..=threads::MOST as u64))]
    threads: Option<usize>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// The functions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Function {
    /// torch._scaled_mm
    #[value(name = "scaled_mm")]
    ScaledMm,
    /// cublasLtMatmul with alpha = 1 and beta = 0
    Matmul,
    /// torch.nn.functional.linear without a bias: B is N×K
    Linear,
}

impl Function {
    fn name(self) -> &'static str {
        match self {
            Function::ScaledMm => "scaled_mm",
            Function::Matmul => "matmul",
            Function::Linear => "linear",
        }
    }
}

fn place(text: &str) -> Result<(usize, usize), String> {
    let parts = text
        .split_once(',')
        .and_then(|(row, column)| Some((row.trim().parse().ok()?, column.trim().parse().ok()?)));
    parts.ok_or_else(|| format!("'{text}' is not ROW,COLUMN"))
}

/// The plan of the call on one platform.
pub(crate) fn decided(
    name: &str,
    given: &Operands,
    fast: bool,
    sources: &Sources,
) -> Result<(Platform, Decision), Failure> {
    let (platform, call) = (Platform::parse(name)?, given.call(None));
    let query = platform.query(call.shape(), (given.a.format(), given.b.format(), given.out), fast);
    let decision = decide_scaled(&platform, &query, Recipe::of_call(&call), sources)?;
    Ok((platform, decision))
}

/// What the file of D says about how it was computed.
pub(crate) fn metadata(platform: &Platform, decision: &Decision) -> BTreeMap<&'static str, String> {
    BTreeMap::from([
        ("bitmma", env!("CARGO_PKG_VERSION").to_owned()),
        ("platform", platform.name()),
        ("plan", decision.plan.to_toml()),
        ("assumed", decision.assumed.join("; ")),
    ])
}

/// Reads, runs, writes and says so.
pub(crate) fn run(arguments: &Arguments) -> Result<Outcome, Failure> {
    let out = arguments.out_type.unwrap_or(BF16);
    let destination = Output::new(&arguments.out, &out).within("--out")?;
    let given = read(arguments, out)?;
    if arguments.function == Function::ScaledMm {
        let planned = arguments.sources.plan.is_some();
        let platform = Platform::parse(&arguments.platform)?;
        let request = Request {
            scaling: Recipe::scaling(
                Recipe::of_call(&given.call(None)),
                platform.capability,
                &platform.version,
            ),
            layout_b: Layout::Column,
            inner: given.b.rows(),
            ..Request::new(given.call(None).shape(), given.a.format(), given.b.format(), out)
        };
        if let Some(rejection) = request.rejection().filter(|_| given.blocks.is_none() || !planned) {
            return Err(Error::Rejected(rejection).into());
        }
    }
    let sources = arguments.sources.read()?;
    if sources.plan.is_some() && !arguments.compare_with.is_empty() {
        bail!("--compare-with is given; --plan is the same on every platform, so nothing would differ");
    }
    let (platform, decision) = decided(&arguments.platform, &given, arguments.fast, &sources)?;
    let call = given.call(arguments.threads);
    let d = execute(&decision.plan, &call)?;
    let explanation = arguments
        .explain
        .map(|(row, column)| explain(&decision.plan, &call, row, column))
        .transpose()
        .within("--explain")?;
    let mut comparisons: Vec<(Platform, Decision, Comparison)> = Vec::new();
    for name in &arguments.compare_with {
        let (other, theirs) = decided(name, &given, arguments.fast, &sources).within(name)?;
        let comparison = compare(&decision.plan, &theirs.plan, &call)?;
        comparisons.push((other, theirs, comparison));
    }
    destination.write(&d, &metadata(&platform, &decision)).within("--out")?;
    let done = report::Done { arguments, platform, decision, given: &given, explanation, comparisons };
    if arguments.json {
        crate::json::print(&done.json())?;
    } else {
        output::print(&done.text())?;
    }
    let differs = done.comparisons.iter().any(|(_, _, comparison)| comparison.differing > 0);
    Ok(if differs { Outcome::Differs } else { Outcome::Agrees })
}

/// FP32 scales of blocks, or of rows and columns.
pub(crate) fn scales_of(a: &Source, b: &Source, transposed: bool) -> Result<(Matrix, Matrix), Failure> {
    let a = operands::read("--scale-a", a, F32, false)?;
    Ok((a, operands::read("--scale-b", b, F32, transposed)?))
}

fn read(arguments: &Arguments, out: Format) -> Result<Operands, Failure> {
    let usual = if arguments.function == Function::ScaledMm { E4M3 } else { BF16 };
    let of_a = arguments.type_a.unwrap_or(usual);
    let of_b = arguments.type_b.unwrap_or(of_a);
    let transposed = arguments.b_transposed || arguments.function == Function::Linear;
    let a = operands::read("--a", &arguments.a, of_a, false)?;
    let b = operands::read("--b", &arguments.b, of_b, transposed)?;
    if a.columns() != b.rows() && b.columns() == a.columns() && !transposed {
        return Err(operands::do_not_fit(&a, &b, false));
    }
    let is_file = |text: &Option<String>| text.as_ref().and_then(|text| text.parse::<Source>().ok());
    let (mut scales, mut blocks) = (Scales::ONE, None);
    match (is_file(&arguments.scale_a), is_file(&arguments.scale_b)) {
        (None, None) => {
            let number = |flag: &str, text: &Option<String>, default: u32| match text {
                Some(text) => values::read(&F32, text, true).map(|code| code as u32).within(flag),
                None => Ok(default),
            };
            scales.a = number("--scale-a", &arguments.scale_a, scales.a)?;
            scales.b = number("--scale-b", &arguments.scale_b, scales.b)?;
        }
        (Some(of_a), Some(of_b)) => blocks = Some(scales_of(&of_a, &of_b, transposed)?),
        _ => bail!("--scale-a and --scale-b are both numbers or both files"),
    }
    if let Some(text) = &arguments.scale_result {
        scales.result = Some(values::read(&F32, text, true).within("--scale-result")? as u32);
    }
    Ok(Operands { a, b, scales, blocks, out })
}
