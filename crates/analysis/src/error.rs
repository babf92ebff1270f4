//! What can be wrong with a call.

use std::io;
use std::ops::RangeInclusive;
use std::path::PathBuf;

use bitmma_engine::Model;
use thiserror::Error;

/// A call that cannot be answered; the message holds the numbers.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Error {
    /// The engine refuses the operands, the model or the instruction.
    #[error(transparent)]
    Engine(#[from] bitmma_engine::Error),
    /// An option is out of its range.
    #[error("{option} is {value}; {allowed}")]
    Option {
        /// The option.
        option: &'static str,
        /// What it is.
        value: String,
        /// What it may be.
        allowed: String,
    },
    /// An analysis of rounding errors, asked of integers.
    #[error(
        "{what} are of rounding errors, and sums of integers are exact: {format} {} beyond its range, which `bitmma diff` and \
         `bitmma explain` show",
        if *.saturates { "saturates" } else { "wraps" }
    )]
    Integers {
        /// What was asked for.
        what: &'static str,
        /// The format of D.
        format: &'static str,
        /// Whether a sum beyond its range becomes the nearest number in it.
        saturates: bool,
    },
    /// Two things cannot be compared.
    #[error("{left} and {right} cannot be compared: {why}")]
    Incomparable {
        /// The one.
        left: String,
        /// The other.
        right: String,
        /// What they do not share.
        why: String,
    },
    /// A folder that cannot become the report's.
    #[error("{}: {problem}", folder.display())]
    Folder {
        /// The folder.
        folder: PathBuf,
        /// What is wrong.
        problem: String,
    },
    /// A file of the report that cannot be read or written.
    #[error("{}: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What the operating system says.
        source: io::Error,
    },
}

impl From<bitmma_engine::arithmetic::ModelError> for Error {
    fn from(error: bitmma_engine::arithmetic::ModelError) -> Error {
        Error::Engine(error.into())
    }
}

impl From<bitmma_engine::catalogue::LookupError> for Error {
    fn from(error: bitmma_engine::catalogue::LookupError) -> Error {
        Error::Engine(error.into())
    }
}

/// Elements along K, at most: what is drawn or tried is held whole.
pub const MOST_K: u64 = 1 << 20;

/// Whether there are as many along K as are allowed.
pub(crate) fn check_k(k: usize) -> Result<(), Error> {
    check("k", k as u64, 1..=MOST_K)
}

/// Refuses a number that is not in its range.
pub(crate) fn check(name: &'static str, value: u64, range: RangeInclusive<u64>) -> Result<(), Error> {
    match (range.contains(&value), range.end()) {
        (true, _) => Ok(()),
        (_, &u64::MAX) => Err(option(name, value, &format!("at least {} is needed", range.start()))),
        (_, end) => Err(option(name, value, &format!("it may be {} to {end}", range.start()))),
    }
}

/// Refuses a model on integers: `what` is about rounding.
pub(crate) fn check_rounds(model: &Model, what: &'static str) -> Result<(), Error> {
    match model.is_integer() {
        true => {
            let (format, saturates) = (model.d.name, model.conversion.saturate);
            Err(Error::Integers { what, format, saturates })
        }
        false => Ok(()),
    }
}

pub(crate) fn option(option: &'static str, value: impl std::fmt::Display, allowed: &str) -> Error {
    Error::Option { option, value: value.to_string(), allowed: allowed.to_owned() }
}
