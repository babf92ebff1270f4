//! Fuzz targets: plain functions over [`arbtest::arbitrary::Unstructured`], so that any driver can feed
//! them. `tests/one_second.rs` runs each for a second; `BITMMA_FUZZ_SECONDS` says how long instead.
//!
//! A target returns `Err` only when the bytes run out; what it finds is a panic whose message replays.
#![forbid(unsafe_code)]
#![deny(clippy::float_arithmetic)]

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
