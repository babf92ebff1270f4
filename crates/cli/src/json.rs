//! What `--json` prints: one object with a `schema`, the same words for the same things in every command.
//!
//! | key | meaning |
//! |---|---|
//! | `target` | what computes: architecture and instruction, a model's file, or a unit |
//! | `model` | how it computes: an object of type [`Model`] |
//! | `value` | a number, or `"nan"`, `"inf"`, `"-inf"` ([`Number`]) |
//! | `code` | the bits of a number in hex, as text |

pub(crate) use bitmma_analysis::json::{Model, Operands};
use bitmma_engine::Revision;
use bitmma_engine::catalogue::{Extent, Found, Options};
pub(crate) use bitmma_engine::explain::json::{Coded, Number};
use bitmma_engine::formats::{BlockScale, Format};
use serde::Serialize;

use crate::failure::Failure;
use crate::target::{Arguments, Target};
use crate::{describe, output};

/// The meaning of the keys; it changes when a key is renamed, removed or means something else.
const SCHEMA: u32 = 1;

/// An object with these keys: a type with `Serialize` that is written where its one value is.
macro_rules! object {
    ($($(#[$attribute:meta])* $key:ident: $value:expr),+ $(,)?) => {{
        #[derive(serde::Serialize)]
        struct Object<$($key),+> {
            $($(#[$attribute])* $key: $key),+
        }
        Object { $($key: $value),+ }
    }};
}
pub(crate) use object;

/// Prints why the command failed: schema, error {message, exit_code}; a closed pipe is ignored.
pub(crate) fn error(message: &str) {
    let message = message.strip_prefix("error: ").unwrap_or(message);
    let _ = print(&object! { error: object! { message: message, exit_code: 2 } });
}

/// Writes an object to the standard output, its schema first.
pub(crate) fn print(value: &impl Serialize) -> Result<(), Failure> {
    let text = serde_json::to_string_pretty(&object! { schema: SCHEMA, #[serde(flatten)] value: value });
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
    Range {
        first: usize,
        last: usize,
        step: usize,
        /// From here on the step is twice as large.
        #[serde(skip_serializing_if = "Option::is_none")]
        doubled_from: Option<usize>,
    },
}

impl From<Extent> for Size {
    fn from(extent: Extent) -> Size {
        match extent.is_range() {
            true => {
                let Extent { first, last, step, doubled_from } = extent;
                Size::Range { first, last, step, doubled_from }
            }
            false => Size::One(extent.first),
        }
    }
}

/// A row of the catalogue; `dense` is, of a sparse one, the dense instruction of this architecture that sums as it does.
pub(crate) fn instruction(row: &'static bitmma_engine::Instruction, revision: Revision) -> impl Serialize {
    let composed_of = row.composed_of.as_ref().map(|parts| {
        let (part, around) = (parts.part.to_string(), parts.around.to_string());
        object! { count: parts.count, part: part, around: around }
    });
    object! {
        target: row.target(),
        architecture: row.architecture.name(),
        instruction: row.name(),
        aliases: row.aliases(),
        family: row.family.name(),
        m: Size::from(row.m),
        n: Size::from(row.n),
        k: row.k,
        blocks: row.blocks,
        #[serde(flatten)]
        formats: Formats::new([row.a, row.b, row.c, row.d], row.scale),
        kind: row.kind(),
        composed_of: composed_of,
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

/// What computes, where it is an instruction or a model's file; `k` as in [`Model::new`]; `named` is the instruction with
/// the M and N that were taken.
pub(crate) fn computes(
    target: &Target,
    arguments: &Arguments,
    k: usize,
    named: fn(&Found) -> String,
) -> impl Serialize + use<> {
    let found = target.found.as_ref();
    object! {
        target: target.name.clone(),
        architecture: found.map(|found| found.instruction.architecture.name()),
        instruction: found.map(named),
        revision: found.map(|_| arguments.revision.revision.name()),
        model_file: found.is_none().then(|| target.name.clone()),
        model: Model::new(&target.model, Some(k)),
    }
}

/// What an instruction's name asks for besides it.
pub(crate) fn options(options: &Options) -> impl Serialize + use<> {
    object! { promote_every: options.promote_every, remarks: options.remarks.clone() }
}

/// An element of D.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Place {
    pub(crate) block: usize,
    pub(crate) row: usize,
    pub(crate) column: usize,
}
