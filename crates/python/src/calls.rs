//! `bitmma.calls`: what a library's matrix product returns.

use std::path::PathBuf;

use bitmma_calls::call::{Operands, Scales};
use bitmma_calls::cublaslt::{Assume, Config};
use bitmma_calls::explain::explain;
use bitmma_calls::plan::MergeOrder;
use bitmma_calls::platform::{Platform, Sources};
use bitmma_calls::scaled::{self, Recipe, decide_scaled};
use bitmma_calls::torch::{Layout, Request, Scaling, format_of};
use bitmma_calls::{Error, Plan, execute};
use bitmma_engine::formats::F32;
use pyo3::prelude::*;

use crate::arrays;
use crate::error::{CallDeclined, CallRejected, OptionError, PlanError, Raised, ShapeError, in_python};
use crate::format;
use crate::listener::{computed, products};

/// An error of a call, on its way to Python.
pub(crate) fn raised(error: Error) -> PyErr {
    let text = in_python(&error.to_string());
    match error {
        Error::Plan(_) | Error::File { .. } | Error::Arrays(_) => PlanError::new_err(text),
        Error::Declined { .. } => CallDeclined::new_err(text),
        Error::Rejected(_) => CallRejected::new_err(text),
        Error::Engine(error) => Raised::from(error).into(),
        _ => ShapeError::new_err(text),
    }
}

/// A plan as JSON or TOML.
fn plan_of(text: &str) -> PyResult<Plan> {
    let json = text.trim_start().starts_with('{');
    if json { Plan::from_json(text) } else { Plan::from_toml(text) }.map_err(raised)
}

/// Rows and columns of the scales of A and of B.
type ScaleShapes = ((usize, usize), (usize, usize));

/// The plan of a call as JSON: platform, origin, evidence, source, assumed, plan.
#[pyfunction]
#[pyo3(signature = (
    platform, shape, formats, fast, *, scales = None, plan = None, plan_file = None, lt_config = None, parts = None, merge = "serial",
    table = None, workspace = None, assume = Vec::new()
))]
pub(crate) fn decide_call(
    platform: &str,
    shape: (usize, usize, usize),
    formats: (String, String, String),
    fast: bool,
    scales: Option<ScaleShapes>,
    plan: Option<&str>,
    plan_file: Option<PathBuf>,
    lt_config: Option<&str>,
    parts: Option<usize>,
    merge: &str,
    table: Option<PathBuf>,
    workspace: Option<u64>,
    assume: Vec<String>,
) -> PyResult<String> {
    let platform = Platform::parse(platform).map_err(raised)?;
    let row = |name: &String| format::row(name);
    let formats = (row(&formats.0)?, row(&formats.1)?, row(&formats.2)?);
    let order = match merge {
        "serial" => MergeOrder::Serial,
        "pairwise" => MergeOrder::Pairwise,
        other => {
            return Err(OptionError::new_err(format!("merge is '{other}'; it is 'serial' or 'pairwise'")));
        }
    };
    let mut taken = Assume::default();
    for name in &assume {
        taken.add(name).map_err(|error| OptionError::new_err(error.to_string()))?;
    }
    let plan = match (plan, plan_file) {
        (Some(text), _) => Some(plan_of(text)?),
        (None, Some(path)) => Some(Plan::read(&path).map_err(raised)?),
        (None, None) => None,
    };
    let sources = Sources {
        plan,
        config: lt_config.map(Config::from_json).transpose().map_err(raised)?,
        split: parts.map(|parts| (parts, order)),
        table,
        workspace,
        assume: taken,
    };
    let query = platform.query(shape, formats, fast);
    let recipe = scales.and_then(|(a, b)| Recipe::of(shape, a, b));
    let decision = decide_scaled(&platform, &query, recipe, &sources).map_err(raised)?;
    let mut value = serde_json::json!(decision);
    value["platform"] = platform.name().into();
    Ok(value.to_string())
}

