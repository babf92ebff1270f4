//! The report as text.

use std::fmt::Write;

use bitmma_engine::formats::Format;
use bitmma_engine::formats::text::{display, hex};
use bitmma_engine::{Case, Signature};

use crate::independence::{Evidence, Fault};
use crate::outcome::{Counterexample, Found, NotExplained, Outcome, Verdict, Where};
use crate::place::Place;
use crate::report::parameters::{Certainty, Parameter, describe};

/// Adds a line to a text.
macro_rules! line {
    ($out:expr $(, $($words:tt)+)?) => {{
        let _ = writeln!($out $(, $($words)+)?); // a text takes everything
    }};
}

impl Outcome {
    /// The report for people.
    pub fn to_text(&self) -> String {
        report(self)
    }

    /// What came out, in some lines: heading and verdict.
    pub fn summary(&self) -> String {
        let whole = report(self);
        let end = whole.find("\nStep 1").unwrap_or(whole.len());
        whole[..end].to_owned()
    }
}

/// The whole report.
fn report(outcome: &Outcome) -> String {
    let mut text = String::new();
    let out = &mut text;
    let signature = &outcome.signature;
    section(out, &format!("Probe of {}", signature.name));
    what_is_probed(signature).iter().for_each(|words| line!(out, "{words}"));
    line!(
        out,
        "seed {}; {} elements of D asked, {} compared in validation",
        outcome.seed,
        outcome.questions,
        outcome.tests
    );

    section(out, "Verdict");
    verdict(out, outcome);

    section(out, "Step 1: independence");
    match &outcome.verdict {
        Verdict::Faulty(_) => {
            line!(out, "{} instructions asked; the verdict says what is wrong", outcome.independence_tests);
        }
        _ => line!(
            out,
            "{} instructions: the same answers each time, in every place, in any company",
            outcome.independence_tests
        ),
    }
    if matches!(outcome.verdict, Verdict::Faulty(_)) {
        return text;
    }

    section(out, "Step 2: order and arity");
    outcome.order.notes.iter().for_each(|note| line!(out, "{}", note));
    line!(out, "{} dot products asked", outcome.order.questions);
    if let Some(tree) = &outcome.order.tree {
        line!(out);
        out.push_str(&tree.to_text(signature.k));
    }

    section(out, "Step 3: features, as observed");
    for feature in &outcome.features {
        line!(out, "{}: {}", feature.name, feature.value);
        for one in feature.observations.iter().take(4) {
            line!(out, "    {}: {}", one.asked, code(&outcome.signature, one.answer));
        }
        if feature.observations.len() > 4 {
            line!(out, "    and {} more", feature.observations.len() - 4);
        }
    }

    if let Verdict::Found(found) = &outcome.verdict {
        section(out, "The model, parameter by parameter");
        found.parameters.iter().for_each(|one| parameter(out, &outcome.signature, one));
    }
    if !outcome.revisions.is_empty() {
        section(out, "Revisions: cases that contradicted an earlier model");
        outcome.revisions.iter().for_each(|one| counterexample(out, &outcome.signature, one));
    }
    text
}

/// Sizes, and formats.
pub(super) fn what_is_probed(signature: &Signature) -> [String; 2] {
    let Signature { m, n, k, blocks, a, b, c, d, scale, .. } = signature;
    let scales = scale.map_or(String::new(), |scale| {
        format!(", one {} scale factor for each {} elements", scale.format, scale.size)
    });
    let plural = if *blocks == 1 { "" } else { "s" };
    [
        format!("M = {m}, N = {n}, K = {k}, {blocks} block{plural}"),
        format!("A {a}, B {b}, C {c}, D {d}{scales}"),
    ]
}

/// The verdict alone.
pub(super) fn verdict_only(outcome: &Outcome) -> String {
    let mut text = String::new();
    verdict(&mut text, outcome);
    text
}

