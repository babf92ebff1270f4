//! `bitmma which`: which instructions, of all architectures, compute this D.

use bitmma_analysis::which::{Observed, which};
use bitmma_calls::proposals::proposals;
use bitmma_engine::Matrix;
use bitmma_engine::catalogue::library::{block_scale, scale_of_codes};
use bitmma_engine::formats::{Format, UE8M0, table};
use bitmma_probe::differ::RULES;
use clap::builder::TypedValueParser;

use crate::failure::{Failure, Outcome};
use crate::files::Source;
use crate::operands::{self, files_help};
use crate::{json, output, target};

const HELP: &str = concat!(
    files_help!(),
    "\
Every model that takes these formats is tried, of every architecture: along K as one chain, K in 2 to 16 parts, moved to an \
FP32 sum every 32 to 512 elements, C first or last, D converted where it is in another format than the model's; FP32 sums of \
ordinary threads; and the configurations of cuBLASLt that are known (`bitmma plan`). FP32 words are also read as TF32 and XF32. \
A candidate that differs on a few elements is left out, the others are compared on all; any NaN agrees with any other.

Examples:
  bitmma which -a A.npy -b B.npy -d D.npy
  bitmma which -a x.npy -b w.npy --bt -d y.npy --type e4m3

Exit code 0: some compute D; 1: none does.

JSON: schema, m, n, k, blocks, a, b, c, d, scale, models, candidates, elements, seconds, verdict (one, several, none), rows [{target, instructions, \
architectures, chips, threads, model {family, parameters, lowering}, agreeing, compared, matching [{k_step, split_k, promote_every, c_last, output, \
saturate, call}], unverified, nearest (as matching), first {element, observed {value, code, format}, computed}}], tests [{inputs [{k, a, b}], \
scales [{block, scale_a, scale_b}], c, results [{value, code, format, of [{row, configuration}]}]}], together [{searched, groups [[{row, configuration}]]}]."
);

/// Finds the instructions, of all architectures, that compute D = A·B + C from files
#[derive(Clone, Debug, clap::Args)]
#[command(after_long_help = HELP)]
pub(crate) struct Arguments {
    /// A, M×K
    #[arg(short, long, value_name = "FILE")]
    a: Source,
    /// B, K×N
    #[arg(short, long, value_name = "FILE")]
    b: Source,
    /// C, M×N [default: +0 everywhere]
    #[arg(short, long, value_name = "FILE")]
    c: Option<Source>,
    /// D, M×N: the product that something computed
    #[arg(short, long, value_name = "FILE")]
    d: Source,
    /// Scale factors of A, M × K/block
    #[arg(long, value_name = "FILE", requires = "scale_b")]
    scale_a: Option<Source>,
    /// Scale factors of B, K/block × N
    #[arg(long, value_name = "FILE", requires = "scale_a")]
    scale_b: Option<Source>,
    /// B is N×K in its file, and its scale factors are transposed likewise, N × K/block, as linear layers store weights
    #[arg(long, visible_alias = "bt")]
    b_transposed: bool,
    /// Format of A, and of B if --type-b is not given, where the files hold codes
    #[arg(long = "type", value_name = "FORMAT", value_parser = format(), hide_possible_values = true)]
    type_a: Option<Format>,
    /// Format of B
    #[arg(long, value_name = "FORMAT", value_parser = format(), hide_possible_values = true)]
    type_b: Option<Format>,
    /// Format of C [default: D's, where the file holds codes]
    #[arg(long, value_name = "FORMAT", value_parser = format(), hide_possible_values = true)]
    type_c: Option<Format>,
    /// Format of D, where the file holds codes
    #[arg(long, value_name = "FORMAT", value_parser = format(), hide_possible_values = true)]
    type_d: Option<Format>,
    #[command(flatten)]
    revision: target::RevisionArgument,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

fn format() -> impl TypedValueParser<Value = Format> {
    target::format(table::all().collect())
}

/// What was read.
struct Read {
    a: Matrix,
    b: Matrix,
    c: Option<Matrix>,
    scales: Option<(Matrix, Matrix)>,
    d: Matrix,
}

impl Arguments {
    fn read(&self) -> Result<Read, Failure> {
        let of = |flag: &str, option: &str, said: Option<Format>, source: &Source| match said {
            Some(format) => Ok(format),
            None => operands::format_of(flag, option, source),
        };
        let a = of("--a", "--type", self.type_a, &self.a)?;
        let b = of("--b", "--type", self.type_b.or(self.type_a), &self.b)?;
        let d = of("--d", "--type-d", self.type_d, &self.d)?;
        let a = operands::read("--a", &self.a, a, false)?;
        let b = operands::read("--b", &self.b, b, self.b_transposed)?;
        if a.columns() != b.rows() {
            return Err(operands::do_not_fit(&a, &b, self.b_transposed));
        }
        let c = self.c.as_ref().map(|source| {
            let format = match (self.type_c, source.format()) {
                (Some(said), _) => said,
                (None, Ok(None)) => d,
                (None, _) => operands::format_of("--c", "--type-c", source)?,
            };
            operands::read("--c", source, format, false)
        });
        let scales = match (&self.scale_a, &self.scale_b) {
            (Some(of_a), Some(of_b)) => {
                let format = |flag: &str, source: &Source| -> Result<Format, Failure> {
                    match source.format() {
                        Ok(Some(format)) => Ok(block_scale(format, None).format),
                        Ok(None) => {
                            let along = source.read(&UE8M0)?.shape.last().copied().unwrap_or(0);
                            Ok(scale_of_codes(a.columns(), along))
                        }
                        Err(_) => operands::format_of(flag, flag, source),
                    }
                };
                let read_a = operands::read("--scale-a", of_a, format("--scale-a", of_a)?, false)?;
                // codes of B are of A's kind
                let of_b_format = match of_b.format() {
                    Ok(None) => read_a.format(),
                    _ => format("--scale-b", of_b)?,
                };
                Some((read_a, operands::read("--scale-b", of_b, of_b_format, self.b_transposed)?))
            }
            _ => None,
        };
        Ok(Read { d: operands::read("--d", &self.d, d, false)?, c: c.transpose()?, scales, a, b })
    }
}

/// Reads, tries and says.
pub(crate) fn run(arguments: &Arguments) -> Result<Outcome, Failure> {
    let read = arguments.read()?;
    let Read { a, b, c, scales, d } = &read;
    let (scale_a, scale_b) = scales.as_ref().map(|(a, b)| (a, b)).unzip();
    let observed = Observed { a, b, c: c.as_ref(), scale_a, scale_b, d };
    let found =
        which(&observed, proposals(&observed.shapes(), d.format()), arguments.revision.revision, &RULES)?;
    if arguments.json {
        json::print(&found)?;
    } else {
        output::document(&found.document())?;
    }
    Ok(if found.is_found() { Outcome::Agrees } else { Outcome::Differs })
}
