//! `bitmma.analysis.assess`: risky designs, each with an input that shows it.

use bitmma_analysis::risk;
use bitmma_analysis::subject::Subject;
use bitmma_engine::Model;
use pyo3::prelude::*;

use super::{Exact, Input, long};
use crate::instruction::revision;
use crate::unit::Unit;

record! {
    /// An input that shows a risk.
    Witness(compared: false, hidden: []) {
        /// The operands.
        input: Py<Input>,
        /// The code of D.
        code: u64,
        /// The exact dot product.
        exact: Exact,
        /// The code of D of -A, B, -C, for the asymmetry.
        mirrored: Option<u64>,
    }
}

record! {
    /// Whether a unit has a risk.
    Verdict(compared: false, hidden: []) {
        /// ``input FTZ``, ``small F``, ``narrow rho``, ``FP16 output`` or ``asymmetry``.
        risk: String,
        /// What in the parameters makes it so; None where nothing does.
        why: Option<String>,
        /// An input that shows it; None where none was found.
        witness: Option<Py<Witness>>,
        /// Cases tried before it was found, or in vain.
        tried: u64,
    }

    /// Whether it is present: an input shows it.
    #[getter]
    fn present(&self) -> bool {
        self.witness.is_some()
    }
}

record! {
    /// The verdicts on a model of the catalogue.
    Assessed(compared: false, hidden: []) {
        /// Architecture and name of all that compute so.
        instructions: Vec<(String, String)>,
        /// The model as data.
        model: String,
        /// Elements along K.
        k: usize,
        /// One for each risk.
        verdicts: Vec<Py<Verdict>>,
    }
}

fn judged(py: Python<'_>, model: &Model, verdicts: Vec<risk::Verdict>) -> PyResult<Vec<Py<Verdict>>> {
    let witness = |risk::Witness { case, d, exact, mirrored }: risk::Witness| {
        let (input, exact) = (Input::of(py, model, &case)?, Exact::new(py, &exact)?);
        Py::new(py, Witness { input, code: d, exact, mirrored })
    };
    let one = |risk::Verdict { risk, why, witness: shown, tried }: risk::Verdict| {
        let witness = shown.map(witness).transpose()?;
        Py::new(py, Verdict { risk: risk.name().to_owned(), why, witness, tried })
    };
    verdicts.into_iter().map(one).collect()
}

/// The verdicts on one unit.
#[pyfunction]
#[pyo3(signature = (unit, *, k = None, seed = 1))]
pub(crate) fn assess(py: Python<'_>, unit: &Unit, k: Option<usize>, seed: u64) -> PyResult<Vec<Py<Verdict>>> {
    let (model, k) = (unit.model(), k.unwrap_or(unit.target.step()));
    let verdicts = long(py, None, None, |_| risk::assess(model, k, seed))?;
    judged(py, model, verdicts)
}

/// The verdicts on every model of the catalogue.
#[pyfunction]
#[pyo3(signature = (*, revision_name = "hardware", seed = 1, threads = None))]
pub(crate) fn assess_all(
    py: Python<'_>,
    revision_name: &str,
    seed: u64,
    threads: Option<usize>,
) -> PyResult<Vec<Assessed>> {
    let revision = revision(revision_name)?;
    let found = long(py, threads, None, |_| risk::assess_all(revision, seed))?;
    let one = |assessed: risk::Assessed| {
        let Subject { rows, model, k, .. } = assessed.subject;
        let instructions = rows.iter().map(|row| (row.architecture.name().to_owned(), row.name())).collect();
        let verdicts = judged(py, &model, assessed.verdicts)?;
        Ok(Assessed { instructions, model: model.to_toml(), k, verdicts })
    };
    found.into_iter().map(one).collect()
}
