//! Any program as a unit: it says what it is in one line of JSON, then answers framed batches.
//!
//! `docs/protocol.md` is the protocol. [`Process`] is our side; [`serve()`] is the other, for units of ours.

mod client;
mod connection;
mod frame;
mod hello;
mod serve;

pub use client::{Limits, Process};
pub use serve::serve;
