//! `bitmma verify-calls`: recorded calls of a library compared with the rules.

use std::path::{Path, PathBuf};
use std::time::Instant;

use bitmma_calls::cublaslt::Assume;
use bitmma_calls::fixtures::{self, Outcome as Fixture};
use bitmma_calls::recorded::Recording;
use bitmma_calls::verify::{Report, verify};
use bitmma_files::reading;
use serde::Serialize;

use crate::count::{MOST, count};
use crate::failure::{Failure, Outcome, Within};
use crate::output;

const HELP: &str = "\
FILE is a recording (its index.json, its folder or its .npz, format bitmma-calls/1), or planner fixtures (CSV). Each \
recorded call is run under the plan that its configuration or its log asks for; every bit must agree, and what the \
library rejected must be rejected. For each difference the command prints the first element, and the rule that decides it if \
one alone explains it. Exit code 0: everything agrees; 1: something differs; 2: an error.

Examples:
  bitmma verify-calls recordings/calls recordings/calls/planner/plans.csv
  bitmma verify-calls mine/index.json --assume version

JSON: schema, files [{file, calls, agree, values, differing_values, rejected {reason: count}, ran, declined [{id, reason}], \
differences [{id, what, rule, instead, values}]} or {file, fixtures, agree, both_decline, empty_parts, differences}], \
seconds.";

/// Compares recorded library calls with the rules
#[derive(Clone, Debug, clap::Args)]
#[command(after_long_help = HELP)]
pub(crate) struct Arguments {
    /// Recordings of calls, or planner fixtures
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Accept an unverified assumption: version or empty-parts; may be repeated
    #[arg(long, value_name = "ASSUMPTION", hide_possible_values = true, value_parser = ["version", "empty-parts"])]
    assume: Vec<String>,
    /// Differences to print for each file
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = count::<usize>(0..=MOST))]
    show: usize,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Runs it.
pub(crate) fn run(arguments: &Arguments) -> Result<Outcome, Failure> {
    let start = Instant::now();
    let mut assume = Assume::default();
    for name in &arguments.assume {
        assume.add(name).within("--assume")?;
    }
    let (mut text, mut files, mut differs) = (String::new(), Vec::new(), false);
    for path in &arguments.files {
        let (lines, value, wrong) = one(path, assume, arguments.show)?;
        text += &lines;
        files.push(value);
        differs |= wrong;
    }
    let seconds = start.elapsed().as_secs_f64();
    if arguments.json {
        crate::json::print(&crate::json::object! { files: files, seconds: seconds })?;
    } else {
        output::print(&format!("{text}{seconds:.1} s\n"))?;
    }
    Ok(if differs { Outcome::Differs } else { Outcome::Agrees })
}

fn one(path: &Path, assume: Assume, show: usize) -> Result<(String, Checked, bool), Failure> {
    let csv = path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("csv"));
    let is_fixtures = |bytes: Vec<u8>| fixtures::is_fixtures(&String::from_utf8_lossy(&bytes));
    if csv
        && is_fixtures(
            reading::bytes(path, "recorded calls (CSV)", reading::MOST_TEXT).within(path.display())?,
        )
    {
        return of_fixtures(path, assume, show);
    }
    let recording = Recording::read(path)?;
    let report = verify(&recording, assume).within(path.display())?;
    let differs = !report.differences.is_empty();
    let text = text(path, &recording, &report, show);
    Ok((text, Checked::Calls { file: path.display().to_string(), report }, differs))
}

fn text(path: &Path, recording: &Recording, report: &Report, show: usize) -> String {
    let rejected: usize = report.rejected.values().sum();
    let mut text = format!("{}: {}\n", path.display(), recording.index.device);
    text += &format!(
        "  {} calls: {} agree ({} values, {} differ), {rejected} rejected as the rules say, {} ran, {} declined, {} differ\n",
        report.calls,
        report.agree,
        report.values,
        report.differing_values,
        report.ran,
        report.declined.len(),
        report.differences.len()
    );
    for (kind, count) in &report.rejected {
        text += &format!("    rejected: {kind}: {count}\n");
    }
    for declined in report.declined.iter().take(show) {
        text += &format!("    declined: {}: {}\n", declined.id, declined.reason);
    }
    for difference in report.differences.iter().take(show) {
        text += &format!("  {}: {}\n", difference.id, difference.what);
        text += &match (difference.rule, &difference.instead) {
            (Some(rule), Some(instead)) => {
                format!("    rule {rule} decides it: with {instead} it would agree\n")
            }
            _ => "    no single rule explains it\n".to_owned(),
        };
    }
    text
}

/// What came of a file.
#[derive(Serialize)]
#[serde(untagged)]
enum Checked {
    Calls {
        file: String,
        #[serde(flatten)]
        report: Report,
    },
    Fixtures {
        file: String,
        fixtures: usize,
        agree: usize,
        both_decline: usize,
        empty_parts: usize,
        differences: Vec<String>,
    },
}

fn of_fixtures(path: &Path, assume: Assume, show: usize) -> Result<(String, Checked, bool), Failure> {
    let all = fixtures::read(path)?;
    let (mut agree, mut both, mut empty, mut wrong) = (0, 0, 0, Vec::new());
    for fixture in &all {
        match fixture.check(assume) {
            Fixture::Agrees => agree += 1,
            Fixture::BothDecline => both += 1,
            Fixture::EmptyParts => empty += 1,
            Fixture::Differs(what) => wrong.push(format!("{}: {what}", fixture.id)),
        }
    }
    let mut text = format!(
        "{}: {} configurations: {agree} plans agree, {both} declined by both, {empty} declined here for empty parts, {} differ\n",
        path.display(),
        all.len(),
        wrong.len()
    );
    wrong.iter().take(show).for_each(|line| text += &format!("  {line}\n"));
    let differs = !wrong.is_empty();
    let checked = Checked::Fixtures {
        file: path.display().to_string(),
        fixtures: all.len(),
        agree,
        both_decline: both,
        empty_parts: empty,
        differences: wrong,
    };
    Ok((text, checked, differs))
}
