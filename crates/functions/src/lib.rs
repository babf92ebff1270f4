//! The approximate FP32 functions of NVIDIA GPUs, bit for bit: `rcp`, `sqrt`, `rsqrt`, `ex2`, `lg2`, `sin`, `cos`.
//!
//! A GPU computes them on its multi-function unit (MUFU) from a table of quadratic polynomials in fixed point. A
//! [`Function`] names one; [`Function::evaluate`] is its value for every FP32 code. [`ptx`] has the instructions that use
//! them, with and without `.ftz`, [`convert`] the conversions between narrow formats, and [`float`] the FP32 operations
//! that both need. Source of the facts and of the tables: B. Carleton's ptx-math (MIT, license in `table/`).
//!
//! Integers only: no host floating-point arithmetic happens here.
#![forbid(unsafe_code)]
#![deny(clippy::float_arithmetic)]

mod angle;
pub mod convert;
pub mod digest;
pub mod float;
mod function;
pub mod lanes;
mod model;
pub mod nearest;
mod number;
mod polynomial;
pub mod ptx;
mod reduce;
mod table;

pub use function::{Function, UnknownFunction};
pub use model::{Model, NAN, Specials};
pub use polynomial::{Coefficients, Polynomial, Terms};
pub use reduce::Step;
