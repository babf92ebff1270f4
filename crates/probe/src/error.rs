//! What can stop a probe.

use std::path::PathBuf;

use thiserror::Error;

/// Why a probe ended without an outcome; what was answered until then is in the log, if there is one.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Error {
    /// The unit did not answer.
    #[error("the unit failed after {answered} answers, asked about {purpose}: {source}")]
    Unit {
        /// Dot products it had answered before.
        answered: u64,
        /// What the question was for.
        purpose: &'static str,
        /// What it said.
        source: bitmma_engine::Error,
    },
    /// The unit answered something else than it was asked for.
    #[error("the unit gave {given} for {expected}, asked about {purpose}")]
    Answer {
        /// What the question was for.
        purpose: &'static str,
        /// What came.
        given: String,
        /// What should have come.
        expected: String,
    },
    /// The log does not read, or belongs to another probe.
    #[error("{}: line {line}: {problem}", path.display())]
    Log {
        /// The log.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// What is wrong.
        problem: String,
    },
    /// The log cannot be read or written.
    #[error("{}: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A unit on integers, whose sums are exact.
    #[error(
        "{unit} sums integers, which is exact: there is no model to find; `bitmma verify` tells whether it wraps or saturates"
    )]
    Integers {
        /// The unit.
        unit: String,
    },
    /// A unit that has nothing to ask about.
    #[error("{unit} has M = {m}, N = {n}, K = {k} and {blocks} blocks; each must be 1 or more")]
    Empty {
        /// The unit.
        unit: String,
        /// Rows.
        m: usize,
        /// Columns.
        n: usize,
        /// Elements along K.
        k: usize,
        /// Blocks.
        blocks: usize,
    },
    /// Who listens to the probe stopped it.
    #[error("stopped")]
    Stopped,
}
