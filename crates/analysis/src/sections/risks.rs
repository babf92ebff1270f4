//! Risky designs, the paper's table beside ours.

use std::collections::{BTreeMap, BTreeSet};

use super::options::Options;
use crate::cells;
use crate::describe::{chips, format_name, input, kind, list, number, parameters};
use crate::dyadic::Dyadic;
use crate::error::Error;
use crate::risk::{Assessed, Risk, Witness, assess, assess_all};
use crate::section::Content;
use crate::table::{EXPLORE, Table};
use bitmma_engine::{Architecture, Case, Progress};

pub(super) fn section(options: &Options, progress: &dyn Progress) -> Result<Content, Error> {
    progress.step("risky designs of every model", 0, 1)?;
    let assessed = assess_all(options.revision, options.seed)?;
    let mut table = Table::new(
        "risks",
        "Risky designs",
        "Left as the paper prints it, right as the models of the catalogue have it. Nothing on the right is typed in: an \
         instruction is listed when a search found an input on which its model shows the risk.",
        "paper: affected | paper: design | ours: affected | instructions | models | \
         where ours differ"
            .split(" | "),
    );
    for (index, risk) in Risk::ALL.into_iter().enumerate() {
        let (affected, design) = risk.in_the_paper();
        let found: Vec<&Assessed> = assessed.iter().filter(|one| one.verdicts[index].present()).collect();
        let instructions: usize = found.iter().map(|one| one.subject.rows.len()).sum();
        table.row(cells![
            affected,
            design,
            affected_text(&found),
            instructions,
            found.len(),
            difference(risk)
        ]);
    }
    let mut witnesses = Table::new(
        "risk-witnesses",
        "An input for each risk and model",
        "The smallest input that the search came to on the first instruction of each kind. Elements that are not named are \
         zero. For the asymmetry the last column is D of −A, B, −C: symmetric arithmetic would give −D.",
        ["risk", "instruction", "why", "input", EXPLORE, "D", "exact", "lost", "D of −A, B, −C"],
    );
    let mut seen = BTreeSet::new();
    for (index, risk) in Risk::ALL.into_iter().enumerate() {
        for one in &assessed {
            let row = one.subject.rows[0];
            let key = (index, row.architecture, kind(&row.a, &row.b, row.scale.is_some()), row.d.name);
            if one.verdicts[index].present() && seen.insert(key) {
                witness_row(&mut witnesses, risk, one, index, options);
            }
        }
    }
    let mut tables = vec![table, witnesses];
    let mut text = Vec::new();
    if let Some(data) = &options.data {
        let own = own_verdicts(data, options)?;
        text.push(own_words(data, &own));
        tables.insert(0, own);
    }
    text.extend([
            "A design is risky where it loses more than FP32 would: numbers of A or B that D could hold are flushed; the fused \
             sum keeps fewer than 23 fractional bits; the result is rounded to fewer bits than FP32 has; or −A, B, −C does not \
             give −D, which makes errors add up in one direction."
                .to_owned(),
            "Each verdict comes with an input that shows it. Where the parameters of a model give no reason for a risk, the \
             search has to find none; both always agreed."
                .to_owned(),
    ]);
    Ok(Content { text, tables, ..Content::default() })
}

/// The verdicts on a user's own instruction or model, in a sentence.
fn own_words(data: &super::UserData, verdicts: &Table) -> String {
    let with = |verdict: &str| {
        let rows = verdicts.rows.iter().filter(|row| row[1].short() == verdict);
        rows.map(|row| row[0].short()).collect::<Vec<_>>().join(", ")
    };
    let (yes, allowed) = (with("yes"), with(ALLOWED));
    let allowed =
        if allowed.is_empty() { String::new() } else { format!(" Allowed, and no input found: {allowed}.") };
    match yes.is_empty() {
        true => format!("{}: no risky design shows.{allowed}", data.name),
        false => format!("{}: {yes}.{allowed}", data.name),
    }
}

/// The verdict where the parameters give a reason and the search found nothing.
const ALLOWED: &str = "the parameters allow it; no input found";

