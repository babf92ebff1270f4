//! `bitmma.analysis.smallest`, `matrix`: where units differ, and on how small an input.

use bitmma_analysis::discrepancy::{Difference, matrix, parting, smallest};
use pyo3::prelude::*;

use super::{Failed, Input, Lost, long, subject};
use crate::unit::Unit;

/// What a search for an input on which two units differ came to.
#[derive(IntoPyObject)]
pub(crate) struct Found<'py> {
    verdict: &'static str,
    input: Option<Input<'py>>,
    smallest: bool,
    tried: u64,
    answers: Option<(u64, u64)>,
    first: (Option<Lost>, Option<Lost>),
}

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
) -> PyResult<Found<'py>> {
    let k = k.unwrap_or(left.target.step().max(right.target.step()));
    let (x, y) = (left.model(), right.model());
    let difference = long(py, threads, None, |_| smallest(x, y, k, budget, seed))?;
    let none = |verdict, tried| Found {
        verdict,
        input: None,
        smallest: false,
        tried,
        answers: None,
        first: (None, None),
    };
    Ok(match difference {
        Difference::Never { tried } => none("never", tried),
        Difference::NotFound { tried } => none("not found", tried),
        Difference::Found { case, smallest, tried, .. } => {
            let parting = parting(x, y, &case).map_err(Failed::from)?;
            Found {
                verdict: "found",
                input: Some(Input::new(py, x, &case)?),
                smallest,
                tried,
                answers: Some((parting.accounts.0.d, parting.accounts.1.d)),
                first: (parting.first.0.as_ref().map(Lost::from), parting.first.1.as_ref().map(Lost::from)),
            }
        }
    })
}

/// How often units differ from each other.
#[derive(IntoPyObject)]
pub(crate) struct AllAgainstAll {
    k: usize,
    cases: (u64, u64),
    members: Vec<Vec<usize>>,
    differing: Vec<Vec<(u64, u64)>>,
}

/// Every pair, on that many cases of every family.
#[pyfunction]
#[pyo3(signature = (units, *, each = 4_000, seed = 1, threads = None))]
pub(crate) fn difference_matrix(
    py: Python<'_>,
    units: Vec<Bound<'_, Unit>>,
    each: u64,
    seed: u64,
    threads: Option<usize>,
) -> PyResult<AllAgainstAll> {
    let subjects = units.iter().map(|unit| subject(unit.get(), None)).collect();
    let found = long(py, threads, None, |_| matrix(subjects, each, seed))?;
    Ok(AllAgainstAll { k: found.k, cases: found.cases, members: found.members, differing: found.differing })
}
