//! `bitmma.analysis.account`, `bounds`, `worst_case`, `error_sources`: what is lost, and at most.

use bitmma_analysis::Dyadic;
use bitmma_analysis::account::{self as accounts, account as of_case};
use bitmma_analysis::error_bound::{Magnitudes, a_priori, elements};
use bitmma_analysis::error_source::{Source, sources};
use bitmma_analysis::tightness::{Effort, Objective, Worst, search};
use bitmma_engine::GemmOptions;
use bitmma_engine::explain::explain_element;
use numpy::{PyArray1, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::{Failed, Fields, fraction, input, long, losses, source};
use crate::error::{OptionError, Raised, ShapeError};
use crate::operands::Arrays;
use crate::unit::Unit;

/// The account of one element, row and column.
#[pyfunction]
#[pyo3(signature = (unit, operands, element = (0, 0)))]
pub(crate) fn account<'py>(
    py: Python<'py>,
    unit: &Unit,
    operands: Arrays<'py>,
    element: (usize, usize),
) -> PyResult<Fields<'py>> {
    let (row, column) = element;
    let given = operands.read(unit)?;
    let lent = given.operands();
    // refuses what does not fit
    explain_element(unit.model(), &lent, (0, row, column)).map_err(Raised::from)?;
    if given.a.blocks() != 1 {
        return Err(ShapeError::new_err(format!(
            "A has {} blocks; an account is of one product",
            given.a.blocks()
        )));
    }
    let found = of_case(unit.model(), &lent.case(0, row, column), true).map_err(Failed::from)?;
    let entries = Source::ALL.into_iter().map(|source| (source, found.entry(source)));
    let entries = entries.filter(|(_, entry)| !entry.bound.is_zero() || !entry.error.is_zero());
    let entry = |(source, entry): (Source, &accounts::Entry)| {
        let (error, bound) = (fraction(py, &entry.error)?, fraction(py, &entry.bound)?);
        Ok(dict!(py, source: source.name(), error: error, bound: bound))
    };
    let some = |number: Option<&Dyadic>| number.map(|number| fraction(py, number)).transpose();
    Ok(dict!(py,
        code: found.d,
        value: some(found.value.as_ref())?,
        exact: some(found.exact.as_ref())?,
        error: some(found.error().as_ref())?,
        bound: some(found.bound().as_ref())?,
        paper_bound: fraction(py, &found.paper_bound)?,
        sources: entries.map(entry).collect::<PyResult<Vec<_>>>()?,
        losses: losses(py, &found.losses)?,
    ))
}

/// What each element of a product lost, and could have lost.
#[pyfunction]
#[pyo3(signature = (unit, operands, *, promote_every = None, threads = None))]
pub(crate) fn product_bounds<'py>(
    py: Python<'py>,
    unit: &Unit,
    operands: Arrays<'py>,
    promote_every: Option<usize>,
    threads: Option<usize>,
) -> PyResult<Fields<'py>> {
    let given = operands.read(unit)?;
    let lent = given.operands();
    let target = &unit.target;
    let options = GemmOptions { promote_every, ..GemmOptions::default() };
    let found = long(py, threads, None, |_| elements(target, &lent, &options))?;
    let mut magnitudes = Magnitudes::of(lent.a, lent.b, lent.c);
    if let (Some(scale_a), Some(scale_b)) = (lent.scale_a, lent.scale_b) {
        magnitudes = magnitudes.and_then(|magnitudes| magnitudes.scaled(scale_a, scale_b));
    }
    let k = lent.a.columns();
    // promoted results are added outside, which a bound from magnitudes does not know
    let before = magnitudes.filter(|_| promote_every.is_none());
    let before = before.and_then(|magnitudes| a_priori(target.model(), target.step(), k, &magnitudes));
    let shape = [lent.a.rows(), lent.b.columns()];
    let array =
        |number: fn(&(f64, f64)) -> f64| PyArray1::from_iter(py, found.iter().map(number)).reshape(shape);
    let by_source = PyDict::new(py);
    for (source, bound) in Source::ALL.into_iter().zip(before.iter().flat_map(|before| &before.by_source)) {
        if !bound.is_zero() {
            by_source.set_item(source.name(), bound.to_f64())?;
        }
    }
    Ok(dict!(py,
        error: array(|one| one.0)?,
        bound: array(|one| one.1)?,
        a_priori: before.as_ref().map(|bound| bound.total().to_f64()),
        a_priori_by_source: by_source,
    ))
}

/// The case closest to its bound that a search finds; None where nothing can be lost.
#[pyfunction]
#[pyo3(signature = (unit, objective, *, k = None, budget = 40_000, enough = 0.95, seed = 1))]
pub(crate) fn worst_case<'py>(
    py: Python<'py>,
    unit: &Unit,
    objective: &str,
    k: Option<usize>,
    budget: u64,
    enough: f64,
    seed: u64,
) -> PyResult<Option<Fields<'py>>> {
    let objective = match (objective, source(objective)) {
        ("total", _) => Objective::Total,
        ("paper", _) => Objective::Paper,
        (_, Some(source)) => Objective::Source(source),
        _ => {
            let names = Source::ALL.map(Source::name).join(", ");
            let text = format!("objective is '{objective}'; one of total, paper, {names}");
            return Err(OptionError::new_err(text));
        }
    };
    let (model, k) = (unit.model(), k.unwrap_or(unit.target.step()));
    let found = long(py, None, None, |_| search(model, k, objective, Effort { budget, enough }, seed))?;
    let worst = |Worst { case, ratio, error, tried }: Worst| {
        let (input, error) = (input(py, model, &case)?, fraction(py, &error)?);
        Ok(dict!(py, input: input, ratio: ratio, error: error, tried: tried))
    };
    found.map(worst).transpose()
}

/// Where a unit's errors come from, each with the bound of one elementary operation in words.
#[pyfunction]
#[pyo3(signature = (unit, k = None))]
pub(crate) fn error_sources(unit: &Unit, k: Option<usize>) -> PyResult<Vec<(&'static str, String)>> {
    let rows = sources(unit.model(), k.unwrap_or(unit.target.step())).map_err(Failed::from)?;
    Ok(rows.into_iter().map(|row| (row.source.name(), row.bound)).collect())
}
