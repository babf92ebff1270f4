//! `bitmma.analysis.compare`: one input through every instruction.

use bitmma_analysis::compare::{Answer, Input, LeftOut, Scope, compare as through_all};
use bitmma_engine::Architecture;
use bitmma_engine::formats::text::display;
use pyo3::prelude::*;

use super::{Fields, long, losses};
use crate::document::Document;
use crate::error::Raised;
use crate::instruction::revision;

/// Results by architecture; values are text that every format reads for itself. Without A the paper's Equation 1. The fields,
/// and the document.
#[pyfunction]
#[pyo3(signature = (values, architectures = None, *, round = false, composed = false, revision_name = "hardware"))]
pub(crate) fn compare<'py>(
    py: Python<'py>,
    values: Option<(Vec<String>, Vec<String>, String)>,
    architectures: Option<Vec<String>>,
    round: bool,
    composed: bool,
    revision_name: &str,
) -> PyResult<(Fields<'py>, Document)> {
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
    let scope = Scope { architectures, revision, composed, why: true };
    let found = long(py, None, None, |_| through_all(input, scope))?;
    let answer = |Answer { row, d, named, losses: lost, .. }: &Answer| {
        let lost = losses(py, lost.as_deref().unwrap_or_default())?;
        Ok(dict!(py,
            target: &named.target,
            architecture: named.architecture,
            instruction: &named.instruction,
            format: row.d.name,
            code: d,
            text: display(&row.d, *d),
            losses: lost,
        ))
    };
    let left_out = |LeftOut { named, reason, .. }: &LeftOut| {
        Ok(dict!(py,
            target: &named.target,
            architecture: named.architecture,
            instruction: &named.instruction,
            reason: reason.to_string(),
        ))
    };
    let fields = dict!(py,
        answers: found.answers.iter().map(answer).collect::<PyResult<Vec<_>>>()?,
        left_out: found.left_out.iter().map(left_out).collect::<PyResult<Vec<_>>>()?,
    );
    Ok((fields, found.document(false).into()))
}
