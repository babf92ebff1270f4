//! `bitmma.analysis.smallest`, `matrix`: where units differ, and on how small an input.

use bitmma_analysis::account::Loss;
use bitmma_analysis::discrepancy::{Difference, Matrix, Parting, matrix, parting, smallest};
use pyo3::prelude::*;

use super::{Dict, Failed, input, long, lost, subject};
use crate::unit::Unit;

/// The smallest input of K elements on which two units differ.
#[pyfunction]
#[pyo3(signature = (left, right, *, k = None, budget = 700_000, seed = 1, threads = None))]
pub(crate) fn smallest_difference<'py>(
    py: Python<'py>,
    left: &Unit,
    right: &Unit,
    k: Option<usize>,
    budget: u64,
    seed: u64,
    threads: Option<usize>,
) -> PyResult<Dict<'py>> {
    let k = k.unwrap_or(left.target.step().max(right.target.step()));
    let (x, y) = (left.model(), right.model());
    let difference = long(py, threads, None, |_| smallest(x, y, k, budget, seed))?;
    let none = (None::<Dict<'py>>, None::<Dict<'py>>);
    Ok(match difference {
        Difference::Never { tried } => dict!(
            py, verdict: "never", input: None::<()>, smallest: false, tried: tried, answers: None::<()>, first: none,
        ),
        Difference::NotFound { tried } => dict!(
            py, verdict: "not found", input: None::<()>, smallest: false, tried: tried, answers: None::<()>, first: none,
        ),
        Difference::Found { case, smallest, tried, .. } => {
            let Parting { first: (one, other), accounts } = parting(x, y, &case).map_err(Failed::from)?;
            let lost = |loss: &Option<Loss>| loss.as_ref().map(|loss| lost(py, loss)).transpose();
            dict!(
                py,
                verdict: "found",
                input: input(py, x, &case)?,
                smallest: smallest,
                tried: tried,
                answers: (accounts.0.d, accounts.1.d),
                first: (lost(&one)?, lost(&other)?),
            )
        }
    })
}

/// Every pair, on that many cases of every family.
#[pyfunction]
#[pyo3(signature = (units, *, each = 4_000, seed = 1, threads = None))]
pub(crate) fn difference_matrix<'py>(
    py: Python<'py>,
    units: Vec<Bound<'py, Unit>>,
    each: u64,
    seed: u64,
    threads: Option<usize>,
) -> PyResult<Dict<'py>> {
    let subjects = units.iter().map(|unit| subject(unit.get(), None)).collect();
    let found = long(py, threads, None, |_| matrix(subjects, each, seed))?;
    let Matrix { k, cases, members, differing, .. } = found;
    Ok(dict!(py, k: k, cases: cases, members: members, differing: differing))
}
