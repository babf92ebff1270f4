//! Running a kernel.

mod access;
mod address;
mod again;
mod argument;
mod block;
mod blocks;
mod bulk;
mod clocks;
mod cluster;
mod completing;
mod copies;
mod descriptor;
mod fault;
mod flags;
mod flight;
mod fragments;
mod global;
mod groups;
mod guesses;
mod guessing;
mod in_flight;
mod launch;
mod local;
mod matrices;
mod object;
mod objects;
mod pending;
mod print;
mod printed;
mod products;
mod reach;
mod recording;
mod running;
mod seek;
mod shadow;
mod shared;
mod spin;
mod tcgen05;
mod tensor;
mod trace;
mod undefined;
mod warp;

pub use argument::{Argument, Buffer, Member, Scalar};
pub(crate) use trace::{Place, Traced};

pub use tensor::TensorMap;

pub use launch::{Launch, Limits, Report};
pub use trace::{Product, Record, Trace};