/// Raises what torch or cuBLASLt would reject a call of `torch._scaled_mm` for.
#[pyfunction]
#[pyo3(signature = (
    platform, shape, inner, dtypes, *, dimensions = (2, 2), scales = None, scale_result_fits = true, bias = None,
    row_major_a = true, column_major_b = true, aligned = true
))]
pub(crate) fn check_scaled_mm(
    platform: &str,
    shape: (usize, usize, usize),
    inner: usize,
    dtypes: (String, String, String),
    dimensions: (usize, usize),
    scales: Option<ScaleShapes>,
    scale_result_fits: bool,
    bias: Option<(String, usize)>,
    row_major_a: bool,
    column_major_b: bool,
    aligned: bool,
) -> PyResult<()> {
    let platform = Platform::parse(platform).map_err(raised)?;
    let request = Request {
        dimensions,
        m: shape.0,
        n: shape.1,
        k: shape.2,
        inner,
        a: format_of(&dtypes.0),
        b: format_of(&dtypes.1),
        out: format_of(&dtypes.2),
        scaling: match scales {
            Some((a, b)) => Recipe::scaling(Recipe::of(shape, a, b), platform.capability, &platform.version),
            None => Scaling::Invalid,
        },
        scale_result_fits,
        bias: bias.map(|(dtype, length)| (format_of(&dtype), length)),
        buffer: None,
        layout_a: if row_major_a { Layout::Row } else { Layout::Column },
        layout_b: if column_major_b { Layout::Column } else { Layout::Row },
        aligned,
    };
    match request.rejection() {
        Some(rejection) => Err(raised(Error::Rejected(rejection))),
        None => Ok(()),
    }
}

type Blocks<'py> = (Bound<'py, PyAny>, Bound<'py, PyAny>);

/// Operands of a call, as Python gives them.
fn held(
    operands: (Bound<'_, PyAny>, Bound<'_, PyAny>),
    formats: (String, String, String),
    scales: (u32, u32, Option<u32>),
    blocks: Option<Blocks<'_>>,
) -> PyResult<Operands> {
    let blocks = blocks.map(|(of_a, of_b)| {
        PyResult::Ok((arrays::matrix("scale_a", F32, &of_a)?, arrays::matrix("scale_b", F32, &of_b)?))
    });
    Ok(Operands {
        a: arrays::matrix("A", format::row(&formats.0)?, &operands.0)?,
        b: arrays::matrix("B", format::row(&formats.1)?, &operands.1)?,
        blocks: blocks.transpose()?,
        out: format::row(&formats.2)?,
        scales: Scales { a: scales.0, b: scales.1, result: scales.2 },
    })
}

/// Rows of A and columns of B that share FP32 scales of these shapes, and elements along K; None where they are not of blocks.
#[pyfunction]
pub(crate) fn scale_blocks(
    shape: (usize, usize, usize),
    a: (usize, usize),
    b: (usize, usize),
) -> Option<(usize, usize, usize)> {
    scaled::blocks(shape, a, b).map(|blocks| (blocks.rows, blocks.columns, blocks.k))
}

/// D of a call under a plan, as codes; scales are FP32 codes.
#[pyfunction]
#[pyo3(signature = (plan, operands, formats, scales, *, blocks = None, threads = None))]
pub(crate) fn run_call<'py>(
    py: Python<'py>,
    plan: &str,
    operands: (Bound<'py, PyAny>, Bound<'py, PyAny>),
    formats: (String, String, String),
    scales: (u32, u32, Option<u32>),
    blocks: Option<(Bound<'py, PyAny>, Bound<'py, PyAny>)>,
    threads: Option<usize>,
) -> PyResult<Bound<'py, PyAny>> {
    let plan = plan_of(plan)?;
    let given = held(operands, formats, scales, blocks)?;
    let products = products(given.a.shape(), given.b.shape());
    let d = computed(py, products, true, || execute(&plan, &given.call(threads)))?.map_err(raised)?;
    arrays::result(py, d, false)
}

/// One element of a call through parts and merge, a line each, and its code.
#[pyfunction]
#[pyo3(signature = (plan, operands, formats, scales, row, column, *, blocks = None))]
pub(crate) fn follow_call<'py>(
    plan: &str,
    operands: (Bound<'py, PyAny>, Bound<'py, PyAny>),
    formats: (String, String, String),
    scales: (u32, u32, Option<u32>),
    row: usize,
    column: usize,
    blocks: Option<(Bound<'py, PyAny>, Bound<'py, PyAny>)>,
) -> PyResult<(Vec<String>, u64)> {
    let given = held(operands, formats, scales, blocks)?;
    let explanation = explain(&plan_of(plan)?, &given.call(None), row, column).map_err(raised)?;
    Ok((explanation.lines(), explanation.element.code))
}
