//! Each fuzz target for a second, or for as long as `BITMMA_FUZZ_SECONDS` says.
//!
//! A finding prints a seed; `BITMMA_FUZZ_SEED=0x…` runs that one alone, shrunk first if
//! `BITMMA_FUZZ_MINIMIZE` is set.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bitmma_fuzz::{TARGETS, Unstructured};

#[allow(clippy::print_stdout)] // a test that says how much it did
fn fuzz(name: &str) {
    let target = TARGETS.into_iter().find(|(other, _)| *other == name).expect("a target of that name").1;
    let variable = |name: &str| std::env::var(name).ok();
    let seconds = variable("BITMMA_FUZZ_SECONDS")
        .map_or(1, |text| text.parse().unwrap_or_else(|_| panic!("BITMMA_FUZZ_SECONDS is '{text}'")));
    let count = AtomicU64::new(0);
    let property = |u: &mut Unstructured<'_>| {
        count.fetch_add(1, Ordering::Relaxed);
        target(u)
    };
    let mut test = arbtest::arbtest(property).size_min(64).budget(Duration::from_secs(seconds));
    if let Some(text) = variable("BITMMA_FUZZ_SEED") {
        let seed = u64::from_str_radix(text.trim_start_matches("0x"), 16)
            .unwrap_or_else(|_| panic!("BITMMA_FUZZ_SEED is '{text}'"));
        test = test.seed(seed);
        if variable("BITMMA_FUZZ_MINIMIZE").is_some() {
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
