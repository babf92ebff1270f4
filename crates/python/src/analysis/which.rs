//! `bitmma.which`, `bitmma.diff` and elements of whole products: results as JSON, which the Python half reads.

use std::path::PathBuf;

use bitmma_analysis::element::explain;
use bitmma_analysis::verdict::{LONGEST, Product, Side, diff, diff_products};
use bitmma_analysis::which::{Observed, Order, which};
use bitmma_calls::Plan;
use bitmma_calls::execute::schedule;
use bitmma_calls::proposals::proposals;
use bitmma_engine::catalogue::library::scale_of_codes;
use bitmma_engine::formats::F32;
use bitmma_engine::{GemmOptions, Matrix};
use bitmma_probe::differ::RULES;
use pyo3::prelude::*;
use serde_json::to_string;

use super::long;
use crate::arrays;
use crate::calls::raised;
use crate::document::Document;
use crate::error::OptionError;
use crate::format;
use crate::instruction::revision;
use crate::operands::Arrays;
use crate::unit::Unit;

/// JSON, of which Python makes its dataclass.
pub(super) fn text(page: serde_json::Result<String>) -> PyResult<String> {
    page.map_err(|error| OptionError::new_err(error.to_string()))
}

/// Which instructions compute D, as JSON and as a document. `formats` are those of A, B, C and D, and that of scale factors, where it is known.
#[pyfunction]
#[pyo3(signature = (operands, d, formats, *, revision_name = "hardware", threads = None))]
pub(crate) fn who_computed<'py>(
    py: Python<'py>,
    operands: Arrays<'py>,
    d: Bound<'py, PyAny>,
    formats: (String, String, Option<String>, String, Option<String>),
    revision_name: &str,
    threads: Option<usize>,
) -> PyResult<(String, Document)> {
    let revision = revision(revision_name)?;
    let (of_a, of_b, of_c, of_d, of_scale) = formats;
    let Arrays(a, b, c, scale_a, scale_b) = operands;
    let a = arrays::matrix("A", format::row(&of_a)?, &a)?;
    let b = arrays::matrix("B", format::row(&of_b)?, &b)?;
    let d = arrays::matrix("D", format::row(&of_d)?, &d)?;
    let c = c.zip(of_c).map(|(c, name)| arrays::matrix("C", format::row(&name)?, &c)).transpose()?;
    let scale = |name: &str, array: &Bound<'_, PyAny>, along: usize| -> PyResult<Matrix> {
        let format = match &of_scale {
            Some(name) => format::row(name)?,
            None => {
                let size: usize = array.getattr("shape")?.get_item(along)?.extract()?;
                scale_of_codes(a.columns(), size)
            }
        };
        arrays::matrix(name, format, array)
    };
    let scale_a =
        scale_a.map(|array| scale("scale A", &array, array.getattr("ndim")?.extract::<usize>()? - 1));
    let scale_b =
        scale_b.map(|array| scale("scale B", &array, array.getattr("ndim")?.extract::<usize>()? - 2));
    let (scale_a, scale_b) = (scale_a.transpose()?, scale_b.transpose()?);
    let found = long(py, threads, None, |_| {
        let observed = Observed {
            a: &a,
            b: &b,
            c: c.as_ref(),
            scale_a: scale_a.as_ref(),
            scale_b: scale_b.as_ref(),
            d: &d,
        };
        which(&observed, proposals(&observed.shapes(), d.format()), revision, &RULES)
    })?;
    Ok((text(to_string(&found))?, found.document().into()))
}

/// An order along K in words.
#[pyfunction]
pub(crate) fn order_in_words(
    k_step: Option<usize>,
    split_k: Option<usize>,
    promote_every: Option<usize>,
    c_last: Option<bool>,
    output: Option<String>,
    saturate: Option<bool>,
    call: Option<String>,
) -> PyResult<String> {
    let output = output.map(|name| format::row(&name)).transpose()?.map(|format| format.name);
    Ok(Order { k_step, split_k, promote_every, c_last, output, saturate, call }.to_string())
}

/// Two units compared, as JSON and as a document.
#[pyfunction]
#[pyo3(signature = (left, right, names, *, threads = None))]
pub(crate) fn diff_units(
    py: Python<'_>,
    left: &Unit,
    right: &Unit,
    names: (String, String),
    threads: Option<usize>,
) -> PyResult<(String, Document)> {
    let side = |unit: &Unit, name: &str| Side {
        name: name.to_owned(),
        model: unit.model().clone(),
        k: unit.row.map(|row| row.products()),
    };
    let (left, right) = (side(left, &names.0), side(right, &names.1));
    let found = long(py, threads, None, |_| diff(&left, &right, &RULES))?;
    Ok((text(to_string(&found))?, found.document().into()))
}

/// The plans in two files compared, as JSON and as a document.
#[pyfunction]
#[pyo3(signature = (left, right, *, threads = None))]
pub(crate) fn diff_plans(
    py: Python<'_>,
    left: PathBuf,
    right: PathBuf,
    threads: Option<usize>,
) -> PyResult<(String, Document)> {
    let names = [&left, &right].map(|path| path.display().to_string());
    let plans = [Plan::read(&left).map_err(raised)?, Plan::read(&right).map_err(raised)?];
    for plan in &plans {
        schedule(plan, LONGEST, F32).map_err(raised)?; // an error of a plan is said as such
    }
    let found = long(py, threads, None, |_| {
        let at = [0, 1].map(|place| {
            let plan = &plans[place];
            move |k| schedule(plan, k, F32).map_err(|error| error.to_string())
        });
        let side =
            |place: usize| Product { name: &names[place], fields: plans[place].fields(), at: &at[place] };
        diff_products([&side(0), &side(1)], plans[0].is_alike(&plans[1]), &RULES)
    })?;
    Ok((text(to_string(&found))?, found.document().into()))
}

/// One element of a whole product, step by step, as JSON and as a document; `d` is a D to compare with.
#[pyfunction]
#[pyo3(signature = (unit, operands, element, *, d = None, split_k = None, promote_every = None, c_last = false))]
pub(crate) fn follow_element<'py>(
    py: Python<'py>,
    unit: &Unit,
    operands: Arrays<'py>,
    element: (usize, usize, usize),
    d: Option<Bound<'py, PyAny>>,
    split_k: Option<usize>,
    promote_every: Option<usize>,
    c_last: bool,
) -> PyResult<(String, Document)> {
    let read = operands.read(unit)?;
    let options = GemmOptions { split_k, promote_every, c_last, ..GemmOptions::default() };
    let d = d.map(|d| arrays::matrix("D", unit.model().d, &d)).transpose()?;
    let (found, document) = long(py, None, None, |_| {
        let found = explain(&unit.target, &read.operands(), &options, element, d.as_ref(), &RULES)?;
        let document = found.document(unit.name(), "d")?;
        Ok((found, document))
    })?;
    Ok((text(to_string(&found))?, document.into()))
}
