//! `bitmma.explain`: every step of one element of D, as dictionaries.

use bitmma::arithmetic::special::Special;
use bitmma::arithmetic::{Step, Term};
use bitmma::explain::explain_element;
use bitmma::formats::{Format, Real, text};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use crate::error::Raised;
use crate::operands::Arrays;
use crate::unit::Unit;

/// The steps of one element of D, and its code; `element` is block, row, column.
#[pyfunction]
#[pyo3(signature = (unit, operands, element = (0, 0, 0)))]
pub(crate) fn explain<'py>(
    py: Python<'py>,
    unit: &Unit,
    operands: Arrays<'py>,
    element: (usize, usize, usize),
) -> PyResult<(Bound<'py, PyList>, u64)> {
    let given = operands.read(unit)?;
    let explained = explain_element(unit.model(), &given.operands(), element).map_err(Raised::from)?;
    let steps: Vec<Bound<'py, PyDict>> =
        explained.steps.iter().map(|step| dictionary(py, step)).collect::<PyResult<_>>()?;
    Ok((PyList::new(py, steps)?, explained.d))
}

/// An exact value: significand times 2^exponent, the sign in the significand.
fn exact<'py>(py: Python<'py>, value: Real) -> PyResult<Bound<'py, PyDict>> {
    let dictionary = PyDict::new(py);
    let sign = if value.negative { -1 } else { 1 };
    dictionary.set_item("significand", value.significand)?;
    dictionary.set_item("sign", sign)?;
    dictionary.set_item("exponent", value.exponent)?;
    dictionary.set_item("exact", !value.inexact)?;
    Ok(dictionary)
}

fn number<'py>(py: Python<'py>, format: &Format, code: u64) -> PyResult<Bound<'py, PyDict>> {
    let dictionary = PyDict::new(py);
    dictionary.set_item("value", text::display(format, code))?;
    dictionary.set_item("code", code)?;
    dictionary.set_item("format", format.name)?;
    Ok(dictionary)
}

fn terms<'py>(py: Python<'py>, terms: &[Term]) -> PyResult<Bound<'py, PyList>> {
    let list = PyList::empty(py);
    for term in terms {
        let dictionary = PyDict::new(py);
        dictionary.set_item("name", term.name.to_string())?;
        dictionary.set_item("exponent", term.exponent)?;
        dictionary.set_item("exact", exact(py, term.exact.real())?)?;
        dictionary.set_item("kept", exact(py, term.kept.real())?)?;
        list.append(dictionary)?;
    }
    Ok(list)
}

fn dictionary<'py>(py: Python<'py>, step: &Step) -> PyResult<Bound<'py, PyDict>> {
    let dictionary = PyDict::new(py);
    match step {
        Step::Begin { operation, elements, accumulator, format } => {
            dictionary.set_item("step", "begin")?;
            dictionary.set_item("operation", operation)?;
            dictionary.set_item("elements", elements)?;
            dictionary.set_item("accumulator", number(py, format, *accumulator)?)?;
        }
        Step::Special(special) => {
            dictionary.set_item("step", "special")?;
            let result = match special {
                Special::Nan => "nan",
                Special::Infinity { negative: false } => "inf",
                Special::Infinity { negative: true } => "-inf",
            };
            dictionary.set_item("result", result)?;
        }
        Step::Aligned { maximum, exponent, terms: list, fraction_bits, rounding, sum } => {
            dictionary.set_item("step", "aligned")?;
            dictionary.set_item("maximum", maximum)?;
            dictionary.set_item("exponent", exponent)?;
            dictionary.set_item("fraction_bits", fraction_bits)?;
            dictionary.set_item("rounding", rounding.symbol())?;
            dictionary.set_item("terms", terms(py, list)?)?;
            dictionary.set_item("sum", exact(py, sum.real())?)?;
        }
        Step::Exact { terms: list, sum } => {
            dictionary.set_item("step", "exact")?;
            dictionary.set_item("terms", terms(py, list)?)?;
            dictionary.set_item("sum", exact(py, *sum)?)?;
        }
        Step::Binary { operation, left, left_format, right, right_format, result, format } => {
            dictionary.set_item("step", "binary")?;
            dictionary.set_item("operation", operation)?;
            dictionary.set_item("left", number(py, left_format, *left)?)?;
            dictionary.set_item("right", number(py, right_format, *right)?)?;
            dictionary.set_item("result", number(py, format, *result)?)?;
        }
        Step::Converted { value, conversion, code, format } => {
            dictionary.set_item("step", "converted")?;
            dictionary.set_item("value", exact(py, *value)?)?;
            dictionary.set_item("conversion", conversion.to_string())?;
            dictionary.set_item("result", number(py, format, *code)?)?;
        }
        Step::Changed { what, from, from_format, to, to_format } => {
            dictionary.set_item("step", "changed")?;
            dictionary.set_item("what", what)?;
            dictionary.set_item("from", number(py, from_format, *from)?)?;
            dictionary.set_item("to", number(py, to_format, *to)?)?;
        }
        _ => dictionary.set_item("step", "unknown")?,
    }
    Ok(dictionary)
}
