//! Runs a matrix multiply-accumulate instruction, bit for bit.
//!
//! [`simulate()`] is the reference path: the plain definition, in integers, one dot product per element of
//! D. [`MmaUnit`] is whatever computes D for A, B and C; a [`Simulator`] is one. [`explain`] shows every
//! step of one element. [`gemm()`] makes products of any shape of one instruction.
#![forbid(unsafe_code)]
#![deny(clippy::float_arithmetic)]

mod borrowed;
mod case;
mod check;
mod error;
pub mod explain;
mod fast;
pub mod functions;
pub mod gemm;
pub mod kernel;
mod matrices;
mod matrix;
mod progress;
mod signature;
mod simulate;
pub mod threads;
mod unit;

pub use bitmma_arithmetic as arithmetic;
pub use bitmma_catalogue as catalogue;
pub use bitmma_formats as formats;

pub use bitmma_arithmetic::Model;
pub use bitmma_catalogue::{Architecture, Instruction, Revision};
pub use bitmma_kernel::{Chunk, Code, Codes, Slice, Words, on_codes};
pub use borrowed::MatrixRef;
pub use case::{Case, Operands};
pub use error::{Error, Fault};
pub use fast::FastSimulator;
pub use gemm::{GemmOptions, Prepared, gemm};
pub use matrices::Matrices;
pub use matrix::{Matrix, shape_text};
pub use progress::Progress;
pub use signature::Signature;
pub use simulate::{Simulator, model_of, simulate, simulate_steps};
pub use unit::{About, MmaUnit, on_diagonals};