fn section(out: &mut String, title: &str) {
    let _ = write!(
        out,
        "{}{title}\n{}\n",
        if out.is_empty() { "" } else { "\n" },
        "─".repeat(title.chars().count())
    );
}

fn verdict(out: &mut String, outcome: &Outcome) {
    match &outcome.verdict {
        Verdict::Found(found) => self::found(out, outcome, found),
        Verdict::NotExplained(rest) => not_explained(out, outcome, rest),
        Verdict::Faulty(faults) => {
            line!(out, "FAULTY: no model can describe this unit.");
            faults.iter().for_each(|fault| evidence(out, &outcome.signature, fault));
        }
    }
}

fn found(out: &mut String, outcome: &Outcome, found: &Found) {
    line!(
        out,
        "FOUND: {} agrees with all {} elements of D, bit for bit.",
        found.model.operation.name(),
        outcome.tests
    );
    let values: Vec<String> = found.parameters.iter().skip(1).map(stated).collect();
    line!(out, "{}", &values.join(", "));
    if found.equivalent.is_empty() {
        line!(out, "No other model of the space answers so.");
    } else {
        line!(
            out,
            "{} other models of the space answer alike on every observation, and on {} inputs constructed to tell \
                 them apart:",
            found.equivalent.len(),
            found.tried
        );
        let open = found.parameters.iter().filter(|one| !one.open.is_empty());
        open.for_each(|one| line!(out, "    {} may as well be {}", one.symbol, one.open.join(", ")));
    }
    if !found.known_as.is_empty() {
        let shown: Vec<&str> = found.known_as.iter().take(6).map(String::as_str).collect();
        let more = found.known_as.len().saturating_sub(6);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        line!(out, "In the catalogue it is the model of {}{more}.", shown.join(", "));
    }
}

fn not_explained(out: &mut String, outcome: &Outcome, rest: &NotExplained) {
    line!(out, "NOT EXPLAINED: no model of the space answers as this unit does.");
    match &rest.nearest {
        None => line!(out, "No model came near."),
        Some(model) => {
            let (agrees, of) = rest.agrees;
            line!(out, "The nearest agrees on {agrees} of {of} elements of D:");
            let values: Vec<String> = describe(model, outcome.signature.k)
                .iter()
                .map(|(symbol, value, _)| format!("{symbol} = {value}"))
                .collect();
            line!(out, "    {}", values.join(", "));
        }
    }
    rest.counterexamples.iter().for_each(|one| counterexample(out, &outcome.signature, one));
}

fn evidence(out: &mut String, signature: &Signature, evidence: &Evidence) {
    let (wrong, of) = evidence.elements;
    line!(out, "{}", evidence.fault.text());
    line!(out, "    asked: {}", evidence.asked);
    line!(
        out,
        "    at {}: the unit answers {}, expected {}; {wrong} of {of} elements differ",
        place(signature, evidence.place),
        code(signature, evidence.answer),
        code(signature, evidence.expected)
    );
    line!(out, "    operands there (what is not listed is +0):");
    for part in some_case_lines(signature, &evidence.case, usize::MAX) {
        line!(out, "        {part}");
    }
    if let Some(explanation) = &evidence.explanation {
        line!(out, "    this mistake would explain it: {explanation}");
    } else if evidence.fault != Fault::NotDeterministic {
        line!(out, "    none of the mistakes in the wiring that were tried explains it");
    }
}

/// A parameter with its value: `open` where another value may be as good, with the value that the model file has.
fn stated(one: &Parameter) -> String {
    match one.certainty {
        Certainty::Measured => format!("{} = {}", one.symbol, one.value),
        Certainty::CannotMatter(_) => format!("{} cannot matter ({})", one.symbol, one.value),
        Certainty::Open => format!("{} open ({})", one.symbol, one.value),
    }
}

