//! AMD GPUs: one instruction, run by the driver.
//!
//! The driver and the assembler that comes with it are opened at run time; the assembler makes a code object of
//! text that is made for the instruction ([`assembly`]); the host decides which element is in which
//! register of which lane. One launch does many tiles.
//!
//! `libamdhip64.so` (ROCm 5 or newer) and `libamd_comgr.so` are what is opened, or what the variables
//! `BITMMA_LIBAMDHIP64` and `BITMMA_COMGR` name.

pub mod assembly;
mod comgr;
mod device;
mod driver;
mod registers;

pub use crate::gpu::{Error, Unit};
pub use device::Device;

use std::path::Path;

use bitmma_engine::Architecture;

/// How many devices the installed driver has.
pub fn count() -> Result<usize, Error> {
    driver::Driver::open(None)?.common.count()
}

/// The code object of a kernel, by the installed assembler or the one in the file `comgr`; needs no GPU.
pub fn assemble(
    architecture: Architecture,
    kernel: &assembly::Kernel,
    comgr: Option<&Path>,
) -> Result<Vec<u8>, Error> {
    comgr::Assembler::open(comgr)?.assemble(architecture, &kernel.name, &kernel.text)
}
