//! `bitmma.explain`: every step of one element of D, as dictionaries.

use bitmma_analysis::dot::Dot;
use bitmma_engine::arithmetic::special::Special;
use bitmma_engine::arithmetic::trace::{Reading, Why};
use bitmma_engine::arithmetic::{Step, Term};
use bitmma_engine::explain::explain_element;
use bitmma_engine::formats::{Format, Real, text};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use crate::analysis::Failed;
use crate::document::Document;
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

/// The same as `bitmma explain` prints it.
#[pyfunction]
pub(crate) fn explain_picture(
    unit: &Unit,
    operands: Arrays<'_>,
    element: (usize, usize, usize),
) -> PyResult<Document> {
    let (block, row, column) = element;
    let case = &operands.read(unit)?.operands().case(block, row, column);
    let dot = Dot { name: unit.name(), model: unit.model(), case };
    Ok(dot.document().map_err(Failed::from)?.into())
}

/// An exact value: significand times 2^exponent, the sign in the significand.
fn exact<'py>(py: Python<'py>, value: Real) -> PyResult<Bound<'py, PyDict>> {
    let Real { significand, exponent, negative, inexact } = value;
    let sign = if negative { -1 } else { 1 };
    Ok(dict!(py, significand: significand, sign: sign, exponent: exponent, exact: !inexact))
}

fn number<'py>(py: Python<'py>, format: &Format, code: u64) -> PyResult<Bound<'py, PyDict>> {
    Ok(dict!(py, value: text::display(format, code), code: code, format: format.name))
}

fn terms<'py>(py: Python<'py>, terms: &[Term]) -> PyResult<Vec<Bound<'py, PyDict>>> {
    let one = |term: &Term| {
        let (whole, kept) = (exact(py, term.exact.real())?, exact(py, term.kept.real())?);
        Ok(dict!(py, name: term.name.to_string(), exponent: term.exponent, exact: whole, kept: kept))
    };
    terms.iter().map(one).collect()
}

fn dictionary<'py>(py: Python<'py>, step: &Step) -> PyResult<Bound<'py, PyDict>> {
    Ok(match step {
        Step::Read { why, term, operands, exact: whole, lost } => {
            let operand = |one: &Reading| {
                let given = number(py, &one.given_format, one.given)?;
                let used = number(py, &one.format, one.used)?;
                Ok(dict!(py, name: one.operand.to_string(), given: given, used: used))
            };
            let operands = operands.iter().map(operand).collect::<PyResult<Vec<_>>>()?;
            let whole = whole.map(|value| exact(py, value.real())).transpose()?;
            let lost = lost.map(|value| exact(py, value)).transpose()?;
            let kind = match why {
                Why::Flushed => "flushed",
                Why::Ignored => "ignored",
            };
            let term = term.map(|term| term.to_string());
            dict!(py, step: kind, term: term, operands: operands, exact: whole, lost: lost)
        }
        Step::Begin { operation, elements, accumulator, format } => {
            let accumulator = number(py, format, *accumulator)?;
            dict!(py, step: "begin", operation: operation, elements: elements, accumulator: accumulator)
        }
        Step::Special(special) => {
            let result = match special {
                Special::Nan => "nan",
                Special::Infinity { negative: false } => "inf",
                Special::Infinity { negative: true } => "-inf",
            };
            dict!(py, step: "special", result: result)
        }
        Step::Aligned { maximum, exponent, terms: list, fraction_bits, rounding, sum } => dict!(
            py,
            step: "aligned",
            maximum: maximum,
            exponent: exponent,
            fraction_bits: fraction_bits,
            rounding: rounding.symbol(),
            terms: terms(py, list)?,
            sum: exact(py, sum.real())?,
        ),
        Step::Exact { terms: list, sum } => {
            dict!(py, step: "exact", terms: terms(py, list)?, sum: exact(py, *sum)?)
        }
        Step::Binary { operation, left, left_format, right, right_format, result, format } => dict!(
            py,
            step: "binary",
            operation: operation,
            left: number(py, left_format, *left)?,
            right: number(py, right_format, *right)?,
            result: number(py, format, *result)?,
        ),
        Step::Converted { value, conversion, code, format } => {
            let (value, result) = (exact(py, *value)?, number(py, format, *code)?);
            dict!(py, step: "converted", value: value, conversion: conversion.to_string(), result: result)
        }
        Step::Changed { what, from, from_format, to, to_format } => {
            let (from, to) = (number(py, from_format, *from)?, number(py, to_format, *to)?);
            dict!(py, step: "changed", what: what, from: from, to: to)
        }
        _ => dict!(py, step: "unknown"),
    })
}
