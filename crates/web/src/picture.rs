//! The steps of a dot product as rows of bits: what is drawn, as data. The page places them and computes nothing.

use bitmma_analysis::number::{self, exact, leading, of_code, short};
use bitmma_engine::arithmetic::exact::{self as sums, Exact};
use bitmma_engine::arithmetic::special::Special;
use bitmma_engine::arithmetic::trace::{TermName, Why};
use bitmma_engine::arithmetic::{Conversion, Step, Term};
use bitmma_engine::formats::text::{display, hex};
use bitmma_engine::formats::{Class, Format, Real, decode};
use serde::Serialize;

use crate::input::Bits;

/// The bits of a number, the highest first.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Digits {
    negative: bool,
    /// Weight of the first, a power of two.
    high: i32,
    /// Zeros and ones; empty for zero.
    digits: String,
    /// Whether there are further ones.
    inexact: bool,
}

impl From<Real> for Digits {
    fn from(real: Real) -> Digits {
        let digits = match real.significand {
            0 => String::new(),
            significand => format!("{significand:b}"),
        };
        let high = real.exponent + digits.len() as i32 - 1;
        let kept = if real.inexact { digits.len() } else { digits.trim_end_matches('0').len() };
        Digits { negative: real.negative, high, digits: digits[..kept].to_owned(), inexact: real.inexact }
    }
}

impl From<Exact> for Digits {
    fn from(exact: Exact) -> Digits {
        exact.real().into()
    }
}

/// One number on the ruler.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Row {
    /// `a0*b0`, `c`, `sum`.
    name: String,
    /// The element along K, of a product.
    element: Option<usize>,
    value: String,
    /// The exponent it brings into the maximum.
    exponent: Option<i32>,
    bits: Digits,
    /// Weight of the last bit that is kept; none: all are.
    last: Option<i32>,
    /// What is kept.
    kept: String,
    /// Its bits, where rounding changed one of those left of the cut.
    moved: Option<Digits>,
    /// What is lost; empty: nothing.
    lost: String,
}

/// Numbers that are summed, or one that is rounded.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Stage {
    /// What happens, in a line.
    title: String,
    /// Where terms are cut: the weight of the last bit that is kept.
    cut: Option<i32>,
    rows: Vec<Row>,
    /// Zero terms that are not drawn, in words.
    zeros: String,
    /// The sum of what is kept.
    sum: Option<Row>,
    /// A code that comes of it.
    result: Option<Coded>,
}

impl Stage {
    /// Whether both are operations on two numbers.
    fn is_like(&self, other: &Stage) -> bool {
        let is_operations = |stage: &Stage| stage.sum.is_none() && stage.result.is_some();
        is_operations(self) && is_operations(other)
    }
}

/// A code and the number it is.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Coded {
    value: String,
    code: String,
    format: &'static str,
}

impl Coded {
    pub(crate) fn new(format: &Format, code: u64) -> Coded {
        Coded { value: display(format, code), code: hex(format, code), format: format.name }
    }
}

/// One elementary operation along K.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Part {
    /// The operation, or what comes after all of them.
    name: String,
    /// Which instruction in a row it is of, from 1, and how many there are; none of one alone.
    instruction: Option<(usize, usize)>,
    /// The elements along K it takes.
    elements: Vec<usize>,
    /// Where it starts.
    accumulator: Option<Coded>,
    stages: Vec<Stage>,
    /// Why its result is not finite before anything is summed.
    special: Option<&'static str>,
    /// Whether it leaves the accumulator as it is.
    idle: bool,
}

/// A result with its fields, for the answer of a unit.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Answered {
    #[serde(flatten)]
    coded: Coded,
    bits: Vec<(&'static str, String)>,
}

impl Answered {
    pub(crate) fn new(format: &Format, code: u64) -> Answered {
        let Bits { sign, exponent, fraction, padding } = Bits::of(format, code);
        let fields = [("sign", sign), ("exponent", exponent), ("fraction", fraction), ("padding", padding)];
        let bits = fields.into_iter().filter(|(_, bits)| !bits.is_empty()).collect();
        Answered { coded: Coded::new(format, code), bits }
    }
}

fn text(value: Real) -> String {
    short(&number::text(value))
}

/// The operand readings in words: what is flushed, which bits are not read.
pub(crate) fn readings(steps: &[Step]) -> Vec<String> {
    let mut notes = vec![];
    for step in steps {
        let Step::Read { why, operands, .. } = step else { continue };
        for one in operands.iter().filter(|one| one.given != one.used || *why == Why::Flushed) {
            let (given, used) = (display(&one.given_format, one.given), display(&one.format, one.used));
            if given == used {
                continue;
            }
            notes.push(match why {
                Why::Flushed if decode(&one.given_format, one.given).class == Class::Zero => {
                    format!("{} = {given} is read as {used}", one.operand)
                }
                Why::Flushed => {
                    format!("{} = {} is subnormal and read as {used}", one.operand, short(&given))
                }
                Why::Ignored => format!(
                    "{} = {} has bits that are not read: {} is used",
                    one.operand,
                    short(&given),
                    short(&used)
                ),
            });
        }
    }
    let more = notes.len().saturating_sub(NAMED);
    notes.truncate(NAMED);
    if more > 0 {
        notes.push(format!("{more} more operands are not used as given"));
    }
    notes
}

