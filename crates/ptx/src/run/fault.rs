//! What goes wrong while a kernel runs.

use super::clocks::Agent;
use crate::error::{Error, Thread};

/// What a lane did wrong; the warp adds line and thread.
#[derive(Debug)]
pub(crate) struct Fault {
    pub(crate) lane: usize,
    pub(crate) what: String,
    /// The access that it races with.
    pub(super) other: Option<Where>,
}

/// Why an access is an error.
#[derive(Debug)]
pub(crate) struct Race {
    pub(super) what: String,
    pub(super) other: Option<Where>,
}

/// An earlier access of a warp to some bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Where {
    pub(super) writes: bool,
    pub(super) agent: Agent,
    /// A generic address.
    pub(super) address: u64,
    pub(super) bytes: u64,
}

impl Race {
    pub(super) fn without_other(what: String) -> Race {
        Race { what, other: None }
    }
}

impl<S: Into<String>> From<S> for Race {
    fn from(what: S) -> Race {
        Race::without_other(what.into())
    }
}

impl Fault {
    pub(crate) fn new(lane: usize, race: impl Into<Race>) -> Fault {
        let Race { what, other } = race.into();
        Fault { lane, what, other }
    }

    pub(crate) fn at(self, line: u32, thread: Thread) -> Error {
        Error::Kernel { line, what: self.what, thread }
    }
}
