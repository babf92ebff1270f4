//! `bitmma.analysis`: what the arithmetic means. Results are classes of Python's.

pub(crate) mod accuracy;
pub(crate) mod bounds;
pub(crate) mod compare;
pub(crate) mod discrepancy;
pub(crate) mod report;
pub(crate) mod risk;
pub(crate) mod which;

use std::convert::Infallible;

use bitmma_analysis::account::{self, Account};
use bitmma_analysis::describe;
use bitmma_analysis::error_source::Source;
use bitmma_analysis::subject::Subject;
use bitmma_analysis::{Dyadic, Error};
use bitmma_engine::{Case, Matrix, Model};
use pyo3::Borrowed;
use pyo3::prelude::*;
use pyo3::types::PyInt;
#[cfg(feature = "stubs")]
use pyo3::{inspect::PyStaticExpr, type_hint_identifier};

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
pub(crate) struct Exact(Py<PyAny>);

impl Exact {
    fn new(py: Python<'_>, number: &Dyadic) -> PyResult<Exact> {
        let (significand, exponent) = number.to_hex();
        let significand = py.get_type::<PyInt>().call1((significand, 16))?;
        let power = py.import("fractions")?.call_method1("Fraction", (2,))?.pow(exponent, py.None())?;
        Ok(Exact(power.mul(significand)?.unbind()))
    }

    fn some(py: Python<'_>, number: Option<&Dyadic>) -> PyResult<Option<Exact>> {
        number.map(|number| Exact::new(py, number)).transpose()
    }
}

impl<'py> IntoPyObject<'py> for &Exact {
    type Target = PyAny;
    type Output = Bound<'py, PyAny>;
    type Error = Infallible;

    #[cfg(feature = "stubs")]
    const OUTPUT_TYPE: PyStaticExpr = type_hint_identifier!("fractions", "Fraction");

    fn into_pyobject(self, py: Python<'py>) -> Result<Bound<'py, PyAny>, Infallible> {
        Ok(self.0.bind(py).clone())
    }
}

impl<'py> FromPyObject<'_, 'py> for Exact {
    type Error = Infallible;

    #[cfg(feature = "stubs")]
    const INPUT_TYPE: PyStaticExpr = type_hint_identifier!("fractions", "Fraction");

    fn extract(number: Borrowed<'_, 'py, PyAny>) -> Result<Exact, Infallible> {
        Ok(Exact(number.to_owned().unbind()))
    }
}

record! {
    /// One dot product as codes, ready for any unit: ``simulate(unit, input.a, input.b, input.c)``.
    Input(compared: false, hidden: [a, b, c, scale_a, scale_b]) {
        /// 1×K codes.
        a: Py<PyAny>,
        /// K×1 codes.
        b: Py<PyAny>,
        /// 1×1 code.
        c: Py<PyAny>,
        /// 1 × K/block codes; None where the unit takes none.
        scale_a: Option<Py<PyAny>>,
        /// K/block × 1 codes; None where the unit takes none.
        scale_b: Option<Py<PyAny>>,
        /// What is not zero in it: ``a0 = 1, b0 = 0.5, c = -0x1p-25``.
        text: String,
    }

    fn __str__(&self) -> &str {
        &self.text
    }
}

impl Input {
    /// A dot product as arrays of codes that any unit takes: A a row, B a column, C one element.
    fn of(py: Python<'_>, model: &Model, case: &Case) -> PyResult<Py<Input>> {
        let array = |format, rows, columns, codes: &[u64]| {
            let matrix = Matrix::single(format, rows, columns, codes.iter().copied());
            Ok::<_, PyErr>(arrays::result(py, matrix.map_err(Raised::from)?, false)?.unbind())
        };
        let k = case.a.len();
        let scale = |rows: bool, codes: &[u64]| {
            let count = codes.len();
            let shape = if rows { (1, count) } else { (count, 1) };
            model.scale.map(|scale| array(scale.format, shape.0, shape.1, codes)).transpose()
        };
        let input = Input {
            a: array(model.a, 1, k, &case.a)?,
            b: array(model.b, k, 1, &case.b)?,
            c: array(model.c, 1, 1, &[case.c])?,
            scale_a: scale(true, &case.scale_a)?,
            scale_b: scale(false, &case.scale_b)?,
            text: describe::input(model, case),
        };
        Py::new(py, input)
    }
}

record! {
    /// Something that was cut, rounded or flushed.
    Loss(compared: true, hidden: []) {
        /// The elementary operation along K in which it happened, from 0.
        operation: usize,
        /// What lost it: ``input FTZ``, ``add/mul``, ``output FTZ``, ``fused summation``, ``output rounding``,
        /// ``lowering``.
        source: String,
        /// The term: ``a3*b3``, ``c``; ``d`` for a whole result.
        term: String,
        /// Before.
        exact: Exact,
        /// After.
        kept: Exact,
        /// Weight of the last bit that is kept, as a power of two; None where it was flushed.
        last_bit: Option<i64>,
    }

    /// Kept minus exact.
    #[getter]
    fn error<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.kept.0.bind(py).sub(&self.exact.0)
    }
}

impl Loss {
    fn of(py: Python<'_>, loss: &account::Loss) -> PyResult<Py<Loss>> {
        let loss = Loss {
            operation: loss.operation,
            source: loss.source.name().to_owned(),
            term: loss.term.clone(),
            exact: Exact::new(py, &loss.exact)?,
            kept: Exact::new(py, &loss.kept)?,
            last_bit: loss.last_bit,
        };
        Py::new(py, loss)
    }

    fn all(py: Python<'_>, account: &Account) -> PyResult<Vec<Py<Loss>>> {
        account.losses.iter().map(|loss| Loss::of(py, loss)).collect()
    }
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
