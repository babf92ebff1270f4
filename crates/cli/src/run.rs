//! `bitmma run`: matrices from files through one instruction, D into a file.

use std::collections::BTreeMap;
use std::path::PathBuf;

use bitmma::catalogue::Found;
use bitmma::formats::Format;
use bitmma::matrix::shape_text;
use bitmma::{Matrix, MmaUnit, Operands, Simulator, simulate};
use serde_json::{Value, json};

use crate::failure::{Failure, Outcome, Within};
use crate::files::{Output, Source};
use crate::output;
use crate::target::{self, Target};

const HELP: &str = "\
Files: .npy (float16, float32, float64, or unsigned integers holding codes) or .safetensors (F64, F32, F16, \
BF16, F8_*, F6_*, F4, or U8 to U64 holding codes); FILE.safetensors:NAME where it holds several tensors. The \
type must be the operand's own: nothing is converted. TF32 and XF32 are read from FP32 words, UE4M3 from \
F8_E4M3. Codes of 4 and 6 bits stand one to a byte in .npy and U8; in F4 and F6_* they are packed without \
gaps, first element in the lowest bits, and the shape counts elements.

Shapes: A is M×K, B K×N, C and D M×N, row-major; three dimensions, the first counting blocks, for an \
instruction that multiplies several pairs. Scale factors are M × K/block and K/block × N. Where the \
instruction's name leaves N (or M) open, B (or A) decides.

Example:
  bitmma run hopper wgmma.m64nNk16.f32.f16.f16 -a x.npy -b w.safetensors:layer.weight \\
         --b-transposed -o d.npy

JSON: architecture, instruction, revision, model, model_file, m, n, k, blocks; a, b, c, scale_a, scale_b, d: \
{file, format, shape}.";

