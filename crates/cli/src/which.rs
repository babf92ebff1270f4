//! `bitmma which`: which instructions, of all architectures, compute this D.

use std::time::Instant;

use bitmma_analysis::apart::Rules;
use bitmma_analysis::describe::input;
use bitmma_analysis::which::json::Page;
use bitmma_analysis::which::{Call, Observed, Place, Row, Together, Which, which};
use bitmma_calls::proposals::proposals;
use bitmma_engine::catalogue::library::block_scale;
use bitmma_engine::formats::text::display;
use bitmma_engine::formats::{Format, UE4M3, UE8M0, table};
use bitmma_engine::{Matrix, shape_text};
use bitmma_probe::differ;
use clap::builder::TypedValueParser;

use crate::failure::{Failure, Outcome};
use crate::files::Source;
use crate::operands::{self, files_help};
use crate::table::Table;
use crate::{describe, json, output, style, target};

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

/// How the probe tells models apart.
pub(crate) const RULES: Rules = Rules { equivalent: differ::equivalent, differing: differ::differing };

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
                        Ok(None) => scale_format(source, a.columns()),
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

/// The format of scale factors that are codes: UE4M3 where 16 elements share one, UE8M0 otherwise.
fn scale_format(source: &Source, k: usize) -> Result<Format, Failure> {
    let columns = source.read(&UE8M0)?.shape.last().copied().unwrap_or(0);
    Ok(if columns > 0 && k.div_ceil(columns) <= 16 { UE4M3 } else { UE8M0 })
}

/// The library's calls that are tried.
pub(crate) fn calls(a: &Matrix, b: &Matrix, d: &Matrix) -> Vec<Call> {
    let shape = (a.rows(), b.columns(), a.columns());
    let all = proposals(shape, (a.format(), b.format(), d.format()));
    let call = |one: bitmma_calls::proposals::Proposal| Call {
        name: one.name,
        architecture: one.architecture,
        target: one.target,
        schedule: one.schedule,
    };
    all.into_iter().map(call).collect()
}

/// Reads, tries and says.
pub(crate) fn run(arguments: &Arguments) -> Result<Outcome, Failure> {
    let read = arguments.read()?;
    let start = Instant::now();
    let Read { a, b, c, scales, d } = &read;
    let (scale_a, scale_b) = scales.as_ref().map(|(a, b)| (a, b)).unzip();
    let observed = Observed { a, b, c: c.as_ref(), scale_a, scale_b, d };
    let calls = if c.is_none() && scales.is_none() { calls(a, b, d) } else { vec![] };
    let found = which(&observed, calls, arguments.revision.revision, &RULES)?;
    let seconds = start.elapsed().as_secs_f64();
    if arguments.json {
        json::print(&Page::new(&observed, &found, seconds))?;
    } else {
        output::print(&text(&observed, &found, seconds))?;
    }
    Ok(if found.is_found() { Outcome::Agrees } else { Outcome::Differs })
}

/// Rows that are shown where a model matches, and of those that do not.
const SHOWN: usize = 12;
/// Those that do not match that are shown beside some that do.
const OTHERS: usize = 3;
/// Inputs, and groups with equal results, that are listed.
const LISTED: usize = 4;
/// Configurations of a row that are named.
const NAMED: usize = 3;

/// The chips that compute so.
fn chips(row: &Row) -> String {
    let chips: Vec<&str> =
        row.architectures().iter().map(|one| one.papers_chip().unwrap_or(one.name())).collect();
    match (chips.is_empty(), row.threads) {
        (true, _) => "any GPU".to_owned(),
        (false, true) => format!("{}; threads of any GPU", chips.join(", ")),
        (false, false) => chips.join(", "),
    }
}

fn name(row: &Row) -> String {
    let more = row.instructions.len().saturating_sub(1);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    match (row.instructions.first(), row.threads) {
        (None, _) => "fused multiply-adds of threads".to_owned(),
        (Some(row), _) => format!("{}{more}", row.target()),
    }
}

/// The configurations of a row: those that match, or the nearest.
fn how(row: &Row) -> String {
    if row.matching.is_empty() {
        return row.nearest.to_string();
    }
    let mut words: Vec<String> = row.matching.iter().take(NAMED).map(|one| row.order(one)).collect();
    if row.matching.len() > NAMED {
        words.push(format!("{} more", row.matching.len() - NAMED));
    }
    words.join("\n")
}

