//! `bitmma.analysis`: errors measured against exact products, bias, design space, workarounds.

use bitmma_analysis::bias;
use bitmma_analysis::data::{Distribution, Product};
use bitmma_analysis::design_space::{Design, Measured, measure};
use bitmma_analysis::statistics::{self, Summary};
use bitmma_analysis::workaround::{Attempt, attempts};
use bitmma_engine::{GemmOptions, Model};
use numpy::{PyArray1, PyArrayMethods};
use pyo3::prelude::*;

use super::{Failed, long};
use crate::instruction::revision;
use crate::operands::Arrays;
use crate::unit::Unit;
use crate::{arrays, format};

record! {
    /// Summary statistics; non-finite values are counted and left out.
    Errors(compared: true, hidden: []) {
        /// Finite errors.
        count: u64,
        /// Errors that are no number: D or the exact result is not finite.
        not_finite: u64,
        /// Their mean: the bias.
        mean: f64,
        /// The standard error of the mean, errors taken as independent.
        mean_error: f64,
        /// Mean of the squares.
        mean_square: f64,
        /// The standard error of the mean of the squares.
        mean_square_error: f64,
        /// The largest magnitude.
        largest: f64,
    }

    /// The root of the mean square.
    #[getter]
    fn root_mean_square(&self) -> f64 {
        self.mean_square.sqrt()
    }
}

fn errors(py: Python<'_>, summary: &Summary) -> PyResult<Py<Errors>> {
    let &Summary { count, not_finite, mean, mean_error, mean_square, mean_square_error, largest } = summary;
    Py::new(py, Errors { count, not_finite, mean, mean_error, mean_square, mean_square_error, largest })
}

record! {
    /// How often errors fall into equal bins; those beyond an end are in the last one there.
    Histogram(compared: true, hidden: []) {
        /// Lower end of the first bin.
        start: f64,
        /// Width of a bin.
        width: f64,
        /// Errors in each bin.
        counts: Vec<u64>,
    }
}

fn histogram(py: Python<'_>, bins: statistics::Histogram) -> PyResult<Py<Histogram>> {
    let statistics::Histogram { from, width, counts } = bins;
    Py::new(py, Histogram { start: from, width, counts })
}

record! {
    /// D minus the exact result, on CDNA3.
    Distributions(compared: true, hidden: []) {
        /// Of the instruction as it is.
        round_down: Py<Errors>,
        /// Of a hypothetical one that rounds toward zero.
        toward_zero: Py<Errors>,
        /// Of the instruction as it is, with C = 0 and C added outside in FP32.
        outside: Py<Errors>,
        /// Bins of the first.
        round_down_bins: Py<Histogram>,
        /// Bins of the second.
        toward_zero_bins: Py<Histogram>,
    }
}

record! {
    /// Errors after a chain of instructions.
    BiasGrowth(compared: true, hidden: []) {
        /// Elements along K.
        k: usize,
        /// Accumulating in C.
        round_down: Py<Errors>,
        /// Accumulating in C on the hypothetical instruction.
        toward_zero: Py<Errors>,
        /// Each instruction from C = 0, its result added outside in FP32.
        outside: Py<Errors>,
        /// The first minus the second, element by element.
        bias: Py<Errors>,
    }
}

record! {
    /// A method to compute a product, and its errors.
    Workaround(compared: true, hidden: []) {
        /// In words.
        name: String,
        /// What computes it.
        instruction: String,
        /// D minus the exact product.
        errors: Py<Errors>,
    }
}

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

/// D minus the exact result, for that many instructions of CDNA3.
#[pyfunction]
#[pyo3(signature = (*, instructions = 1_000, revision_name = "hardware", seed = 1, threads = None, progress = None))]
pub(crate) fn bias_distributions(
    py: Python<'_>,
    instructions: u64,
    revision_name: &str,
    seed: u64,
    threads: Option<usize>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Distributions> {
    let revision = revision(revision_name)?;
    let found =
        long(py, threads, progress, |listener| bias::distributions(revision, instructions, seed, listener))?;
    Ok(Distributions {
        round_down: errors(py, &found.round_down)?,
        toward_zero: errors(py, &found.toward_zero)?,
        outside: errors(py, &found.outside)?,
        round_down_bins: histogram(py, found.round_down_bins)?,
        toward_zero_bins: histogram(py, found.toward_zero_bins)?,
    })
}

/// The errors of growing chains.
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
) -> PyResult<Vec<BiasGrowth>> {
    let revision = revision(revision_name)?;
    let factors = Distribution::named(distribution, scale).map_err(Failed::from)?;
    let found = long(py, threads, progress, |listener| {
        bias::growth(revision, factors, &lengths, products, seed, listener)
    })?;
    let one = |row: bias::Growth| {
        Ok(BiasGrowth {
            k: row.k,
            round_down: errors(py, &row.round_down)?,
            toward_zero: errors(py, &row.toward_zero)?,
            outside: errors(py, &row.outside)?,
            bias: errors(py, &row.bias)?,
        })
    };
    found.into_iter().map(one).collect()
}

/// What a design did: the bits of its adders, its errors, and their root mean square over that of the exact results.
type Costed = (Option<u64>, Py<Errors>, f64);

/// Models as designs of A·B, all on one product.
#[pyfunction]
#[pyo3(signature = (units, operands, *, threads = None))]
pub(crate) fn measure_designs<'py>(
    py: Python<'py>,
    units: Vec<Bound<'py, Unit>>,
    operands: Arrays<'py>,
    threads: Option<usize>,
) -> PyResult<Vec<Costed>> {
    let Some(first) = units.first() else { return Ok(Vec::new()) };
    let product = product(py, first.get(), &operands)?;
    let model = |unit: &Bound<'_, Unit>| -> Model { unit.get().model().clone() };
    let designs: Vec<Design> =
        units.iter().map(|unit| Design { name: String::new(), model: model(unit) }).collect();
    let found = long(py, threads, None, |_| measure(&designs, &product))?;
    let one = |one: Measured| Ok((one.adder_bits, errors(py, &one.summary)?, one.relative));
    found.into_iter().map(one).collect()
}

/// What helps, and what it loses.
#[pyfunction]
#[pyo3(signature = (unit, operands, *, revision_name = "hardware", threads = None))]
pub(crate) fn workarounds<'py>(
    py: Python<'py>,
    unit: &Unit,
    operands: Arrays<'py>,
    revision_name: &str,
    threads: Option<usize>,
) -> PyResult<Vec<Workaround>> {
    let revision = revision(revision_name)?;
    let product = product(py, unit, &operands)?;
    let architecture = unit.row.map(|row| row.architecture);
    let found = long(py, threads, None, |_| attempts(&unit.target, architecture, &product, revision))?;
    let one = |Attempt { name, instruction, summary }: Attempt| {
        Ok(Workaround { name, instruction, errors: errors(py, &summary)? })
    };
    found.into_iter().map(one).collect()
}
