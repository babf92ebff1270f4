//! Tests of this crate, one executable: `cargo test --workspace --test engine NAME` runs the module of that name.
#![allow(missing_docs, clippy::unwrap_used)] // helpers panic where a test fails, and print what was skipped

mod agreement;
mod borrowed;
mod common;
mod error_bounds;
mod explain;
mod gemm;
mod gemm_scales;
mod integers;
mod kernel;
mod kernel_float;
mod kernel_rounded;
mod kernel_routes;
mod kernel_whole;
mod matrix;
mod paper;
mod prepared;
mod runs;
mod semantics;
mod semantics_instructions;
mod shapes;
