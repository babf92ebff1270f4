//! A pool of threads, and which threads are in one.

use std::cell::{Cell, RefCell};
use std::io;
use std::rc::Rc;
use std::sync::Mutex;

use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::stop::Work;

/// Threads of a [`Pool`], at most. More are refused: the system would start them one by one until it has no more.
pub const MOST: usize = 4096;

/// A pool of at most that many threads is kept by the thread that asked for it.
const KEPT: usize = 64;

/// Threads that share work.
pub struct Pool {
    /// Taken when it is dropped.
    threads: Option<ThreadPool>,
    process: u32,
}

impl Drop for Pool {
    fn drop(&mut self) {
        // in a process that was forked they are not there, and one of their locks may be held for ever
        if self.process != process() {
            std::mem::forget(self.threads.take());
        }
    }
}

/// Does some work on that many threads, 1 to [`MOST`]. This thread keeps a pool of few threads for its next such work:
/// starting one takes longer than a small product.
pub fn on<T: Send>(threads: usize, work: impl FnOnce() -> T + Send) -> io::Result<T> {
    thread_local! {
        static LAST: RefCell<Option<Rc<Pool>>> = const { RefCell::new(None) };
    }
    let fits = |pool: &Rc<Pool>| pool.threads() == threads && pool.process == process();
    let pool = LAST.try_with(|last| last.borrow().clone()).ok().flatten().filter(fits);
    let pool = match pool {
        Some(pool) => pool,
        None => Rc::new(Pool::new(threads)?),
    };
    if threads <= KEPT {
        // a thread that is ending keeps none
        _ = LAST.try_with(|last| last.replace(Some(pool.clone())));
    }
    Ok(pool.install(work))
}

/// Does some work on a thread that shares none of it with others. Such threads are kept for those who ask next.
pub fn alone<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    static IDLE: Mutex<Vec<Pool>> = Mutex::new(vec![]);
    // in a process that was forked the lock may be held for ever
    let idle = IDLE.try_lock().ok().and_then(|mut idle| idle.pop());
    let pool = idle.filter(|pool| pool.process == process()).or_else(|| Pool::new(1).ok());
    let Some(pool) = pool else {
        stay_on_this_thread();
        return work();
    };
    let done = pool.install(work);
    if let Ok(mut idle) = IDLE.try_lock()
        && idle.len() < KEPT
    {
        idle.push(pool);
    }
    done
}

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
        let threads = builder.start_handler(joined).build().map_err(io::Error::other)?;
        Ok(Pool { threads: Some(threads), process })
    }

    /// Does some work on the threads of this pool.
    pub fn install<T: Send>(&self, work: impl FnOnce() -> T + Send) -> T {
        let own = Work::current();
        self.pool().install(move || own.within(work))
    }

    /// Threads.
    pub fn threads(&self) -> usize {
        self.pool().current_num_threads()
    }

    fn pool(&self) -> &ThreadPool {
        self.threads.as_ref().expect("it is taken when the pool is dropped")
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
