//! `bitmma.gemm`: products of any shape.

use bitmma_engine::formats::{F32, Overflow};
use bitmma_engine::gemm::{OutputConversion, Target, scale_blocks as blocks_of};
use bitmma_engine::{GemmOptions, gemm as product};
use pyo3::conversion::FromPyObjectOwned;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::arrays;
use crate::error::Raised;
use crate::format;
use crate::listener::{computed, long, products};
use crate::operands::Arrays;
use crate::prepared::Factor;
use crate::unit::Unit;

/// The options of a product, but for operands and threads, as Python's keywords; None is none.
pub(crate) fn options(
    target: &Target,
    keywords: Option<&Bound<'_, PyDict>>,
) -> PyResult<GemmOptions<'static>> {
    let mut made = GemmOptions::default();
    let (mut output, mut rounding, mut overflow, mut nan) = (None, None, None, None);
    for (key, value) in keywords.into_iter().flatten().filter(|(_, value)| !value.is_none()) {
        let key: String = key.extract()?;
        let factor = |name| -> PyResult<_> {
            Ok(Some(target.factor(name, taken::<f64>(name, &value)?.to_bits()).map_err(Raised::from)?))
        };
        let text = || taken::<String>(&key, &value);
        match key.as_str() {
            "scale_blocks" => made.scale_blocks = Some(blocks_of(&text()?).map_err(Raised::from)?),
            "split_k" => made.split_k = taken(&key, &value)?,
            "promote_every" => made.promote_every = taken(&key, &value)?,
            "c_last" => made.c_last = taken(&key, &value)?,
            "alpha" => made.alpha = factor("alpha")?,
            "beta" => made.beta = factor("beta")?,
            "output" => output = Some(format::row(&text()?)?),
            "output_rounding" => rounding = Some(format::rounding(&text()?)?),
            "saturate" => overflow = taken::<bool>(&key, &value)?.then_some(Overflow::Saturate),
            "nan" => nan = taken(&key, &value)?,
            _ => return Err(PyTypeError::new_err(format!("a product has no option '{key}'"))),
        }
    }
    made.output = OutputConversion::asked(output, rounding, overflow, nan).map_err(Raised::from)?;
    Ok(made)
}

/// The value of a keyword; an error of its type names it, as for a parameter.
fn taken<'py, T: FromPyObjectOwned<'py>>(key: &str, value: &Bound<'py, PyAny>) -> PyResult<T> {
    value.extract().map_err(|error: T::Error| {
        let error: PyErr = error.into();
        match error.is_instance_of::<PyTypeError>(value.py()) {
            true => PyTypeError::new_err(format!("argument '{key}': {}", error.value(value.py()))),
            false => error,
        }
    })
}

/// D = alpha · A·B + beta · C, and the format D is in.
///
/// An exception that `progress` raises ends the product.
#[pyfunction]
#[pyo3(signature = (unit, operands, *, threads = None, progress = None, **keywords: "Any"))]
pub(crate) fn gemm<'py>(
    py: Python<'py>,
    unit: &Unit,
    operands: Arrays<'py>,
    threads: Option<usize>,
    progress: Option<Py<PyAny>>,
    keywords: Option<&Bound<'py, PyDict>>,
) -> PyResult<(Bound<'py, PyAny>, &'static str)> {
    let target = &unit.target;
    let made = options(target, keywords)?;
    let given = operands
        .read_with(unit, made.scale_blocks.map(|_| F32), |name, array| Factor::new(name, unit, array))?;
    let (scale_a, scale_b) = (given.scale_a.as_ref(), given.scale_b.as_ref());
    let options = GemmOptions { scale_a, scale_b, threads, ..made };
    let (Some(a), b) = (given.a.lent()?, given.b.lent()?) else { unreachable!("A is no prepared operand") };
    let prepared = match &given.b {
        Factor::Prepared(prepared) => Some(&prepared.get().operand),
        Factor::Held(_) => None,
    };
    let of_b = prepared.map_or_else(|| b.map_or((0, 0, 0), |b| b.shape()), |b| (1, b.shape().0, b.shape().1));
    let work = |options: &GemmOptions<'_>| match (prepared, b) {
        (None, Some(b)) => product(target, a, b, given.c.as_ref(), options),
        (Some(prepared), _) => prepared.multiply(a, given.c.as_ref(), options),
        (None, None) => unreachable!("B is lent"),
    };
    let d = match &progress {
        None => computed(py, products(a.shape(), of_b), target.has_kernel(), || work(&options)),
        Some(call) => long(py, |calls| {
            let report = |_: &str, done: u64, total: u64| calls.call(call, (done, total)).map(drop);
            work(&GemmOptions { progress: Some(&report), ..options })
        }),
    };
    let d = d?.map_err(Raised::from)?;
    let format = d.format().name;
    Ok((arrays::result(py, d, given.blocked)?, format))
}
