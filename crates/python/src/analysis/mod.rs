//! `bitmma.analysis`: what the arithmetic means. Results are JSON, or dictionaries where numbers are exact or arrays; Python makes its dataclasses of them.

pub(crate) mod accuracy;
pub(crate) mod bounds;
pub(crate) mod compare;
pub(crate) mod discrepancy;
pub(crate) mod report;
pub(crate) mod risk;
pub(crate) mod which;

use bitmma_analysis::account::Loss;
use bitmma_analysis::describe;
use bitmma_analysis::error_source::Source;
use bitmma_analysis::subject::Subject;
use bitmma_analysis::{Dyadic, Error};
use bitmma_engine::{Case, Matrix, Model};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyInt};

use crate::arrays;
use crate::error::{FormatError, OptionError, Raised, ReportError, in_python};
use crate::listener::{self, Listener};
use crate::unit::Unit;

/// An error of the analysis, on its way to Python.
pub(crate) struct Failed(Error);

impl<E: Into<Error>> From<E> for Failed {
    fn from(error: E) -> Failed {
        Failed(error.into())
    }
}

impl From<Failed> for PyErr {
    fn from(Failed(error): Failed) -> PyErr {
        let text = in_python(&error.to_string());
        match error {
            Error::Engine(error) => Raised::from(error).into(),
            Error::Option { .. } => OptionError::new_err(text),
            Error::Incomparable { .. } => FormatError::new_err(text),
            Error::File { source, .. } => std::io::Error::new(source.kind(), text).into(),
            _ => ReportError::new_err(text),
        }
    }
}

/// Long work without the interpreter's lock, on that many threads, by default on all.
fn long<T: Send>(
    py: Python<'_>,
    threads: Option<usize>,
    progress: Option<Py<PyAny>>,
    work: impl FnOnce(&&Listener<'_>) -> Result<T, Error> + Send,
) -> PyResult<T> {
    let pool = threads.map(bitmma_engine::threads::pool).transpose().map_err(Raised::from)?;
    let result = listener::long(py, |calls| {
        let listener = Listener { calls, call: progress };
        match &pool {
            None => work(&&listener),
            Some(pool) => pool.install(|| work(&&listener)),
        }
    })?;
    Ok(result.map_err(Failed::from)?)
}

/// An exact number: a `Fraction`.
fn fraction<'py>(py: Python<'py>, number: &Dyadic) -> PyResult<Bound<'py, PyAny>> {
    let (significand, exponent) = number.to_hex();
    let significand = py.get_type::<PyInt>().call1((significand, 16))?;
    py.import("fractions")?.call_method1("Fraction", (2,))?.pow(exponent, py.None())?.mul(significand)
}

/// A result's fields, of which Python makes its dataclass.
type Fields<'py> = Bound<'py, PyDict>;

/// A dot product as arrays of codes that any unit takes: A a row, B a column, C one element.
fn input<'py>(py: Python<'py>, model: &Model, case: &Case) -> PyResult<Fields<'py>> {
    let array = |format, rows, columns, codes: &[u64]| {
        let matrix = Matrix::single(format, rows, columns, codes.iter().copied());
        arrays::result(py, matrix.map_err(Raised::from)?, false)
    };
    let k = case.a.len();
    let scale = |rows: bool, codes: &[u64]| {
        let count = codes.len();
        let shape = if rows { (1, count) } else { (count, 1) };
        model.scale.map(|scale| array(scale.format, shape.0, shape.1, codes)).transpose()
    };
    Ok(dict!(py,
        a: array(model.a, 1, k, &case.a)?,
        b: array(model.b, k, 1, &case.b)?,
        c: array(model.c, 1, 1, &[case.c])?,
        scale_a: scale(true, &case.scale_a)?,
        scale_b: scale(false, &case.scale_b)?,
        text: describe::input(model, case),
    ))
}

/// A loss with its exact numbers.
fn loss<'py>(py: Python<'py>, loss: &Loss) -> PyResult<Fields<'py>> {
    let Loss { operation, source, term, exact, kept, last_bit, .. } = loss;
    let (exact, kept) = (fraction(py, exact)?, fraction(py, kept)?);
    Ok(
        dict!(py, operation: operation, source: source.name(), term: term, exact: exact, kept: kept, last_bit: last_bit),
    )
}

fn losses<'py>(py: Python<'py>, all: &[Loss]) -> PyResult<Vec<Fields<'py>>> {
    all.iter().map(|one| loss(py, one)).collect()
}

/// A unit as the analysis takes it: a model at a K, with its row of the catalogue where it has one.
fn subject(unit: &Unit, k: Option<usize>) -> Subject {
    let mut subject = Subject::of_model(unit.name(), unit.model().clone(), k.unwrap_or(unit.target.step()));
    subject.rows.extend(unit.row);
    subject
}

fn source(name: &str) -> Option<Source> {
    Source::ALL.into_iter().find(|source| source.name() == name)
}
