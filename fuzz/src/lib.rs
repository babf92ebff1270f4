//! Fuzz targets: plain functions over [`arbtest::arbitrary::Unstructured`], so that any driver can feed
//! them. `tests/fuzz/one_second.rs` runs each for a second; `BITMMA_FUZZ_SECONDS` says how long instead.
//!
//! A target returns `Err` only when the bytes run out; what it finds is a panic whose message replays.
//!
//! The command as a whole runs on valid files ([`bases`]) that were changed a little ([`files`]), with limits of memory and
//! time ([`case`]). What it was once found not to bear is in `corpus/`, and `tests/fuzz/files.rs` runs it again.
#![forbid(unsafe_code)]
#![deny(clippy::float_arithmetic)]

mod arrays;
pub mod bases;
pub mod case;
pub mod files;
mod generate;
pub mod model_file;
pub mod models;
mod mutate;
pub mod numbers;
pub mod recording;

pub use arbtest::arbitrary::{self, Unstructured};

/// What a target has the driver see.
pub type Outcome = arbitrary::Result<()>;

/// A target by its name.
pub type Target = (&'static str, fn(&mut Unstructured<'_>) -> Outcome);

/// Every target.
pub const TARGETS: [Target; 4] = [
    ("models", models::run),
    ("model_file", model_file::run),
    ("recording", recording::run),
    ("numbers", numbers::run),
];
