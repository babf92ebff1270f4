//! NVIDIA GPUs: one instruction, run by the driver.
//!
//! The driver is opened at run time and compiles PTX text that is made for the instruction ([`ptx`]); the
//! host decides which element is in which register of which thread. One launch does many tiles.
//!
//! `libcuda.so.1` is what is opened, or what the variable `BITMMA_LIBCUDA` names.

mod device;
mod driver;
mod fragment;
mod function;
pub mod nvrtc;
pub mod ptx;
mod sparse;

pub use crate::gpu::{Error, Unit};
pub use device::Device;
pub use fragment::Majors;
pub use function::FunctionUnit;
