//! The command `bitmma`: its arguments, what it prints, how it ends. No arithmetic, no decisions.
#![deny(unsafe_code)] // but for the foreign product that `bench` compares with
#![allow(non_camel_case_types)] // `json::object` names the type of each value as its key

#[macro_use]
mod failure;

mod analyze;
mod bench;
mod call;
mod command;
mod compare;
mod count;
mod describe;
mod diff;
mod documents;
mod dot;
mod explain;
mod explore;
mod files;
mod function;
mod gemm;
mod generate;
mod golden;
mod json;
mod kernel;
mod layout;
mod list;
mod meant;
mod operands;
mod output;
pub mod pictures;
mod plan;
mod probe;
mod progress;
mod record;
mod recorded;
mod replay;
mod report;
mod run;
mod serve;
mod show;
mod target;
mod unit;
mod values;
mod verify;
mod verify_calls;
mod which;
mod whole;

use std::ffi::OsString;

use clap::error::ErrorKind;

use crate::failure::{Failure, Outcome};

/// Does what a command line asks for, the name of the command first, and returns how it ended: 0 done, or everything
/// agrees; 1 something differs; 2 an error.
///
/// Results go to the standard output, remarks and errors to the standard error, as `bitmma --help` says; with `--json`
/// an error is an object on the standard output, too, unless the result that was printed there says it.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> u8 {
    let words: Vec<OsString> = arguments.into_iter().collect();
    // a program that asked for JSON gets it for an error, too, on the standard output
    let is_json = words.iter().any(|word| word == "--json");
    let ended = match command::Arguments::read(&words) {
        Ok(arguments) => {
            arguments.layout.apply();
            arguments.run().map(Outcome::code)
        }
        Err(error) if error.kind() == ErrorKind::InvalidUtf8 => Err(command::not_utf8(&words)),
        Err(error) if error.use_stderr() => {
            let _ = error.print(); // there is nowhere else to say it
            if is_json {
                json::error(error.to_string().trim());
            }
            Ok(error.exit_code() as u8)
        }
        Err(help) => output::help(&help).map(|()| 0),
    };
    match ended {
        Ok(code) => code,
        Err(Failure::ClosedPipe) => 0,
        Err(failure) => {
            output::error(&failure);
            if is_json && !matches!(failure, Failure::Reported(_)) {
                json::error(&failure.to_string());
            }
            2
        }
    }
}
