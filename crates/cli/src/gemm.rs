//! `bitmma gemm`: matrices of any shape from files, multiplied as a kernel on the GPU would with one
//! instruction, D into a file.

mod expect;
mod like;

use std::time::Duration;

use bitmma_engine::formats::table::FORMATS;
use bitmma_engine::formats::{F32, Format, Overflow, Rounding, text::display};
use bitmma_engine::gemm::{MAX_STEP, OutputConversion, ScaleBlocks, Target as Unit, scale_blocks};
use bitmma_engine::kernel::path;
use bitmma_engine::{GemmOptions, Matrix, threads};
use clap::builder::{PossibleValuesParser, TypedValueParser};
use serde::Serialize;

use crate::count::{MOST, count};
use crate::failure::{Failure, Outcome, Within};
use crate::files::{Output, Source};
use expect::{Difference, Expected};
use like::Way;

use crate::layout::longer;
use crate::operands::{self, Matrices, files_help, metadata, revision_text};
use crate::progress::Bar;
use crate::target::{self, Target};
use crate::{json, output, values};

const HELP: &str = concat!(
    files_help!(),
    "\
Shapes: A is M×K, B K×N, C and D M×N, row-major, of any size; a third dimension in front counts products of \
one shape. Scale factors are M × ceil(K/block) and ceil(K/block) × N. K is padded with +0 (scale factors with \
1) to a multiple of the instruction's K, which can change the result as it does on the GPU. --scale-blocks 1x128,128x128: \
--scale-a and --scale-b are FP32 scales of blocks, of 1 row and 128 elements of K of A, of 128 columns and 128 elements of \
K of B; A has ceil(M/rows) × ceil(K/128), B ceil(K/128) × ceil(N/columns). row: M×1 and 1×N.

Order along K:
  The accumulator starts from C and goes along K, a step of the instruction at
  a time. The sums below are in FP32, rounded to nearest even, or in FP64 where
  C or D is FP64. At the end D is rounded to the instruction's D, or straight
  to --output-type.

  --split-k        each part is one step or more and starts from +0; the parts
                   are added in order, then C
  --promote-every  every N elements the accumulator starts from +0, and its
                   result is added to a sum that starts from C (with --split-k
                   from +0, a sum for each part)
  --scale-blocks   every 128 elements the accumulator starts from +0; its
                   result times the FP32 product of both scales is added to a
                   sum from +0 by one FMA, as DeepGEMM does. row: (A·B · scale
                   of A) · scale of B, once, as CUTLASS does. C is added last
  --alpha, --beta  other than 1: A·B from +0, then alpha·AB, beta·C and their
                   sum, each rounded; with --beta 0 C is not read
  --c-last         A·B from +0, then + C

Example: a layer in FP8 as DeepGEMM runs it on Hopper
  bitmma gemm hopper wgmma.m64nNk32.f32.e4m3.e4m3 \\
         -a x.safetensors:x -b w.safetensors:layer.weight --b-transposed \\
         --promote-every 128 --output-type bf16 -o d.safetensors

The same with scales of blocks, and with DeepSeek's 128×128 scales of the weight
  bitmma gemm hopper wgmma.m64nNk32.f32.e4m3.e4m3 \\
         -a x.safetensors:x -b w.safetensors:layer.weight --bt \\
         --scale-a x.safetensors:scale \\
         --scale-b w.safetensors:layer.weight_scale_inv \\
         --scale-blocks 1x128,128x128 --output-type bf16 -o d.safetensors

Products that you recorded, of any K, compared with their results
  bitmma gemm hopper wgmma.m64nNk32.f32.e4m3.e4m3 -a mine.csv:a -b mine.csv:b \\
         -c mine.csv:c --promote-every 128 --expect mine.csv:d -o d.npy

Without ARCH and INSTRUCTION: --like h100 selects the instruction that a library would run for the types of A and B \
(bitmma.matmul has the same rule); --plan FILE runs a plan, which decides everything but --output-type [default: f32]; \
--like DEVICE/cublaslt-VERSION with --table, --lt-config, --parts or --assume runs that library's call, as `bitmma call \
matmul` does, or scaled_mm's with scales of 1 and --fast for FP8. docs/calls.md says what is known.
  bitmma gemm --like h100 -a x.safetensors:x -b w.safetensors:layer.weight \\
         --bt -o d.safetensors

JSON: schema, target, architecture, instruction, revision, model_file, model {family, parameters, lowering}, k_step, \
padded_k, split_k (the parts there were), promote_every, scale_blocks, c_last, alpha, beta, output_rounding, saturate, path \
(kernel or reference), products, seconds, products_per_second, expect {file, elements, differing, first {element, \
expected {value, code, format}, actual {value, code, format}}}, m, n, k, blocks, a, b, c, scale_a, scale_b and d, each \
{file, format, shape}. Of a plan: schema, platform, m, n, k, a, b, out, products, seconds, products_per_second, \
origin, evidence, source, assumed, remark, plan, expect."
);

