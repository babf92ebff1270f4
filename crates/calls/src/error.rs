//! What can be wrong with a plan or a call.

use std::fmt::Arguments;
use std::path::Path;

use bitmma_files::reading;
use thiserror::Error;

use crate::torch::Rejection;

/// A call that has no result; the message holds the reason and the numbers.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Error {
    /// A plan contradicts itself, or holds keys or values that plans do not have.
    #[error("plan: {0}")]
    Plan(String),
    /// Nobody has measured this, so there is no result.
    #[error("declined: {reason}. {settle}")]
    Declined {
        /// Why there is no plan.
        reason: String,
        /// What to run or print on a GPU to find out.
        settle: String,
    },
    /// The library itself would reject the call.
    #[error("the library rejects this call: {0}")]
    Rejected(Rejection),
    /// Operands do not fit the plan or each other.
    #[error("{0}")]
    Operands(String),
    /// A file cannot be read, or is not what its name says.
    #[error("{file}: {problem}")]
    File {
        /// The file.
        file: String,
        /// What is wrong with it.
        problem: String,
    },
    /// An archive of arrays cannot be read.
    #[error(transparent)]
    Arrays(#[from] bitmma_files::Error),
    /// The instruction cannot be run.
    #[error(transparent)]
    Engine(#[from] bitmma_engine::Error),
}

impl Error {
    /// A declined call, settled by printing the library's configuration.
    pub(crate) fn declined(reason: impl Into<String>) -> Error {
        let settle =
            "Print the configuration on the GPU with scripts/collect-calls and pass it with --lt-config";
        Error::Declined { reason: reason.into(), settle: settle.to_owned() }
    }

    /// A declined call that only a recording settles.
    pub(crate) fn unrecorded(reason: impl Into<String>) -> Error {
        let settle = "Record calls on the GPU with scripts/collect-calls --run; `bitmma verify-calls` holds a plan against them";
        Error::Declined { reason: reason.into(), settle: settle.to_owned() }
    }

    /// What is wrong with a file.
    pub(crate) fn file(file: &Path, problem: impl std::fmt::Display) -> Error {
        Error::File { file: file.display().to_string(), problem: problem.to_string() }
    }
}

/// The text of a file that should hold `expected`.
pub(crate) fn text_of(file: &Path, expected: &str) -> Result<String, Error> {
    reading::text(file, expected).map_err(|error| Error::file(file, error))
}

/// A declined call unless somebody has measured it.
pub(crate) fn measured(is_so: bool, otherwise: Arguments<'_>) -> Result<(), Error> {
    unless(is_so, Error::declined, otherwise)
}

/// An error of a text, which is made for it, unless something is so.
pub(crate) fn unless(
    is_so: bool,
    error: impl FnOnce(String) -> Error,
    otherwise: Arguments<'_>,
) -> Result<(), Error> {
    if is_so { Ok(()) } else { Err(error(otherwise.to_string())) }
}
