//! Elementary operations of matrix multiply-accumulate units, and the models that string them along K.
//!
//! A [`Model`] is data: an [`Operation`] with its parameters, the formats of its operands, the order in
//! which it takes the elements. Nothing here knows which instruction, vendor or architecture calls it,
//! and nothing here uses host floating-point arithmetic.
#![forbid(unsafe_code)]
#![deny(clippy::float_arithmetic)]

pub mod align;
pub mod convert;
mod dot;
pub mod error;
pub mod exact;
pub mod family;
pub mod fdpa;
pub mod file;
pub mod fma;
pub mod ftz;
pub mod line;
pub mod lowering;
pub mod model;
pub mod operand;
#[cfg(feature = "oracle")]
pub mod oracle;
pub mod parameter;
mod reading;
pub mod run;
pub mod special;
mod steps;
mod sums;
pub mod trace;
mod validate;

pub use convert::{Conversion, ResultFlush};
pub use error::ModelError;
pub use family::{FAMILIES, Family, Operation};
pub use lowering::{Chains, Lowering, Order};
pub use model::{InputFlush, Model};
pub use parameter::{Parameter, Value};
pub use run::{Operands, Prepared};
pub use sums::{FusedSum, RoundedSum};
pub use trace::{Step, Term, Trace};
