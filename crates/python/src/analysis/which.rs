//! `bitmma.which`, `bitmma.diff` and elements of whole products: results as JSON, which the Python half reads.

use std::path::PathBuf;

use bitmma_analysis::Error;
use bitmma_analysis::element::json::Page as ElementPage;
use bitmma_analysis::element::{Other, follow};
use bitmma_analysis::scheme::Scheme;
use bitmma_analysis::verdict::json::Page as DiffPage;
use bitmma_analysis::verdict::{LONGEST, Side, diff, diff_products, different};
use bitmma_analysis::which::{Observed, which};
use bitmma_calls::Plan;
use bitmma_calls::execute::schedule;
use bitmma_calls::proposals::proposals;
use bitmma_engine::catalogue::library::scale_of_codes;
use bitmma_engine::formats::F32;
use bitmma_engine::gemm::{Schedule, Shapes, Target};
use bitmma_engine::{GemmOptions, Matrix};
use bitmma_probe::differ::RULES;
use pyo3::prelude::*;
use serde_json::to_string;

use super::long;
use crate::arrays;
use crate::calls::raised;
use crate::document::Document;
use crate::error::{OptionError, Raised};
use crate::format;
use crate::instruction::revision;
use crate::operands::Arrays;
use crate::unit::Unit;

fn text(page: serde_json::Result<String>) -> PyResult<String> {
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

/// Two units compared, as JSON.
#[pyfunction]
#[pyo3(signature = (left, right, names, *, threads = None))]
pub(crate) fn diff_units(
    py: Python<'_>,
    left: &Unit,
    right: &Unit,
    names: (String, String),
    threads: Option<usize>,
) -> PyResult<String> {
    let side = |unit: &Unit, name: &str| Side {
        name: name.to_owned(),
        model: unit.model().clone(),
        k: unit.row.map(|row| row.products()),
    };
    let (left, right) = (side(left, &names.0), side(right, &names.1));
    let found = long(py, threads, None, |_| diff(&left, &right, &RULES))?;
    text(to_string(&DiffPage::of_models(&left.name, &right.name, &found)))
}

/// The plans in two files compared, as JSON.
#[pyfunction]
#[pyo3(signature = (left, right, *, threads = None))]
pub(crate) fn diff_plans(
    py: Python<'_>,
    left: PathBuf,
    right: PathBuf,
    threads: Option<usize>,
) -> PyResult<String> {
    let plans = [Plan::read(&left).map_err(raised)?, Plan::read(&right).map_err(raised)?];
    let mut formats = (F32, F32);
    for plan in plans.iter().rev() {
        if let Some(target) = plan.target().map_err(raised)? {
            formats = (target.model().a, target.model().b);
        }
    }
    let scheme = |plan: &Plan, k: usize| -> Result<Scheme, bitmma_calls::Error> {
        let (target, schedule) = schedule(plan, k, F32)?;
        let (a, b) = target.as_ref().map(Target::model).map_or(formats, |model| (model.a, model.b));
        Ok(Scheme { target, schedule, a, b })
    };
    for plan in &plans {
        scheme(plan, LONGEST).map_err(raised)?;
    }
    let at = |k: usize| -> Result<[Scheme; 2], Error> {
        let one = |plan: &Plan| {
            let refused = |error: bitmma_calls::Error| Error::Option {
                option: "K",
                value: k.to_string(),
                allowed: error.to_string(),
            };
            scheme(plan, k).map_err(refused)
        };
        Ok([one(&plans[0])?, one(&plans[1])?])
    };
    let found = long(py, threads, None, |_| diff_products(&at, plans[0].is_alike(&plans[1]), &RULES))?;
    let differences = different(&plans[0].fields(), &plans[1].fields());
    let name = |path: &PathBuf| path.display().to_string();
    text(to_string(&DiffPage::of_plans(&name(&left), &name(&right), &found, differences)))
}

/// One element of a whole product, step by step, as JSON; `d` is a D to compare with.
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
) -> PyResult<String> {
    let read = operands.read(unit)?;
    let given = read.operands();
    let described = |matrix: &Matrix| (matrix.format(), matrix.shape());
    let shapes = Shapes {
        a: described(given.a),
        b: described(given.b),
        c: given.c.map(described),
        scale_a: given.scale_a.map(described),
        scale_b: given.scale_b.map(described),
    };
    let options = GemmOptions { split_k, promote_every, c_last, ..GemmOptions::default() };
    let schedule = Schedule::new(&unit.target, &shapes, &options).map_err(Raised::from)?;
    let d = d.map(|d| arrays::matrix("D", unit.model().d, &d)).transpose()?;
    let (block, row, column) = element;
    let observed = d.as_ref().map(|d| {
        let (blocks, rows, columns) = d.shape();
        let is_within = block < blocks && row < rows && column < columns;
        if is_within { d.get(block, row, column) } else { 0 }
    });
    let page = long(py, None, None, |_| {
        let found = follow(&unit.target, &schedule, &given, element, observed)?;
        let departs = found.departure.as_ref().is_some_and(|departure| !departure.agrees);
        let other = match &d {
            Some(d) if departs => Other::of(&given, d, element, &shapes, &RULES)?,
            _ => None,
        };
        Ok(ElementPage::new(&found, unit.model(), other.as_ref()))
    })?;
    text(to_string(&page))
}
