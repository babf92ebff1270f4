//! Tests of this crate, one executable: `cargo test --workspace --test threads NAME` runs the module of that name.
#![allow(clippy::unwrap_used)] // helpers panic where a test fails

mod alone;
mod only_here;
mod same_results;
mod stop;
