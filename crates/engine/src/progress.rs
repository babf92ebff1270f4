//! Who listens to long work, and may stop it.

use crate::error::Error;

/// Listens to long work: a closure with the arguments of [`Progress::step`], or `()`, which ignores them.
pub trait Progress: Sync {
    /// `done` of `total` of `what`; where the total is not known it is 0. An error, [`Error::Stopped`] say, stops the work.
    fn step(&self, what: &str, done: u64, total: u64) -> Result<(), Error>;
}

impl Progress for () {
    fn step(&self, _: &str, _: u64, _: u64) -> Result<(), Error> {
        Ok(())
    }
}

impl<F: Fn(&str, u64, u64) -> Result<(), Error> + Sync> Progress for F {
    fn step(&self, what: &str, done: u64, total: u64) -> Result<(), Error> {
        self(what, done, total)
    }
}
