//! The pool of this process.
//!
//! Nothing here is locked: another thread might hold the lock while the process is forked, and in the child nobody would
//! release it.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use crate::pool::{Pool, process, stay_on_this_thread};

/// Pools: this process's, and before it those of the processes that it was forked from. Those stay as they are: their
/// threads, which they would wait for, are not here.
static POOLS: [OnceLock<Pool>; 256] = [const { OnceLock::new() }; 256];

/// How many of them are taken. One that was being built while the process was forked is never looked at again.
static TAKEN: AtomicUsize = AtomicUsize::new(0);

/// The process whose pool was taken last, and in the lower half its number, from 1; 0 while it is being built.
static LAST: AtomicU64 = AtomicU64::new(0);

/// Does some work in the pool of this process, or on this thread alone where there can be none.
pub(crate) fn install<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    match pool() {
        Some(pool) => pool.install(work),
        None => {
            stay_on_this_thread();
            work()
        }
    }
}

/// Threads of that pool.
pub(crate) fn count() -> usize {
    pool().map_or(1, Pool::threads)
}

/// The pool of this process, which is built at first use; `None` where the system has no threads for it.
fn pool() -> Option<&'static Pool> {
    let owner = u64::from(process()) << 32;
    loop {
        let last = LAST.load(Ordering::Acquire);
        match last.checked_sub(owner) {
            Some(0) => thread::sleep(Duration::from_micros(20)), // another thread builds it
            Some(number @ 1..=0xffff_ffff) => return POOLS.get(number as usize - 1)?.get(),
            _ if LAST.compare_exchange(last, owner, Ordering::AcqRel, Ordering::Relaxed).is_err() => {}
            _ => {
                let taken = build();
                LAST.store(taken.map_or(0, |number| owner | number), Ordering::Release);
                taken?;
            }
        }
    }
}

/// Builds a pool in the next place, and returns its number.
fn build() -> Option<u64> {
    let pool = Pool::of_all_cores().ok()?;
    let index = TAKEN.fetch_add(1, Ordering::Relaxed);
    POOLS.get(index)?.set(pool).ok()?;
    Some(index as u64 + 1)
}
