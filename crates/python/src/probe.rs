//! `bitmma.probe`: a Python function as a unit that is asked how it computes.

use std::io;
use std::path::PathBuf;

use bitmma_engine::formats::BlockScale;
use bitmma_engine::{Case, Code, Codes, Matrix, MmaUnit, Model, Operands, Signature, on_codes};
use bitmma_probe::{Error, Evidence, Options, Verdict};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::error::{OptionError, Raised, RecordingError, ShapeError, TooLarge, UnitError};
use crate::listener::{Calls, Listener, long};
use crate::{arrays, format};

/// M, N, K and blocks at most.
const MAX_SIZE: usize = 1 << 16;
/// Codes of one operand at most.
const MAX_CODES: usize = 1 << 24;

/// A function of stacks of codes: `batch` instructions in one call.
struct Function<'c> {
    signature: Signature,
    call: Py<PyAny>,
    calls: &'c Calls<'c>,
}

impl Function<'_> {
    /// Stacks of A, B, C and, for a unit that takes them, of the scale factors.
    fn stacks(&self, py: Python<'_>, batch: &[Operands<'_>]) -> PyResult<Stacks> {
        let Signature { m, n, blocks, .. } = self.signature;
        let a = stack(py, &batch.iter().map(|one| one.a).collect::<Vec<_>>())?;
        let b = stack(py, &batch.iter().map(|one| one.b).collect::<Vec<_>>())?;
        let zeros = Matrix::zeros(self.signature.c, (blocks, m, n)).map_err(Raised::from)?;
        let c = stack(py, &batch.iter().map(|one| one.c.unwrap_or(&zeros)).collect::<Vec<_>>())?;
        let scales = match self.signature.scale {
            None => None,
            Some(_) => Some((
                stack(py, &batch.iter().filter_map(|one| one.scale_a).collect::<Vec<_>>())?,
                stack(py, &batch.iter().filter_map(|one| one.scale_b).collect::<Vec<_>>())?,
            )),
        };
        Ok((a, b, c, scales))
    }

    fn answers(&self, given: &Bound<'_, PyAny>, batch: usize) -> PyResult<Vec<Matrix>> {
        let Signature { m, n, blocks, d, .. } = self.signature;
        let (codes, _) = arrays::codes("D", given)?;
        let answers = Matrix::with_codes(d, (batch * blocks, m, n), codes).map_err(Raised::from)?;
        let size = blocks * m * n;
        let one = |index: usize| {
            let codes = part(answers.codes(), index * size, size);
            Ok(Matrix::with_codes(d, (blocks, m, n), codes).map_err(Raised::from)?)
        };
        (0..batch).map(one).collect()
    }
}

/// Operands of many instructions, as the function takes them.
type Stacks = (Py<PyAny>, Py<PyAny>, Py<PyAny>, Option<(Py<PyAny>, Py<PyAny>)>);

impl MmaUnit for Function<'_> {
    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn multiply(&self, operands: &Operands<'_>) -> Result<Matrix, bitmma_engine::Error> {
        let mut answers = self.multiply_many(std::slice::from_ref(operands))?;
        answers.pop().ok_or(bitmma_engine::Error::Stopped)
    }

    fn multiply_many(&self, batch: &[Operands<'_>]) -> Result<Vec<Matrix>, bitmma_engine::Error> {
        batch.iter().try_for_each(|operands| self.signature.check(operands))?;
        let raised = |error| self.calls.raise(error);
        let stacks = Python::attach(|py| self.stacks(py, batch)).map_err(raised)?;
        let given = self.calls.call(&self.call, stacks)?;
        Python::attach(|py| self.answers(given.bind(py), batch.len())).map_err(raised)
    }
}

/// `count` codes from `start` on.
fn part(codes: &Codes, start: usize, count: usize) -> Codes {
    let range = start..start + count;
    on_codes!(codes, codes => Code::held(codes[range].to_vec()))
}

/// The same operand of several instructions as one array: batch, blocks, rows, columns.
fn stack(py: Python<'_>, matrices: &[&Matrix]) -> PyResult<Py<PyAny>> {
    let Some(first) = matrices.first() else {
        return Ok(arrays::array(py, Codes::U8(Vec::new()), &[0, 0, 0, 0])?.unbind());
    };
    let (blocks, rows, columns) = first.shape();
    let all = matrices.iter().flat_map(|matrix| matrix.iter());
    let all = Matrix::new(first.format(), (matrices.len() * blocks, rows, columns), all);
    let codes = all.map_err(Raised::from)?.into_codes();
    Ok(arrays::array(py, codes, &[matrices.len(), blocks, rows, columns])?.unbind())
}

