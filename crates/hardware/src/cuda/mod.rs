//! NVIDIA GPUs: one instruction, run by the driver.
//!
//! The driver is opened at run time and compiles PTX text that is made for the instruction ([`ptx`]); the
//! host decides which element is in which register of which thread. One launch does many tiles.
//!
//! `libcuda.so.1` is what is opened, or what the variable `BITMMA_LIBCUDA` names.

mod device;
mod driver;
mod fragment;
pub mod ptx;
mod sparse;

pub use crate::gpu::{Error, Unit};
pub use device::Device;
pub use fragment::Majors;

use std::path::Path;

/// The unit of an instruction of device `device`, by any spelling the catalogue knows.
pub fn open(device: usize, instruction: &str) -> Result<Unit, Error> {
    Device::open(device)?.unit(instruction)
}

/// As [`open()`], with the driver in that file.
pub fn open_with(library: &Path, device: usize, instruction: &str) -> Result<Unit, Error> {
    Device::open_with(library, device)?.unit(instruction)
}
