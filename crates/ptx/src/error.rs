//! What can go wrong, each with its line and thread.

use std::fmt;

/// A thread of a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Thread {
    /// `%ctaid`: x, y, z.
    pub block: [u32; 3],
    /// `%tid`: x, y, z.
    pub thread: [u32; 3],
}

impl fmt::Display for Thread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Thread { block: [bx, by, bz], thread: [x, y, z] } = self;
        write!(f, "block ({bx}, {by}, {bz}), thread ({x}, {y}, {z})")
    }
}

/// Why a kernel was not run, or stopped.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The text is not PTX.
    #[error("line {line}: {what}")]
    Syntax {
        /// From 1.
        line: u32,
        /// What is wrong.
        what: String,
    },
    /// An instruction that is not supported.
    #[error("line {line}: '{form}' is not supported{}", reason(.why))]
    Unsupported {
        /// From 1.
        line: u32,
        /// The form, as the text has it.
        form: String,
        /// Why, where there is more to say.
        why: String,
    },
    /// The launch does not fit the kernel: arguments, grid, block, entry.
    #[error("{0}")]
    Launch(String),
    /// The kernel holds instructions whose results on a GPU are not known.
    #[error("{}", doubt(.0))]
    Doubtful(Vec<Doubt>),
    /// The kernel did something wrong while it ran.
    #[error("line {line}: {what} ({thread})")]
    Kernel {
        /// From 1.
        line: u32,
        /// What is wrong.
        what: String,
        /// A thread that did it.
        thread: Thread,
    },
    /// An error of the engine, whose instruction a line asked for.
    #[error("line {line}: {error}")]
    Engine {
        /// From 1.
        line: u32,
        /// The error.
        error: bitmma_engine::Error,
    },
    /// ptxas and nvdisasm do not say what is fused, and were to.
    #[error("ptxas was asked what it fuses, and gave nothing: {0}")]
    NotAsked(String),
    /// Somebody stopped the run.
    #[error("stopped")]
    Stopped,
}

/// An instruction whose result on a GPU is not known for sure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Doubt {
    /// From 1.
    pub line: u32,
    /// The form, as the text has it.
    pub form: String,
    /// What is not known.
    pub why: String,
}

impl fmt::Display for Doubt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: '{}': {}", self.line, self.form, self.why)
    }
}

fn reason(why: &str) -> String {
    if why.is_empty() { String::new() } else { format!(": {why}") }
}

fn doubt(doubts: &[Doubt]) -> String {
    let Some(first) = doubts.first() else { return "the kernel is doubtful".to_owned() };
    let more = match doubts.len() {
        1 => String::new(),
        count => format!(" ({} more)", count - 1),
    };
    format!("{first}{more}; allow_doubtful runs the kernel nevertheless")
}

impl Error {
    pub(crate) fn syntax(line: u32, what: impl Into<String>) -> Error {
        Error::Syntax { line, what: what.into() }
    }

    pub(crate) fn unsupported(line: u32, form: &str, why: impl Into<String>) -> Error {
        Error::Unsupported { line, form: form.to_owned(), why: why.into() }
    }

    /// The entries of a file, in a message.
    #[allow(clippy::needless_pass_by_value)]
    pub(crate) fn no_entry(asked: Option<&str>, kernels: Vec<&str>) -> Error {
        let names: Vec<_> = kernels.iter().map(|name| format!("'{name}'")).collect();
        let names = names.join(", ");
        Error::Launch(match asked {
            Some(asked) => format!("there is no entry '{asked}'; the file has {names}"),
            None if kernels.is_empty() => "the text has no .entry".to_owned(),
            None => format!("the file has {} entries, choose one: {names}", kernels.len()),
        })
    }
}
