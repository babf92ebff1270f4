//! `bitmma.recording`: what real units returned.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use bitmma_engine::{Case, Error};
use bitmma_verify::recording::{Answer, Record as Row, open, read};
use bitmma_verify::replay::{Joined, Rules, join, replay as hold};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::error::Raised;
use crate::instruction::revision;
use crate::listener::long;

/// Reads a recording: one dictionary a line, with the keys of its header; codes are whole numbers, `d` is
/// None where any NaN agrees.
#[pyfunction]
pub(crate) fn read_recording(py: Python<'_>, path: PathBuf) -> PyResult<Vec<Bound<'_, PyDict>>> {
    rows(py, &path)?
        .into_iter()
        .map(|row| {
            let Row { origin, case: Case { a, b, c, scale_a, scale_b }, d, line } = row;
            let d = match d {
                Answer::Code(code) => Some(code),
                Answer::Nan => None,
            };
            Ok(dict!(
                py,
                arch: origin.architecture(),
                instruction: origin.instruction(),
                a: a,
                b: b,
                c: c,
                scale_a: scale_a,
                scale_b: scale_b,
                d: d,
                line: line,
            ))
        })
        .collect()
}

fn rows(py: Python<'_>, path: &Path) -> PyResult<Vec<Row>> {
    let rows = open(path).map_err(Error::from).and_then(read);
    rows.map_err(|error| Raised::from(error).within(py, path.display()))
}

/// Holds recordings against the instructions' models: architecture, instruction, how many dot products,
/// how many differ, and of the first that does the line and the recording.
#[pyfunction]
#[pyo3(signature = (paths, revision_name = "hardware", strict_nan = false))]
#[allow(clippy::type_complexity)] // a row of a table
pub(crate) fn replay(
    py: Python<'_>,
    paths: Vec<PathBuf>,
    revision_name: &str,
    strict_nan: bool,
) -> PyResult<Vec<(String, String, usize, usize, Option<u64>, Option<OsString>)>> {
    let rules = Rules { revision: revision(revision_name)?, strict_nan, model: None };
    let mut all = Vec::new();
    for (index, path) in paths.iter().enumerate() {
        let records = rows(py, path)?;
        let outcomes = long(py, |_| hold(&records, &rules))?;
        join(&mut all, index, outcomes.map_err(|error| Raised::from(error).within(py, path.display()))?);
    }
    let row = |Joined { outcome, recording }: Joined| {
        let (architecture, instruction) = (outcome.origin.architecture(), outcome.origin.instruction());
        let line = outcome.first.map(|first| first.record.line);
        let file = line.map(|_| paths[recording].clone().into_os_string());
        (architecture.to_owned(), instruction.to_owned(), outcome.total, outcome.mismatches, line, file)
    };
    Ok(all.into_iter().map(row).collect())
}
