//! Tests of this crate, one executable: `cargo test --workspace --test analysis NAME` runs the module of that name.
#![allow(missing_docs, clippy::print_stdout, clippy::unwrap_used)] // helpers panic where a test fails, and print what was skipped

mod bias;
mod bounds;
mod discrepancy;
mod models;
mod published;
mod risks;
mod verdict;
mod which;
