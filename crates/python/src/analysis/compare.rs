//! `bitmma.analysis.compare`: one input through every instruction.

use bitmma_analysis::account::Account;
use bitmma_analysis::compare::{Answer, Input, Reason, compare as through_all};
use bitmma_engine::formats::text::display;
use bitmma_engine::{Architecture, Instruction};
use pyo3::prelude::*;

use super::{Dict, long, losses};
use crate::error::Raised;
use crate::instruction::revision;

/// Answers and instructions that are left out.
type Compared<'py> = (Vec<Dict<'py>>, Vec<Dict<'py>>);

/// Who answers what; values are text that every format reads for itself. Without A the paper's Equation 1.
#[pyfunction]
#[pyo3(signature = (values, architectures = None, *, round = false, composed = false, revision_name = "hardware"))]
pub(crate) fn compare<'py>(
    py: Python<'py>,
    values: Option<(Vec<String>, Vec<String>, String)>,
    architectures: Option<Vec<String>>,
    round: bool,
    composed: bool,
    revision_name: &str,
) -> PyResult<Compared<'py>> {
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
    let found = long(py, None, None, |_| {
        let comparison = through_all(&input, &architectures, revision, composed)?;
        let accounts = comparison.answers.iter().map(|answer| input.account(answer.row, revision));
        let accounts = accounts.collect::<Result<Vec<_>, _>>()?;
        Ok((comparison, accounts))
    });
    let (comparison, accounts) = found?;
    let answer = |(answer, account): (&Answer, &Option<Account>)| {
        let Answer { row, d } = *answer;
        Ok(dict!(
            py,
            target: row.target(),
            architecture: row.architecture.name(),
            instruction: row.name(),
            format: row.d.name,
            code: d,
            text: display(&row.d, d),
            losses: account.as_ref().map_or(Ok(Vec::new()), |account| losses(py, account))?,
        ))
    };
    let left_out = |(row, reason): &(&Instruction, Reason)| {
        Ok(dict!(
            py,
            target: row.target(),
            architecture: row.architecture.name(),
            instruction: row.name(),
            reason: comparison.text(reason),
        ))
    };
    let answers = comparison.answers.iter().zip(&accounts).map(answer).collect::<PyResult<_>>()?;
    Ok((answers, comparison.left_out.iter().map(left_out).collect::<PyResult<_>>()?))
}
