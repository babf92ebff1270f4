//! `bitmma compare`: one input through every instruction.

use std::path::PathBuf;

use bitmma_analysis::compare::{Input, Scope, compare};
use bitmma_engine::{Architecture, formats};

use crate::failure::{Failure, Outcome, Within};
use crate::{json, output, target, values};

const EXAMPLE: &str = "\
Examples:
  bitmma compare                    # the paper's Equation 1 and its table
  bitmma compare hopper cdna3 --composed
  bitmma compare --model mine.toml  # and the result of your own model
  bitmma compare --why              # and what each lost, at which step
  bitmma compare a100 h100 mi300x -a '1 0x1p-12 0x1p-12' \\
         -b '1 0x1p-12 -0x1p-13' -c 0

The input is the first row of A and the first column of B, zeros after it, and the first element of C; \
scale factors are one. An instruction that cannot hold the input exactly is left out, and counted unless it is of integers.

JSON: schema, revision, input {a, b, c}, with --model model {file, value, code, format, same}, answers [{target, architecture, instruction, class, kind, value, code, format, \
with --why losses [{operation, source, term, exact, kept, lost, last_bit}]}], left_out [{target, architecture, instruction, \
reason}].";

/// Computes one input with every instruction: a table of the results
#[derive(Clone, Debug, clap::Args)]
#[command(after_long_help = EXAMPLE)]
pub(crate) struct Arguments {
    /// Only these architectures (hopper, sm_90a, h100)
    #[arg(value_name = "ARCH", value_parser = target::architecture(), hide_possible_values = true)]
    architectures: Vec<Architecture>,
    /// Elements of A along K [default: the paper's Equation 1]
    #[arg(short, long, value_name = "VALUES", allow_hyphen_values = true, requires = "b")]
    a: Option<String>,
    /// Elements of B along K
    #[arg(short, long, value_name = "VALUES", allow_hyphen_values = true, requires = "a")]
    b: Option<String>,
    /// Element of C [default: 0, with -a and -b]
    #[arg(short, long, value_name = "VALUE", allow_hyphen_values = true, requires = "a")]
    c: Option<String>,
    /// Also compute with a model from a TOML file
    ///
    /// The output says which instructions give the same result.
    #[arg(long, value_name = "FILE")]
    model: Option<PathBuf>,
    /// Round values that a format cannot represent
    ///
    /// Without it, instructions of that format are left out.
    #[arg(long)]
    round: bool,
    /// Include instructions that the compiler composes of others
    #[arg(long)]
    composed: bool,
    /// Show what each instruction lost, at which step and in which term
    #[arg(long)]
    why: bool,
    #[command(flatten)]
    revision: target::RevisionArgument,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Runs it.
pub(crate) fn run(arguments: &Arguments) -> Result<Outcome, Failure> {
    let input = match (&arguments.a, &arguments.b) {
        (Some(a), Some(b)) => {
            let c = values::words(arguments.c.as_deref().unwrap_or("0"));
            let [c] = c[..] else {
                bail!("C has {} values; it takes one", c.len());
            };
            Input { a: values::words(a), b: values::words(b), c, round: arguments.round }
        }
        _ => Input::equation_1(),
    };
    check(&input)?;
    let mut scope = Scope {
        architectures: arguments.architectures.clone(),
        revision: arguments.revision.revision,
        composed: arguments.composed,
        why: arguments.why,
    };
    if scope.architectures.is_empty() {
        scope.architectures = Architecture::ALL.to_vec();
    }
    let mut found = compare(input, scope)?;
    if let Some(path) = &arguments.model {
        let model = target::read_model(path)?;
        found.add(path.display().to_string(), &model).within(path.display())?;
    }
    if arguments.json {
        json::print(&found)?;
    } else {
        output::document(&found.document(arguments.why))?;
    }
    Ok(Outcome::Agrees)
}

/// Rejects a word that is a number in no format; a number that only some formats have is accepted.
fn check(input: &Input<'_>) -> Result<(), Failure> {
    let formats = formats::FORMATS;
    for (name, words) in [("A", &input.a[..]), ("B", &input.b), ("C", &[input.c])] {
        for (index, word) in words.iter().enumerate() {
            let lower = word.to_ascii_lowercase();
            if lower.starts_with("0x") && !lower.contains('p') {
                bail!(
                    "{name}[{index}]: '{word}' is a code, which is another number in every format; \
                     write a value ({word}p0)"
                );
            }
            let readable = formats.iter().any(|format| values::read(format, word, input.round).is_ok());
            if !readable {
                values::read(&formats::F64, word, input.round)
                    .map_err(|failure| failure.within(format!("{name}[{index}]")))?;
            }
        }
    }
    Ok(())
}
