//! `bitmma.gemm`: products of any shape.

use std::sync::Mutex;

use bitmma::arithmetic::Conversion;
use bitmma::formats::{F64, Overflow, Rounding};
use bitmma::gemm::OutputConversion;
use bitmma::{GemmOptions, gemm as product};
use pyo3::prelude::*;

use crate::arrays;
use crate::error::Raised;
use crate::format::{self, convert};
use crate::unit::{Unit, scales};

/// D = alpha · A·B + beta · C, and the format D is in.
///
/// An exception that `progress` raises ends the calls of it, and is raised when the product is done.
#[pyfunction]
#[pyo3(signature = (
    unit, a, b, c = None, *, scale_a = None, scale_b = None, split_k = None, promote_every = None,
    alpha = None, beta = None, output = None, output_rounding = "RNE", saturate = false, threads = None,
    progress = None
))]
#[allow(clippy::too_many_arguments, clippy::needless_pass_by_value)] // they are Python's keywords
pub(crate) fn gemm<'py>(
    unit: &Unit,
    a: &Bound<'py, PyAny>,
    b: &Bound<'py, PyAny>,
    c: Option<&Bound<'py, PyAny>>,
    scale_a: Option<&Bound<'py, PyAny>>,
    scale_b: Option<&Bound<'py, PyAny>>,
    split_k: Option<usize>,
    promote_every: Option<usize>,
    alpha: Option<f64>,
    beta: Option<f64>,
    output: Option<&str>,
    output_rounding: &str,
    saturate: bool,
    threads: Option<usize>,
    progress: Option<Py<PyAny>>,
) -> PyResult<(Bound<'py, PyAny>, &'static str)> {
    let py = a.py();
    let (model, target) = (unit.model(), &unit.target);
    let [of_a, of_b] = scales(model, target.name(), [scale_a, scale_b])?;
    let blocked = arrays::is_blocked(a)?;
    let (a, b) = (arrays::matrix("A", model.a, a)?, arrays::matrix("B", model.b, b)?);
    let c = arrays::optional("C", model.c, c)?;
    let working = target.working_format();
    let factor = |value: f64| convert(&F64, value.to_bits(), &working, Rounding::NearestEven, Overflow::Ieee);
    let output = match output {
        None => None,
        Some(name) => Some(OutputConversion {
            conversion: Conversion {
                rounding: format::rounding(output_rounding)?,
                format: format::row(name)?,
            },
            overflow: if saturate { Overflow::Saturate } else { Overflow::Ieee },
        }),
    };
    let raised: Mutex<Option<PyErr>> = Mutex::new(None);
    let report = |done: u64, total: u64| {
        let (Some(callback), Ok(mut raised)) = (&progress, raised.lock()) else { return };
        if raised.is_none() {
            *raised = Python::attach(|py| callback.call1(py, (done, total)).err());
        }
    };
    let options = GemmOptions {
        scale_a: of_a.as_ref(),
        scale_b: of_b.as_ref(),
        split_k,
        promote_every,
        alpha: alpha.map(factor),
        beta: beta.map(factor),
        output,
        threads,
        level: None,
        progress: progress.is_some().then_some(&report),
    };
    let d = py.detach(|| product(target, &a, &b, c.as_ref(), &options)).map_err(Raised::from)?;
    if let Some(error) = raised.into_inner().ok().flatten() {
        return Err(error);
    }
    let format = d.format().name;
    Ok((arrays::result(py, d, blocked)?, format))
}