/// Multiplies matrices of any shape from files: D = alpha·A·B + beta·C
#[derive(Clone, Debug, clap::Args)]
#[command(after_long_help = HELP, mut_arg("architecture", like::optional), mut_arg("instruction", like::optional), mut_arg("model", longer), mut_arg("json", longer), mut_arg("c", longer), mut_arg("plan", longer), mut_arg("lt_config", longer), mut_arg("parts", longer), mut_arg("table", longer), mut_arg("assume", longer))]
pub(crate) struct Arguments {
    #[command(flatten)]
    target: target::Arguments,
    #[command(flatten)]
    like: like::LikeArguments,
    #[command(flatten)]
    files: operands::Arguments,
    /// Elements along K that --model takes at a time [default: its L_max]
    #[arg(long, help_heading = "Instruction", hide_short_help = true, value_name = "N", value_parser = count::<usize>(1..=MAX_STEP as u64), conflicts_with_all = ["architecture", "instruction", "like", "plan"])]
    k_step: Option<usize>,
    /// Split K into N parts, added in FP32
    ///
    /// Parts are whole instructions, as even as possible, and no more than fit.
    #[arg(long, help_heading = "Product", value_name = "N", value_parser = count::<usize>(1..=MOST))]
    split_k: Option<usize>,
    /// Move the sum to FP32 every N elements of K
    ///
    /// N is a multiple of the instruction's K.
    #[arg(long, help_heading = "Product", value_name = "N", value_parser = count::<usize>(1..=MOST))]
    promote_every: Option<usize>,
    /// Add C to A·B in FP32 at the end
    ///
    /// Without it, the accumulator or the promoted sum starts from C.
    #[arg(long, help_heading = "Product", hide_short_help = true)]
    c_last: bool,
    /// Read the scales as FP32 scales of blocks: 1x128,128x128, or row
    ///
    /// ROWSxK of A and COLUMNSxK of B; below under Shapes.
    #[arg(long, help_heading = "Matrices", hide_short_help = true, value_name = "BLOCKS", requires = "scale_a", requires = "scale_b", value_parser = scale_blocks)]
    scale_blocks: Option<ScaleBlocks>,
    /// Factor of A·B, rounded to FP32 (FP64 where C or D is FP64) [default: 1]
    #[arg(
        long,
        help_heading = "Product",
        hide_short_help = true,
        value_name = "VALUE",
        allow_hyphen_values = true
    )]
    alpha: Option<String>,
    /// Factor of C, likewise [default: 1]
    #[arg(
        long,
        help_heading = "Product",
        hide_short_help = true,
        value_name = "VALUE",
        allow_hyphen_values = true
    )]
    beta: Option<String>,
    /// Convert D to this format
    ///
    /// By default D has the instruction's own. It may be f64, f32, tf32, xf32, e8m13, bf16, f16, e5m2, e4m3, e5m2fnuz, e4m3fnuz, e3m2,
    /// e2m3 or e2m1.
    #[arg(long, help_heading = "Product", hide_possible_values = true, value_name = "FORMAT", value_parser = output_type())]
    output_type: Option<Format>,
    /// Rounding of --output-type
    ///
    /// RZ, RA, RU, RD, RNE, RNO, RNU, RND, RNZ, RNA or RO; docs/models.md describes them.
    #[arg(long, help_heading = "Product", hide_short_help = true, value_name = "ROUNDING", default_value = "RNE", requires = "output_type", value_parser = rounding(), hide_possible_values = true)]
    output_rounding: Rounding,
    /// Saturate numbers beyond --output-type's largest, infinities too
    #[arg(long, help_heading = "Product", hide_short_help = true, requires = "output_type")]
    saturate: bool,
    /// Number or code (0x7) that replaces NaN in --output-type
    ///
    /// Required if D has a NaN and --output-type has none: e3m2, e2m3, e2m1.
    #[arg(
        long,
        help_heading = "Product",
        hide_short_help = true,
        value_name = "VALUE",
        requires = "output_type",
        allow_hyphen_values = true
    )]
    nan: Option<String>,
    /// Compare D with this file; exit code 1 if they differ
    ///
    /// FILE.csv:d has the results of a recording. Any NaN agrees with any other.
    #[arg(hide_short_help = true, long, help_heading = "Product", value_name = "FILE")]
    expect: Option<Source>,
    /// Threads [default: one for each core]
    #[arg(long, hide_short_help = true, value_name = "N", value_parser = count::<usize>(1..=threads::MOST as u64))]
    threads: Option<usize>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

