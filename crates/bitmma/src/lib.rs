//! What the matrix multiply-accumulate (MMA) instructions of GPUs return, bit for bit.
//!
//! [`Simulator`] is one instruction, on the reference path; [`FastSimulator`] the same by fast kernels;
//! [`gemm()`] a product of any shape by one instruction; [`explain`] every step of one element. Formats, models and
//! the table of all instructions are the modules [`formats`], [`arithmetic`] and [`catalogue`].
//!
//! The feature `verify` adds the module `verify`: recordings of real units, units opened by name, campaigns. The
//! feature `command`, on by default, is for `cargo install bitmma` and has it; a library that depends on this crate
//! leaves both out (`cargo add bitmma --no-default-features`) or takes the one (`--features verify` beside it).
#![forbid(unsafe_code)]

pub use bitmma_engine::{
    About, Architecture, Error, FastSimulator, Fault, GemmOptions, Instruction, Matrix, MatrixRef, MmaUnit,
    Model, Operands, Revision, Signature, Simulator, Slice, arithmetic, catalogue, explain, formats, gemm,
    simulate,
};

#[cfg(feature = "verify")]
pub use bitmma_verify as verify;
#[cfg(feature = "verify")]
pub use bitmma_verify::{recording, replay};

/// The examples of the README, run as tests of the documentation.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
