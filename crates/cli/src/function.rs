//! `bitmma function`: the approximate functions of NVIDIA GPUs.

mod check;
mod session;
mod steps;

use std::path::PathBuf;

use bitmma_document::{Table, style};
use bitmma_engine::Architecture;
use bitmma_engine::catalogue::{Accepted, accept_function};
use bitmma_engine::formats::F32;
use bitmma_engine::formats::text::display;
use bitmma_engine::functions::digest::BLOCKS;
use bitmma_engine::functions::nearest::{nearest, ulps};
use bitmma_engine::functions::ptx::Form;
use bitmma_engine::functions::{self, Step};

use crate::failure::{Failure, Outcome, Within};
use crate::{describe, json, output, values};

const HELP: &str = "\
FUNCTION is rcp, sqrt, rsqrt, ex2, lg2, sin or cos: the PTX instruction FUNCTION.approx.f32; FUNCTION.approx.ftz.f32 \
flushes subnormal inputs and results. VALUE is a decimal, a hexadecimal float or a code, rounded \
to FP32; write `--` before -inf or -0x1p3.

All seven are known exactly for Volta and Turing. Where nothing is known of ARCH, the command declines; --assume takes \
the same model, and the output says so. docs/functions.md has the evidence and how far off each function is.

A digest is the sum of mix(x << 32 | y) over the 2^24 inputs x that share their upper eight bits, the block.

Examples:
  bitmma function ex2 turing 0.1 0x3f000000
  bitmma function rsqrt h100 2 --explain
  bitmma function ex2 h100 -1.5 --assume
  bitmma function rcp turing --digest 00 7f
  bitmma function --check results.csv h100

JSON: schema, form, architecture, evidence, assumed, results [{x {value, code, format}, y, nearest, ulps, steps}], digests \
[{block, digest}], compared, differing, differences [{line, function, x, expected, actual}].";

