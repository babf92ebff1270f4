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

/// Characters of a name, at most: of a unit, a format, a parameter's value.
pub(crate) const LONGEST_NAME: usize = 300;
/// Characters of a text that an error repeats.
const SHOWN: usize = 40;

/// Refuses a text that is longer than anything that could be meant.
pub(crate) fn at_most(what: &str, text: &str, most: usize) -> Result<(), Error> {
    // no text has more characters than bytes
    if text.len() <= most || text.chars().count() <= most {
        return Ok(());
    }
    let (given, text) = (text.chars().count(), beginning(text));
    Err(Error::new(format!("{what} has {given} characters, '{text}'; at most {most} are read")))
}

/// The beginning of a text, as an error repeats it.
pub(crate) fn beginning(text: &str) -> String {
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
