//! How a command ends.

use std::error::Error;
use std::fmt;
use std::io;

/// A command that did its work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// Exit code 0: done, or everything agrees.
    Agrees,
    /// Exit code 1: something differs.
    Differs,
}

impl Outcome {
    /// The exit code.
    pub(crate) const fn code(self) -> u8 {
        match self {
            Outcome::Agrees => 0,
            Outcome::Differs => 1,
        }
    }
}

/// A command that did not do its work: exit code 2, and one message with its context in front.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The reader closed the pipe; exit quietly.
    ClosedPipe,
    /// What was wrong, with the numbers in it.
    Message(String),
    /// The same, and the command has already printed its result.
    Reported(String),
}

impl Failure {
    /// A failure of its own.
    pub(crate) fn new(message: impl Into<String>) -> Failure {
        Failure::Message(message.into())
    }

    /// The failure with where it happened in front: `x.csv: line 3: …`.
    pub(crate) fn within(self, context: impl fmt::Display) -> Failure {
        match self {
            Failure::ClosedPipe => Failure::ClosedPipe,
            Failure::Message(message) => Failure::Message(format!("{context}: {message}")),
            Failure::Reported(message) => Failure::Reported(format!("{context}: {message}")),
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::ClosedPipe => f.write_str("the output was closed"),
            Failure::Message(message) | Failure::Reported(message) => f.write_str(message),
        }
    }
}

/// Ends the function with a failure whose message is formatted.
macro_rules! bail {
    ($($message:tt)+) => { return Err($crate::failure::Failure::new(format!($($message)+))) };
}

/// Every error in its own words.
impl<E: Error + 'static> From<E> for Failure {
    fn from(error: E) -> Failure {
        let any: &(dyn Error + 'static) = &error;
        let of_engine = match any.downcast_ref() {
            Some(bitmma_engine::Error::Io(error)) => Some(error),
            _ => None,
        };
        match any.downcast_ref::<io::Error>().or(of_engine).map(io::Error::kind) {
            Some(io::ErrorKind::BrokenPipe) => Failure::ClosedPipe,
            _ => Failure::Message(error.to_string()),
        }
    }
}

/// For functions that write a file and may fail in other ways.
impl From<Failure> for io::Error {
    fn from(failure: Failure) -> io::Error {
        match failure {
            Failure::ClosedPipe => io::ErrorKind::BrokenPipe.into(),
            Failure::Message(message) | Failure::Reported(message) => io::Error::other(message),
        }
    }
}

/// Says where a failure happened.
pub(crate) trait Within<T> {
    /// The value, or the failure with `context` in front.
    fn within(self, context: impl fmt::Display) -> Result<T, Failure>;
}

impl<T, E: Into<Failure>> Within<T> for Result<T, E> {
    fn within(self, context: impl fmt::Display) -> Result<T, Failure> {
        self.map_err(|error| error.into().within(context))
    }
}