/// What is probed, as it was told.
fn signature(
    name: String,
    (blocks, m, n, k): (usize, usize, usize, usize),
    formats: [&str; 4],
    scale: Option<(String, usize)>,
) -> PyResult<Signature> {
    for (what, size) in [("blocks", blocks), ("M", m), ("N", n), ("K", k)] {
        if !(1..=MAX_SIZE).contains(&size) {
            return Err(ShapeError::new_err(format!("{what} is {size}; 1 to {MAX_SIZE} can be probed")));
        }
    }
    let codes = [m * k, k * n, m * n].into_iter().max().unwrap_or(0).saturating_mul(blocks);
    if codes > MAX_CODES {
        let text = format!("an operand of {codes} codes; {MAX_CODES} can be probed");
        return Err(TooLarge::new_err(text));
    }
    let scale = match scale {
        None => None,
        Some((format, size)) if size > 0 && k.is_multiple_of(size) => {
            Some(BlockScale { format: format::row(&format)?, size })
        }
        Some((_, size)) => {
            let text = format!("a scale factor for {size} elements; K is {k}, a multiple is needed");
            return Err(OptionError::new_err(text));
        }
    };
    let [a, b, c, d] = formats;
    let (a, b, c, d) = (format::row(a)?, format::row(b)?, format::row(c)?, format::row(d)?);
    Ok(Signature { name, m, n, k, blocks, a, b, c, d, scale })
}

/// Why there is no outcome, as an exception.
fn exception(error: Error) -> PyErr {
    match error {
        Error::Unit { source, .. } => Raised::from(source).into(),
        Error::Log { .. } => RecordingError::new_err(error.to_string()),
        Error::File { ref source, .. } => io::Error::new(source.kind(), error.to_string()).into(),
        Error::Empty { .. } => ShapeError::new_err(error.to_string()),
        other => UnitError::new_err(other.to_string()),
    }
}

/// A fault as a dictionary; operands and results are codes.
fn fault<'py>(py: Python<'py>, one: &Evidence) -> PyResult<Bound<'py, PyDict>> {
    let Case { a, b, c, scale_a, scale_b } = &one.case;
    let case = dict!(py, a: a, b: b, c: c, scale_a: scale_a, scale_b: scale_b);
    Ok(dict!(
        py,
        fault: one.fault.name(),
        meaning: one.fault.text(),
        place: (one.place.block, one.place.row, one.place.column),
        asked: &one.asked,
        case: case,
        answer: one.answer,
        expected: one.expected,
        explanation: one.explanation.as_ref(),
    ))
}

/// Finds out how a function computes; it takes stacks of codes (batch, blocks, rows, columns) A, B and C
/// and a pair of such scale factors or None, and gives all codes of D.
///
/// An exception that it or `progress` raises ends the probe.
#[pyfunction]
#[pyo3(signature = (
    call, name, shape, formats, scale = None, *, tests = 1_000_000, seed = 1, log = None, resume = false,
    progress = None
))]
pub(crate) fn probe<'py>(
    py: Python<'py>,
    call: Py<PyAny>,
    name: String,
    shape: (usize, usize, usize, usize),
    formats: (String, String, String, String),
    scale: Option<(String, usize)>,
    tests: u64,
    seed: u64,
    log: Option<PathBuf>,
    resume: bool,
    progress: Option<Py<PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    let (a, b, c, d) = &formats;
    let signature = signature(name, shape, [a, b, c, d], scale)?;
    if resume && log.is_none() {
        return Err(OptionError::new_err("resume needs log, the file with the answers so far"));
    }
    let options = Options { tests, seed, log, resume };
    let outcome = long(py, |calls| {
        let listener = Listener { calls, call: progress };
        bitmma_probe::probe(&Function { signature, call, calls }, &options, &&listener)
    })?;
    let outcome = outcome.map_err(exception)?;
    let faults = match &outcome.verdict {
        Verdict::Faulty(faults) => faults.as_slice(),
        _ => &[],
    };
    let (verdict, known_as, equivalent, nearest) = match &outcome.verdict {
        Verdict::Found(found) => ("found", found.known_as.clone(), found.equivalent.as_slice(), None),
        Verdict::NotExplained(rest) => ("not explained", Vec::new(), &[][..], rest.nearest.as_ref()),
        Verdict::Faulty(_) => ("faulty", Vec::new(), &[][..], None),
    };
    Ok(dict!(
        py,
        verdict: verdict,
        model: outcome.to_toml(),
        known_as: known_as,
        equivalent: equivalent.iter().map(Model::to_toml).collect::<Vec<_>>(),
        nearest: nearest.map(Model::to_toml),
        faults: faults.iter().map(|one| fault(py, one)).collect::<PyResult<Vec<_>>>()?,
        questions: outcome.questions,
        tests: outcome.tests,
        summary: outcome.summary(),
        text: outcome.to_text(),
        html: outcome.to_html(),
    ))
}