fn text(observed: &Observed<'_>, found: &Which, seconds: f64) -> String {
    let of = |matrix: &Matrix| format!("{} {}", shape_text(matrix.shape()), matrix.format());
    let mut text = format!(
        "{} · {} + {} = {}: {} and {} tried in {seconds:.1} s\n\n",
        of(observed.a),
        of(observed.b),
        observed.c.map_or("0".to_owned(), of),
        of(observed.d),
        output::counted(found.models, "model"),
        output::counted(found.candidates, "order"),
    );
    let matching = found.rows.iter().filter(|row| !row.matching.is_empty()).count();
    text += &verdict(observed, found, matching);
    let shown = if matching > 0 { matching + OTHERS } else { SHOWN };
    let mut table = Table::new(&["model", "chips", ">agree", "order along K"]).less(&[]);
    for row in found.rows.iter().take(shown) {
        let share = format!("{} of {}", row.agreeing, row.compared);
        let share = if row.matching.is_empty() { share } else { style::good(&share) };
        table.row([name(row), chips(row), share, how(row)]);
    }
    text += &format!("\n{}", table.render());
    if found.rows.len() > shown {
        let rest = found.rows.len() - shown;
        text += &style::dim(&format!(
            "{} with fewer elements that agree (--json has all)\n",
            output::counted(rest, "model")
        ));
    }
    text + &apart(found)
}

/// The first sentence.
fn verdict(observed: &Observed<'_>, found: &Which, matching: usize) -> String {
    let configurations: usize = found.rows.iter().map(|row| row.matching.len()).sum();
    match (matching, found.rows.first()) {
        (0, Some(nearest)) => {
            let first = nearest.first.map_or(String::new(), |first| {
                let (block, row, column) = first.element;
                let block = if observed.d.blocks() > 1 { format!("{block}, ") } else { String::new() };
                let number = |code| value(&observed.d.format(), code);
                format!(
                    "; its first that differs is D[{block}{row}, {column}]: it computes {}, D has {}",
                    number(first.computed),
                    number(first.observed)
                )
            });
            format!(
                "{}. The nearest is {} ({}), {}: {} of {} elements agree{first}.\n",
                style::lost("none of them computes D"),
                name(nearest),
                chips(nearest),
                nearest.nearest,
                nearest.agreeing,
                nearest.compared
            )
        }
        (1, Some(row)) if configurations == 1 => {
            format!(
                "{}: {} ({}), {}.\n",
                style::good("D was computed by"),
                name(row),
                chips(row),
                row.matching[0]
            )
        }
        (1, Some(row)) => format!(
            "{}: {} ({}), in one of {configurations} orders.\n",
            style::good("D was computed by"),
            name(row),
            chips(row)
        ),
        (several, _) => {
            format!(
                "{}: {several} models compute it, in {configurations} orders altogether.\n",
                style::good("found")
            )
        }
    }
}

fn value(format: &Format, code: u64) -> String {
    format!("{} ({})", display(format, code), describe::code(format, code))
}

/// A place in words.
fn place(found: &Which, &(row, at): &Place) -> String {
    let row = &found.rows[row];
    format!("{}, {}", name(row), row.order(&row.matching[at]))
}

fn some(found: &Which, places: &[Place]) -> String {
    let mut words: Vec<String> = places.iter().take(NAMED).map(|one| place(found, one)).collect();
    if places.len() > NAMED {
        words.push(format!("{} more", places.len() - NAMED));
    }
    words.join("; ")
}

fn lines(found: &Which, places: &[Place]) -> String {
    let mut text: String =
        places.iter().take(SHOWN).map(|one| format!("  {}\n", place(found, one))).collect();
    if places.len() > SHOWN {
        text += &format!("  {} more\n", places.len() - SHOWN);
    }
    text
}

/// Inputs that tell those that match apart, and those that none does.
fn apart(found: &Which) -> String {
    let mut text = String::new();
    if !found.tests.is_empty() {
        text += "\nThis data does not tell them apart. These inputs do (every other element is zero, scale factors are one):\n";
    }
    for test in found.tests.iter().take(LISTED) {
        let Some(model) = found.model_of(test) else { continue };
        text += &format!("  {}\n", input(model, &test.case));
        for (code, of) in &test.results {
            text += &format!("    → {}: {}\n", style::strong(&value(&found.d, *code)), some(found, of));
        }
    }
    for Together { groups, searched } in found.together.iter().take(LISTED) {
        let (same, apart): (Vec<_>, Vec<_>) = groups.iter().partition(|group| group.len() > 1);
        for group in &same {
            text += &format!("\n{}:\n{}", style::good("the same bits for every input"), lines(found, group));
        }
        if groups.len() > 1 {
            let first: Vec<Place> = same.iter().chain(&apart).map(|group| group[0]).collect();
            let why = if *searched {
                "no input was found that tells these apart"
            } else {
                "not told apart by these inputs"
            };
            text += &format!("\n{why}:\n{}", lines(found, &first));
        }
    }
    if found.together.len() > LISTED {
        let more = found.together.len() - LISTED;
        text += &style::dim(&format!(
            "\n{} of orders with equal results (--json has all)\n",
            output::counted(more, "more group")
        ));
    }
    text
}
