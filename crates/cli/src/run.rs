//! `bitmma run`: matrices from files through one instruction, D into a file.

use bitmma_engine::catalogue::Found;
use bitmma_engine::kernel;
use bitmma_engine::{FastSimulator, Matrix, MmaUnit, Operands, Simulator, shape_text};

use crate::failure::{Failure, Outcome, Within};
use crate::files::Output;
use crate::operands::{self, Matrices, files_help, metadata, revision_text, transposed_hint};
use crate::target::{self, Target};
use crate::{json, output};

const HELP: &str = concat!(
    files_help!(),
    "\
Shapes: A is M×K, B K×N, C and D M×N, row-major; three dimensions, the first counting blocks, for an \
instruction that multiplies several pairs. Scale factors are M × K/block and K/block × N. Where the \
instruction's name leaves N (or M) open, B (or A) decides.

Example:
  bitmma run hopper wgmma.m64nNk16.f32.f16.f16 \\
         -a x.npy -b w.safetensors:layer.weight --b-transposed -o d.npy

JSON: schema, target, architecture, instruction, revision, model_file, model {family, parameters, lowering}, \
path (kernel or reference), m, n, k, blocks, a, b, c, scale_a, scale_b and d, each {file, format, shape}."
);

/// Multiplies matrices from files with one instruction: D = A·B + C
#[derive(Clone, Debug, clap::Args)]
#[command(after_long_help = HELP)]
pub(crate) struct Arguments {
    #[command(flatten)]
    target: target::Arguments,
    #[command(flatten)]
    files: operands::Arguments,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Reads, multiplies, writes and says so.
pub(crate) fn run(arguments: &Arguments) -> Result<Outcome, Failure> {
    let mut target = arguments.target.resolve()?;
    let destination = Output::new(&arguments.files.out, &target.model.d).within("--out")?;
    let matrices = arguments.files.read(&target, None)?;
    if let Some(found) = &mut target.found {
        let spelling = &arguments.target.spelling().unwrap_or_default();
        fill_in(found, spelling, &matrices.a, &matrices.b)?;
        target.name = target::name_of(found);
    }
    let d = multiply(arguments, &target, &matrices)?;
    destination.write(&d, &metadata(&target, &arguments.target)).within("--out")?;

    if arguments.json {
        let k = matrices.a.columns();
        json::print(&json::object! {
            #[serde(flatten)]
            computes: json::computes(&target, &arguments.target, k, Found::name),
            path: kernel::path(&target.model, k),
            #[serde(flatten)]
            files: arguments.files.summary(&matrices, &d, target.model.c),
        })?;
    } else {
        let family = target.model.operation.name();
        let revision = revision_text(&target, &arguments.target);
        let line = arguments.files.line(&target, &matrices, &d);
        output::print(&format!("{} ({family}{revision}): {line}\n", target.name))?;
    }
    Ok(Outcome::Agrees)
}

/// Takes M and N from the operands where the spelling leaves them open.
fn fill_in(found: &mut Found, spelling: &str, a: &Matrix, b: &Matrix) -> Result<(), Failure> {
    let row = found.instruction;
    if row.m.is_range() && !spells(spelling, ["m", ""], found.m, ["n", "x"]) {
        if !row.m.contains(a.rows()) {
            bail!(
                "A is {}, so M is {}; M of {row} may be {}",
                shape_text(a.shape()),
                a.rows(),
                row.m.in_words()
            );
        }
        found.m = a.rows();
    }
    if row.n.is_range() && !spells(spelling, ["n", "x"], found.n, ["k", "x"]) {
        if !row.n.contains(b.columns()) {
            let hint = if b.columns() == row.k { transposed_hint(false) } else { "" };
            bail!(
                "B is {}, so N is {}; N of {row} may be {}{hint}",
                shape_text(b.shape()),
                b.columns(),
                row.n.in_words()
            );
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

fn multiply(arguments: &Arguments, target: &Target, matrices: &Matrices) -> Result<Matrix, Failure> {
    let Matrices { a, b, c, scale_a, scale_b } = matrices;
    let operands = Operands { a, b, c: c.as_ref(), scale_a: scale_a.as_ref(), scale_b: scale_b.as_ref() };
    let result = match &target.found {
        Some(found) => {
            let unit = Simulator::found(found, arguments.target.revision.revision)?;
            FastSimulator::new(unit).multiply(&operands)
        }
        None => kernel::multiply(&target.model, a.columns(), &operands, None),
    };
    result.map_err(|error| arguments.files.advise(error, a, b))
}
