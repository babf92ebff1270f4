//! `bitmma probe`: how an unknown unit computes.

use std::path::PathBuf;

use bitmma_probe::{Error, Options, Verdict};
use bitmma_verify::open::KINDS;

use crate::count::{MOST, count};
use crate::failure::{Failure, Outcome, Within};
use crate::progress::Bar;
use crate::{output, target, unit, whole};

mod json;

const EXAMPLE: &str = "\
Examples:
  bitmma probe sim:hopper/mma.m16n8k16.f32.f16.f16.f32
  bitmma probe sim:mi300x/v_mfma_f32_32x32x8_f16 --out found
  bitmma probe sim:mi300x/v_mfma_f32_32x32x8_f16 --out found --resume
  bitmma probe model:mine.toml@16x8x32 --json

--out DIR gets model.toml (if a model was found; for run, gemm, explain and replay), report.txt, \
report.html and questions.csv (every question with its answer; --resume continues from it).

Exit code 0: a model was found; 1: the unit is not explained, or faulty; 2: an error.

JSON: schema, target, m, n, k, blocks, a, b, c, d, scale {format, block}, seed, verdict (found, not explained, faulty), \
questions, tests, order {tree, notes}, features [{name, value}], revisions [{family, instruction, place {block, row, \
column}, case {a, b, c, scale_a, scale_b}, expected {value, code, format}, actual {value, code, format}}], (if found) \
model {family, parameters, lowering, toml, known [{symbol, value, certainty, open, same, ruled_out}], equivalent, tried, \
known_as}, (if not explained) nearest {family, parameters, lowering, toml, agrees, of}, (if faulty) faults [{fault, meaning, \
place {block, row, column}, asked, case {a, b, c, scale_a, scale_b}, expected, actual, elements {differ, of}, explanation}].";

/// Finds the model of an unknown unit by asking it questions
#[derive(Clone, Debug, clap::Args)]
#[command(after_long_help = format!("{EXAMPLE}\n\n{KINDS}"))]
pub(crate) struct Arguments {
    /// Unit to probe: exec:COMMAND, cuda:N/INSTRUCTION, …
    unit: String,
    #[command(flatten)]
    revision: target::RevisionArgument,
    /// Elements of D that the model must agree with
    #[arg(long, value_name = "COUNT", default_value = "1e6", value_parser = count::<u64>(0..=MOST))]
    tests: u64,
    /// Seed of the random inputs
    #[arg(long, default_value_t = 1, value_parser = count::<u64>(0..=u64::MAX))]
    seed: u64,
    /// Folder for the model, the reports and the log
    #[arg(short, long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Continue an earlier probe of the same unit into the same folder
    #[arg(long, requires = "out")]
    resume: bool,
    #[command(flatten)]
    limits: unit::LimitArguments,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Runs it.
pub(crate) fn run(arguments: &Arguments) -> Result<Outcome, Failure> {
    let unit = arguments.limits.open(&arguments.unit, arguments.revision.revision)?;
    if let Some(folder) = &arguments.out {
        whole::make_folder(folder).within(folder.display())?;
    }
    let options = Options {
        tests: arguments.tests,
        seed: arguments.seed,
        log: arguments.out.as_ref().map(|folder| folder.join("questions.csv")),
        resume: arguments.resume,
    };
    let bar = Bar::new("");
    let report = |stage: &str, done, total| {
        bar.show(done, total, |_| format!("{stage}, {done} answers"));
        Ok(())
    };
    let outcome = bitmma_probe::probe(&*unit, &options, &report);
    drop(bar);
    let outcome = outcome.map_err(|error| match (&error, &options.log) {
        (Error::Unit { .. } | Error::Answer { .. }, Some(log)) => Failure::new(format!(
            "{error}\nthe answers so far are in {}; use --resume to continue",
            log.display()
        )),
        _ => Failure::new(error.to_string()),
    })?;
    if let Some(folder) = &arguments.out {
        let files = [
            ("model.toml", outcome.to_toml()),
            ("report.txt", Some(outcome.to_text())),
            ("report.html", Some(outcome.to_html())),
        ];
        for (name, text) in files {
            let path = folder.join(name);
            match text {
                Some(text) => {
                    whole::write(&path, |file| file.write_all(text.as_bytes())).within(path.display())?;
                }
                // a model of an earlier probe is none of this one
                None if path.exists() => std::fs::remove_file(&path).within(path.display())?,
                None => {}
            }
        }
    }
    if arguments.json {
        crate::json::print(&json::page(&outcome))?;
    } else {
        output::print(&outcome.summary())?;
        if let Some(folder) = &arguments.out {
            output::note(&format!("the whole report is in {}", folder.join("report.html").display()));
        }
    }
    Ok(if matches!(outcome.verdict, Verdict::Found(_)) { Outcome::Agrees } else { Outcome::Differs })
}
