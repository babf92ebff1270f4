//! What can be wrong with a file.

use thiserror::Error;

use crate::failure::Failure;

/// What can be wrong with a file.
#[derive(Debug, Error)]
pub(crate) enum Error {
    /// It cannot be opened, read or written.
    #[error("{file}: {error}")]
    Io {
        /// The file.
        file: String,
        /// What the system says.
        error: std::io::Error,
    },
    /// Its name does not say what it is, or names what is not there.
    #[error("{file}: {problem}")]
    Name {
        /// The file as it was given.
        file: String,
        /// What would be right.
        problem: String,
    },
    /// It is not what it says it is.
    #[error("{file}: {problem}")]
    Malformed {
        /// The file.
        file: String,
        /// What is wrong, with the numbers.
        problem: String,
    },
    /// Its elements are something else.
    #[error("{source_name} holds {given}; {format} is read from {accepted}")]
    Type {
        /// The file, and the tensor in it.
        source_name: String,
        /// Type and shape of its elements.
        given: String,
        /// The format that was expected.
        format: &'static str,
        /// What that is read from.
        accepted: String,
    },
    /// It is not a matrix.
    #[error("{source_name} has shape {shape}; {expected}")]
    Dimensions {
        /// The file, and the tensor in it.
        source_name: String,
        /// Its shape.
        shape: String,
        /// The shapes that are taken.
        expected: &'static str,
    },
    /// An element is not a code of the format.
    #[error(
        "{source_name}[{index}] is {code:#x}; {format} codes have {bits} bits, so {largest:#x} is the largest"
    )]
    Code {
        /// The file, and the tensor in it.
        source_name: String,
        /// Its indices in the file's shape, `2, 7`.
        index: String,
        /// The element.
        code: u64,
        /// The format's name.
        format: &'static str,
        /// The format's width.
        bits: u32,
        /// Its largest code.
        largest: u64,
    },
    /// The matrix cannot be held.
    #[error("{source_name}: {error}")]
    Matrix {
        /// The file, and the tensor in it.
        source_name: String,
        /// Why not.
        error: bitmma::Error,
    },
}

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        Failure::new(error.to_string())
    }
}
