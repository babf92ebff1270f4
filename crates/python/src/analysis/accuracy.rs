//! `bitmma.analysis`: errors measured against exact products, bias, design space, workarounds.

use bitmma_analysis::bias;
use bitmma_analysis::data::{Distribution, Product};
use bitmma_analysis::design_space::{Design, Measured, measure};
use bitmma_analysis::statistics::{Histogram, Summary};
use bitmma_analysis::workaround::attempts;
use bitmma_engine::formats::F64;
use bitmma_engine::{GemmOptions, Matrix, Model};
use pyo3::prelude::*;

use super::{Dict, Failed, long};
use crate::error::Raised;
use crate::instruction::revision;
use crate::operands::Arrays;
use crate::unit::Unit;
use crate::{arrays, format};

/// Summary statistics of many errors.
fn errors<'py>(py: Python<'py>, summary: &Summary) -> PyResult<Dict<'py>> {
    Ok(dict!(
        py,
        count: summary.count,
        not_finite: summary.not_finite,
        mean: summary.mean,
        mean_error: summary.mean_error,
        mean_square: summary.mean_square,
        mean_square_error: summary.mean_square_error,
        largest: summary.largest,
    ))
}

/// D, of any format, minus the exact product: FP64 words.
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
    let words = errors.into_iter().map(f64::to_bits);
    let words = Matrix::single(F64, d.rows(), d.columns(), words).map_err(Raised::from)?;
    arrays::result(py, words, false)
}

/// The operands as one product; what does not fit is refused.
fn product(py: Python<'_>, unit: &Unit, operands: &Arrays<'_>) -> PyResult<Product> {
    let product = operands.read(unit)?.product(unit, "");
    long(py, None, None, |_| product.gemm(&unit.target, &GemmOptions::default()))?;
    Ok(product)
}

/// Equal bins: lower end of the first, width, counts.
fn bins(Histogram { from, width, counts }: Histogram) -> (f64, f64, Vec<u64>) {
    (from, width, counts)
}

/// D minus the exact result, for that many instructions of CDNA3.
#[pyfunction]
#[pyo3(signature = (*, instructions = 1_000, revision_name = "hardware", seed = 1, threads = None, progress = None))]
pub(crate) fn bias_distributions<'py>(
    py: Python<'py>,
    instructions: u64,
    revision_name: &str,
    seed: u64,
    threads: Option<usize>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Dict<'py>> {
    let revision = revision(revision_name)?;
    let found =
        long(py, threads, progress, |listener| bias::distributions(revision, instructions, seed, listener))?;
    Ok(dict!(
        py,
        round_down: errors(py, &found.round_down)?,
        toward_zero: errors(py, &found.toward_zero)?,
        outside: errors(py, &found.outside)?,
        round_down_bins: bins(found.round_down_bins),
        toward_zero_bins: bins(found.toward_zero_bins),
    ))
}

/// The errors of growing chains.
#[pyfunction]
#[pyo3(signature = (
    lengths, *, products = 24, distribution = "normal", scale = 10.0, revision_name = "hardware", seed = 1,
    threads = None, progress = None
))]
pub(crate) fn bias_growth<'py>(
    py: Python<'py>,
    lengths: Vec<usize>,
    products: u64,
    distribution: &str,
    scale: f64,
    revision_name: &str,
    seed: u64,
    threads: Option<usize>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Vec<Dict<'py>>> {
    let revision = revision(revision_name)?;
    let factors = Distribution::named(distribution, scale).map_err(Failed::from)?;
    let found = long(py, threads, progress, |listener| {
        bias::growth(revision, factors, &lengths, products, seed, listener)
    })?;
    let one = |row: bias::Growth| {
        Ok(dict!(
            py,
            k: row.k,
            round_down: errors(py, &row.round_down)?,
            toward_zero: errors(py, &row.toward_zero)?,
            outside: errors(py, &row.outside)?,
            bias: errors(py, &row.bias)?,
        ))
    };
    found.into_iter().map(one).collect()
}

/// Models as designs of A·B, all on one product.
#[pyfunction]
#[pyo3(signature = (units, operands, *, threads = None))]
pub(crate) fn measure_designs<'py>(
    py: Python<'py>,
    units: Vec<Bound<'py, Unit>>,
    operands: Arrays<'py>,
    threads: Option<usize>,
) -> PyResult<Vec<Dict<'py>>> {
    let Some(first) = units.first() else { return Ok(Vec::new()) };
    let product = product(py, first.get(), &operands)?;
    let model = |unit: &Bound<'_, Unit>| -> Model { unit.get().model().clone() };
    let designs: Vec<Design> =
        units.iter().map(|unit| Design { name: String::new(), model: model(unit) }).collect();
    let found = long(py, threads, None, |_| measure(&designs, &product))?;
    let one = |one: Measured| {
        let summary = errors(py, &one.summary)?;
        Ok(dict!(py, adder_bits: one.adder_bits, summary: summary, relative: one.relative))
    };
    found.into_iter().map(one).collect()
}

/// What helps: how, the instruction, and the errors.
#[pyfunction]
#[pyo3(signature = (unit, operands, *, revision_name = "hardware", threads = None))]
pub(crate) fn workarounds<'py>(
    py: Python<'py>,
    unit: &Unit,
    operands: Arrays<'py>,
    revision_name: &str,
    threads: Option<usize>,
) -> PyResult<Vec<(String, String, Dict<'py>)>> {
    let revision = revision(revision_name)?;
    let product = product(py, unit, &operands)?;
    let architecture = unit.row.map(|row| row.architecture);
    let found = long(py, threads, None, |_| attempts(&unit.target, architecture, &product, revision))?;
    found.into_iter().map(|one| Ok((one.name, one.instruction, errors(py, &one.summary)?))).collect()
}
