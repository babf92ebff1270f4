//! `bitmma.analysis`: what the arithmetic means. Results go to Python as dictionaries with the names of
//! the fields here; `python/bitmma/analysis` makes its classes of them.

pub(crate) mod accuracy;
pub(crate) mod bounds;
pub(crate) mod compare;
pub(crate) mod discrepancy;
pub(crate) mod report;
pub(crate) mod risk;

use bitmma::{Case, Matrix, Model};
use bitmma_analysis::account::{Account, Loss};
use bitmma_analysis::describe::input;
use bitmma_analysis::error_source::Source;
use bitmma_analysis::subject::Subject;
use bitmma_analysis::{Dyadic, Error};
use pyo3::prelude::*;

use crate::arrays;
use crate::error::{FormatError, OptionError, Raised, ReportError};
use crate::listener::Listener;
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
        let text = error.to_string();
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
    work: impl FnOnce(&&Listener) -> Result<T, Error> + Send,
) -> PyResult<T> {
    let listener = Listener::new(progress);
    let result = match threads {
        None => py.detach(|| work(&&listener)),
        Some(threads) => {
            let pool = bitmma::threads::pool(threads).map_err(Raised::from)?;
            py.detach(|| pool.install(|| work(&&listener)))
        }
    };
    listener.end(result.map_err(Failed::from))
}

/// An exact number: the significand's hexadecimal digits and the exponent of two.
type Exact = (String, i64);

fn exact(number: &Dyadic) -> Exact {
    number.to_hex()
}

/// A dot product as arrays of codes that any unit takes: A a row, B a column, C one element.
#[derive(IntoPyObject)]
pub(crate) struct Input<'py> {
    a: Bound<'py, PyAny>,
    b: Bound<'py, PyAny>,
    c: Bound<'py, PyAny>,
    scale_a: Option<Bound<'py, PyAny>>,
    scale_b: Option<Bound<'py, PyAny>>,
    text: String,
}

impl<'py> Input<'py> {
    fn new(py: Python<'py>, model: &Model, case: &Case) -> PyResult<Input<'py>> {
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
        Ok(Input {
            a: array(model.a, 1, k, &case.a)?,
            b: array(model.b, k, 1, &case.b)?,
            c: array(model.c, 1, 1, &[case.c])?,
            scale_a: scale(true, &case.scale_a)?,
            scale_b: scale(false, &case.scale_b)?,
            text: input(model, case),
        })
    }
}

/// Something that was cut, rounded or flushed.
#[derive(IntoPyObject)]
pub(crate) struct Lost {
    operation: usize,
    source: &'static str,
    term: String,
    exact: Exact,
    kept: Exact,
    last_bit: Option<i64>,
}

impl From<&Loss> for Lost {
    fn from(loss: &Loss) -> Lost {
        Lost {
            operation: loss.operation,
            source: loss.source.name(),
            term: loss.term.clone(),
            exact: exact(&loss.exact),
            kept: exact(&loss.kept),
            last_bit: loss.last_bit,
        }
    }
}

fn losses(account: &Account) -> Vec<Lost> {
    account.losses.iter().map(Lost::from).collect()
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
