//! Tests of this crate, one executable: `cargo test --workspace --test formats NAME` runs the module of that name.
#![allow(clippy::print_stdout, clippy::unwrap_used)] // helpers panic where a test fails, and print what was skipped

mod cases;
mod common;
mod encode_edges;
mod every_code;
mod integers;
mod other_crates;
mod packing;
mod rounding_against_apfloat;
mod rounding_brute_force;
mod rounding_names;
mod standard_tables;
mod text_against_hosts;
mod text_round_trip;
mod text_rows;
