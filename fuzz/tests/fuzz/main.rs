//! Tests of this crate, one executable.
#![allow(clippy::print_stdout)] // tests that say how much they did, and with which seed

mod files;
mod numbers;
mod one_second;

use std::path::PathBuf;
use std::time::{Duration, Instant};

/// The command that is run: this crate's own, or `BITMMA_COMMAND`, which may be built for speed.
fn command() -> PathBuf {
    let own = || PathBuf::from(env!("CARGO_BIN_EXE_bitmma-fuzzed"));
    let path = std::env::var_os("BITMMA_COMMAND").map_or_else(own, PathBuf::from);
    std::fs::canonicalize(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// A number from the environment, in decimal or after `0x`.
fn variable(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    let number = match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16),
        None => text.parse(),
    };
    Some(number.unwrap_or_else(|_| panic!("{name} is '{text}'")))
}

/// Whether everything is to be tested, however long it takes.
fn all() -> bool {
    std::env::var("BITMMA_TESTS").is_ok_and(|tests| tests == "all")
}

/// Failures after which no more are looked for.
const MOST_FAILURES: usize = 40;

/// Does work for each number below `count`, on the threads there are, until the time is up, until it is done or has failed often enough; the
/// failures.
fn in_parallel(
    count: u64,
    until: Option<Duration>,
    work: impl Fn(u64) -> Option<String> + Sync,
) -> Vec<String> {
    use std::sync::Mutex;
    use std::sync::atomic::{AtomicU64, Ordering};
    let start = Instant::now();
    let (next, failures) = (AtomicU64::new(0), Mutex::new(Vec::new()));
    let held = || failures.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let threads = std::thread::available_parallelism().map_or(2, std::num::NonZero::get);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    if index >= count
                        || until.is_some_and(|until| start.elapsed() > until)
                        || held().len() >= MOST_FAILURES
                    {
                        return;
                    }
                    let failure = work(index);
                    held().extend(failure);
                }
            });
        }
    });
    failures.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner)
}
