//! `bitmma explain --element`: one element of a whole product from files.

use bitmma_analysis::Dyadic;
use bitmma_analysis::account::Loss;
use bitmma_analysis::element::json::{Page, what};
use bitmma_analysis::element::{Addition, Departure, Element, Event, Other, Step, follow};
use bitmma_document::{Table, style};
use bitmma_engine::formats::Format;
use bitmma_engine::formats::text::display;
use bitmma_engine::gemm::{MAX_STEP, Schedule, Shapes, Target as Along};
use bitmma_engine::{Case, GemmOptions, Matrix, Operands, shape_text};
use bitmma_probe::differ::RULES;

use super::{Arguments, picture};
use crate::count::{MOST, count};
use crate::failure::{Failure, Outcome, Within};
use crate::files::Source;
use crate::operands::{self, check_scales};
use crate::target::Target;
use crate::values::Inputs;
use crate::{describe, json, output};

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
    let described = |matrix: &Matrix| (matrix.format(), matrix.shape());
    let (of_c, of_scale_a, of_scale_b) =
        (c.as_ref().map(described), scale_a.as_ref().map(described), scale_b.as_ref().map(described));
    let shapes =
        Shapes { a: described(&a), b: described(&b), c: of_c, scale_a: of_scale_a, scale_b: of_scale_b };
    let schedule = Schedule::new(&along, &shapes, &options)?;
    let d = own.d.as_ref().map(|source| {
        let d = operands::read("--d", source, model.d, false)?;
        let expected = (a.blocks(), a.rows(), b.columns());
        if d.shape() != expected {
            bail!("--d: {source} is {}, D is {}", shape_text(d.shape()), shape_text(expected));
        }
        Ok(d)
    });
    let d = d.transpose()?;
    let observed = d.as_ref().map(|d| {
        let (block, row, column) = place;
        let (blocks, rows, columns) = d.shape();
        let is_within = block < blocks && row < rows && column < columns;
        if is_within { d.get(block, row, column) } else { 0 }
    });
    let given =
        Operands { a: &a, b: &b, c: c.as_ref(), scale_a: scale_a.as_ref(), scale_b: scale_b.as_ref() };
    let element = follow(&along, &schedule, &given, place, observed)?;
    let departs = element.departure.as_ref().is_some_and(|departure| !departure.agrees);
    let other = match &d {
        Some(d) if departs => Other::of(&given, d, place, &shapes, &RULES)?,
        _ => None,
    };
    if arguments.json {
        json::print(&json::object! {
            #[serde(flatten)]
            computes: json::computes(&target, &arguments.target, along.step(), |found| found.instruction.name()),
            split_k: own.split_k,
            promote_every: promote_every,
            c_last: own.c_last,
            #[serde(flatten)]
            page: Page::new(&element, model, other.as_ref()),
        })?;
    } else {
        output::print(&text(&target, &element, other.as_ref(), given.shape())?)?;
    }
    Ok(if departs { Outcome::Differs } else { Outcome::Agrees })
}

/// Elements of a step that is shown whole, at most.
const LONGEST: usize = 1 << 12;
/// Steps that are shown, at most: the first and the last of those that lose something.
const SHOWN: usize = 24;

fn text(
    target: &Target,
    element: &Element,
    other: Option<&Other>,
    shape: (usize, usize, usize),
) -> Result<String, Failure> {
    let (block, row, column) = element.place;
    let place = if shape.0 == 1 { format!("{row}, {column}") } else { format!("{block}, {row}, {column}") };
    let steps = element.steps().count();
    let mut text = format!(
        "{}\n{} with {}\nD[{place}] of {}: K = {} in {} of {}\n\n",
        style::strong(&target.name),
        target.model.operation.name(),
        describe::short(&target.model, element.step),
        shape_text(shape),
        element.k,
        output::counted(steps, "step"),
        element.step,
    );
    text += &table(target, element);
    let worst = element.steps().enumerate().filter_map(|(index, step)| {
        let error = step.account.error()?.magnitude();
        (!error.is_zero()).then_some((index, step, error))
    });
    // the first of equals
    let worst = worst.fold(None, |best: Option<(usize, &Step, Dyadic)>, one| match best {
        Some(best) if best.2 >= one.2 => Some(best),
        _ => Some(one),
    });
    if let Some((index, step, _)) = worst
        && (target.model.c == target.model.d || step.elements.start == 0)
        && element.step <= LONGEST
    {
        let (first, last) = (step.elements.start, step.elements.end - 1);
        let heading = format!(
            "The step that loses most, {} of {steps}: elements {first} to {last}, here from 0",
            index + 1
        );
        text += &format!("\n{}\n", style::strong(&heading));
        let inputs = Inputs { case: Case { ..step.case.clone() }, notes: vec![] };
        let target = Target { k: Some(element.step), ..target.clone() };
        text += &picture(&target, &inputs)?;
    }
    let exact = element.exact.as_ref().map_or("not finite".to_owned(), Dyadic::to_string);
    let error =
        element.error().map_or(String::new(), |error| format!(", error {}", style::lost(&error.to_string())));
    text += &format!(
        "\nD[{place}] = {}  {}  {}; exactly {exact}{error}\n",
        style::strong(&display(&element.d_format, element.d)),
        describe::code(&element.d_format, element.d),
        element.d_format,
    );
    if let Some(departure) = &element.departure {
        text += &departs(element, departure, other);
    }
    Ok(text)
}

fn number(format: &Format, code: u64) -> String {
    bitmma_analysis::number::short(&display(format, code))
}

