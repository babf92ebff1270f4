//! The command line as a whole: every subcommand.

use std::ffi::OsString;

use clap::error::ErrorKind;
use clap::{ArgAction, CommandFactory, FromArgMatches, Parser, Subcommand};

use crate::failure::{Failure, Outcome};
use crate::{
    analyze, bench, call, compare, diff, dot, explain, function, gemm, generate, golden, kernel, layout,
    list, plan, probe, record, replay, report, run, serve, show, verify, verify_calls,
};

const EXAMPLE: &str = "\
Example: one input through every instruction, and why one of them answers as it does
  bitmma compare
  bitmma explain hopper mma.m16n8k16.f32.f16.f16.f32 \\
         -a '-8192 -0.5 -0.25 -0.125' -b '1024 1 1 1' -c 0x1p23

Exit codes: 0 done, or everything agrees; 1 something differs; 2 an error.";

/// What a GPU's matrix multiply-accumulate instruction answers, bit for bit
#[derive(Debug, Parser)]
#[command(name = "bitmma", version, after_help = EXAMPLE, max_term_width = 100, disable_help_subcommand = true)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Command,
    #[command(flatten)]
    pub(crate) layout: layout::Arguments,
}

#[derive(Debug, Subcommand)]
enum Command {
    List(list::Arguments),
    Show(show::Arguments),
    Compare(compare::Arguments),
    Diff(diff::Arguments),
    Explain(explain::Arguments),
    Dot(dot::Arguments),
    Function(function::Arguments),
    Run(run::Arguments),
    Gemm(Box<gemm::Arguments>), // it has the most flags
    Call(call::Arguments),
    Kernel(kernel::Arguments),
    Plan(plan::Arguments),
    VerifyCalls(verify_calls::Arguments),
    Replay(replay::Arguments),
    Record(record::Arguments),
    Golden(golden::Arguments),
    Verify(verify::Arguments),
    Serve(serve::Arguments),
    Probe(probe::Arguments),
    Analyze(analyze::Arguments),
    Report(report::Arguments),
    Bench(bench::Arguments),
    Generate(generate::Arguments),
}

impl Arguments {
    /// Reads a command line, the name of the command first.
    pub(crate) fn read(words: &[OsString]) -> Result<Arguments, clap::Error> {
        // -1 is the value of the option before it, which says what it may be
        let negative = |argument: clap::Arg| match argument.get_action() {
            ArgAction::Set | ArgAction::Append if !argument.is_positional() => {
                argument.allow_negative_numbers(true)
            }
            _ => argument,
        };
        let command = Arguments::command().mut_subcommands(|one| one.mut_args(negative));
        let matches = command.try_get_matches_from(words)?;
        Arguments::from_arg_matches(&matches)
    }

    /// Does what was asked for.
    pub(crate) fn run(&self) -> Result<Outcome, Failure> {
        match &self.command {
            Command::List(arguments) => list::run(arguments),
            Command::Show(arguments) => show::run(arguments),
            Command::Compare(arguments) => compare::run(arguments),
            Command::Diff(arguments) => diff::run(arguments),
            Command::Explain(arguments) => explain::run(arguments),
            Command::Dot(arguments) => dot::run(arguments),
            Command::Function(arguments) => function::run(arguments),
            Command::Run(arguments) => run::run(arguments),
            Command::Gemm(arguments) => gemm::run(arguments),
            Command::Call(arguments) => call::run(arguments),
            Command::Kernel(arguments) => kernel::run(arguments),
            Command::Plan(arguments) => plan::run(arguments),
            Command::VerifyCalls(arguments) => verify_calls::run(arguments),
            Command::Replay(arguments) => replay::run(arguments),
            Command::Record(arguments) => record::run(arguments),
            Command::Golden(arguments) => golden::run(arguments),
            Command::Verify(arguments) => verify::run(arguments),
            Command::Serve(arguments) => serve::run(arguments),
            Command::Probe(arguments) => probe::run(arguments),
            Command::Analyze(arguments) => analyze::run(arguments),
            Command::Report(arguments) => report::run(arguments),
            Command::Bench(arguments) => bench::run(arguments),
            Command::Generate(arguments) => generate::run(arguments, Arguments::command()),
        }
    }
}

/// Which word of a command line is not UTF-8 and should be.
pub(crate) fn not_utf8(words: &[OsString]) -> Failure {
    let lossy = |word: &OsString| OsString::from(word.to_string_lossy().into_owned());
    // the one that is refused also where it is alone
    let is_refused = |place: &usize| {
        let mut others: Vec<OsString> = words.iter().map(lossy).collect();
        others[*place].clone_from(&words[*place]);
        Arguments::read(&others).is_err_and(|error| error.kind() == ErrorKind::InvalidUtf8)
    };
    let place = (1..words.len()).find(is_refused).unwrap_or(0);
    let word = words[place].to_string_lossy();
    let before = words[place.saturating_sub(1)].to_string_lossy();
    let option = if before.starts_with('-') { format!("{before}: ") } else { String::new() };
    Failure::new(format!("{option}'{word}' is not UTF-8; names must be"))
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        super::Arguments::command().debug_assert();
    }
}
