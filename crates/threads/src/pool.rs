//! A pool of threads, and which threads are in one.

use std::cell::Cell;
use std::io;

use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::stop::Work;

/// Threads of a [`Pool`], at most. More are refused: the system would start them one by one until it has no more.
pub const MOST: usize = 4096;

/// Threads that share work.
pub struct Pool(ThreadPool);

impl Pool {
    /// That many threads, 1 to [`MOST`].
    pub fn new(threads: usize) -> io::Result<Pool> {
        if !(1..=MOST).contains(&threads) {
            let text = format!("a pool has 1 to {MOST} threads; {threads} were asked for");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
        }
        Pool::build(threads)
    }

    /// As many threads as the processor runs at the same time, or as `RAYON_NUM_THREADS` says.
    pub(crate) fn of_all_cores() -> io::Result<Pool> {
        Pool::build(0)
    }

    fn build(threads: usize) -> io::Result<Pool> {
        let process = process();
        let builder = ThreadPoolBuilder::new().num_threads(threads);
        let joined = move |_| JOINED.set(Some(Joined::In(process)));
        builder.start_handler(joined).build().map(Pool).map_err(io::Error::other)
    }

    /// Does some work on the threads of this pool.
    pub fn install<T: Send>(&self, work: impl FnOnce() -> T + Send) -> T {
        let own = Work::current();
        self.0.install(move || own.within(work))
    }

    /// Threads.
    pub fn threads(&self) -> usize {
        self.0.current_num_threads()
    }
}

/// How a thread came to be in a pool.
#[derive(Clone, Copy)]
enum Joined {
    /// As one of the threads that a pool started, in that process.
    In(u32),
    /// By [`stay_on_this_thread`].
    Alone,
}

thread_local! {
    static JOINED: Cell<Option<Joined>> = const { Cell::new(None) };
}

/// Whether this thread is in a pool that works.
pub(crate) enum Membership {
    None,
    Member,
    /// It was, but its process was forked: the pool has no other threads in this one.
    Orphan,
}

pub(crate) fn membership() -> Membership {
    match JOINED.get() {
        // a thread of a pool that the caller made by Rayon stays there
        None if rayon::current_thread_index().is_none() => Membership::None,
        None => Membership::Member,
        Some(Joined::In(joined)) if joined != process() => Membership::Orphan,
        Some(_) => Membership::Member,
    }
}

/// This process, as its parent and its children know it.
pub(crate) fn process() -> u32 {
    // elsewhere no process is a copy of another
    if cfg!(unix) { std::process::id() } else { 1 }
}

/// Makes this thread the only one of a pool of its own, which takes some hundred bytes: from then on it shares no work
/// with other threads. A thread that is in a pool already stays in it.
pub fn stay_on_this_thread() {
    thread_local! {
        static POOL: Option<ThreadPool> = {
            let pool = ThreadPoolBuilder::new().num_threads(1).use_current_thread().build().ok();
            if pool.is_some() {
                JOINED.set(Some(Joined::Alone));
            }
            pool
        };
    }
    _ = POOL.try_with(|_| ()); // a thread that is ending has none any more
}
