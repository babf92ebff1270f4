//! Tests of this crate, one executable: `cargo test --workspace --test catalogue NAME` runs the module of that name.
#![allow(missing_docs, clippy::unwrap_used)] // helpers panic where a test fails, and print what was skipped

mod architectures;
mod common;
mod evidence;
mod library;
mod models;
mod names;
mod options;
mod software_names;
mod vendor_rows;
