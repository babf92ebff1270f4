//! Which instruction of which architecture uses which model.
//!
//! The tables in [`nvidia`] and [`amd`] state what cannot be derived, one row per line; [`catalogue`]
//! is what follows from them: one [`Instruction`] for each form, with its spellings, shape, formats,
//! model and the [`Evidence`] for that model. [`find`] reads a name. Nothing is computed here, and no
//! host floating-point arithmetic happens.
//!
//! In are the dense instructions `mma.sync`, `wgmma.mma_async`, `tcgen05.mma` (with `cta_group::1`), `wmma.mma` and
//! `v_mfma_*`, on floating point and on integers, and the sparse `mma.sp` and `wgmma.mma_async.sp` that the
//! hardware has, of which on floating point only Hopper's have a model; not in are the other sparse, the `.ws` and the
//! `cta_group::2` forms, and `.xor.popc`.
#![forbid(unsafe_code)]
#![deny(clippy::float_arithmetic)]

pub mod amd;
pub mod architecture;
pub mod chips;
pub mod error;
pub mod evidence;
pub mod extent;
pub mod filter;
mod function;
pub mod instruction;
pub mod library;
pub mod lookup;
pub mod nvidia;
pub mod precision;
pub mod processor;
pub mod recorded;
pub mod revision;
mod rows;
pub mod selection;
mod shape;
mod software;
mod spelling;
pub mod words;

pub use architecture::{Architecture, Vendor};
pub use error::LookupError;
pub use evidence::Evidence;
pub use extent::Extent;
pub use filter::{Filter, model_family};
pub use function::{Accepted, FunctionEvidence, NoEvidence, accept_function, function_evidence};
pub use instruction::{Composition, Family, Instruction};
pub use lookup::{Found, find, find_with_options};
pub use processor::{Processor, find_processor, processor, processors};
pub use revision::Revision;
pub use rows::{catalogue, of};
pub use shape::shape;
pub use software::Options;
