//! The steps of an evaluation, in words.

use bitmma_document::{Table, style};
use bitmma_engine::formats::F32;
use bitmma_engine::formats::text::display;
use bitmma_engine::functions::ptx::Form;
use bitmma_engine::functions::{Function, Step, Terms};

use super::Evaluated;
use crate::describe;

/// A heading, and a line for each step.
pub(super) fn text(form: Form, one: &Evaluated) -> String {
    let pairs: Vec<(&str, String)> = pairs(form, one);
    format!(
        "{}\n{}",
        style::strong(&display(&F32, one.x.into())),
        Table::pairs(&pairs, 110).render(crate::layout::width())
    )
}

/// The same as one text for each step.
pub(super) fn words(form: Form, one: &Evaluated) -> Vec<String> {
    pairs(form, one).into_iter().map(|(name, text)| format!("{name}: {text}")).collect()
}

fn pairs(form: Form, one: &Evaluated) -> Vec<(&'static str, String)> {
    let mut pairs = vec![];
    if form.ftz {
        pairs.push((".ftz", "subnormal inputs and results become zero of their sign".to_owned()));
    }
    for step in &one.steps {
        of_step(form, step, &mut pairs);
    }
    pairs
        .push(("result", format!("{}  {}", display(&F32, one.y.into()), describe::code(&F32, one.y.into()))));
    pairs
}

fn of_step(form: Form, step: &Step, pairs: &mut Vec<(&'static str, String)>) {
    match step {
        Step::Special => pairs.push(("special", "the table of special values has the result".to_owned())),
        Step::Number { exponent, fraction } => {
            pairs.push(("x", format!("±1.f · 2^{exponent}, f = {fraction:#08x} (23 bits)")));
        }
        Step::Halved => pairs.push(("below -126", "x is halved, the result squared".to_owned())),
        Step::Scaled => pairs.push(("subnormal", "x · 2^24, and 24 less at the end".to_owned())),
        Step::Integer { integer, rest } => {
            pairs.push(("split", format!("integer {integer}, rest {rest:#08x} · 2^-23, cut")));
        }
        Step::Angle { quadrant, fraction, cleared } => {
            let text = format!(
                "quadrant {quadrant}, fraction {fraction:#08x} (23 bits), {cleared} low bits cleared"
            );
            pairs.push(("angle", text));
        }
        Step::Sum(terms) => sum(form, terms, pairs),
        Step::WithExponent { magnitude } => {
            let text = format!("{}; with the exponent, the lowest 20 bits cleared", cut(*magnitude));
            pairs.push(("magnitude", text));
        }
    }
}

fn sum(form: Form, terms: &Terms, pairs: &mut Vec<(&'static str, String)>) {
    let Terms { index, row, t, constant, linear, quadratic, omitted, bias } = *terms;
    let point = form.function.model().polynomial.point;
    let signed = |value: i64| format!("{}{:#x}", if value < 0 { '-' } else { '+' }, value.unsigned_abs());
    pairs.push((
        "row",
        format!("{index}: c0 = {:#x}, c1 = {:#x}, c2 = {:#x}; t = {t:#x}", row.c0, row.c1, row.c2),
    ));
    pairs.push(("c0", format!("{} · 2^-{point}", signed(constant))));
    pairs.push(("c1·t", signed(linear)));
    pairs.push(("c2·t²", format!("{}; {omitted:#x} of it is left out by the squarer", signed(quadratic))));
    pairs.push(("bias", signed(bias)));
    let sum = terms.sum();
    let text = if form.function == Function::Lg2 { format!("{sum:#x}") } else { cut(sum) };
    pairs.push(("sum", text));
}

/// A sum, and what lies below the 23 bits after its first one.
fn cut(sum: u64) -> String {
    let bits = 63_u32.saturating_sub(sum.leading_zeros()).saturating_sub(23);
    if bits == 0 {
        return format!("{sum:#x}, of which nothing is cut");
    }
    format!("{sum:#x}, of which the last {bits} bits ({:#x}) are cut", sum & ((1 << bits) - 1))
}
