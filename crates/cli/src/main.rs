//! The command `bitmma`.
#![deny(unsafe_code)] // but for the foreign product that `bench` compares with

mod analyze;
mod bench;
mod bits;
mod command;
mod compare;
mod describe;
mod documents;
mod dot;
mod explain;
mod failure;
mod files;
mod gemm;
mod generate;
mod list;
mod number;
mod operands;
mod output;
mod probe;
mod record;
mod replay;
mod report;
mod run;
mod serve;
mod show;
mod style;
mod table;
mod target;
mod unit;
mod values;
mod verify;
mod whole;

use std::process::ExitCode;

use clap::Parser;

use crate::failure::Failure;

fn main() -> ExitCode {
    match command::Arguments::parse().run() {
        Ok(outcome) => outcome.into(),
        Err(Failure::ClosedPipe) => ExitCode::SUCCESS,
        Err(failure) => {
            output::error(&failure);
            ExitCode::from(2)
        }
    }
}
