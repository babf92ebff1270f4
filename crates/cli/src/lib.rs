//! The command `bitmma`: its arguments, what it prints, how it ends. No arithmetic, no decisions.
#![deny(unsafe_code)] // but for the foreign product that `bench` compares with
#![allow(non_camel_case_types)] // `json::object` names the type of each value as its key

#[macro_use]
mod failure;

mod analyze;
mod bench;
mod bits;
mod call;
mod command;
mod compare;
mod count;
mod describe;
mod documents;
mod dot;
mod explain;
mod files;
mod gemm;
mod generate;
mod golden;
mod json;
mod layout;
mod list;
mod number;
mod operands;
mod output;
mod plan;
mod probe;
mod progress;
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
mod verify_calls;
mod whole;

use std::ffi::OsString;

use crate::failure::Failure;

/// Does what a command line asks for, the name of the command first, and returns how it ended: 0 done, or everything
/// agrees; 1 something differs; 2 an error.
///
/// Results go to the standard output, remarks and errors to the standard error, as `bitmma --help` says; with `--json`
/// an error is an object on the standard output, too, unless the result that was printed there says it.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> u8 {
    let words: Vec<OsString> = arguments.into_iter().collect();
    // a program that asked for JSON gets it for an error, too, on the standard output
    let is_json = words.iter().any(|word| word == "--json");
    let arguments = match command::Arguments::read(&words) {
        Ok(arguments) => arguments,
        Err(help_or_error) => {
            let _ = help_or_error.print(); // a closed pipe is not a failure
            if is_json && help_or_error.use_stderr() {
                json::error(help_or_error.to_string().trim());
            }
            return help_or_error.exit_code() as u8;
        }
    };
    arguments.layout.apply();
    match arguments.run() {
        Ok(outcome) => outcome.code(),
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
