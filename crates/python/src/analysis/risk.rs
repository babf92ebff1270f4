//! `bitmma.analysis.assess`: risky designs, each with an input that shows it.

use bitmma::Model;
use bitmma_analysis::risk::{self, Verdict};
use pyo3::prelude::*;

use super::{Exact, Input, exact, long};
use crate::instruction::revision;
use crate::unit::Unit;

/// An input that shows a risk.
#[derive(IntoPyObject)]
pub(crate) struct Witness<'py> {
    input: Input<'py>,
    code: u64,
    exact: Exact,
    mirrored: Option<u64>,
}

/// Whether a unit has a risk.
#[derive(IntoPyObject)]
pub(crate) struct Judged<'py> {
    risk: &'static str,
    why: Option<String>,
    witness: Option<Witness<'py>>,
    tried: u64,
}

fn judged<'py>(py: Python<'py>, model: &Model, verdicts: Vec<Verdict>) -> PyResult<Vec<Judged<'py>>> {
    let witness = |witness: risk::Witness| {
        PyResult::Ok(Witness {
            input: Input::new(py, model, &witness.case)?,
            code: witness.d,
            exact: exact(&witness.exact),
            mirrored: witness.mirrored,
        })
    };
    let one = |verdict: Verdict| {
        Ok(Judged {
            risk: verdict.risk.name(),
            why: verdict.why,
            witness: verdict.witness.map(witness).transpose()?,
            tried: verdict.tried,
        })
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
) -> PyResult<Vec<Judged<'py>>> {
    let (model, k) = (unit.model(), k.unwrap_or(unit.target.step()));
    let verdicts = long(py, None, None, |_| risk::assess(model, k, seed))?;
    judged(py, model, verdicts)
}

/// A model of the catalogue, its instructions (architecture and name) and the verdicts on it.
#[derive(IntoPyObject)]
pub(crate) struct OfCatalogue<'py> {
    instructions: Vec<(&'static str, String)>,
    model: String,
    k: usize,
    verdicts: Vec<Judged<'py>>,
}

/// The verdicts on every model of the catalogue.
#[pyfunction]
#[pyo3(signature = (*, revision_name = "hardware", seed = 1, threads = None))]
pub(crate) fn assess_all<'py>(
    py: Python<'py>,
    revision_name: &str,
    seed: u64,
    threads: Option<usize>,
) -> PyResult<Vec<OfCatalogue<'py>>> {
    let revision = revision(revision_name)?;
    let found = long(py, threads, None, |_| risk::assess_all(revision, seed))?;
    let one = |assessed: risk::Assessed| {
        let subject = assessed.subject;
        Ok(OfCatalogue {
            instructions: subject.rows.iter().map(|row| (row.architecture.name(), row.name())).collect(),
            model: subject.model.to_toml(),
            k: subject.k,
            verdicts: judged(py, &subject.model, assessed.verdicts)?,
        })
    };
    found.into_iter().map(one).collect()
}
