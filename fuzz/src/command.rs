//! The command `bitmma`, for the tests of this crate.

use std::process::ExitCode;

fn main() -> ExitCode {
    bitmma_cli::run(std::env::args_os()).into()
}
