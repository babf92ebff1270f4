//! Functions and sums of floating-point numbers with the same bits on every machine.
//!
//! What a model computes between its matrix products (activations, norms, softmax, losses, optimizers) is left to "the
//! host" by an emulation. A library of the host computes it with the instructions that the machine has, and in an order
//! that depends on them and on the number of threads. This crate computes it from additions, subtractions,
//! multiplications, divisions and square roots of FP64 numbers alone, each rounded once to nearest even as IEEE 754 says,
//! in an order that is stated, and rounds the result once to its own format. Nothing is taken from the host's mathematical
//! library: the functions are those of the crate `libm`, which is written in Rust and made of the same five operations. Rust
//! fuses no multiplication with an addition, so vectors compute what single numbers do.
//!
//! A NaN that is computed has the positive sign and no payload.
#![forbid(unsafe_code)]
#![allow(clippy::float_cmp)] // orders of norms and special values are exact

mod functions;
mod numbers;
mod order;
mod rows;
mod scatter;

pub use functions::{FUNCTIONS, Function, apply, function};
pub use numbers::{Numbers, NumbersMut, canonical};
pub use order::sum;
pub use rows::{Affine, Along, REDUCTIONS, Reduction, along, layer_norm, reduce, reduction, row_operation};
pub use scatter::add_at;
