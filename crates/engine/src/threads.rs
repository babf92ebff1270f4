//! The threads that all work of this workspace runs on, and as many of them as asked for.

pub use bitmma_threads::{
    MOST, Pool, attended, check, count, each, each_chunk, mapped, prelude, run, stay_on_this_thread,
};

use crate::error::Error;

/// A pool of that many threads, 1 to [`MOST`].
pub fn pool(threads: usize) -> Result<Pool, Error> {
    let allowed = match threads {
        0 => "at least one thread is needed".to_owned(),
        1..=MOST => return Ok(Pool::new(threads)?),
        _ => format!("at most {MOST} are started"),
    };
    Err(Error::GemmOption { option: "threads", value: threads.to_string(), allowed })
}
