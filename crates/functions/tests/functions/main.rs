//! Tests of this crate, one executable: `cargo test --workspace --test functions NAME` runs the module of that name.
#![allow(clippy::print_stdout, clippy::unwrap_used)] // helpers panic where a test fails, and print what was skipped

mod common;
mod convert;
mod digests;
mod facts;
mod lanes;
mod mutations;
mod nearest;
mod ptx;
mod values;
