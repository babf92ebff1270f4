//! As many threads as asked for.

use crate::error::Error;

/// How many a call may ask for. More are refused: the system would start them one by one until it has no more.
pub const MOST: usize = 4096;

/// A pool of that many threads, 1 to [`MOST`].
pub fn pool(threads: usize) -> Result<rayon::ThreadPool, Error> {
    let allowed = match threads {
        0 => "at least one thread is needed".to_owned(),
        1..=MOST => {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
            return pool.map_err(|error| Error::Io(std::io::Error::other(error)));
        }
        _ => format!("at most {MOST} are started"),
    };
    Err(Error::GemmOption { option: "threads", value: threads.to_string(), allowed })
}
