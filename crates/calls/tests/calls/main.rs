//! Tests of this crate, one executable: `cargo test --workspace --test calls NAME` runs the module of that name.

mod agreement;
mod collector;
mod cost;
mod mutations;
mod planner;
mod plans;
mod recorded;
