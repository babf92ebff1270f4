//! Units that are not simulated: each kind of them is a module and opens as a [`bitmma::MmaUnit`].
//!
//! [`cpu`]: instructions of this processor. [`process`]: any program that speaks our protocol on its
//! standard input and output.
#![deny(unsafe_code)] // but where a module's head says why

pub mod cpu;
pub mod process;
