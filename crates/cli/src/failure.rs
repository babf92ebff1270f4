//! How a command ends.

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
    /// The same, and the command has already printed its result, which says so too.
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

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Failure {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Failure::ClosedPipe,
            _ => Failure::Message(error.to_string()),
        }
    }
}

impl From<bitmma::Error> for Failure {
    fn from(error: bitmma::Error) -> Failure {
        match error {
            bitmma::Error::Io(error) => Failure::from(error),
            error => Failure::Message(error.to_string()),
        }
    }
}

impl From<bitmma_verify::open::OpenError> for Failure {
    fn from(error: bitmma_verify::open::OpenError) -> Failure {
        Failure::Message(error.to_string())
    }
}

impl From<bitmma_analysis::Error> for Failure {
    fn from(error: bitmma_analysis::Error) -> Failure {
        match error {
            bitmma_analysis::Error::Engine(error) => Failure::from(error),
            error => Failure::Message(error.to_string()),
        }
    }
}

impl From<bitmma::arithmetic::ModelError> for Failure {
    fn from(error: bitmma::arithmetic::ModelError) -> Failure {
        Failure::Message(error.to_string())
    }
}

impl From<bitmma::catalogue::LookupError> for Failure {
    fn from(error: bitmma::catalogue::LookupError) -> Failure {
        Failure::Message(error.to_string())
    }
}

impl From<bitmma::formats::text::TextError> for Failure {
    fn from(error: bitmma::formats::text::TextError) -> Failure {
        Failure::Message(error.to_string())
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
