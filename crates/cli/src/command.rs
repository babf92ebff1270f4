//! The command line as a whole: every subcommand.

use std::ffi::OsString;

use clap::error::ErrorKind;
use clap::{ArgAction, CommandFactory, FromArgMatches, Parser, Subcommand};

use crate::failure::{Failure, Outcome};
use crate::{
    analyze, bench, call, compare, diff, dot, explain, explore, function, gemm, generate, golden, kernel,
    layout, list, plan, probe, record, replay, report, run, serve, show, verify, verify_calls, which,
};

const EXAMPLE: &str = "\
Example: one input with every instruction, and why one of them returns what it does
  bitmma compare
  bitmma explain hopper mma.m16n8k16.f32.f16.f16.f32 \\
         -a '-8192 -0.5 -0.25 -0.125' -b '1024 1 1 1' -c 0x1p23

Exit codes: 0 done, or everything agrees; 1 something differs; 2 an error.";

const SHORT: &str = "Start with `bitmma compare`; `bitmma COMMAND -h` has the options of a command.";

/// The commands by what they are for, in the order of the help.
const GROUPS: [(&str, &[&str]); 7] = [
    ("Ask", &["list", "show", "compare", "diff", "explain", "explore", "dot", "which", "function"]),
    ("Multiply", &["run", "gemm", "call", "plan"]),
    ("Kernels", &["kernel"]),
    ("Check", &["replay", "verify", "verify-calls", "record", "golden"]),
    ("Discover", &["probe", "serve"]),
    ("Report", &["analyze", "report"]),
    ("Other", &["bench", "generate"]),
];

/// The help of the whole command, with the groups where clap has them before everything else.
const TEMPLATE: &str = "\
{about-with-newline}
{usage-heading} {usage}

{before-help}Options:
{options}{after-help}";

/// Computes what the matrix instructions (MMA) of GPUs return, bit for bit
#[derive(Debug, Parser)]
#[command(name = "bitmma", version, after_help = SHORT, after_long_help = EXAMPLE, help_template = TEMPLATE)]
#[command(max_term_width = 100, disable_help_subcommand = true)]
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
    Which(which::Arguments),
    Explain(explain::Arguments),
    Explore(explore::Arguments),
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
    /// The whole command line, its commands in groups.
    fn whole() -> clap::Command {
        let command = Arguments::command();
        let (names, lines) = (groups(&command, false), groups(&command, true));
        command.before_help(names).before_long_help(lines)
    }

    /// Reads a command line, the name of the command first.
    pub(crate) fn read(words: &[OsString]) -> Result<Arguments, clap::Error> {
        // -1 is the value of the option before it, which says what it may be
        let negative = |argument: clap::Arg| match argument.get_action() {
            ArgAction::Set | ArgAction::Append if !argument.is_positional() => {
                argument.allow_negative_numbers(true)
            }
            _ => argument,
        };
        let command = Arguments::whole().mut_subcommands(|one| one.mut_args(negative));
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
            Command::Which(arguments) => which::run(arguments),
            Command::Explain(arguments) => explain::run(arguments),
            Command::Explore(arguments) => explore::run(arguments),
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
            Command::Generate(arguments) => generate::run(arguments, Arguments::whole()),
        }
    }
}

/// The commands by group: their names, or a line for each.
fn groups(command: &clap::Command, has_lines: bool) -> String {
    let mut text = String::new();
    for (group, names) in GROUPS {
        let commands: Vec<&clap::Command> =
            names.iter().filter_map(|name| command.find_subcommand(name)).collect();
        if has_lines {
            text += &format!("{group}:\n");
            for one in commands {
                let about = one.get_about().map(ToString::to_string).unwrap_or_default();
                text += &format!("  {:<13} {about}\n", one.get_name());
            }
            text += "\n";
        } else {
            let names: Vec<&str> = commands.iter().map(|one| one.get_name()).collect();
            text += &format!("{:<10}{}\n", format!("{group}:"), names.join(", "));
        }
    }
    text.truncate(text.trim_end().len());
    text
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

    use super::{Arguments, GROUPS};

    #[test]
    fn the_command_line_is_consistent() {
        Arguments::whole().debug_assert();
    }

    #[test]
    fn every_command_is_in_one_group() {
        for one in Arguments::command().get_subcommands() {
            let name = one.get_name();
            let count = GROUPS.iter().filter(|(_, names)| names.contains(&name)).count();
            assert_eq!(count, 1, "{name}: command.rs, GROUPS");
        }
    }

    #[test]
    fn short_help_fits_a_terminal() {
        let mut command = Arguments::whole().term_width(80);
        command.build();
        let mut commands = vec![command.clone()];
        commands.extend(command.get_subcommands().cloned());
        let mut wrong = vec![];
        for mut one in commands {
            let text = one.clone().term_width(80).render_help().to_string();
            let lines = text.trim_end().lines().count();
            let is_wide = |line: &str| line.chars().count() > 80 && !line.starts_with("Usage: ");
            if lines > 24 || text.lines().any(is_wide) {
                wrong.push(format!("{lines} lines:\n{text}"));
            }
            one.build();
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }
}
