//! Each step as a table.

use bitmma_document::{Document, Table, style};
use bitmma_engine::arithmetic::exact::{self, Exact};
use bitmma_engine::arithmetic::trace::{Reading, TermName, Why};
use bitmma_engine::arithmetic::{Conversion, ResultFlush, Step, Term};
use bitmma_engine::formats::text::{display, hex};
use bitmma_engine::formats::{Class, Format, Real, Rounding, decode};

use super::bits::{Line, draw};
use crate::number;

/// What rounding took away, in decimal; empty if nothing.
fn rounding_loss(before: Real, after: u64, format: &Format) -> String {
    if !decode(format, after).is_finite() {
        return "overflow".to_owned();
    }
    match number::exact(before) {
        Some(before) => {
            let lost = before.minus(number::of_code(format, after));
            if lost.is_zero() { String::new() } else { number::text(lost) }
        }
        None => {
            let lost = number::leading(before).minus(number::of_code(format, after));
            match lost.is_zero() {
                true => format!("<2^{}", before.exponent + 2),
                false => format!("≈{}", number::text(lost).trim_start_matches('≈')),
            }
        }
    }
}

/// What a change of format took away, after a comma; empty if nothing.
pub(super) fn change_loss((from_format, from): (&Format, u64), (to_format, to): (&Format, u64)) -> String {
    if !decode(from_format, from).is_finite() {
        return String::new();
    }
    match rounding_loss(number::of_code(from_format, from).real(), to, to_format) {
        loss if loss.is_empty() => String::new(),
        loss => format!(", lost {}", style::lost(&loss)),
    }
}

/// Operands that are not used as they are given, each with the term that changes by it.
pub(super) fn readings(mut page: Document, steps: &[&Step]) -> Document {
    for (wanted, heading) in [
        (Why::Flushed, "flushed: subnormal operands are read as zero"),
        (Why::Ignored, "ignored: bits of operands that are not read"),
    ] {
        let mut table = Table::new(&["operand", ">as given", "code", ">as used", "term", ">exact", ">lost"]);
        for step in steps {
            let Step::Read { why, term, operands, exact, lost } = step else { continue };
            if *why != wanted {
                continue;
            }
            for (index, Reading { operand, given, given_format, used, format }) in operands.iter().enumerate()
            {
                let of_term = |text: String| if index == 0 { text } else { String::new() };
                let value = |real: Option<Real>| real.map_or("not finite".to_owned(), cell);
                table.row([
                    operand.to_string(),
                    number::short(&display(given_format, *given)),
                    hex(given_format, *given),
                    number::short(&display(format, *used)),
                    of_term(term.map_or(String::new(), |term| term.to_string())),
                    of_term(value(exact.map(|exact| exact.real()))),
                    of_term(match lost {
                        Some(lost) if lost.is_zero() => String::new(),
                        lost => style::lost(&value(*lost)),
                    }),
                ]);
            }
        }
        if !table.is_empty() {
            page = page.text(style::lost(heading)).close().table(table);
        }
    }
    page
}

/// What rounding took away from the sum of `terms`, however far apart they are.
pub(super) fn chain_loss(terms: &[Term], after: u64, format: &Format) -> String {
    if !decode(format, after).is_finite() {
        return "overflow".to_owned();
    }
    let after = number::of_code(format, after);
    let minus_after = Exact { significand: -after.significand, ..after };
    let lost = exact::sum(terms.iter().map(|term| term.exact).chain([minus_after]));
    if lost.is_zero() { String::new() } else { number::text(lost) }
}

/// A value short enough for a table.
pub(super) fn cell(value: Real) -> String {
    number::short(&number::text(value))
}

/// Terms that are shown, and the line about zero terms that are not.
fn without_zeros(terms: &[Term]) -> (Vec<&Term>, String) {
    let zero = |term: &Term| {
        matches!(term.name, TermName::Product(_) | TermName::Group { .. }) && term.exact.significand == 0
    };
    let mut exponents: Vec<Option<i32>> =
        terms.iter().filter(|term| zero(term)).map(|term| term.exponent).collect();
    let count = exponents.len();
    exponents.sort_unstable();
    exponents.dedup();
    if count < 2 || exponents.len() > 1 {
        return (terms.iter().collect(), String::new());
    }
    let exponent = match exponents[0] {
        Some(exponent) => format!("exponent e_zero = {exponent}"),
        None => "no exponent".to_owned(),
    };
    let rest = terms.iter().filter(|term| !zero(term)).collect();
    (rest, style::dim(&format!("{count} zero terms, {exponent}")))
}

/// Terms aligned, cut and summed.
pub(super) fn aligned(
    page: Document,
    maximum: &str,
    exponent: i32,
    terms: &[Term],
    fraction_bits: u32,
    rounding: Rounding,
    sum: Exact,
) -> Document {
    let (shown, zeros) = without_zeros(terms);
    let mut lines: Vec<Line> =
        shown.iter().map(|term| Line { value: term.exact, last: Some(term.kept.exponent) }).collect();
    lines.push(Line { value: sum, last: None });
    let picture = draw(&lines, exponent);

    let headings = ["term", ">value", ">e", &picture.ruler, ">kept", ">lost"];
    let mut table = Table::new(&headings).keep(3).less(&[4]);
    let mut moved = Vec::new();
    for (term, bits) in shown.iter().zip(&picture.lines) {
        let lost = term.exact.minus(term.kept);
        let mut kept = cell(term.kept.real());
        if is_moved(term) {
            moved.push(term.name.to_string());
            kept.push('*');
        }
        table.row([
            term.name.to_string(),
            cell(term.exact.real()),
            term.exponent.map_or("none".to_owned(), |exponent| exponent.to_string()),
            bits.clone(),
            kept,
            if lost.is_zero() { String::new() } else { style::lost(&cell(lost)) },
        ]);
    }
    let sum_bits = picture.lines.last().cloned().unwrap_or_default();
    let total = style::strong(&cell(sum.real()));
    table.row(["sum".to_owned(), String::new(), String::new(), sum_bits, total, String::new()]);
    let heading = format!("{maximum} = {exponent}; cut ({rounding}) to {fraction_bits} bits below it");
    let page = page.text(heading).close().table(table).close().text(zeros);
    match moved.is_empty() {
        true => page,
        false => page.close().text(style::dim(&format!(
            "* {rounding} takes {} to one unit of the last bit more than stands left of the bar",
            moved.join(", ")
        ))),
    }
}

