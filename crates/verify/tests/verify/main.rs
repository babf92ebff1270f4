//! Tests of this crate, one executable: `cargo test --workspace --test verify NAME` runs the module of that name.
#![allow(missing_docs, clippy::print_stdout, clippy::unwrap_used)] // helpers panic where a test fails, and print what was skipped

mod arm;
mod campaign;
mod claims;
mod inputs;
mod recordings;
mod state;
mod without_c;
