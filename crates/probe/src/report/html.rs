//! The report as a page that needs nothing else: no script, no font, no address.

use std::fmt::Write;

use bitmma_engine::{Case, Signature};

use super::svg;
use super::text::{case_lines, certainty, code, what_is_probed};
use crate::outcome::{Outcome, Verdict};
use crate::report::parameters::{Parameter, describe};
use crate::tree::Sum;

const STYLE: &str = "\
:root{color-scheme:light dark}\
body{font:15px/1.5 system-ui,sans-serif;max-width:70rem;margin:2rem auto;padding:0 1rem}\
h1{font-size:1.5rem}h2{font-size:1.15rem;margin-top:2.2rem;border-bottom:1px solid #8885;padding-bottom:.2rem}\
table{border-collapse:collapse;width:100%}td,th{text-align:left;vertical-align:top;padding:.3rem .6rem;border-bottom:1px solid #8883}\
code,pre{font:13px/1.45 ui-monospace,monospace}pre{background:#8881;padding:.6rem;overflow-x:auto;margin:.3rem 0}\
.verdict{padding:.7rem 1rem;border-left:5px solid}.verdict pre{white-space:pre-wrap}.found{border-color:#1f7a5c}.not{border-color:#b3261e}\
.tree{overflow-x:auto}.dim{opacity:.7}details>summary{cursor:pointer}";

impl Outcome {
    /// The report as a page that needs nothing else.
    pub fn to_html(&self) -> String {
        page(self)
    }
}

fn page(outcome: &Outcome) -> String {
    let signature = &outcome.signature;
    let mut out = format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>Probe of {name}</title>\
         <meta name=\"viewport\" content=\"width=device-width\"><style>{STYLE}</style></head><body>\n<h1>Probe of {name}</h1>\n",
        name = escape(&signature.name)
    );
    let _ = writeln!(
        out,
        "<p>{}; seed {}; {} elements of D asked, {} compared in validation.</p>",
        what_is_probed(signature).join("; "),
        outcome.seed,
        outcome.questions,
        outcome.tests
    );
    let good = matches!(outcome.verdict, Verdict::Found(_));
    let _ = writeln!(
        out,
        "<div class=\"verdict {}\"><pre>{}</pre></div>",
        if good { "found" } else { "not" },
        escape(&super::text::verdict_only(outcome))
    );
    if let Verdict::Found(found) = &outcome.verdict {
        out.push_str("<h2>The model, parameter by parameter</h2>\n<table><tr><th>parameter</th><th>value</th><th>what it rests on</th></tr>\n");
        found.parameters.iter().for_each(|one| parameter(&mut out, signature, one));
        out.push_str("</table>\n");
        let _ = writeln!(out, "<h2>Model file</h2>\n<pre>{}</pre>", escape(&found.model.to_toml()));
    }
    if let Verdict::NotExplained(rest) = &outcome.verdict
        && let Some(model) = &rest.nearest
    {
        out.push_str("<h2>The nearest model</h2>\n<table>\n");
        for (symbol, value, meaning) in describe(model, signature.k) {
            let _ = writeln!(
                out,
                "<tr><td><b>{symbol}</b></td><td>{}</td><td class=\"dim\">{meaning}</td></tr>",
                escape(&value)
            );
        }
        out.push_str("</table>\n");
    }
    if !matches!(outcome.verdict, Verdict::Faulty(_)) {
        order(&mut out, outcome);
        features(&mut out, outcome);
    }
    let whole = outcome.to_text();
    if let Some(at) = whole.find("\nRevisions") {
        let _ = writeln!(out, "<h2>Revisions</h2>\n<pre>{}</pre>", escape(whole[at..].trim_start()));
    }
    out.push_str("</body></html>\n");
    out
}

fn order(out: &mut String, outcome: &Outcome) {
    out.push_str("<h2>Order and arity</h2>\n");
    for note in &outcome.order.notes {
        let _ = writeln!(out, "<p>{}</p>", escape(note));
    }
    if let Some(tree) = &outcome.order.tree {
        let _ = writeln!(out, "<div class=\"tree\">{}</div>", svg::tree(tree, outcome.signature.k));
        out.push_str("<p class=\"dim\">");
        for sum in [Sum::Binary, Sum::Swamped, Sum::NotSwamped, Sum::Undetermined] {
            let (colour, text) = (svg::colour(sum), sum.text());
            let _ = write!(out, "<span style=\"color:{colour}\">●</span> {text} &nbsp; ");
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
}

fn features(out: &mut String, outcome: &Outcome) {
    out.push_str(
        "<h2>Features, as observed</h2>\n<table><tr><th>feature</th><th>what the answers say</th></tr>\n",
    );
    for feature in &outcome.features {
        let _ = write!(out, "<tr><td><b>{}</b></td><td>{}", feature.name, escape(&feature.value));
        if !feature.observations.is_empty() {
            let _ = write!(
                out,
                "<details><summary class=\"dim\">{} answers</summary>",
                feature.observations.len()
            );
            for one in &feature.observations {
                let _ = write!(
                    out,
                    "<pre>{}\n{}\nanswer {}</pre>",
                    escape(&one.asked),
                    escape(&case_lines(&outcome.signature, &one.case).join("\n")),
                    escape(&code(&outcome.signature, one.answer))
                );
            }
            out.push_str("</details>");
        }
        out.push_str("</td></tr>\n");
    }
    out.push_str("</table>\n");
}

fn parameter(out: &mut String, signature: &Signature, one: &Parameter) {
    let _ = write!(
        out,
        "<tr><td><b>{}</b><br><span class=\"dim\">{}</span></td><td><code>{}</code></td><td>",
        one.symbol,
        one.meaning,
        escape(&one.value)
    );
    for words in certainty(one) {
        let _ = write!(out, "{}<br>", escape(&words));
    }
    for against in &one.against {
        let _ = write!(
            out,
            "<details><summary>not <code>{}</code>: that would answer {}, the unit answers {}</summary>{}</details>",
            escape(&against.value),
            escape(&code(signature, against.would)),
            escape(&code(signature, against.answer)),
            question(signature, &against.case)
        );
    }
    if one.ruled_out > one.against.len() {
        let _ = write!(
            out,
            "<span class=\"dim\">{} other values are contradicted too</span>",
            one.ruled_out - one.against.len()
        );
    }
    out.push_str("</td></tr>\n");
}

fn question(signature: &Signature, case: &Case) -> String {
    format!("<pre>{}</pre>", escape(&case_lines(signature, case).join("\n")))
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
