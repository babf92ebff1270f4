//! Running a kernel.

mod access;
mod argument;
mod block;
mod copies;
mod descriptor;
mod fault;
mod fragments;
mod global;
mod launch;
mod local;
mod matrices;
mod pending;
mod products;
mod recording;
mod running;
mod shared;
mod trace;
mod warp;

pub use argument::{Argument, Buffer, Scalar};
pub(crate) use trace::{Place, Traced};

pub use launch::{Launch, Limits, Report};
pub use trace::{Product, Record, Trace};