/// Evaluates an approximate function of NVIDIA GPUs: rcp, rsqrt, ex2, sin, …
#[derive(Clone, Debug, clap::Args)]
#[command(after_long_help = HELP)]
pub(crate) struct Arguments {
    /// Function, architecture and values: ex2 turing 0.1
    ///
    /// With --check only ARCH, or nothing for the model alone.
    #[arg(value_name = "FUNCTION ARCH VALUE", allow_negative_numbers = true)]
    words: Vec<String>,
    /// Print digests of blocks of 2^24 inputs instead of results
    ///
    /// All 256 blocks, or those named instead of values, one line `BLOCK DIGEST` each.
    #[arg(long, conflicts_with_all = ["check", "explain"])]
    digest: bool,
    /// Compare with results from a CSV file (function,x,y)
    #[arg(long, value_name = "FILE", conflicts_with = "explain")]
    check: Option<PathBuf>,
    /// Compare all 2^32 results of every function on a GPU with the models
    #[arg(long, value_name = "cuda:N", requires = "out", conflicts_with_all = ["check", "digest", "explain", "words", "json"])]
    gpu: Option<String>,
    /// Folder for the results of --gpu
    ///
    /// It gets the evidence, the inputs that differ, and results of functions without a model.
    #[arg(long, value_name = "DIR", requires = "gpu")]
    out: Option<PathBuf>,
    /// Show the row of the table, the terms of the sum, and what is cut
    #[arg(long)]
    explain: bool,
    /// Use the model of Volta and Turing where nothing is known of ARCH
    #[arg(long)]
    assume: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Runs it.
pub(crate) fn run(arguments: &Arguments) -> Result<Outcome, Failure> {
    let words: Vec<&str> = arguments.words.iter().map(String::as_str).collect();
    if let (Some(gpu), Some(folder)) = (&arguments.gpu, &arguments.out) {
        return session::run(gpu, folder);
    }
    if let Some(path) = &arguments.check {
        return match words[..] {
            [] => check::run(path, None, arguments),
            [architecture] => check::run(path, Some(architecture.parse()?), arguments),
            _ => bail!("--check takes ARCH alone, not {} words; the file names the functions", words.len()),
        };
    }
    let [function, architecture, ref values @ ..] = words[..] else {
        bail!("FUNCTION and ARCH are missing, as in `bitmma function ex2 turing 0.1`");
    };
    let form: Form = function.parse()?;
    let on = accepted(architecture.parse()?, form, arguments.assume)?;
    match (arguments.digest, values) {
        (true, []) => digests(form, &on, &(0..BLOCKS).collect::<Vec<_>>(), arguments.json)?,
        (true, words) => digests(form, &on, &blocks(words)?, arguments.json)?,
        (false, []) => bail!("no value: give numbers, or --digest"),
        (false, values) => evaluate(form, &on, values, arguments)?,
    }
    Ok(Outcome::Agrees)
}

/// An architecture, and why its model is believed.
struct On {
    architecture: Architecture,
    accepted: Accepted,
}

/// Whether the model may be used.
fn accepted(architecture: Architecture, form: Form, assume: bool) -> Result<On, Failure> {
    match accept_function(architecture, form.function, assume) {
        Ok(accepted) => Ok(On { architecture, accepted }),
        Err(error) if assume => Err(error.into()),
        Err(error) => Err(Failure::new(error.to_string().replace("assume it", "add --assume"))),
    }
}

/// An input and what comes of it.
struct Evaluated {
    x: u32,
    y: u32,
    nearest: u32,
    ulps: Option<i64>,
    steps: Vec<Step>,
}

fn evaluated(form: Form, word: &str) -> Result<Evaluated, Failure> {
    let x = values::read(&F32, word, true)? as u32; // a code of FP32
    let (y, steps) = form.steps(x);
    let nearest = nearest(form.function, x);
    Ok(Evaluated { x, y, nearest, ulps: ulps(y, nearest), steps })
}

fn evaluate(form: Form, on: &On, words: &[&str], arguments: &Arguments) -> Result<(), Failure> {
    let read = |(index, word): (usize, &&str)| evaluated(form, word).within(format!("VALUE[{index}]"));
    let results = words.iter().enumerate().map(read).collect::<Result<Vec<_>, _>>()?;
    if arguments.json {
        let coded = |code: u32| json::Coded::new(&F32, code.into());
        let result = |one: &Evaluated| {
            let steps = arguments.explain.then(|| steps::words(form, one));
            json::object! {
                x: coded(one.x), y: coded(one.y), nearest: coded(one.nearest), ulps: one.ulps,
                steps: steps,
            }
        };
        return json::print(&json::object! {
            #[serde(flatten)]
            on: head(form, on),
            results: results.iter().map(result).collect::<Vec<_>>(),
        });
    }
    let mut table = Table::new(&[">x", "code", ">result", "code", ">correctly rounded", "code", ">ulps off"])
        .less(&[1, 5]);
    for one in &results {
        let [x, y, nearest] = [one.x, one.y, one.nearest].map(u64::from);
        let ulps = one.ulps.map_or_else(|| "-".to_owned(), |ulps| format!("{ulps:+}").replace("+0", "0"));
        table.row([
            display(&F32, x),
            describe::code(&F32, x),
            style::strong(&display(&F32, y)),
            describe::code(&F32, y),
            display(&F32, nearest),
            describe::code(&F32, nearest),
            ulps,
        ]);
    }
    let mut text = format!("{}\n\n{}", heading(form, on), table.render(crate::layout::width()));
    if arguments.explain {
        for one in &results {
            text += &format!("\n{}", steps::text(form, one));
        }
    }
    output::print(&text)
}

/// Blocks as two hexadecimal digits each.
fn blocks(words: &[&str]) -> Result<Vec<u32>, Failure> {
    let block = |word: &&str| {
        let is_block = word.len() == 2 && word.bytes().all(|digit| digit.is_ascii_hexdigit());
        u32::from_str_radix(word, 16).ok().filter(|_| is_block).ok_or_else(|| {
            Failure::new(format!(
                "'{word}' is not a block; with --digest, give blocks from 00 to ff, or none for all"
            ))
        })
    };
    words.iter().map(block).collect()
}

fn digests(form: Form, on: &On, blocks: &[u32], as_json: bool) -> Result<(), Failure> {
    let digests = functions::digests(form, blocks);
    let lines = blocks.iter().zip(&digests);
    if as_json {
        let line = |(block, digest): (&u32, &u64)| {
            json::object! { block: format!("{block:02x}"), digest: format!("{digest:016x}") }
        };
        return json::print(&json::object! {
            #[serde(flatten)]
            on: head(form, on),
            digests: lines.map(line).collect::<Vec<_>>(),
        });
    }
    remark(on);
    let text: String = lines.map(|(block, digest)| format!("{block:02x} {digest:016x}\n")).collect();
    output::raw(&text)
}

/// Says what was assumed, beside an output for programs.
fn remark(on: &On) {
    if let Some(assumed) = &on.accepted.assumed {
        output::note(&format!("assumed: {assumed}"));
    }
}

/// `ex2.approx.f32 on hopper`, and why that is known or that it is assumed.
fn heading(form: Form, on: &On) -> String {
    let Accepted { evidence, assumed } = &on.accepted;
    let assumed = assumed.as_ref().map_or(String::new(), |text| format!("\nassumed: {text}"));
    format!("{} on {}\n{evidence}{assumed}", style::strong(&form.to_string()), on.architecture)
}

fn head(form: Form, on: &On) -> impl serde::Serialize + use<> {
    json::object! {
        form: form.to_string(),
        architecture: on.architecture.name(),
        evidence: on.accepted.evidence.to_string(),
        assumed: on.accepted.assumed.clone(),
    }
}
