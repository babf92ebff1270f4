//! The files of a product: operands read, D described; what `run` and `gemm` share.

use std::collections::BTreeMap;
use std::path::PathBuf;

use bitmma_engine::formats::Format;
use bitmma_engine::{Matrix, Model, shape_text};
use serde::Serialize;

use crate::failure::{Failure, Within};
use crate::files::Source;
use crate::target::{self, Target};

/// What the help says of files.
macro_rules! files_help {
    () => {
        "\
Files: .npy (float16, float32, float64, int8, int32, or unsigned integers holding codes) or .safetensors (F64, F32, F16, \
BF16, F8_*, F6_*, F4, I8, I32, or U8 to U64 holding codes); FILE.safetensors:NAME selects one of several tensors. The \
file must have the operand's type: nothing is converted. TF32 and XF32 are read from FP32 words, UE4M3 from \
F8_E4M3, numbers of u8 from uint8. Codes of 1, 4 and 6 bits take a byte each in .npy and U8; in F4 and F6_* they are packed without \
gaps, first element in the lowest bits, and the shape counts elements. FILE.csv:a (:b, :c, :scale_a, :scale_b, :d) is \
a column of a recording, whose lines are products of 1×K by K×1, of any K.

"
    };
}
pub(crate) use files_help;

/// The files of the operands and of D.
#[derive(Clone, Debug, clap::Args)]
#[group(skip)]
pub(crate) struct Arguments {
    /// A, M×K
    #[arg(help_heading = "Matrices", short, long, value_name = "FILE")]
    pub(crate) a: Source,
    /// B, K×N
    #[arg(help_heading = "Matrices", short, long, value_name = "FILE")]
    pub(crate) b: Source,
    /// C, M×N [default: +0 everywhere]
    #[arg(help_heading = "Matrices", short, long, value_name = "FILE")]
    pub(crate) c: Option<Source>,
    /// Scale factors of A, M × K/block
    #[arg(help_heading = "Matrices", long, value_name = "FILE", hide_short_help = true)]
    pub(crate) scale_a: Option<Source>,
    /// Scale factors of B, K/block × N
    #[arg(help_heading = "Matrices", long, value_name = "FILE", hide_short_help = true)]
    pub(crate) scale_b: Option<Source>,
    /// B is N×K in its file
    ///
    /// As linear layers store weights. Its scale factors are transposed likewise: N × K/block.
    #[arg(help_heading = "Matrices", long, visible_alias = "bt")]
    pub(crate) b_transposed: bool,
    /// File for D: .npy or .safetensors
    ///
    /// In .safetensors D is the tensor `d`, and the metadata records what ran.
    #[arg(help_heading = "Matrices", short, long, value_name = "FILE")]
    pub(crate) out: PathBuf,
}

/// The matrices that were read.
pub(crate) struct Matrices {
    pub(crate) a: Matrix,
    pub(crate) b: Matrix,
    pub(crate) c: Option<Matrix>,
    pub(crate) scale_a: Option<Matrix>,
    pub(crate) scale_b: Option<Matrix>,
}

impl Arguments {
    /// Reads every operand in the target's formats; scale factors must be given exactly where there are some.
    /// `scales` is the format of scales that the target itself does not take.
    pub(crate) fn read(&self, target: &Target, scales: Option<Format>) -> Result<Matrices, Failure> {
        let model = &target.model;
        if scales.is_none() {
            check_scales(&target.name, model, self.scale_a.is_some(), self.scale_b.is_some())?;
        }
        let a = read("--a", &self.a, model.a, false)?;
        let b = read("--b", &self.b, model.b, self.b_transposed)?;
        let c = self.c.as_ref().map(|source| read("--c", source, model.c, false)).transpose()?;
        let scale = |flag, source: &Option<Source>, transposed| {
            let format = scales.or(model.scale.map(|scale| scale.format));
            source
                .as_ref()
                .zip(format)
                .map(|(source, format)| read(flag, source, format, transposed))
                .transpose()
        };
        let scale_a = scale("--scale-a", &self.scale_a, false)?;
        let scale_b = scale("--scale-b", &self.scale_b, self.b_transposed)?;
        Ok(Matrices { a, b, c, scale_a, scale_b })
    }

    /// The failure, with advice where B may have been meant transposed.
    pub(crate) fn advise(&self, error: bitmma_engine::Error, a: &Matrix, b: &Matrix) -> Failure {
        let swapped = matches!(error, bitmma_engine::Error::Shape { operand: "B", .. })
            && b.columns() == a.columns()
            && b.rows() != a.columns();
        let hint = if swapped { transposed_hint(self.b_transposed) } else { "" };
        // an option is called as it was typed
        let error = match error {
            bitmma_engine::Error::GemmOption { option, value, allowed } => {
                let typed = |text: &str| text.replace("scale_blocks", "--scale-blocks");
                let option = match option {
                    "K" | "K of scale_blocks" => typed(option),
                    _ => format!("--{}", option.replace('_', "-")),
                };
                Failure::new(format!("{option} is {value}; {}", typed(&allowed)))
            }
            bitmma_engine::Error::Nan { place, format } => {
                Failure::new(format!("{place} is NaN, and {format} has no NaN; --nan says what it becomes"))
            }
            other => other.into(),
        };
        match error {
            Failure::Message(message) => Failure::Message(message + hint),
            other => other,
        }
    }

