//! The report as a page that needs nothing else.

use std::fmt::Write;

use bitmma_document::html::{Heading, Section, document, escaped as escape, table};
use bitmma_engine::{Case, Signature};

use super::svg;
use super::text::{case_lines, certainty, code, what_is_probed};
use crate::outcome::{Outcome, Verdict};
use crate::report::parameters::{Parameter, describe};
use crate::tree::Sum;

impl Outcome {
    /// The report as a page that needs nothing else.
    pub fn to_html(&self) -> String {
        document(&format!("Probe of {}", self.signature.name), &lead(self), &sections(self))
    }
}

/// What was asked, and the verdict.
fn lead(outcome: &Outcome) -> String {
    let found = if matches!(outcome.verdict, Verdict::Found(_)) { " found" } else { "" };
    format!(
        "<p>{}; seed {}; {} elements of D asked, {} compared in validation.</p>\n\
         <div class=\"verdict{found}\"><pre>{}</pre></div>\n",
        escape(&what_is_probed(&outcome.signature).join("; ")),
        outcome.seed,
        outcome.questions,
        outcome.tests,
        escape(&super::text::verdict_only(outcome))
    )
}

fn sections(outcome: &Outcome) -> Vec<Section> {
    let signature = &outcome.signature;
    let mut sections = vec![];
    let mut section = |id: &str, title: &str, body: String| {
        sections.push(Section { id: id.to_owned(), title: title.to_owned(), body });
    };
    if let Verdict::Found(found) = &outcome.verdict {
        let rows = found.parameters.iter().map(|one| parameter(signature, one));
        let body = table(&headings(["parameter", "value", "evidence"]), rows);
        section("parameters", "The model, parameter by parameter", body);
        section("model", "Model file", format!("<pre>{}</pre>\n", escape(&found.model.to_toml())));
    }
    if let Verdict::NotExplained(rest) = &outcome.verdict
        && let Some(model) = &rest.nearest
    {
        let rows = describe(model, signature.k).into_iter().map(|(symbol, value, meaning)| {
            vec![format!("<b>{symbol}</b>"), escape(&value), format!("<span class=\"dim\">{meaning}</span>")]
        });
        section("nearest", "The nearest model", table(&headings(["parameter", "value", "meaning"]), rows));
    }
    if !matches!(outcome.verdict, Verdict::Faulty(_)) {
        section("order", "Order and arity", order(outcome));
        section("features", "Features, as observed", features(outcome));
    }
    let whole = outcome.to_text();
    if let Some(at) = whole.find("\nRevisions") {
        section("revisions", "Revisions", format!("<pre>{}</pre>\n", escape(whole[at..].trim_start())));
    }
    sections
}

fn headings<const N: usize>(names: [&str; N]) -> Vec<Heading> {
    names.map(|name| (name.to_owned(), false)).to_vec()
}

fn order(outcome: &Outcome) -> String {
    let mut out = String::new();
    for note in &outcome.order.notes {
        let _ = writeln!(out, "<p>{}</p>", escape(note));
    }
    if let Some(tree) = &outcome.order.tree {
        let _ = writeln!(out, "<div class=\"scroll\">{}</div>", svg::tree(tree, outcome.signature.k));
        out.push_str("<p class=\"dim\">");
        for sum in [Sum::Binary, Sum::Swamped, Sum::NotSwamped, Sum::Undetermined] {
            let (colour, text) = (svg::colour(sum), sum.text());
            let _ = write!(out, "<span style=\"color:{colour}\">●</span> {text} &#160; ");
        }
        out.push_str("</p>\n");
    }
    if !outcome.order.survivors.is_empty() {
        let k = outcome.signature.k;
        let name = |leaf: usize| if leaf == k { "c".to_owned() } else { format!("p{leaf}") };
        let rows: Vec<String> = outcome
            .order
            .survivors
            .iter()
            .map(|(i, j, count)| format!("{} {} → {count}", name(*i), name(*j)))
            .collect();
        let _ = writeln!(
            out,
            "<details><summary>{} sums with U and -U: how many of the others survived</summary><pre>{}</pre></details>",
            rows.len(),
            rows.chunks(8).map(|row| row.join("   ")).collect::<Vec<_>>().join("\n")
        );
    }
    out
}

fn features(outcome: &Outcome) -> String {
    let rows = outcome.features.iter().map(|feature| {
        let mut cell = escape(&feature.value);
        if !feature.observations.is_empty() {
            let count = feature.observations.len();
            let _ = write!(cell, "<details><summary class=\"dim\">{count} results</summary>");
            for one in &feature.observations {
                let _ = write!(
                    cell,
                    "<pre>{}\n{}\nresult {}</pre>",
                    escape(&one.asked),
                    escape(&case_lines(&outcome.signature, &one.case).join("\n")),
                    escape(&code(&outcome.signature, one.answer))
                );
            }
            cell += "</details>";
        }
        vec![format!("<b>{}</b>", feature.name), cell]
    });
    table(&headings(["feature", "observed"]), rows)
}

fn parameter(signature: &Signature, one: &Parameter) -> Vec<String> {
    let mut evidence = certainty(one).iter().map(|words| escape(words) + "<br/>").collect::<String>();
    for against in &one.against {
        let _ = write!(
            evidence,
            "<details><summary>not <code>{}</code>: that would return {}, the unit returns {}</summary>{}</details>",
            escape(&against.value),
            escape(&code(signature, against.would)),
            escape(&code(signature, against.answer)),
            question(signature, &against.case)
        );
    }
    if one.ruled_out > one.against.len() {
        let more = one.ruled_out - one.against.len();
        let _ = write!(evidence, "<span class=\"dim\">{more} other values are contradicted too</span>");
    }
    vec![
        format!("<b>{}</b><br/><span class=\"dim\">{}</span>", one.symbol, one.meaning),
        format!("<code>{}</code>", escape(&one.value)),
        evidence,
    ]
}

fn question(signature: &Signature, case: &Case) -> String {
    format!("<pre>{}</pre>", escape(&case_lines(signature, case).join("\n")))
}