/// Operands that are named as not used as given.
const NAMED: usize = 4;

/// The operations of a dot product, in order; the last row is D. `(count, each)`: instructions in a row, and operations of each.
pub(crate) fn parts(steps: &[Step], (count, each): (usize, usize), (format, d): (&Format, u64)) -> Vec<Part> {
    let mut parts: Vec<Part> = vec![];
    let mut begun = 0;
    let mut afterwards = false;
    let mut state: Option<u64> = None; // the accumulator of the operation under way
    for step in steps {
        match step {
            Step::Read { .. } => {}
            Step::Begin { operation, elements, accumulator, format } => {
                state = Some(*accumulator);
                afterwards = false;
                let instruction = (count > 1).then_some((begun / each + 1, count));
                begun += 1;
                parts.push(Part {
                    name: (*operation).to_owned(),
                    instruction,
                    elements: elements.clone(),
                    accumulator: Some(Coded::new(format, *accumulator)),
                    stages: vec![],
                    special: None,
                    idle: false,
                });
            }
            _ => {
                // what a compiler puts around the operations is a part of its own
                let is_around = matches!(step, Step::Changed { .. })
                    || matches!(step, Step::Binary { operation, .. } if !operation.starts_with("FTZ"));
                if parts.is_empty() || (is_around && !afterwards) {
                    afterwards = true;
                    parts.push(Part {
                        name: "around the operation".to_owned(),
                        instruction: None,
                        elements: vec![],
                        accumulator: None,
                        stages: vec![],
                        special: None,
                        idle: false,
                    });
                }
                let Some(part) = parts.last_mut() else { continue };
                if let Step::Special(special) = step {
                    part.special = Some(special_name(*special));
                }
                match (stage(step), part.stages.last_mut()) {
                    // operations in a row are one table
                    (Some(next), Some(last)) if next.is_like(last) => {
                        last.rows.extend(next.rows);
                        last.result = next.result;
                    }
                    (Some(next), _) => part.stages.push(next),
                    _ => {}
                }
                let zero = part
                    .stages
                    .iter()
                    .all(|stage| stage.rows.iter().all(|row| row.name == "c" || row.is_zero()));
                let same = match step {
                    Step::Converted { code, .. } | Step::Binary { result: code, .. } => state == Some(*code),
                    _ => part.idle,
                };
                part.idle = zero && same && part.special.is_none() && !part.elements.is_empty();
            }
        }
    }
    // a NaN leaves the unit as the code that the vendor gives it, and what was decided without a sum is in no row yet
    if let Some(last) = parts.last_mut() {
        let coded = Coded::new(format, d);
        let is_shown = |stage: &Stage| stage.result.as_ref().is_some_and(|shown| shown.code == coded.code);
        if !last.stages.last().is_some_and(is_shown) {
            last.idle = false;
            last.stages.push(Stage {
                title: "as it leaves the unit".to_owned(),
                cut: None,
                rows: vec![],
                zeros: String::new(),
                sum: None,
                result: Some(coded),
            });
        }
    }
    parts
}

impl Row {
    fn is_zero(&self) -> bool {
        self.bits.digits.is_empty() && !self.bits.inexact
    }

    fn plain(name: impl Into<String>, value: Real) -> Row {
        Row {
            name: name.into(),
            element: None,
            value: number::text(value),
            exponent: None,
            bits: value.into(),
            last: None,
            kept: text(value),
            moved: None,
            lost: String::new(),
        }
    }

    fn term(term: &Term, is_cut: bool) -> Row {
        let lost = term.exact.minus(term.kept);
        let last = is_cut.then_some(term.kept.exponent);
        let element = match term.name {
            TermName::Product(k) => Some(k),
            _ => None,
        };
        Row {
            name: term.name.to_string(),
            element,
            value: number::text(term.exact.real()),
            exponent: term.exponent,
            bits: term.exact.into(),
            last,
            kept: number::text(term.kept.real()),
            moved: (is_cut && is_moved(term)).then(|| term.kept.into()),
            lost: if lost.is_zero() { String::new() } else { number::text(lost) },
        }
    }
}

/// Whether rounding changed a bit left of the cut.
fn is_moved(term: &Term) -> bool {
    let magnitude = term.exact.significand.unsigned_abs();
    let left = match term.kept.exponent - term.exact.exponent {
        ..=0 => return false,
        places @ 1..128 => magnitude >> places,
        _ => 0,
    };
    left != term.kept.significand.unsigned_abs()
}

fn special_name(special: Special) -> &'static str {
    match special {
        Special::Nan => "nan",
        Special::Infinity { negative: false } => "inf",
        Special::Infinity { negative: true } => "-inf",
    }
}

