//! Arrays, and what can be wrong with a file of them.

use std::fmt::Display;

/// Ends the function with an error whose message is formatted.
macro_rules! bail {
    ($($message:tt)+) => { return Err($crate::arrays::Error(format!($($message)+))) };
}

mod elements;
pub mod header;
pub mod npy;
pub mod npz;
pub mod safetensors;
mod tensor;

pub use tensor::{Tensor, dimensions};

/// What is wrong with a file: one sentence with its name and the numbers.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Error(String);

impl From<std::io::Error> for Error {
    fn from(error: std::io::Error) -> Error {
        Error(error.to_string())
    }
}

/// Says where an error happened.
trait Within<T> {
    /// The value, or the error with `context` in front.
    fn within(self, context: impl Display) -> Result<T, Error>;
}

impl<T, E: Display> Within<T> for Result<T, E> {
    fn within(self, context: impl Display) -> Result<T, Error> {
        self.map_err(|error| Error(format!("{context}: {error}")))
    }
}
