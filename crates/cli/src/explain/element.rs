//! `bitmma explain --element`: one element of a whole product from files.

use bitmma_analysis::element::explain;
use bitmma_engine::formats::Format;
use bitmma_engine::gemm::{MAX_STEP, Target as Along};
use bitmma_engine::{GemmOptions, Matrix, Operands};
use bitmma_probe::differ::RULES;

use super::Arguments;
use crate::count::{MOST, count};
use crate::failure::{Failure, Outcome, Within};
use crate::files::Source;
use crate::operands::{self, check_scales};
use crate::{json, output};

const HEADING: &str = "Element of D, with A and B from files";

/// What an element of a whole product takes.
#[derive(Clone, Debug, clap::Args)]
#[group(skip)]
pub(super) struct ElementArguments {
    /// Explain this element of a whole product
    ///
    /// Row and column of D; with several blocks block, row and column. -a, -b, -c, --scale-a and --scale-b are then files of whole
    /// matrices, as for `gemm`.
    #[arg(long, help_heading = HEADING, value_name = "ROW,COLUMN", value_delimiter = ',', allow_hyphen_values = true, value_parser = index, conflicts_with_all = ["k", "round"])]
    pub(super) element: Vec<usize>,
    /// A D to compare with
    ///
    /// The step is shown at which it departs.
    #[arg(short, long, help_heading = HEADING, value_name = "FILE", requires = "element")]
    d: Option<Source>,
    /// Show every step that loses something, and the worst one bit by bit
    #[arg(long, help_heading = HEADING, requires = "element", hide_short_help = true)]
    steps: bool,
    /// B is N×K in its file
    #[arg(
        long,
        visible_alias = "bt",
        help_heading = HEADING,
        hide_short_help = true,
        requires = "element"
    )]
    b_transposed: bool,
    /// K in N parts, as for `gemm`
    #[arg(long, help_heading = HEADING, hide_short_help = true, value_name = "N", requires = "element", value_parser = count::<usize>(1..=MOST))]
    split_k: Option<usize>,
    /// The accumulator moves to an FP32 sum every N elements of K
    #[arg(long, help_heading = HEADING, hide_short_help = true, value_name = "N", requires = "element", value_parser = count::<usize>(1..=MOST))]
    promote_every: Option<usize>,
    /// C is added last
    #[arg(long, help_heading = HEADING, hide_short_help = true, requires = "element")]
    c_last: bool,
    /// Elements along K that --model takes at a time [default: its L_max]
    #[arg(long, help_heading = HEADING, hide_short_help = true, value_name = "N", requires = "element", value_parser = count::<usize>(1..=MAX_STEP as u64), conflicts_with_all = ["architecture", "instruction"])]
    k_step: Option<usize>,
}

/// A row, a column or a block.
fn index(text: &str) -> Result<usize, String> {
    text.parse().map_err(|_| {
        "rows, columns and blocks are integers from 0: ROW,COLUMN or BLOCK,ROW,COLUMN".to_owned()
    })
}

/// The file of a matrix.
fn source(flag: &str, text: &str) -> Result<Source, Failure> {
    let read: Result<Source, &str> = text.parse();
    read.map_err(|problem| Failure::new(format!("{flag} is '{text}', and --element takes files: {problem}")))
}

/// Reads, follows and says.
pub(super) fn run(arguments: &Arguments) -> Result<Outcome, Failure> {
    let own = &arguments.of_element;
    let target = arguments.target.resolve_with_options()?;
    let along = match &target.found {
        Some(found) => Along::found(found, arguments.target.revision.revision)?,
        None => Along::of_model(target.model.clone(), own.k_step).within("--k-step")?,
    };
    let (model, values) = (&target.model, &arguments.values);
    check_scales(&target.name, model, values.scale_a.is_some(), values.scale_b.is_some())?;
    let read = |flag: &str, text: &str, format: Format, transposed: bool| {
        operands::read(flag, &source(flag, text)?, format, transposed)
    };
    let a = read("--a", &values.a, model.a, false)?;
    let b = read("--b", &values.b, model.b, own.b_transposed)?;
    if a.columns() != b.rows() {
        return Err(operands::do_not_fit(&a, &b, own.b_transposed));
    }
    let c = (values.c != "0").then(|| read("--c", &values.c, model.c, false)).transpose()?;
    let scale = |flag: &str, text: &Option<String>, transposed: bool| -> Result<Option<Matrix>, Failure> {
        match (text, model.scale) {
            (Some(text), Some(scale)) => read(flag, text, scale.format, transposed).map(Some),
            _ => Ok(None),
        }
    };
    let scale_a = scale("--scale-a", &values.scale_a, false)?;
    let scale_b = scale("--scale-b", &values.scale_b, own.b_transposed)?;
    let place = match own.element[..] {
        [row, column] => (0, row, column),
        [block, row, column] => (block, row, column),
        _ => bail!("--element is {:?}; it is ROW,COLUMN, or BLOCK,ROW,COLUMN", own.element),
    };
    let promote_every = own.promote_every.or(target.options.promote_every);
    let options =
        GemmOptions { split_k: own.split_k, promote_every, c_last: own.c_last, ..GemmOptions::default() };
    let d = own.d.as_ref().map(|source| operands::read("--d", source, model.d, false)).transpose()?;
    let given =
        Operands { a: &a, b: &b, c: c.as_ref(), scale_a: scale_a.as_ref(), scale_b: scale_b.as_ref() };
    let element = explain(&along, &given, &options, place, d.as_ref(), &RULES)?;
    if arguments.json {
        json::print(&json::object! {
            #[serde(flatten)]
            computes: json::computes(&target, &arguments.target, along.step(), |found| found.instruction.name()),
            split_k: own.split_k,
            promote_every: promote_every,
            c_last: own.c_last,
            #[serde(flatten)]
            element: &element,
        })?;
    } else {
        let given = own.d.as_ref().map_or(String::new(), Source::to_string);
        let page = element.document(&target.name, &given)?;
        output::document(&if own.steps { page.unfolded() } else { page })?;
    }
    Ok(if element.departs() { Outcome::Differs } else { Outcome::Agrees })
}