/// Steps that lose something and sums around them, each a row; what loses nothing is folded.
fn table(target: &Target, element: &Element) -> String {
    let mut table =
        Table::new(&[">step", "elements", ">accumulator", ">result", ">lost", ">error so far", "what lost"]);
    let lossy = |event: &Event| match event {
        Event::Step(step) => !step.account.losses.is_empty() || !step.account.finite,
        Event::Addition(_) => true,
    };
    let all = element.events.iter().filter(|event| lossy(event)).count();
    let (mut shown, mut index, mut folded) = (0, 0, vec![]);
    let flush = |folded: &mut Vec<usize>, table: &mut Table, why: &str| {
        if let (Some(first), Some(last)) = (folded.first(), folded.last()) {
            let steps = if first == last {
                format!("{}", first + 1)
            } else {
                format!("{}–{}", first + 1, last + 1)
            };
            table.row([steps, style::dim(why)].into_iter().chain((0..5).map(|_| String::new())));
            folded.clear();
        }
    };
    for event in &element.events {
        let hidden = lossy(event) && all > SHOWN && shown >= SHOWN / 2 && shown < all - SHOWN / 2;
        shown += usize::from(lossy(event));
        match event {
            Event::Step(step) => {
                index += 1;
                if !lossy(event) || hidden {
                    folded.push(index - 1);
                    continue;
                }
                flush(
                    &mut folded,
                    &mut table,
                    if shown > SHOWN / 2 + 1 { "not shown" } else { "nothing is lost" },
                );
                table.row(row(target, index, step));
            }
            Event::Addition(addition) if !hidden => {
                flush(&mut folded, &mut table, "nothing is lost");
                let Addition { what: of, left, right, result } = addition;
                let words = [*left, *right, *result].map(|code| number(&element.working, code));
                let [left, right, result] = words;
                let exact =
                    [addition.left, addition.right].map(|code| Dyadic::of_code(&element.working, code));
                let lost = match (exact, Dyadic::of_code(&element.working, addition.result)) {
                    ([Some(x), Some(y)], Some(sum)) => (&(&x + &y) - &sum).to_string(),
                    _ => String::new(),
                };
                let heading = format!("+ {}: {right}", what(*of));
                table.row([
                    String::new(),
                    heading,
                    left,
                    result,
                    style::lost(&nonzero(&lost)),
                    String::new(),
                    String::new(),
                ]);
            }
            Event::Addition(_) => {}
        }
    }
    flush(&mut folded, &mut table, "nothing is lost");
    table.render(crate::layout::width())
}

fn nonzero(text: &str) -> String {
    if text == "0" { String::new() } else { bitmma_analysis::number::short(text) }
}

fn row(target: &Target, index: usize, step: &Step) -> [String; 7] {
    let model = &target.model;
    let error = |error: Option<Dyadic>| error.map_or(String::new(), |error| nonzero(&error.to_string()));
    let names: Vec<String> = step.account.losses.iter().map(|loss: &Loss| loss.term.clone()).collect();
    let more = names.len().saturating_sub(4);
    let mut what = names.iter().take(4).cloned().collect::<Vec<_>>().join(", ");
    if more > 0 {
        what += &format!(", {more} more");
    }
    if !step.account.finite {
        what = "not finite".to_owned();
    }
    [
        index.to_string(),
        format!("{}..{}", step.elements.start, step.elements.end - 1),
        number(&step.accumulator, step.case.c),
        number(&model.d, step.result),
        style::lost(&error(step.account.error().map(|error| -&error))),
        error(step.total_error.clone()),
        what,
    ]
}

/// What computes all of the D that was given, in words.
fn other_text(other: &Other, ours: &Element) -> String {
    let Other { name, chips, order, element } = other;
    let chips = chips.join(", ");
    let mut text = format!("It is what {} ({chips}) computes, {order}.\n", style::strong(name));
    if let Some((step, here, there)) = other.steps(ours) {
        text += &format!(
            "They part at step {} (elements {}..{}): {} here, {} there.\n",
            step + 1,
            here.elements.start,
            here.elements.end - 1,
            display(&ours.own, here.result),
            style::lost(&display(&element.own, there.result)),
        );
    }
    text
}

/// Where the D that was given departs.
fn departs(element: &Element, departure: &Departure, other: Option<&Other>) -> String {
    let observed = display(&element.d_format, departure.observed);
    if departure.agrees {
        return format!("the D that was given agrees: {}\n", style::good(&observed));
    }
    let code = describe::code(&element.d_format, departure.observed);
    let mut text = format!("the D that was given is {} ({code})", style::lost(&observed));
    let steps: Vec<&Step> = element.steps().collect();
    if let Some(other) = other {
        text += &format!(".\n{}", other_text(other, element));
        return text;
    }
    match departure.first {
        Some((index, instead)) => {
            let step = steps[index];
            text += &format!(
                ". It departs at step {} (elements {}..{}) or later: that step gave {}, and {} leads to it",
                index + 1,
                step.elements.start,
                step.elements.end - 1,
                display(&element.own, step.result),
                display(&element.own, instead),
            );
            if departure.steps > 1 {
                text += &format!("; so does a last bit in {} of {} steps", departure.steps, steps.len());
            }
            text += ".\n";
        }
        None => {
            text += ". No single step leads to it by a change of its last bit: more than one step differs, or the order does";
            text += if departure.complete { ".\n" } else { " (the first steps were tried).\n" };
            text += "`bitmma which` with all of A, B and D says what computes it.\n";
        }
    }
    text
}
