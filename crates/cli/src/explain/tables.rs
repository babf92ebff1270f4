//! Each step as a table.

use bitmma_analysis::number;
use bitmma_document::{Table, style};
use bitmma_engine::arithmetic::exact::{self, Exact};
use bitmma_engine::arithmetic::trace::{Reading, TermName, Why};
use bitmma_engine::arithmetic::{Conversion, ResultFlush, Step, Term};
use bitmma_engine::formats::text::display;
use bitmma_engine::formats::{Class, Format, Real, Rounding, decode};

use crate::bits::{Line, draw};
use crate::describe;

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

/// Operands that are not used as they are given, each with the term that changes by it; empty if there are none.
pub(super) fn readings(steps: &[&Step]) -> String {
    let mut text = String::new();
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
                    describe::code(given_format, *given),
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
            text += &format!("\n{}\n{}", style::lost(heading), table.render(crate::layout::width()));
        }
    }
    text
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
    (rest, style::dim(&format!("{count} zero terms, {exponent}")) + "\n")
}

/// Terms aligned, cut and summed.
pub(super) fn aligned(
    maximum: &str,
    exponent: i32,
    terms: &[Term],
    fraction_bits: u32,
    rounding: Rounding,
    sum: Exact,
) -> String {
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
    let mut text = format!(
        "\n{maximum} = {exponent}; cut ({rounding}) to {fraction_bits} bits below it\n{}{zeros}",
        table.render(crate::layout::width())
    );
    if !moved.is_empty() {
        let unit = "one unit of the last bit more than stands left of the bar";
        text += &style::dim(&format!("* {rounding} takes {} to {unit}\n", moved.join(", ")));
    }
    text
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
pub(super) fn exact_sum(terms: &[Term], sum: Real) -> String {
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
    format!("summed exactly\n{}{zeros}", table.render(crate::layout::width()))
}

/// rho: an exact value becomes a number.
pub(super) fn converted(value: Real, conversion: Conversion, code: u64, format: &Format) -> String {
    let loss = rounding_loss(value, code, format);
    let mut text = format!(
        "{conversion}: {} → {} ({})",
        number::text(value),
        display(format, code),
        describe::code(format, code)
    );
    if loss.is_empty() {
        return text + ", exact\n";
    }
    let flushed = match decode(format, code).class {
        Class::Zero if conversion.flush != ResultFlush::Never => ", flushed to zero",
        _ => "",
    };
    text += &format!("{flushed}, lost {}\n", style::lost(&loss));
    let target = &conversion.format;
    if let Some(exact) = number::exact(value)
        && let Some(leading) = exact.leading_exponent()
    {
        let own = leading.max(target.min_exponent());
        let line = Line { value: exact, last: Some(own - target.fraction_bits as i32) };
        let picture = draw(&[line], own);
        text += &format!("  {}\n  {}\n", style::dim(&picture.ruler), picture.lines[0]);
    }
    text
}

/// Multiplications and additions of two numbers, as one table.
pub(super) fn binaries(steps: &[&Step]) -> String {
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
            describe::code(format, *result),
            exact.map_or(String::new(), |exact| {
                style::lost(&number::short(&rounding_loss(exact, *result, format)))
            }),
        ]);
    }
    let idle = match idle {
        0 => String::new(),
        count => style::dim(&format!("{count} operations on zeros")) + "\n",
    };
    table.render(crate::layout::width()) + &idle
}
