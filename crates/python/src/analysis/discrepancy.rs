//! `bitmma.analysis.smallest`, `matrix`: where units differ, and on how small an input.

use bitmma_analysis::account::Loss;
use bitmma_analysis::discrepancy::{Difference, Matrix, Parting, matrix, parting, smallest};
use pyo3::prelude::*;

use super::{Failed, Fields, input, long, loss, subject};
use crate::document::Document;
use crate::unit::Unit;

/// The smallest input of K elements on which two units differ: its fields, and the document.
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
) -> PyResult<(Fields<'py>, Document)> {
    let k = k.unwrap_or(left.target.step().max(right.target.step()));
    let (x, y) = (left.model(), right.model());
    let found = long(py, threads, None, |_| smallest(x, y, k, budget, seed))?;
    let parting = match &found {
        Difference::Found { case, .. } => Some((case, parting(x, y, case).map_err(Failed::from)?)),
        _ => None,
    };
    let (verdict, smallest, tried) = match found {
        Difference::Never { tried } => ("never", false, tried),
        Difference::NotFound { tried } => ("not found", false, tried),
        Difference::Found { smallest, tried, .. } => ("found", smallest, tried),
    };
    let lost = |lost: Option<&Loss>| lost.map(|lost| loss(py, lost)).transpose();
    let first =
        parting.as_ref().map(|(_, Parting { first: (one, other), .. })| (one.as_ref(), other.as_ref()));
    let (one, other) = first.unwrap_or_default();
    let fields = dict!(py,
        verdict: verdict,
        input: parting.as_ref().map(|(case, _)| input(py, x, case)).transpose()?,
        smallest: smallest,
        tried: tried,
        answers: parting.as_ref().map(|(_, Parting { accounts, .. })| (accounts.0.d, accounts.1.d)),
        first: (lost(one)?, lost(other)?),
    );
    let name = |unit: &Unit| unit.row.map_or_else(|| unit.name().to_owned(), |row| row.target());
    let names = [name(left), name(right)];
    let parting = parting.as_ref().map(|(_, parting)| parting);
    let document = found.document([(&names[0], x), (&names[1], y)], parting);
    Ok((fields, document.into()))
}

/// [`difference_matrix`]: K, how many cases there were, who stands together, how many differ.
type Differing = (usize, (u64, u64), Vec<Vec<usize>>, Vec<Vec<(u64, u64)>>);

/// Every pair, on that many cases of every family.
#[pyfunction]
#[pyo3(signature = (units, *, each = 4_000, seed = 1, threads = None))]
pub(crate) fn difference_matrix(
    py: Python<'_>,
    units: Vec<Bound<'_, Unit>>,
    each: u64,
    seed: u64,
    threads: Option<usize>,
) -> PyResult<Differing> {
    let subjects = units.iter().map(|unit| subject(unit.get(), None)).collect();
    let found = long(py, threads, None, |_| matrix(subjects, each, seed))?;
    let Matrix { k, cases, members, differing, .. } = found;
    Ok((k, cases, members, differing))
}
