//! Holds a matrix unit against a model.
//!
//! [`recording`] reads and writes what units returned, [`replay`](mod@replay) compares recordings with models,
//! [`campaign`] any unit, for as long as wanted. [`asking`] asks any number of dot products, [`directed`] cases aim at one feature each, [`inputs`] draws random
//! ones, [`shrink`](mod@shrink) makes a failing case small. [`open`](mod@open) opens a unit by its name: simulated,
//! recorded or real.
#![forbid(unsafe_code)]
#![deny(clippy::float_arithmetic)]

pub mod apart;
pub mod asking;
pub mod campaign;
pub mod directed;
pub mod inputs;
#[cfg(not(target_family = "wasm"))] // no drivers in a browser
pub mod open;
pub mod origin;
pub mod playback;
pub mod recording;
pub mod replay;
pub mod shrink;