fn output_type() -> impl TypedValueParser<Value = Format> {
    target::format(FORMATS.into_iter().filter(|format| format.is_signed()).collect())
}

fn rounding() -> impl TypedValueParser<Value = Rounding> {
    PossibleValuesParser::new(Rounding::ALL.map(|(_, symbol)| symbol))
        .try_map(|symbol| symbol.parse::<Rounding>())
}

/// Reads, multiplies, writes and says so.
pub(crate) fn run(arguments: &Arguments) -> Result<Outcome, Failure> {
    let mut target = match arguments.like.way(arguments)? {
        Way::Along(target) => *target,
        Way::Call(platform) => return like::run(arguments, &platform),
    };
    let unit = match &target.found {
        Some(found) => {
            let row = found.instruction;
            if row.m.is_range() || row.n.is_range() {
                // M and N are those of the matrices, not of one instruction
                target.name = row.target();
            }
            Unit::found(found, arguments.target.revision.revision)?
        }
        None => Unit::of_model(target.model.clone(), arguments.k_step).within("--k-step")?,
    };
    let promote_every = promotion(arguments, &target)?;
    target.options.remarks.iter().for_each(|remark| output::note(remark));
    let overflow = if arguments.saturate { Overflow::Saturate } else { Overflow::Ieee };
    let convert = |format| {
        let conversion = OutputConversion::new(format, Some(arguments.output_rounding), Some(overflow));
        let nan = arguments.nan.as_ref().map(|text| values::exactly(&format, text).within("--nan"));
        Ok::<_, Failure>(conversion.with_nan(nan.transpose()?)?)
    };
    let output_conversion = arguments.output_type.map(convert).transpose()?;
    let d_format = output_conversion.map_or(target.model.d, |output| output.conversion.container());
    let destination = Output::new(&arguments.files.out, &d_format).within("--out")?;
    let factor = |flag, text: &Option<String>| {
        let read = |text: &String| values::read(&unit.working_format(), text, true).within(flag);
        text.as_ref().map(read).transpose()
    };
    let (alpha, beta) = (factor("--alpha", &arguments.alpha)?, factor("--beta", &arguments.beta)?);
    let matrices = arguments.files.read(&target, arguments.scale_blocks.map(|_| F32))?;
    let expected = Expected::read(&arguments.expect, d_format)?;
    let (blocks, rows, _) = matrices.a.shape();
    destination.fits(&d_format, (blocks, rows, matrices.b.columns())).within("--out")?;

    let bar = Bar::new("");
    let report = |_: &str, done, total| {
        bar.show(done, total, |spent| rate_text(done as f64 / spent.as_secs_f64()));
        Ok(())
    };
    let options = GemmOptions {
        scale_a: matrices.scale_a.as_ref(),
        scale_b: matrices.scale_b.as_ref(),
        scale_blocks: arguments.scale_blocks,
        split_k: arguments.split_k,
        promote_every,
        c_last: arguments.c_last,
        alpha,
        beta,
        output: output_conversion,
        threads: arguments.threads,
        level: None,
        progress: Some(&report),
    };
    let Matrices { a, b, c, .. } = &matrices;
    let d = bitmma_engine::gemm(&unit, a, b, c.as_ref(), &options);
    let seconds = bar.spent();
    drop(bar);
    let d = d.map_err(|error| arguments.files.advise(error, a, b))?;
    let expect = expected.map(|expected| expected.compare(&d)).transpose()?;
    let about = about(arguments, &target, &unit, a.columns(), promote_every);
    destination.write(&d, &about).within("--out")?;

    let outcome = expect.as_ref().map_or(Outcome::Agrees, Difference::outcome);
    let factors = [alpha, beta];
    let done = Done { unit: &unit, matrices: &matrices, d: &d, promote_every, factors, expect, seconds };
    if arguments.json {
        json::print(&page(arguments, &target, &done))?;
    } else {
        output::print(&text(arguments, &target, &done))?;
    }
    Ok(outcome)
}

