//! What `--json` prints: one object with a `schema`, the same words for the same things in every command.
//!
//! | key | meaning |
//! |---|---|
//! | `target` | what computes: architecture and instruction, a model's file, or a unit |
//! | `model` | how it computes: an object of type [`Model`] |
//! | `value` | a number, or `"nan"`, `"inf"`, `"-inf"` ([`Number`]) |
//! | `code` | the bits of a number in hex, as text |

use bitmma::catalogue::{Extent, Found};
pub(crate) use bitmma::explain::json::{Coded, Number};
use bitmma::formats::{BlockScale, Format};
use bitmma::{Case, Revision, Signature};
use serde::Serialize;
use serde_json::{Map, Value};

use crate::failure::Failure;
use crate::target::{Arguments, Target};
use crate::{describe, output};

/// The meaning of the keys; it changes when a key is renamed, removed or means something else.
const SCHEMA: u32 = 1;

/// Prints why the command failed: schema, error {message, exit_code}; a closed pipe is ignored.
pub(crate) fn error(message: &str) {
    #[derive(Serialize)]
    struct Page<'m> {
        error: Cause<'m>,
    }
    #[derive(Serialize)]
    struct Cause<'m> {
        message: &'m str,
        exit_code: u8,
    }
    let message = message.strip_prefix("error: ").unwrap_or(message);
    let _ = print(&Page { error: Cause { message, exit_code: 2 } });
}

/// Writes an object to the standard output, its schema first.
pub(crate) fn print(value: &impl Serialize) -> Result<(), Failure> {
    #[derive(Serialize)]
    struct Printed<'v, T> {
        schema: u32,
        #[serde(flatten)]
        value: &'v T,
    }
    let text = serde_json::to_string_pretty(&Printed { schema: SCHEMA, value });
    output::raw(&format!("{}\n", text?))
}

/// Scale factors: their format, and how many elements share one.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Scale {
    pub(crate) format: &'static str,
    pub(crate) block: usize,
}

impl From<BlockScale> for Scale {
    fn from(scale: BlockScale) -> Scale {
        Scale { format: scale.format.name, block: scale.size }
    }
}

/// The formats of operands and result.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Formats {
    a: &'static str,
    b: &'static str,
    c: &'static str,
    d: &'static str,
    scale: Option<Scale>,
}

impl Formats {
    pub(crate) fn new([a, b, c, d]: [Format; 4], scale: Option<BlockScale>) -> Formats {
        Formats { a: a.name, b: b.name, c: c.name, d: d.name, scale: scale.map(Scale::from) }
    }
}

/// A size that is one number, or any of a range.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(untagged)]
enum Size {
    One(usize),
    Range { first: usize, last: usize, step: usize },
}

impl From<Extent> for Size {
    fn from(extent: Extent) -> Size {
        match extent.is_range() {
            true => Size::Range { first: extent.first, last: extent.last, step: extent.step },
            false => Size::One(extent.first),
        }
    }
}

/// What a compiler makes an instruction of.
#[derive(Clone, Debug, Serialize)]
struct Parts {
    count: usize,
    part: String,
    around: String,
}

/// A row of the catalogue.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Instruction {
    target: String,
    architecture: &'static str,
    instruction: String,
    aliases: Vec<String>,
    family: &'static str,
    m: Size,
    n: Size,
    k: usize,
    blocks: usize,
    #[serde(flatten)]
    formats: Formats,
    kind: &'static str,
    composed_of: Option<Parts>,
    /// Of a sparse one: the dense instruction of this architecture that sums as it does.
    dense: Option<String>,
    unknown: Option<&'static str>,
    sass: Option<String>,
    revision: &'static str,
    model: Option<Model>,
    precision: String,
    evidence: &'static str,
    evidence_text: String,
    remark: Option<&'static str>,
}

impl Instruction {
    pub(crate) fn new(row: &'static bitmma::Instruction, revision: Revision) -> Instruction {
        Instruction {
            target: row.target(),
            architecture: row.architecture.name(),
            instruction: row.name(),
            aliases: row.aliases(),
            family: row.family.name(),
            m: row.m.into(),
            n: row.n.into(),
            k: row.k,
            blocks: row.blocks,
            formats: Formats::new([row.a, row.b, row.c, row.d], row.scale),
            kind: describe::kind(row),
            composed_of: row.composed_of.as_ref().map(|parts| Parts {
                count: parts.count,
                part: parts.part.to_string(),
                around: parts.around.to_string(),
            }),
            dense: row.dense.clone(),
            unknown: row.unknown,
            sass: row.sass(),
            revision: revision.name(),
            model: row.model_ref(revision).map(|model| Model::new(model, Some(row.products()))),
            precision: row.precision_line(revision),
            evidence: describe::evidence(row),
            evidence_text: row.evidence.to_string(),
            remark: row.remark,
        }
    }
}

/// How something computes.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Model {
    pub(crate) family: &'static str,
    /// By the paper's symbols.
    pub(crate) parameters: Map<String, Value>,
    /// What a compiler puts around the operation, in words.
    pub(crate) lowering: Vec<String>,
}

impl Model {
    /// `k` adds L, the products in one sum for that K.
    pub(crate) fn new(model: &bitmma::Model, k: Option<usize>) -> Model {
        let parameters = describe::parameters(model, k);
        Model {
            family: model.operation.name(),
            parameters: parameters.into_iter().map(|one| (one.symbol.to_owned(), one.value)).collect(),
            lowering: describe::lowering(&model.lowering),
        }
    }
}

/// What computes, where it is an instruction or a model's file.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Computes {
    target: String,
    architecture: Option<&'static str>,
    instruction: Option<String>,
    revision: Option<&'static str>,
    model_file: Option<String>,
    model: Model,
}

impl Computes {
    /// `k` as in [`Model::new`]; `named` is the instruction with the M and N that were taken.
    pub(crate) fn new(
        target: &Target,
        arguments: &Arguments,
        k: usize,
        named: impl Fn(&Found) -> String,
    ) -> Computes {
        let found = target.found.as_ref();
        Computes {
            target: target.name.clone(),
            architecture: found.map(|found| found.instruction.architecture.name()),
            instruction: found.map(named),
            revision: found.map(|_| arguments.revision.revision.name()),
            model_file: found.is_none().then(|| target.name.clone()),
            model: Model::new(&target.model, Some(k)),
        }
    }
}

/// The operands of one dot product, as codes.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Operands {
    a: Vec<String>,
    b: Vec<String>,
    c: String,
    scale_a: Option<Vec<String>>,
    scale_b: Option<Vec<String>>,
}

impl Operands {
    pub(crate) fn new(case: &Case, signature: &Signature) -> Operands {
        let Signature { a, b, c, scale, .. } = signature;
        let scales = |codes: &[u64]| scale.map(|scale| describe::codes(&scale.format, codes));
        Operands {
            a: describe::codes(a, &case.a),
            b: describe::codes(b, &case.b),
            c: describe::code(c, case.c),
            scale_a: scales(&case.scale_a),
            scale_b: scales(&case.scale_b),
        }
    }
}

/// An element of D.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Place {
    pub(crate) block: usize,
    pub(crate) row: usize,
    pub(crate) column: usize,
}
