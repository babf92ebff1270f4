//! Tests of this crate, one executable: `cargo test --workspace --test cli NAME` runs the module of that name.
#![allow(missing_docs, clippy::print_stdout, clippy::unwrap_used)] // helpers panic where a test fails, and print what was skipped

mod c;
mod calls;
mod command;
mod docs;
mod docs_are_current;
mod gemm;
mod golden;
mod killed;
mod memory;
mod questions;
mod recipes;
mod report;
mod run;
mod verify;
