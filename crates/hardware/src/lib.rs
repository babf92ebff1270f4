//! Units that are not simulated: each kind of them is a module and opens as a [`bitmma::MmaUnit`].
//!
//! [`process`]: any program that speaks our protocol on its standard input and output.

pub mod process;
