//! What can be wrong with a question.

/// A question that cannot be answered: what is wrong with it, in one sentence.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Error(pub(crate) String);

impl Error {
    pub(crate) fn new(text: impl Into<String>) -> Error {
        Error(text.into())
    }
}

/// Errors of the crates below are sentences already.
macro_rules! from {
    ($($error:ty),+) => {
        $(impl From<$error> for Error {
            fn from(error: $error) -> Error {
                Error(error.to_string())
            }
        })+
    };
}

from! {
    bitmma_analysis::Error,
    bitmma_engine::Error,
    bitmma_engine::arithmetic::ModelError,
    bitmma_engine::catalogue::LookupError,
    bitmma_engine::formats::alias::UnknownFormat
}
