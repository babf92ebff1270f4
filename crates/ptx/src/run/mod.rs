//! Running a kernel.

mod access;
mod argument;
mod block;
mod copies;
mod fault;
mod global;
mod launch;
mod local;
mod products;
mod running;
mod shared;
mod warp;

pub use argument::{Argument, Buffer, Scalar};
pub use launch::{Launch, Limits, Report};
