//! Tests of this crate, one executable: `cargo test --workspace --test arithmetic NAME` runs the module of that name.

mod model_files;
mod validation;