/// Multiplies matrices from files by one instruction: D = A·B + C
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = HELP)]
#[group(skip)]
pub(crate) struct Arguments {
    #[command(flatten)]
    target: target::Arguments,
    /// A, M×K
    #[arg(short, long, value_name = "FILE")]
    a: Source,
    /// B, K×N
    #[arg(short, long, value_name = "FILE")]
    b: Source,
    /// C, M×N [default: +0 everywhere]
    #[arg(short, long, value_name = "FILE")]
    c: Option<Source>,
    /// Scale factors of A, M × K/block
    #[arg(long, value_name = "FILE")]
    scale_a: Option<Source>,
    /// Scale factors of B, K/block × N
    #[arg(long, value_name = "FILE")]
    scale_b: Option<Source>,
    /// B is N×K in its file, and its scale factors N × K/block, as linear layers store weights
    #[arg(long, visible_alias = "bt")]
    b_transposed: bool,
    /// Where D goes: .npy, or .safetensors (tensor `d`, with what ran as metadata)
    #[arg(short, long, value_name = "FILE")]
    out: PathBuf,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// The matrices that were read.
struct Matrices {
    a: Matrix,
    b: Matrix,
    c: Matrix,
    scale_a: Option<Matrix>,
    scale_b: Option<Matrix>,
}

/// Reads, multiplies, writes and says so.
pub(crate) fn run(arguments: &Arguments) -> Result<Outcome, Failure> {
    let mut target = arguments.target.resolve()?;
    let destination = Output::new(&arguments.out, &target.model.d).within("--out")?;
    check_scales(arguments, &target)?;

    let a = read("--a", &arguments.a, target.model.a, false)?;
    let b = read("--b", &arguments.b, target.model.b, arguments.b_transposed)?;
    if let Some(found) = &mut target.found {
        fill_in(found, arguments.target.instruction.as_deref().unwrap_or_default(), &a, &b)?;
        target.name = target::name_of(found);
    }
    let (blocks, m, n) = match &target.found {
        Some(found) => (found.instruction.blocks, found.m, found.n),
        None => (a.blocks(), a.rows(), b.columns()),
    };
    let c = match &arguments.c {
        Some(source) => read("--c", source, target.model.c, false)?,
        None => Matrix::zeros(target.model.c, (blocks, m, n))?,
    };
    let scale = |flag, source: &Option<Source>, transposed| {
        let format = target.model.scale.map(|scale| scale.format);
        source.as_ref().zip(format).map(|(source, format)| read(flag, source, format, transposed)).transpose()
    };
    let scale_a = scale("--scale-a", &arguments.scale_a, false)?;
    let scale_b = scale("--scale-b", &arguments.scale_b, arguments.b_transposed)?;
    let matrices = Matrices { a, b, c, scale_a, scale_b };

    let d = multiply(arguments, &target, &matrices)?;
    destination.write(&d, &metadata(arguments, &target)).within("--out")?;

    if arguments.json {
        output::print_json(&summary(arguments, &target, &matrices, &d))?;
    } else {
        output::print(&format!("{}\n", line(arguments, &target, &matrices, &d)))?;
    }
    Ok(Outcome::Agrees)
}

fn read(flag: &str, source: &Source, format: Format, transposed: bool) -> Result<Matrix, Failure> {
    source.read(&format).and_then(|tensor| tensor.into_matrix(format, transposed)).within(flag)
}

/// Whether scale factors are given exactly where there must be some.
fn check_scales(arguments: &Arguments, target: &Target) -> Result<(), Failure> {
    for (flag, operand, source) in
        [("--scale-a", "A", &arguments.scale_a), ("--scale-b", "B", &arguments.scale_b)]
    {
        match (target.model.scale, source) {
            (None, Some(_)) => {
                return Err(Failure::new(format!("{flag} is given; {} takes no scale factors", target.name)));
            }
            (Some(scale), None) => {
                return Err(Failure::new(format!(
                    "{flag} is missing; {} takes one {} factor for every {} elements of {operand} along K",
                    target.name, scale.format, scale.size
                )));
            }
            _ => {}
        }
    }
    Ok(())
}

/// Takes M and N from the operands where the spelling leaves them open.
fn fill_in(found: &mut Found, spelling: &str, a: &Matrix, b: &Matrix) -> Result<(), Failure> {
    let row = found.instruction;
    if row.m.is_range() && !spells(spelling, ["m", ""], found.m, ["n", "x"]) {
        if !row.m.contains(a.rows()) {
            return Err(Failure::new(format!(
                "A is {}, so M is {}; M of {row} may be {}",
                shape_text(a.shape()),
                a.rows(),
                row.m.in_words()
            )));
        }
        found.m = a.rows();
    }
    if row.n.is_range() && !spells(spelling, ["n", "x"], found.n, ["k", "x"]) {
        if !row.n.contains(b.columns()) {
            let hint = if b.columns() == row.k { transposed_hint(false) } else { "" };
            return Err(Failure::new(format!(
                "B is {}, so N is {}; N of {row} may be {}{hint}",
                shape_text(b.shape()),
                b.columns(),
                row.n.in_words()
            )));
        }
        found.n = b.columns();
    }
    Ok(())
}

/// Whether the spelling of an instruction says this size itself, as PTX (`m64n8k16`) or SASS (`64x8x16`)
/// write it: between one of two marks and one of two others.
fn spells(spelling: &str, before: [&str; 2], size: usize, after: [&str; 2]) -> bool {
    let spelling = spelling.to_ascii_lowercase();
    let tokens = || spelling.split('.');
    before.into_iter().zip(after).any(|(before, after)| {
        let text = format!("{before}{size}{after}");
        tokens().any(|token| if before.is_empty() { token.starts_with(&text) } else { token.contains(&text) })
    })
}

const fn transposed_hint(already: bool) -> &'static str {
    if already { "" } else { " (if B's file is N×K, say --b-transposed)" }
}