/// Where sums are moved to FP32: as the option says, or the instruction's name.
fn promotion(arguments: &Arguments, target: &Target) -> Result<Option<usize>, Failure> {
    match (arguments.promote_every, target.options.promote_every) {
        (Some(given), Some(named)) if given != named => {
            bail!(
                "--promote-every is {given}, and the instruction's name asks for promotion every {named}; give one of them"
            )
        }
        (given, named) => Ok(given.or(named)),
    }
}

/// blocks · M · N · K.
fn products(blocks: usize, (m, n, k): (usize, usize, usize)) -> u64 {
    [m, k, n].iter().fold(blocks as u64, |all, &size| all.saturating_mul(size as u64))
}

/// What was computed.
struct Done<'d> {
    unit: &'d Unit,
    matrices: &'d Matrices,
    d: &'d Matrix,
    /// Elements of K after which the sum moved to FP32.
    promote_every: Option<usize>,
    /// alpha and beta, where they were given.
    factors: [Option<u64>; 2],
    /// How D differs from what was expected.
    expect: Option<Difference>,
    seconds: Duration,
}

impl Done<'_> {
    fn products(&self) -> u64 {
        let (blocks, m, k) = self.matrices.a.shape();
        products(blocks, (m, self.d.columns(), k))
    }

    /// Parts that K was cut into.
    fn parts(&self, asked: usize) -> usize {
        self.unit.parts(self.matrices.a.columns(), asked)
    }

    fn path(&self) -> &'static str {
        path(self.unit.model(), self.unit.step())
    }
}

/// `21.3 G products/s`.
pub(crate) fn rate_text(rate: f64) -> String {
    match rate {
        _ if rate >= 1e9 => format!("{:.1} G products/s", rate / 1e9),
        _ if rate >= 1e6 => format!("{:.1} M products/s", rate / 1e6),
        _ => format!("{rate:.0} products/s"),
    }
}

