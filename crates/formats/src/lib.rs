//! What the bits of a number mean.
//!
//! A [`Format`] is a value: the widths of its fields, its bias and its special codes; every limit is
//! derived from those. [`table`] has one row per format. [`decode()`] takes a code apart, [`encode()`] is
//! the only place of the project that rounds into a format. No host floating-point arithmetic happens
//! here.
#![forbid(unsafe_code)]
#![deny(clippy::float_arithmetic)]

pub mod alias;
pub mod block;
pub mod cases;
pub mod decode;
pub mod encode;
pub mod format;
pub mod overflow;
pub mod packing;
pub mod rounding;
pub mod table;
pub mod text;
pub mod word;

pub use block::BlockScale;
pub use decode::{Class, Unpacked, decode};
pub use encode::{Real, encode, encode_wrapping};
pub use format::{Format, Sign, Specials};
pub use overflow::Overflow;
pub use rounding::Rounding;
pub use table::*;