fn multiply(arguments: &Arguments, target: &Target, matrices: &Matrices) -> Result<Matrix, Failure> {
    let Matrices { a, b, c, scale_a, scale_b } = matrices;
    let operands = Operands { a, b, c, scale_a: scale_a.as_ref(), scale_b: scale_b.as_ref() };
    let result = match &target.found {
        Some(found) => Simulator::found(found, arguments.target.revision.revision)?.multiply(&operands),
        None => simulate(&target.model, &operands),
    };
    result.map_err(|error| {
        let swapped = matches!(error, bitmma::Error::Shape { operand: "B", .. })
            && b.columns() == a.columns()
            && b.rows() != a.columns();
        let hint = if swapped { transposed_hint(arguments.b_transposed) } else { "" };
        match Failure::from(error) {
            Failure::Message(message) => Failure::Message(message + hint),
            other => other,
        }
    })
}

/// What a .safetensors file says about how D came about.
fn metadata(arguments: &Arguments, target: &Target) -> BTreeMap<&'static str, String> {
    let mut metadata = BTreeMap::from([("bitmma", env!("CARGO_PKG_VERSION").to_owned())]);
    match &target.found {
        Some(found) => {
            metadata.insert("architecture", found.instruction.architecture.name().to_owned());
            metadata.insert("instruction", found.name());
            metadata.insert("revision", arguments.target.revision.revision.name().to_owned());
        }
        None => {
            metadata.insert("model", target.model.to_toml());
        }
    }
    metadata
}

/// `hopper mma.m16n8k16.f32.f16.f16.f32 (T-FDPA): 16×16 f16 · 16×8 f16 + 16×8 f32 = 16×8 f32 in d.npy`.
fn line(arguments: &Arguments, target: &Target, matrices: &Matrices, d: &Matrix) -> String {
    let text = |matrix: &Matrix| format!("{} {}", shape_text(matrix.shape()), matrix.format());
    let family = target.model.operation.name();
    let revision = match (&target.found, arguments.target.revision.revision) {
        (Some(_), revision) if revision != bitmma::Revision::default() => format!(", revision {revision}"),
        _ => String::new(),
    };
    let scaled = match target.model.scale {
        Some(scale) => format!(", scaled by {} in blocks of {}", scale.format, scale.size),
        None => String::new(),
    };
    let c = if arguments.c.is_some() { text(&matrices.c) } else { "0".to_owned() };
    format!(
        "{} ({family}{revision}): {} · {}{scaled} + {c} = {} in {}",
        target.name,
        text(&matrices.a),
        text(&matrices.b),
        text(d),
        arguments.out.display()
    )
}

fn summary(arguments: &Arguments, target: &Target, matrices: &Matrices, d: &Matrix) -> Value {
    let about = |file: Option<String>, matrix: &Matrix| {
        let (blocks, rows, columns) = matrix.shape();
        let shape = if blocks == 1 { vec![rows, columns] } else { vec![blocks, rows, columns] };
        json!({ "file": file, "format": matrix.format().name, "shape": shape })
    };
    let source = |source: &Option<Source>| source.as_ref().map(ToString::to_string);
    let optional = |file: &Option<Source>, matrix: &Option<Matrix>| {
        matrix.as_ref().map(|matrix| about(source(file), matrix))
    };
    let Matrices { a, b, c, scale_a, scale_b } = matrices;
    let found = target.found.as_ref();
    json!({
        "architecture": found.map(|found| found.instruction.architecture.name()),
        "instruction": found.map(Found::name),
        "revision": found.map(|_| arguments.target.revision.revision.name()),
        "model_file": found.is_none().then_some(&target.name),
        "model": target.model.operation.name(),
        "m": a.rows(),
        "n": b.columns(),
        "k": a.columns(),
        "blocks": a.blocks(),
        "a": about(Some(arguments.a.to_string()), a),
        "b": about(Some(arguments.b.to_string()), b),
        "c": about(source(&arguments.c), c),
        "scale_a": optional(&arguments.scale_a, scale_a),
        "scale_b": optional(&arguments.scale_b, scale_b),
        "d": about(Some(arguments.out.display().to_string()), d),
    })
}
