//! Tests of this crate, one executable: `cargo test --workspace --test probe NAME` runs the module of that name.
#![allow(missing_docs, clippy::unwrap_used)] // helpers panic where a test fails, and print what was skipped

mod catalogue;
mod common;
mod differ;
mod edges;
mod families;
mod faults;
mod features;
mod hidden;
mod order;
mod resume;