/// What is known of a parameter beside its value, in words.
pub(super) fn certainty(one: &Parameter) -> Vec<String> {
    let mut lines = match one.certainty {
        Certainty::Measured => Vec::new(),
        Certainty::CannotMatter(reason) => vec![format!("cannot matter: {reason}")],
        Certainty::Open => vec![format!("open: not told from {}", one.open.join(", "))],
    };
    if !one.same.is_empty() {
        lines.push(format!("the same by proof: {}", one.same.join(", ")));
    }
    lines
}

fn parameter(out: &mut String, signature: &Signature, one: &Parameter) {
    line!(out, "{}: {}", stated(one), one.meaning);
    for words in certainty(one) {
        line!(out, "    {words}");
    }
    for against in &one.against {
        line!(
            out,
            "    not {}: that would answer {}, the unit answers {}, to",
            against.value,
            code(signature, against.would),
            code(signature, against.answer)
        );
        case(out, signature, &against.case);
    }
    if one.ruled_out > one.against.len() {
        line!(out, "    {} other values are contradicted too", one.ruled_out - one.against.len());
    }
}

fn counterexample(out: &mut String, signature: &Signature, one: &Counterexample) {
    let from = match one.found.instruction {
        Some((family, index)) => {
            format!("instruction {index} of family {}, {}", family.name(), place(signature, one.found.place))
        }
        None => format!("directed dot product {}", one.found.place.row),
    };
    line!(
        out,
        "found in {from}: the unit answers {}, the model {}",
        code(signature, one.answer),
        code(signature, one.expected)
    );
    match &one.where_ {
        Where::Everywhere => line!(out, "    in every place"),
        Where::Places(places, of) => {
            let shown: Vec<String> = places.iter().take(4).map(|&at| place(signature, at)).collect();
            line!(out, "    only in {} of {of} places: {}", places.len(), shown.join("; "));
        }
        Where::Company => {
            line!(out, "    only beside the other rows, columns and instructions it was found with");
        }
        Where::NotAgain => line!(out, "    asked again it agreed: the unit is not deterministic"),
    }
    case(out, signature, &one.smallest);
}

fn place(signature: &Signature, place: Place) -> String {
    let block = if signature.blocks > 1 { format!("block {}, ", place.block) } else { String::new() };
    format!("{block}row {}, column {}", place.row, place.column)
}

/// A code of D with its value.
pub(super) fn code(signature: &Signature, code: u64) -> String {
    with_value(&signature.d, code)
}

/// `0x3c00 (1)`
fn with_value(format: &Format, code: u64) -> String {
    format!("{} ({})", hex(format, code), display(format, code))
}

fn case(out: &mut String, signature: &Signature, case: &Case) {
    for part in case_lines(signature, case) {
        line!(out, "        {part}");
    }
}

/// The elements of a case that are not zero, one line each.
pub(super) fn case_lines(signature: &Signature, case: &Case) -> Vec<String> {
    some_case_lines(signature, case, 8)
}

/// The same, with at most `shown` products.
fn some_case_lines(signature: &Signature, case: &Case, shown: usize) -> Vec<String> {
    let Signature { a, b, c, scale, .. } = signature;
    let mut lines = Vec::new();
    if case.c != 0 {
        lines.push(format!("c = {}", with_value(c, case.c)));
    }
    let products: Vec<usize> =
        (0..case.a.len()).filter(|&index| case.a[index] != 0 || case.b[index] != 0).collect();
    for &index in products.iter().take(shown) {
        lines.push(format!(
            "a{index} = {}, b{index} = {}",
            with_value(a, case.a[index]),
            with_value(b, case.b[index])
        ));
    }
    if products.len() > shown {
        lines.push(format!("and {} more products", products.len() - shown));
    }
    if let Some(scale) = scale {
        let one = scale.format.one_code();
        for (name, codes) in [("scale_a", &case.scale_a), ("scale_b", &case.scale_b)] {
            for (index, &code) in codes.iter().enumerate().filter(|(_, code)| **code != one) {
                lines.push(format!("{name}{index} = {}", with_value(&scale.format, code)));
            }
        }
    }
    if lines.is_empty() {
        lines.push("everything +0".to_owned());
    }
    lines
}
