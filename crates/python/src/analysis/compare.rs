//! `bitmma.analysis.compare`: one input through every instruction.

use bitmma::Architecture;
use bitmma::formats::text::display;
use bitmma_analysis::compare::{Input, compare as through_all};
use pyo3::prelude::*;

use super::{Failed, Lost, losses};
use crate::error::Raised;
use crate::instruction::revision;

/// What one instruction answers.
#[derive(IntoPyObject)]
pub(crate) struct Answer {
    target: String,
    architecture: &'static str,
    instruction: String,
    format: &'static str,
    code: u64,
    text: String,
    losses: Vec<Lost>,
}

/// An instruction that does not take the input, and why.
#[derive(IntoPyObject)]
pub(crate) struct LeftOut {
    target: String,
    architecture: &'static str,
    instruction: String,
    reason: String,
}

/// Who answers what; values are text that every format reads for itself. Without A the paper's Equation 1.
#[pyfunction]
#[pyo3(signature = (values, architectures = None, *, round = false, composed = false, revision_name = "hardware"))]
pub(crate) fn compare(
    py: Python<'_>,
    values: Option<(Vec<String>, Vec<String>, String)>,
    architectures: Option<Vec<String>>,
    round: bool,
    composed: bool,
    revision_name: &str,
) -> PyResult<(Vec<Answer>, Vec<LeftOut>)> {
    let revision = revision(revision_name)?;
    let architectures = match architectures {
        None => Architecture::ALL.to_vec(),
        Some(names) => names
            .iter()
            .map(|name| name.parse())
            .collect::<Result<Vec<Architecture>, _>>()
            .map_err(Raised::from)?,
    };
    let input = match &values {
        None => Input::equation_1(),
        Some((a, b, c)) => Input {
            a: a.iter().map(String::as_str).collect(),
            b: b.iter().map(String::as_str).collect(),
            c,
            round,
        },
    };
    let found = py.detach(|| -> Result<_, Failed> {
        let comparison = through_all(&input, &architectures, revision, composed)?;
        let mut answers = Vec::new();
        for answer in &comparison.answers {
            let account = input.account(answer.row, revision)?;
            answers.push(Answer {
                target: answer.row.target(),
                architecture: answer.row.architecture.name(),
                instruction: answer.row.name(),
                format: answer.row.d.name,
                code: answer.d,
                text: display(&answer.row.d, answer.d),
                losses: account.as_ref().map_or(Vec::new(), losses),
            });
        }
        let left_out = comparison.left_out.iter().map(|(row, reason)| LeftOut {
            target: row.target(),
            architecture: row.architecture.name(),
            instruction: row.name(),
            reason: comparison.text(reason),
        });
        Ok((answers, left_out.collect()))
    });
    Ok(found?)
}