/// What a .safetensors file says about how D came about.
fn about(
    arguments: &Arguments,
    target: &Target,
    unit: &Unit,
    k: usize,
    promote_every: Option<usize>,
) -> std::collections::BTreeMap<&'static str, String> {
    let mut metadata = metadata(target, &arguments.target);
    if let Some(found) = &target.found {
        metadata.insert("instruction", found.instruction.name());
    }
    metadata.insert("k_step", unit.step().to_string());
    let options = [
        ("split_k", arguments.split_k.map(|asked| unit.parts(k, asked).to_string())),
        ("promote_every", promote_every.map(|every| every.to_string())),
        ("scale_blocks", arguments.scale_blocks.map(|blocks| blocks.to_string())),
        ("c_last", arguments.c_last.then(|| true.to_string())),
        ("alpha", arguments.alpha.clone()),
        ("beta", arguments.beta.clone()),
        ("output_rounding", arguments.output_type.map(|_| arguments.output_rounding.to_string())),
        ("saturate", arguments.output_type.map(|_| arguments.saturate.to_string())),
        ("nan", arguments.nan.clone()),
    ];
    metadata.extend(options.into_iter().filter_map(|(key, value)| Some((key, value?))));
    metadata
}

/// What ran, then how it ran where that was asked for, then how fast.
fn text(arguments: &Arguments, target: &Target, done: &Done<'_>) -> String {
    let model = &target.model;
    let (step, k) = (done.unit.step(), done.matrices.a.columns());
    let mut how = Vec::new();
    if !k.is_multiple_of(step) {
        how.push(format!("K padded to {}", k.next_multiple_of(step)));
    }
    how.extend(arguments.split_k.map(|asked| {
        let parts = done.parts(asked);
        let why = if parts < asked { format!(", a step each, not {asked}") } else { String::new() };
        format!("K in {}{why}", output::counted(parts, "part"))
    }));
    how.extend(done.promote_every.map(|every| format!("promoted every {every}")));
    how.extend(arguments.scale_blocks.map(|blocks| format!("scale_blocks {blocks}")));
    how.extend(arguments.c_last.then(|| "C added last".to_owned()));
    let w = done.unit.working_format();
    for (name, code) in ["alpha", "beta"].into_iter().zip(done.factors) {
        how.extend(code.map(|code| format!("{name} {}", display(&w, code))));
    }
    how.extend(arguments.output_type.map(|_| {
        let saturated = if arguments.saturate { ", saturated" } else { "" };
        format!("D converted by {}{saturated}", arguments.output_rounding)
    }));
    let how = if how.is_empty() { String::new() } else { format!("; {}", how.join(", ")) };
    let seconds = done.seconds.as_secs_f64();
    format!(
        "{} ({}{}): {}{how}\n{} in {seconds:.3} s: {}, {} path\n{}",
        target.name,
        model.operation.name(),
        revision_text(target, &arguments.target),
        arguments.files.line(target, done.matrices, done.d),
        output::counted(done.products(), "product"),
        rate_text(done.products() as f64 / seconds.max(1e-9)),
        done.path(),
        done.expect.as_ref().map_or(String::new(), Difference::text),
    )
}

/// The same for programs.
fn page(arguments: &Arguments, target: &Target, done: &Done<'_>) -> impl Serialize {
    let w = done.unit.working_format();
    let [alpha, beta] = done.factors.map(|code| json::Number::of(&w, code.unwrap_or(w.one_code())));
    let seconds = done.seconds.as_secs_f64();
    json::object! {
        #[serde(flatten)]
        computes: json::computes(target, &arguments.target, done.unit.step(), |found| found.instruction.name()),
        k_step: done.unit.step(),
        padded_k: done.unit.padded(done.matrices.a.columns()),
        split_k: arguments.split_k.map(|asked| done.parts(asked)),
        promote_every: done.promote_every,
        scale_blocks: arguments.scale_blocks.map(|blocks| blocks.to_string()),
        c_last: arguments.c_last,
        alpha: alpha,
        beta: beta,
        output_rounding: arguments.output_type.map(|_| arguments.output_rounding.symbol()),
        saturate: arguments.saturate,
        path: done.path(),
        products: done.products(),
        seconds: seconds,
        products_per_second: done.products() as f64 / seconds.max(1e-9),
        expect: done.expect.as_ref(),
        #[serde(flatten)]
        files: arguments.files.summary(done.matrices, done.d, target.model.c),
    }
}
