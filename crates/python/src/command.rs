//! The command `bitmma`, which the wheel carries.

use std::ffi::OsString;

use pyo3::prelude::*;

/// Runs the command with these arguments, the name of the command first, and returns its exit code: 0 done, or
/// everything agrees; 1 something differs; 2 an error. It writes to the process's own streams.
#[pyfunction]
pub(crate) fn run_command(py: Python<'_>, arguments: Vec<OsString>) -> u8 {
    py.detach(|| bitmma_cli::run(arguments))
}
