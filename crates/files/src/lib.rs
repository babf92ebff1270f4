//! Arrays in files: `.npy` and `.safetensors`, read and written as codes of a format without a conversion, and `.npz` archives of
//! integers.
//!
//! A file's elements are either numbers of the format that is asked for or unsigned integers holding its codes; anything else is an
//! error. Nothing here computes.
#![forbid(unsafe_code)]

pub mod content;
pub mod reading;

#[cfg(feature = "arrays")]
mod arrays;

#[cfg(feature = "arrays")]
pub use arrays::*;
