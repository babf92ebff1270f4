//! Tests of this crate, one executable: `cargo test --workspace --test hardware NAME` runs the module of that name.
#![allow(missing_docs, clippy::print_stdout, clippy::unwrap_used)] // helpers panic where a test fails, and print what was skipped

mod common;
mod cpu;
mod cuda_answers;
mod cuda_errors;
mod functions;
mod hip_answers;
mod layouts;
mod mfma;
mod places;
mod process;
mod rocm;
mod sass;
mod sparse_answers;
