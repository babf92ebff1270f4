//! Where results part: what each lost, at which step and in which term.

use std::collections::BTreeMap;

use bitmma_analysis::account::{Account, Loss};
use bitmma_analysis::compare::{Comparison, Input};
use bitmma_document::style;
use bitmma_engine::Revision;
use bitmma_engine::catalogue::Instruction;
use serde::Serialize;

use super::{ascending, decimal, names};
use crate::failure::Failure;
use crate::json::Number;

/// A step that lost something, for JSON.
#[derive(Serialize)]
pub(super) struct Lost {
    operation: usize,
    source: &'static str,
    term: String,
    exact: Number,
    kept: Number,
    lost: Number,
    last_bit: Option<i64>,
}

/// The steps that lost something.
pub(super) fn losses(account: &Account) -> Vec<Lost> {
    let lost = |loss: &Loss| Lost {
        operation: loss.operation,
        source: loss.source.name(),
        term: loss.term.clone(),
        exact: loss.exact.to_f64().into(),
        kept: loss.kept.to_f64().into(),
        lost: (-&loss.error()).to_f64().into(),
        last_bit: loss.last_bit,
    };
    account.losses.iter().map(lost).collect()
}

/// Every different way to a result, in ascending order of the results: who takes it, and what is lost on it.
pub(super) fn text(
    comparison: &Comparison,
    input: &Input<'_>,
    revision: Revision,
) -> Result<String, Failure> {
    /// Instructions that lose the same, and what that is.
    type Ways = Vec<(Vec<Loss>, Vec<&'static Instruction>)>;
    let mut answers: BTreeMap<u64, (String, Ways)> = BTreeMap::new();
    for answer in &comparison.answers {
        let Some(account) = input.account(answer.row, revision)? else { continue };
        let (_, ways) = answers
            .entry(ascending(answer.row, answer.d))
            .or_insert_with(|| (decimal(answer.row, answer.d), Vec::new()));
        match ways.iter_mut().find(|(losses, _)| *losses == account.losses) {
            Some((_, rows)) => rows.push(answer.row),
            None => ways.push((account.losses, vec![answer.row])),
        }
    }
    let mut text = format!("\n{}\n", style::strong("Where they part: what each loses, step by step"));
    for (value, ways) in answers.values() {
        for (losses, rows) in ways {
            let mut architectures: Vec<&str> = rows.iter().map(|row| row.architecture.name()).collect();
            architectures.dedup();
            let who = format!("{}: {}", architectures.join(", "), names(rows, 2));
            text += &format!("{}  {}\n", style::strong(value), style::dim(&who));
            if losses.is_empty() {
                text += "    nothing is lost\n";
            }
            for loss in losses {
                text += &format!("    {}\n", loss.in_words(&|lost| style::lost(lost)));
            }
        }
    }
    Ok(text)
}
