//! The threads that all work of this workspace runs on, and as many of them as asked for.

pub use bitmma_threads::{
    MOST, Pool, alone, attended, check, count, each_chunk, mapped, prelude, run, stay_on_this_thread,
};

use crate::error::Error;

/// A pool of that many threads, 1 to [`MOST`].
pub fn pool(threads: usize) -> Result<Pool, Error> {
    Ok(Pool::new(checked(threads)?)?)
}

/// Does some work on that many threads, 1 to [`MOST`], or, without a number, on those of this process.
pub(crate) fn on<T: Send>(threads: Option<usize>, work: impl FnOnce() -> T + Send) -> Result<T, Error> {
    match threads {
        None => Ok(work()),
        Some(threads) => Ok(bitmma_threads::on(checked(threads)?, work)?),
    }
}

fn checked(threads: usize) -> Result<usize, Error> {
    let allowed = match threads {
        0 => "at least one thread is needed".to_owned(),
        1..=MOST => return Ok(threads),
        _ => format!("at most {MOST} are started"),
    };
    Err(Error::GemmOption { option: "threads", value: threads.to_string(), allowed })
}