/// Whether the rounding moved a term away from the bits left of the bar.
fn is_moved(term: &Term) -> bool {
    let places = term.kept.exponent - term.exact.exponent;
    let magnitude = term.exact.significand.unsigned_abs();
    let left = match places {
        ..=0 => return false,
        1..128 => magnitude >> places,
        _ => 0,
    };
    left != term.kept.significand.unsigned_abs()
}

/// Terms summed without loss.
pub(super) fn exact_sum(page: Document, terms: &[Term], sum: Real) -> Document {
    let (shown, zeros) = without_zeros(terms);
    let mut lines: Vec<Line> = shown.iter().map(|term| Line { value: term.exact, last: None }).collect();
    let exponents = || terms.iter().filter_map(|term| term.exact.leading_exponent());
    let highest = exponents().max().unwrap_or(0);
    let exact = number::exact(sum).filter(|sum| {
        let low = lines.iter().map(|line| line.value.exponent).min().unwrap_or(0).min(sum.exponent);
        highest - low < 64
    });
    lines.extend(exact.map(|value| Line { value, last: None }));
    let picture = exact.map(|_| draw(&lines, highest));

    let mut headings = vec!["term", ">value"];
    if let Some(picture) = &picture {
        headings.push(&picture.ruler);
    }
    let mut table = Table::new(&headings).keep(2);
    let bits = |index: usize| picture.as_ref().map(|picture| picture.lines[index].clone());
    for (index, term) in shown.iter().enumerate() {
        let cells = [term.name.to_string(), number::text(term.exact.real())];
        table.row(cells.into_iter().chain(bits(index)));
    }
    let cells = ["sum".to_owned(), style::strong(&number::text(sum))];
    table.row(cells.into_iter().chain(bits(shown.len())));
    page.text("summed exactly").close().table(table).close().text(zeros)
}

/// rho: an exact value becomes a number.
pub(super) fn converted(
    page: Document,
    value: Real,
    conversion: Conversion,
    code: u64,
    format: &Format,
) -> Document {
    let loss = rounding_loss(value, code, format);
    let (number, result) = (number::text(value), value_and_code(format, code));
    if loss.is_empty() {
        return page.text(format!("{conversion}: {number} → {result}, exact"));
    }
    let flushed = match decode(format, code).class {
        Class::Zero if conversion.flush != ResultFlush::Never => ", flushed to zero",
        _ => "",
    };
    let page = page.text(format!("{conversion}: {number} → {result}{flushed}, lost {}", style::lost(&loss)));
    let target = &conversion.format;
    let Some((exact, leading)) =
        number::exact(value).and_then(|exact| Some((exact, exact.leading_exponent()?)))
    else {
        return page;
    };
    let own = leading.max(target.min_exponent());
    let line = Line { value: exact, last: Some(own - target.fraction_bits as i32) };
    let picture = draw(&[line], own);
    page.close().picture(&format!("  {}\n  {}", style::dim(&picture.ruler), picture.lines[0]))
}

/// `-0.75 (0xbf400000)`.
pub(super) fn value_and_code(format: &Format, code: u64) -> String {
    format!("{} ({})", display(format, code), hex(format, code))
}

/// Multiplications and additions of two numbers, as one table.
pub(super) fn binaries(page: Document, steps: &[&Step]) -> Document {
    let mut table =
        Table::new(&["operation", ">left", ">right", ">exact", ">result", "code", ">lost"]).less(&[5]);
    let mut idle = 0;
    for step in steps {
        let Step::Binary { operation, left, left_format, right, right_format, result, format } = step else {
            continue;
        };
        let zero = |format: &Format, code: u64| decode(format, code).class == Class::Zero;
        if zero(left_format, *left) && zero(right_format, *right) && zero(format, *result) {
            idle += 1;
            continue;
        }
        let finite = [(left_format, *left), (right_format, *right)]
            .iter()
            .all(|(format, code)| decode(format, *code).is_finite());
        let exact = finite.then(|| {
            let (x, y) = (number::of_code(left_format, *left), number::of_code(right_format, *right));
            match *operation {
                "FTZ-Mul" => Real::exact(x.significand * y.significand, x.exponent + y.exponent),
                _ => exact::sum([x, y].into_iter()),
            }
        });
        table.row([
            (*operation).to_owned(),
            number::short(&display(left_format, *left)),
            number::short(&display(right_format, *right)),
            exact.map_or(String::new(), cell),
            number::short(&display(format, *result)),
            hex(format, *result),
            exact.map_or(String::new(), |exact| {
                style::lost(&number::short(&rounding_loss(exact, *result, format)))
            }),
        ]);
    }
    let idle = match idle {
        0 => String::new(),
        count => style::dim(&format!("{count} operations on zeros")),
    };
    let page = page.table(table);
    if idle.is_empty() { page } else { page.close().text(idle) }
}
