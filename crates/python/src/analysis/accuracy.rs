//! `bitmma.analysis`: errors measured against exact products, bias, design space, workarounds.

use bitmma_analysis::bias;
use bitmma_analysis::data::{Distribution, Product};
use bitmma_analysis::design_space::{Design, measure};
use bitmma_analysis::workaround::attempts;
use bitmma_engine::{GemmOptions, Model};
use numpy::{PyArray1, PyArrayMethods};
use pyo3::prelude::*;
use serde_json::to_string;

use super::which::text;
use super::{Failed, long};
use crate::instruction::revision;
use crate::operands::Arrays;
use crate::unit::Unit;
use crate::{arrays, format};

/// D, of any format, minus the exact product: float64.
#[pyfunction]
pub(crate) fn exact_errors<'py>(
    py: Python<'py>,
    unit: &Unit,
    operands: Arrays<'py>,
    d: &Bound<'py, PyAny>,
    d_format: &str,
) -> PyResult<Bound<'py, PyAny>> {
    let product = product(py, unit, &operands)?;
    let d = arrays::matrix("D", format::row(d_format)?, d)?;
    let errors = long(py, None, None, |_| {
        let (a, b) = product.numbers()?;
        bitmma_analysis::exact::errors(&a, &b, product.c.as_ref(), &d)
    })?;
    Ok(PyArray1::from_vec(py, errors).reshape([d.rows(), d.columns()])?.into_any())
}

/// The operands as one product; what does not fit is refused.
fn product(py: Python<'_>, unit: &Unit, operands: &Arrays<'_>) -> PyResult<Product> {
    let product = operands.read(unit)?.product(unit, "");
    long(py, None, None, |_| product.gemm(&unit.target, &GemmOptions::default()))?;
    Ok(product)
}

/// D minus the exact result, for that many instructions of CDNA3, as JSON.
#[pyfunction]
#[pyo3(signature = (*, instructions = 1_000, revision_name = "hardware", seed = 1, threads = None, progress = None))]
pub(crate) fn bias_distributions(
    py: Python<'_>,
    instructions: u64,
    revision_name: &str,
    seed: u64,
    threads: Option<usize>,
    progress: Option<Py<PyAny>>,
) -> PyResult<String> {
    let revision = revision(revision_name)?;
    let found =
        long(py, threads, progress, |listener| bias::distributions(revision, instructions, seed, listener))?;
    text(to_string(&found))
}

/// The errors of growing chains, as JSON.
#[pyfunction]
#[pyo3(signature = (
    lengths, *, products = 24, distribution = "normal", scale = 10.0, revision_name = "hardware", seed = 1,
    threads = None, progress = None
))]
pub(crate) fn bias_growth(
    py: Python<'_>,
    lengths: Vec<usize>,
    products: u64,
    distribution: &str,
    scale: f64,
    revision_name: &str,
    seed: u64,
    threads: Option<usize>,
    progress: Option<Py<PyAny>>,
) -> PyResult<String> {
    let revision = revision(revision_name)?;
    let factors = Distribution::named(distribution, scale).map_err(Failed::from)?;
    let found = long(py, threads, progress, |listener| {
        bias::growth(revision, factors, &lengths, products, seed, listener)
    })?;
    text(to_string(&found))
}

/// Models as designs of A·B, all on one product, as JSON.
#[pyfunction]
#[pyo3(signature = (units, operands, *, threads = None))]
pub(crate) fn measure_designs<'py>(
    py: Python<'py>,
    units: Vec<Bound<'py, Unit>>,
    operands: Arrays<'py>,
    threads: Option<usize>,
) -> PyResult<String> {
    let Some(first) = units.first() else { return Ok("[]".to_owned()) };
    let product = product(py, first.get(), &operands)?;
    let model = |unit: &Bound<'_, Unit>| -> Model { unit.get().model().clone() };
    let designs: Vec<Design> =
        units.iter().map(|unit| Design { name: String::new(), model: model(unit) }).collect();
    let found = long(py, threads, None, |_| measure(&designs, &product))?;
    text(to_string(&found))
}

/// What helps, and what it loses, as JSON.
#[pyfunction]
#[pyo3(signature = (unit, operands, *, revision_name = "hardware", threads = None))]
pub(crate) fn workarounds<'py>(
    py: Python<'py>,
    unit: &Unit,
    operands: Arrays<'py>,
    revision_name: &str,
    threads: Option<usize>,
) -> PyResult<String> {
    let revision = revision(revision_name)?;
    let product = product(py, unit, &operands)?;
    let architecture = unit.row.map(|row| row.architecture);
    let found = long(py, threads, None, |_| attempts(&unit.target, architecture, &product, revision))?;
    text(to_string(&found))
}
