//! `bitmma.gemm`: products of any shape.

use bitmma_engine::formats::{F32, Overflow};
use bitmma_engine::gemm::{OutputConversion, Target, scale_blocks as blocks_of};
use bitmma_engine::{GemmOptions, gemm as product};
use pyo3::prelude::*;

use crate::arrays;
use crate::error::Raised;
use crate::format;
use crate::listener::{computed, long, products};
use crate::operands::Arrays;
use crate::prepared::Factor;
use crate::unit::Unit;

/// The options of a product, but for operands and threads.
pub(crate) fn options(
    target: &Target,
    scale_blocks: Option<&str>,
    (split_k, promote_every, c_last): (Option<usize>, Option<usize>, bool),
    (alpha, beta): (Option<f64>, Option<f64>),
    (output, output_rounding, saturate, nan): (Option<&str>, Option<&str>, bool, Option<u64>),
) -> PyResult<GemmOptions<'static>> {
    let factor = |name, value: Option<f64>| {
        value.map(|value| target.factor(name, value.to_bits())).transpose().map_err(Raised::from)
    };
    let output = OutputConversion::asked(
        output.map(format::row).transpose()?,
        output_rounding.map(format::rounding).transpose()?,
        saturate.then_some(Overflow::Saturate),
        nan,
    );
    Ok(GemmOptions {
        scale_blocks: scale_blocks.map(blocks_of).transpose().map_err(Raised::from)?,
        split_k,
        promote_every,
        c_last,
        alpha: factor("alpha", alpha)?,
        beta: factor("beta", beta)?,
        output: output.map_err(Raised::from)?,
        ..GemmOptions::default()
    })
}

/// D = alpha · A·B + beta · C, and the format D is in.
///
/// An exception that `progress` raises ends the product.
#[pyfunction]
#[pyo3(signature = (
    unit, operands, *, scale_blocks = None, split_k = None, promote_every = None, c_last = false, alpha = None, beta = None, output = None,
    output_rounding = None, saturate = false, nan = None, threads = None, progress = None
))]
pub(crate) fn gemm<'py>(
    py: Python<'py>,
    unit: &Unit,
    operands: Arrays<'py>,
    scale_blocks: Option<&str>,
    split_k: Option<usize>,
    promote_every: Option<usize>,
    c_last: bool,
    alpha: Option<f64>,
    beta: Option<f64>,
    output: Option<&str>,
    output_rounding: Option<&str>,
    saturate: bool,
    nan: Option<u64>,
    threads: Option<usize>,
    progress: Option<Py<PyAny>>,
) -> PyResult<(Bound<'py, PyAny>, &'static str)> {
    let target = &unit.target;
    let conversion = (output, output_rounding, saturate, nan);
    let made = options(target, scale_blocks, (split_k, promote_every, c_last), (alpha, beta), conversion)?;
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
