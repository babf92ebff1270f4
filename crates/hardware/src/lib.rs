//! Drivers of real units: each kind is a module, and its units are [`bitmma_engine::MmaUnit`]s.
//!
//! [`cpu`]: instructions of this processor. [`process`]: any program that speaks our protocol on its
//! standard input and output. [`cuda`] and [`hip`]: one instruction on a GPU, tile by tile, through the
//! vendor's driver, which is opened at run time: nothing here needs one to build, to start or to be
//! tested. What stands where in a GPU's registers is decided on the host ([`gpu::TileLayout`]); a kernel
//! loads, runs one instruction, and stores.
#![deny(unsafe_code)] // but where a module's head says why

pub mod cpu;
pub mod cuda;
pub mod gpu;
pub mod hip;
pub mod process;
