//! What goes wrong while a kernel runs.

use crate::error::{Error, Thread};

/// What a lane did wrong; the warp adds line and thread.
#[derive(Debug)]
pub(crate) struct Fault {
    pub(crate) lane: usize,
    pub(crate) what: String,
}

impl Fault {
    pub(crate) fn new(lane: usize, what: impl Into<String>) -> Fault {
        Fault { lane, what: what.into() }
    }

    pub(crate) fn at(self, line: u32, thread: Thread) -> Error {
        Error::Kernel { line, what: self.what, thread }
    }
}
