//! Who listens to long work, and may stop it.

use crate::error::Error;

/// Listens to long work.
pub trait Progress: Sync {
    /// `done` of `total` of `what`; an error stops the work.
    fn step(&self, what: &str, done: u64, total: u64) -> Result<(), Error>;
}

/// Nobody listens.
impl Progress for () {
    fn step(&self, _: &str, _: u64, _: u64) -> Result<(), Error> {
        Ok(())
    }
}
