//! What the arithmetic of matrix units means: where they differ, how large their errors can be and are.
//!
//! Nothing here decides a bit of a simulated result; FP64 serves statistics and pictures only. Errors are
//! differences from exact results (`dyadic`), and every random number comes from a seed.
#![forbid(unsafe_code)]

pub mod account;
pub mod apart;
pub mod bias;
pub mod compare;
pub mod data;
pub mod describe;
pub mod design_space;
pub mod discrepancy;
pub mod dot;
mod dyadic;
pub mod element;
mod error;
pub mod error_bound;
pub mod error_source;
pub mod exact;
pub mod json;
pub mod number;
mod page;
pub mod plot;
pub mod published;
pub mod report;
pub mod risk;
pub mod scheme;
pub mod section;
pub mod sections;
mod shrink;
pub mod statistics;
pub mod subject;
pub mod table;
pub mod tally;
pub mod tightness;
pub mod verdict;
pub mod which;
pub mod workaround;

pub use dyadic::Dyadic;
pub use error::{Error, MOST_K};
