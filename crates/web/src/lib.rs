//! The explorer: a page that shows what chips make of numbers, and the one function that it asks.
//!
//! [`ask`] takes a question as JSON and returns its answer as JSON. The page knows nothing about arithmetic: every bit it
//! shows comes from there. It reaches the function in one of two ways: compiled to WebAssembly inside the page, or over
//! HTTP on this machine ([`serve::Server`]).
#![deny(unsafe_code)] // but for the names that the WebAssembly module exports

mod ask;
mod copy;
mod curve;
mod difference;
mod dot;
mod error;
mod explain;
mod format;
mod image;
mod input;
mod link;
#[cfg(target_family = "wasm")]
mod module;
pub mod page;
mod picture;
mod preset;
mod scale;
mod search;
#[cfg(not(target_family = "wasm"))]
pub mod serve;
mod unit;
mod why;

pub use ask::ask;
pub use link::link;