/// Products that are drawn, and the zeros that are not.
fn drawn(terms: &[Term]) -> (Vec<&Term>, String) {
    let zero = |term: &&Term| {
        matches!(term.name, TermName::Product(_) | TermName::Group { .. }) && term.exact.significand == 0
    };
    let exponents: Vec<Option<i32>> = terms.iter().filter(zero).map(|term| term.exponent).collect();
    let (first, count) = (exponents.first().copied().flatten(), exponents.len());
    if count < 2 || exponents.iter().any(|one| *one != first) {
        return (terms.iter().collect(), String::new());
    }
    let words = match first {
        Some(exponent) => format!("{count} zero terms, each with the exponent {exponent}"),
        None => format!("{count} zero terms"),
    };
    (terms.iter().filter(|term| !zero(term)).collect(), words)
}

fn stage(step: &Step) -> Option<Stage> {
    Some(match step {
        Step::Aligned { maximum, exponent, terms, fraction_bits, rounding, sum } => {
            let (shown, zeros) = drawn(terms);
            Stage {
                title: format!(
                    "{maximum} = {exponent}: each term is cut ({rounding}) to {fraction_bits} bits below 2^{exponent}"
                ),
                cut: Some(exponent - *fraction_bits as i32),
                rows: shown.into_iter().map(|term| Row::term(term, true)).collect(),
                zeros,
                sum: Some(Row::plain("sum", sum.real())),
                result: None,
            }
        }
        Step::Exact { terms, sum } => {
            let (shown, zeros) = drawn(terms);
            Stage {
                title: "summed exactly".to_owned(),
                cut: None,
                rows: shown.into_iter().map(|term| Row::term(term, false)).collect(),
                zeros,
                sum: Some(Row::plain("sum", *sum)),
                result: None,
            }
        }
        Step::Converted { value, conversion, code, format } => rounded(*value, conversion, *code, format),
        Step::Binary { result, format, .. } => Stage {
            title: "each product and each sum is rounded on its own".to_owned(),
            cut: None,
            rows: operation(step).into_iter().collect(),
            zeros: String::new(),
            sum: None,
            result: Some(Coded::new(format, *result)),
        },
        Step::Changed { what, from, from_format, to, to_format } => {
            let finite = decode(from_format, *from).is_finite();
            let row = finite.then(|| result_row("value", of_code(from_format, *from).real(), to_format, *to));
            Stage {
                title: format!("{what} changes its format: {from_format} to {to_format}"),
                cut: None,
                rows: vec![],
                zeros: String::new(),
                sum: row,
                result: Some(Coded::new(to_format, *to)),
            }
        }
        _ => return None,
    })
}

/// A multiplication or an addition of two numbers: its exact result, and what is kept of it.
fn operation(step: &Step) -> Option<Row> {
    let Step::Binary { operation, left, left_format, right, right_format, result, format } = step else {
        return None;
    };
    let (sign, is_product) = if *operation == "FTZ-Mul" { ("·", true) } else { ("+", false) };
    let words =
        [(left_format, left), (right_format, right)].map(|(format, code)| short(&display(format, *code)));
    let name = format!("{} {sign} {}", words[0], words[1]);
    let finite = decode(left_format, *left).is_finite() && decode(right_format, *right).is_finite();
    if !finite {
        return Some(Row { value: display(format, *result), ..Row::plain(name, Real::zero(false)) });
    }
    let (x, y) = (of_code(left_format, *left), of_code(right_format, *right));
    let value = match is_product {
        true => Real::exact(x.significand * y.significand, x.exponent + y.exponent),
        false => sums::sum([x, y].into_iter()),
    };
    Some(result_row(&name, value, format, *result))
}

/// A value that becomes a number of `format`.
fn rounded(value: Real, conversion: &Conversion, code: u64, format: &Format) -> Stage {
    let target = &conversion.format;
    let mut row = result_row("rounded", value, format, code);
    if !format.is_integer() && !row.lost.is_empty() {
        row.last = Some(last_bit(value, target));
    }
    let flushed = decode(format, code).class == Class::Zero && !value.is_zero();
    let why = if flushed { ", flushed to zero" } else { "" };
    Stage {
        title: format!("{conversion}{why}"),
        cut: row.last,
        rows: vec![],
        zeros: String::new(),
        sum: Some(row),
        result: Some(Coded::new(format, code)),
    }
}

/// Weight of the last bit that a format keeps of a value.
fn last_bit(value: Real, format: &Format) -> i32 {
    let top = value.exponent + 127 - value.significand.leading_zeros() as i32;
    top.max(format.min_exponent()) - format.fraction_bits as i32
}

fn result_row(name: &str, value: Real, format: &Format, code: u64) -> Row {
    let mut row = Row::plain(name, value);
    if !decode(format, code).is_finite() {
        row.kept = display(format, code);
        row.lost = "overflow".to_owned();
        return row;
    }
    let after = of_code(format, code);
    row.kept = number::text(after.real());
    let before = exact(value).unwrap_or_else(|| leading(value));
    let lost = before.minus(after);
    if !lost.is_zero() {
        row.lost = number::text(lost);
        row.last = Some(last_bit(value, format));
        row.moved = Some(after.into());
    } else if exact(value).is_none() {
        row.lost = format!("less than 2^{}", value.exponent + 2);
    }
    row
}
