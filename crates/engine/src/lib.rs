//! Runs a matrix multiply-accumulate instruction, bit for bit.
//!
//! [`simulate()`] is the reference path: the plain definition, in integers, one dot product per element of
//! D. [`MmaUnit`] is whatever answers D for A, B and C; a [`Simulator`] is one. [`explain`] shows every
//! step of one element. [`gemm()`] makes products of any shape of one instruction.
#![deny(unsafe_code)]
#![deny(clippy::float_arithmetic)]

pub mod case;
pub mod error;
pub mod explain;
pub mod fast;
pub mod gemm;
pub mod kernel;
pub mod matrix;
pub mod simulate;
pub mod threads;
pub mod unit;

pub use bitmma_arithmetic as arithmetic;
pub use bitmma_catalogue as catalogue;
pub use bitmma_formats as formats;

pub use bitmma_arithmetic::Model;
pub use bitmma_catalogue::{Architecture, Instruction, Revision};
pub use case::{Case, Matrices};
pub use error::{Error, ErrorKind, Fault};
pub use fast::FastSimulator;
pub use gemm::{GemmOptions, gemm};
pub use matrix::Matrix;
pub use simulate::{Simulator, simulate};
pub use unit::{About, MmaUnit, Operands, Signature};
