//! Each fuzz target for a second, or for as long as `BITMMA_FUZZ_SECONDS` says.
//!
//! A finding prints a seed; `BITMMA_FUZZ_SEED=0x…` runs that one alone, shrunk first if
//! `BITMMA_FUZZ_MINIMIZE` is set.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bitmma_fuzz::{TARGETS, Unstructured};

use crate::variable;

fn fuzz(name: &str) {
    let target = TARGETS.into_iter().find(|(other, _)| *other == name).expect("a target of that name").1;
    let seconds = variable("BITMMA_FUZZ_SECONDS").unwrap_or(1);
    let count = AtomicU64::new(0);
    let property = |u: &mut Unstructured<'_>| {
        count.fetch_add(1, Ordering::Relaxed);
        target(u)
    };
    let mut test = arbtest::arbtest(property).size_min(64).budget(Duration::from_secs(seconds));
    if let Some(seed) = variable("BITMMA_FUZZ_SEED") {
        test = test.seed(seed);
        if std::env::var_os("BITMMA_FUZZ_MINIMIZE").is_some() {
            test = test.minimize();
        }
    }
    test.run();
    println!("{name}: {} runs", count.load(Ordering::Relaxed));
}

#[test]
fn models() {
    fuzz("models");
}

#[test]
fn model_file() {
    fuzz("model_file");
}

#[test]
fn recording() {
    fuzz("recording");
}

#[test]
fn numbers() {
    fuzz("numbers");
}
