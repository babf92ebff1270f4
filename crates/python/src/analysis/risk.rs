//! `bitmma.analysis.assess`: risky designs, each with an input that shows it.

use bitmma_analysis::risk::{self, Verdict, Witness};
use bitmma_analysis::subject::Subject;
use bitmma_engine::{Instruction, Model};
use pyo3::prelude::*;

use super::{Fields, fraction, input, long};
use crate::instruction::revision;
use crate::unit::Unit;

fn judged<'py>(py: Python<'py>, model: &Model, verdicts: Vec<Verdict>) -> PyResult<Vec<Fields<'py>>> {
    let witness = |Witness { case, d, exact, mirrored }: Witness| {
        let (input, exact) = (input(py, model, &case)?, fraction(py, &exact)?);
        Ok::<_, PyErr>(dict!(py, input: input, code: d, exact: exact, mirrored: mirrored))
    };
    let one = |Verdict { risk, why, witness: shown, tried }: Verdict| {
        let witness = shown.map(witness).transpose()?;
        Ok(dict!(py, risk: risk.name(), why: why, witness: witness, tried: tried))
    };
    verdicts.into_iter().map(one).collect()
}

/// The verdicts on one unit.
#[pyfunction]
#[pyo3(signature = (unit, *, k = None, seed = 1))]
pub(crate) fn assess<'py>(
    py: Python<'py>,
    unit: &Unit,
    k: Option<usize>,
    seed: u64,
) -> PyResult<Vec<Fields<'py>>> {
    let (model, k) = (unit.model(), k.unwrap_or(unit.target.step()));
    let verdicts = long(py, None, None, |_| risk::assess(model, k, seed))?;
    judged(py, model, verdicts)
}

/// The verdicts on every model of the catalogue.
#[pyfunction]
#[pyo3(signature = (*, revision_name = "hardware", seed = 1, threads = None))]
pub(crate) fn assess_all<'py>(
    py: Python<'py>,
    revision_name: &str,
    seed: u64,
    threads: Option<usize>,
) -> PyResult<Vec<Fields<'py>>> {
    let revision = revision(revision_name)?;
    let found = long(py, threads, None, |_| risk::assess_all(revision, seed))?;
    let one = |assessed: risk::Assessed| {
        let Subject { rows, model, k, .. } = assessed.subject;
        let named = |row: &&'static Instruction| (row.architecture.name(), row.name());
        let instructions: Vec<_> = rows.iter().map(named).collect();
        let verdicts = judged(py, &model, assessed.verdicts)?;
        Ok(dict!(py, instructions: instructions, model: model.to_toml(), k: k, verdicts: verdicts))
    };
    found.into_iter().map(one).collect()
}