/// `Ada, Hopper: FP8 (D FP32); …`.
fn affected_text(found: &[&Assessed]) -> String {
    let mut groups: BTreeMap<(String, String), BTreeSet<Architecture>> = BTreeMap::new();
    for one in found {
        for row in &one.subject.rows {
            let key = (kind(&row.a, &row.b, row.scale.is_some()), format_name(&row.d));
            groups.entry(key).or_default().insert(row.architecture);
        }
    }
    let mut by_architectures: BTreeMap<(Vec<Architecture>, String), Vec<String>> = BTreeMap::new();
    for ((input, output), architectures) in groups {
        by_architectures.entry((architectures.into_iter().collect(), output)).or_default().push(input);
    }
    let parts: Vec<String> = by_architectures
        .into_iter()
        .map(|((names, output), inputs)| {
            format!("{}: {} input, {output} output", chips(&names), inputs.join("/"))
        })
        .collect();
    if parts.is_empty() { "none".to_owned() } else { parts.join("; ") }
}

/// Why the two sides of a row are not the same.
fn difference(risk: Risk) -> &'static str {
    match risk {
        Risk::InputFlush => {
            "no difference; BF16 is flushed too, but its subnormal numbers are no larger than those of FP32"
        }
        Risk::SmallF => "no difference; forms with FP16 output included, as F is the same there",
        Risk::NarrowRho => {
            "no difference; forms with FP16 output round by RNE-FP16 and stand in the next row"
        }
        Risk::NarrowOutput => "no difference; forms that a compiler composes included",
        Risk::Asymmetry => {
            "XF32 on CDNA3 is asymmetric, too: the paper's text says so, its table leaves it out. FP64 forms rounded up or down \
             are asymmetric because the programmer asked for it (.rm, .rp); the paper does not treat them"
        }
    }
}

fn witness_row(table: &mut Table, risk: Risk, one: &Assessed, index: usize, options: &Options) {
    let model = &one.subject.model;
    let verdict = &one.verdicts[index];
    let Some(witness) = &verdict.witness else { return };
    table.row(cells![
        risk.name(),
        one.subject.name.as_str(),
        verdict.why.clone(),
        input(model, &witness.case),
        options.explore(&[&one.subject], &witness.case),
        number(&model.d, witness.d),
        witness.exact.to_string(),
        lost(model, witness),
        witness.mirrored.map(|code| number(&model.d, code)),
    ]);
}

/// The exact result minus D, exactly.
fn lost(model: &bitmma_engine::Model, witness: &Witness) -> Option<String> {
    Dyadic::of_code(&model.d, witness.d).map(|d| (&witness.exact - &d).to_string())
}

/// The verdicts on a user's own instruction or model.
fn own_verdicts(data: &super::UserData, options: &Options) -> Result<Table, Error> {
    let (model, step) = (data.target.model(), data.target.step());
    let mut table = Table::new(
        "own-risks",
        &format!("Verdicts on {}", data.name),
        parameters(model, step),
        ["risk", "verdict", "why", "input", EXPLORE, "D", "exact", "lost", "cases tried"],
    );
    let is_found = data.architecture.is_some();
    let explore =
        |case: &Case| is_found.then(|| (options.link)(&[&data.name], options.revision, case)).flatten();
    for verdict in assess(model, step, options.seed)? {
        let witness = verdict.witness.as_ref();
        let text = match (verdict.present(), &verdict.why) {
            (true, _) => "yes",
            (false, None) => "no",
            (false, Some(_)) => ALLOWED,
        };
        table.row(cells![
            verdict.risk.name(),
            text,
            verdict.why.clone(),
            witness.map(|witness| input(model, &witness.case)),
            witness.and_then(|witness| explore(&witness.case)),
            witness.map(|witness| number(&model.d, witness.d)),
            witness.map(|witness| witness.exact.to_string()),
            witness.and_then(|witness| lost(model, witness)),
            verdict.tried,
        ]);
    }
    let present: Vec<&str> = table.rows.iter().filter(|row| row[1].short() == "yes").map(|_| "").collect();
    table.text += &format!("; {} of {} risks", list(&[present.len()], 1), Risk::ALL.len());
    Ok(table)
}