    /// `16×16 f16 · 16×8 f16 + 16×8 f32 = 16×8 f32 in d.npy`.
    pub(crate) fn line(&self, target: &Target, matrices: &Matrices, d: &Matrix) -> String {
        let text = |matrix: &Matrix| format!("{} {}", shape_text(matrix.shape()), matrix.format());
        let scaled = match target.model.scale {
            Some(scale) => format!(", scaled by {} in blocks of {}", scale.format, scale.size),
            None => String::new(),
        };
        format!(
            "{} · {}{scaled} + {} = {} in {}",
            text(&matrices.a),
            text(&matrices.b),
            matrices.c.as_ref().map_or("0".to_owned(), text),
            text(d),
            self.out.display()
        )
    }

    /// The sizes, and file, format and shape of every operand, for JSON.
    pub(crate) fn summary(&self, matrices: &Matrices, d: &Matrix, c_format: Format) -> Summary {
        let about = |file: Option<String>, format: Format, (blocks, rows, columns): (usize, usize, usize)| {
            let shape = if blocks == 1 { vec![rows, columns] } else { vec![blocks, rows, columns] };
            Stored { file, format: format.name, shape }
        };
        let read = |source: Option<&Source>, matrix: &Matrix| {
            about(source.map(ToString::to_string), matrix.format(), matrix.shape())
        };
        let optional = |source: &Option<Source>, matrix: &Option<Matrix>| {
            matrix.as_ref().map(|matrix| read(source.as_ref(), matrix))
        };
        let Matrices { a, b, c, scale_a, scale_b } = matrices;
        Summary {
            m: a.rows(),
            n: b.columns(),
            k: a.columns(),
            blocks: a.blocks(),
            a: read(Some(&self.a), a),
            b: read(Some(&self.b), b),
            c: optional(&self.c, c).unwrap_or_else(|| about(None, c_format, d.shape())),
            scale_a: optional(&self.scale_a, scale_a),
            scale_b: optional(&self.scale_b, scale_b),
            d: about(Some(self.out.display().to_string()), d.format(), d.shape()),
        }
    }
}

/// Where a matrix is, for JSON.
#[derive(Serialize)]
struct Stored {
    /// None: zeros without a file.
    file: Option<String>,
    format: &'static str,
    /// Rows and columns, before them the blocks where there are several.
    shape: Vec<usize>,
}

/// Sizes and operands of a product, for JSON.
#[derive(Serialize)]
pub(crate) struct Summary {
    m: usize,
    n: usize,
    k: usize,
    blocks: usize,
    a: Stored,
    b: Stored,
    c: Stored,
    scale_a: Option<Stored>,
    scale_b: Option<Stored>,
    d: Stored,
}

/// Scale factors must be given exactly where there are some.
pub(crate) fn check_scales(name: &str, model: &Model, a: bool, b: bool) -> Result<(), Failure> {
    for (flag, operand, given) in [("--scale-a", "A", a), ("--scale-b", "B", b)] {
        match (model.scale, given) {
            (None, true) => {
                bail!("{flag} is given; {name} takes no scale factors");
            }
            (Some(scale), false) => {
                bail!(
                    "{flag} is missing; {name} takes one {} factor for every {} elements of {operand} along K",
                    scale.format,
                    scale.size
                );
            }
            _ => {}
        }
    }
    Ok(())
}

/// The format that a file's type names; an error, which names the option that says it, where the file holds codes.
pub(crate) fn format_of(flag: &str, option: &str, source: &Source) -> Result<Format, Failure> {
    source.format().within(flag)?.ok_or_else(|| {
        Failure::new(format!(
            "{flag}: {source} holds codes, whose format the type does not tell; say it with {option}"
        ))
    })
}

pub(crate) fn read(flag: &str, source: &Source, format: Format, transposed: bool) -> Result<Matrix, Failure> {
    source.read(&format).and_then(|tensor| Ok(tensor.into_matrix(format, transposed)?)).within(flag)
}

/// Why A and B have no product, with advice where B may have been meant transposed.
pub(crate) fn do_not_fit(a: &Matrix, b: &Matrix, transposed: bool) -> Failure {
    let (m, k, rows, columns) = (a.rows(), a.columns(), b.rows(), b.columns());
    let hint = if columns == k { transposed_hint(transposed) } else { "" };
    Failure::new(format!("A is {m}×{k}, B {rows}×{columns}{hint}"))
}

/// What to try where B has the shape of its transpose.
pub(crate) const fn transposed_hint(already: bool) -> &'static str {
    if already { "" } else { " (if B's file is N×K, say --b-transposed)" }
}

/// What a .safetensors file says about how D came about.
pub(crate) fn metadata(target: &Target, arguments: &target::Arguments) -> BTreeMap<&'static str, String> {
    let mut metadata = BTreeMap::from([("bitmma", env!("CARGO_PKG_VERSION").to_owned())]);
    match &target.found {
        Some(found) => {
            metadata.insert("architecture", found.instruction.architecture.name().to_owned());
            metadata.insert("instruction", found.name());
            metadata.insert("revision", arguments.revision.revision.name().to_owned());
        }
        None => {
            metadata.insert("model", target.model.to_toml());
        }
    }
    metadata
}

/// `, revision paper` where it is not the usual one.
pub(crate) fn revision_text(target: &Target, arguments: &target::Arguments) -> String {
    match (&target.found, arguments.revision.revision) {
        (Some(_), revision) if revision != bitmma_engine::Revision::default() => {
            format!(", revision {revision}")
        }
        _ => String::new(),
    }
}
