//! One row of the expanded catalogue: an instruction of one architecture.

use std::fmt;

use bitmma_arithmetic::Model;
use bitmma_formats::{BlockScale, Format};

use crate::architecture::Architecture;
use crate::evidence::Evidence;
use crate::extent::Extent;
use crate::revision::Revision;
use crate::spelling::{self, M, N};

/// A family of instructions, named as its vendor names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Family {
    /// `mma.sync`: one warp (PTX ISA).
    MmaSync,
    /// `mma.sp`: `mma.sync` with a 2:4 sparse A (PTX ISA).
    MmaSp,
    /// `wgmma.mma_async`: four warps (PTX ISA, Hopper).
    Wgmma,
    /// `wgmma.mma_async.sp`: the same with a 2:4 sparse A.
    WgmmaSp,
    /// `tcgen05.mma`: one thread speaks for the block (PTX ISA, Blackwell).
    Tcgen05,
    /// `wmma.mma`: one warp, older and coarser than `mma.sync` (PTX ISA).
    Wmma,
    /// `v_mfma_*`: one wave (CDNA ISA).
    Mfma,
}

impl Family {
    /// The vendor's name.
    pub const fn name(self) -> &'static str {
        match self {
            Family::MmaSync => "mma.sync",
            Family::MmaSp => "mma.sp",
            Family::Wgmma => "wgmma.mma_async",
            Family::WgmmaSp => "wgmma.mma_async.sp",
            Family::Tcgen05 => "tcgen05.mma",
            Family::Wmma => "wmma.mma",
            Family::Mfma => "v_mfma",
        }
    }

    /// Whether A is sparse: of every four elements along K two are stored (of two elements of 32 bits one, of
    /// four pairs of FP4 two), and metadata says which.
    pub const fn is_sparse(self) -> bool {
        matches!(self, Family::MmaSp | Family::WgmmaSp)
    }
}

impl fmt::Display for Family {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// What a compiler makes of an instruction that the hardware does not have.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Composition {
    /// How many instructions of the hardware it takes.
    pub count: usize,
    /// Their name in the catalogue, on the same architecture; the SASS name (`FFMA`) where no matrix instruction is among
    /// them.
    pub part: String,
    /// What else happens, as in `A and B widened to f16 first, C added last by FADD`; may be empty.
    pub around: &'static str,
}

/// As in `2 × mma.m16n8k16.f32.f16.f16.f32; C widened to f32 first`.
impl fmt::Display for Composition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} × {}", self.count, self.part)?;
        if self.around.is_empty() { Ok(()) } else { write!(f, "; {}", self.around) }
    }
}

/// An instruction of one architecture.
#[derive(Clone, Debug)]
pub struct Instruction {
    /// Whose it is.
    pub architecture: Architecture,
    /// The family it belongs to.
    pub family: Family,
    /// Rows of A and D in one block.
    pub m: Extent,
    /// Columns of B and D in one block.
    pub n: Extent,
    /// Columns of A and rows of B; of a sparse A, with the elements that are not stored. The model takes
    /// [`Instruction::products`].
    pub k: usize,
    /// Independent products A×B+C that one instruction computes.
    pub blocks: usize,
    /// Format of A.
    pub a: Format,
    /// Format of B.
    pub b: Format,
    /// Format of C.
    pub c: Format,
    /// Format of D.
    pub d: Format,
    /// Scale factors of A and B along K, where there are any; of a sparse A along the elements stored.
    pub scale: Option<BlockScale>,
    /// What the compiler makes of it; `None` for an instruction the hardware has.
    pub composed_of: Option<Composition>,
    /// Of a sparse one whose model is known: the dense instruction of the same architecture, K half as large, that sums
    /// its products as this one sums those of the elements stored.
    pub dense: Option<String>,
    /// Why the model is not known; `None` where it is.
    pub unknown: Option<&'static str>,
    /// Something a reader of the row should know.
    pub remark: Option<&'static str>,
    /// Why we believe the model; for an unknown one, what is known.
    pub evidence: Evidence,
    sass: Option<String>,
    spelling: String,
    aliases: Vec<String>,
    models: Option<[Model; 2]>,
}

/// The parts of a row that are not facts about its shape and formats.
pub(crate) struct Identity {
    pub architecture: Architecture,
    pub family: Family,
    /// The name, with `{m}` and `{n}` where there is a range.
    pub spelling: String,
    /// Further spellings of the same kind.
    pub aliases: Vec<String>,
    /// The SASS instruction, of the same kind.
    pub sass: Option<String>,
}

/// Shape and formats of a row.
#[derive(Clone, Copy)]
pub(crate) struct Shape {
    pub m: Extent,
    pub n: Extent,
    pub k: usize,
    pub blocks: usize,
    pub a: Format,
    pub b: Format,
    pub c: Format,
    pub d: Format,
    pub scale: Option<BlockScale>,
}

impl Instruction {
    /// An instruction whose model is known; its SASS name is an alias.
    pub(crate) fn with_model(
        identity: Identity,
        shape: Shape,
        evidence: Evidence,
        model: impl Fn(Revision) -> Model,
    ) -> Instruction {
        let mut row = Self::bare(identity, shape, evidence);
        row.aliases.extend(row.sass.clone());
        row.models = Some([model(Revision::Hardware), model(Revision::Paper)]);
        row
    }

    /// An instruction whose model nobody knows; its SASS name, where there is one, is an alias.
    pub(crate) fn without_model(identity: Identity, shape: Shape, reason: &'static str) -> Instruction {
        let accepted = Evidence::Inferred { why: "that it exists: the assembler accepts it" };
        let mut row = Self::bare(identity, shape, accepted);
        row.aliases.extend(row.sass.clone());
        row.unknown = Some(reason);
        row
    }

    fn bare(identity: Identity, shape: Shape, evidence: Evidence) -> Instruction {
        let Identity { architecture, family, spelling, aliases, sass } = identity;
        let Shape { m, n, k, blocks, a, b, c, d, scale } = shape;
        Instruction {
            architecture,
            family,
            m,
            n,
            k,
            blocks,
            a,
            b,
            c,
            d,
            scale,
            composed_of: None,
            dense: None,
            unknown: None,
            remark: None,
            evidence,
            sass,
            spelling,
            aliases,
            models: None,
        }
    }

    /// The row of an architecture that computes as this one's, which `why` says.
    pub(crate) fn on(&self, architecture: Architecture, why: &'static str) -> Instruction {
        Instruction { architecture, evidence: Evidence::Inferred { why }, ..self.clone() }
    }

    /// What computes, by its architecture and name: `hopper wgmma.m64n{8..256}k16.f32.f16.f16`.
    pub fn target(&self) -> String {
        format!("{} {}", self.architecture, self.name())
    }

    /// The row of a sparse instruction that sums as the dense one of that spelling, with its M and N.
    pub(crate) fn sums_as(mut self, dense: &str) -> Instruction {
        self.dense = Some(self.filled(dense, self.m, self.n));
        self
    }

    /// The row as something a compiler makes of `count` instructions of that SASS name, none of them a matrix instruction.
    pub(crate) fn expanded(mut self, count: usize, sass: &str, around: &'static str) -> Instruction {
        self.composed_of = Some(Composition { count, part: sass.to_owned(), around });
        self
    }

    /// The row as something a compiler composes of `count` instructions of that name and SASS name, which
    /// is then no alias.
    pub(crate) fn composed(
        mut self,
        count: usize,
        (part, sass): (String, String),
        around: &'static str,
    ) -> Instruction {
        self.aliases.retain(|alias| self.sass.as_ref() != Some(alias));
        self.sass = Some(sass);
        self.composed_of = Some(Composition { count, part, around });
        self
    }

    /// The row with a remark.
    pub(crate) fn remarked(mut self, remark: &'static str) -> Instruction {
        self.remark = Some(remark);
        self
    }

    /// Whether `name` is the row's name for some M and N.
    pub(crate) fn is_named(&self, name: &str) -> bool {
        spelling::keys(name).any(|key| key.text == spelling::key_of(&self.spelling))
    }

    fn filled(&self, spelling: &str, m: impl fmt::Display, n: impl fmt::Display) -> String {
        spelling.replace(M, &m.to_string()).replace(N, &n.to_string())
    }

    /// The name, with ranges where M or N has one: `wgmma.m64n{8..256}k16.f32.f16.f16`.
    pub fn name(&self) -> String {
        self.filled(&self.spelling, self.m, self.n)
    }

    /// The name for one M and N; both are read only where the row has a range.
    pub fn name_for(&self, m: usize, n: usize) -> String {
        self.filled(&self.spelling, m, n)
    }

    /// Further spellings, with ranges where M or N has one: full PTX, SASS, HIP builtin, older names.
    pub fn aliases(&self) -> Vec<String> {
        self.aliases.iter().map(|alias| self.filled(alias, self.m, self.n)).collect()
    }

    /// Name and aliases for one M and N.
    pub(crate) fn spellings_for(&self, m: usize, n: usize) -> impl Iterator<Item = String> {
        self.spellings().map(move |spelling| self.filled(spelling, m, n))
    }

    /// Name and aliases as templates, the name first.
    pub(crate) fn spellings(&self) -> impl Iterator<Item = &str> {
        std::iter::once(&self.spelling).chain(&self.aliases).map(String::as_str)
    }

    /// The SASS instruction it assembles to (native), or that its parts assemble to (composed); `None`
    /// for AMD, and where nobody has looked.
    pub fn sass(&self) -> Option<String> {
        self.sass.as_ref().map(|sass| self.filled(sass, self.m, self.n))
    }

    /// Products of one element of D, which its model sums: K, or with a sparse A half of it, the elements stored.
    pub fn products(&self) -> usize {
        if self.family.is_sparse() { self.k / 2 } else { self.k }
    }

    /// Whether the hardware has it as one instruction, and its model is known.
    pub fn is_native(&self) -> bool {
        self.composed_of.is_none() && self.unknown.is_none()
    }

    /// Whether the hardware has it, as one word.
    pub fn kind(&self) -> &'static str {
        match (self.unknown, &self.composed_of) {
            (Some(_), _) => "unknown",
            (None, Some(_)) => "composed",
            (None, None) => "native",
        }
    }

    /// Whether it clamps a result beyond the range of D: `.satfinite`.
    pub fn saturates(&self) -> bool {
        self.model_ref(Revision::Hardware).is_some_and(|model| model.conversion.saturate)
    }

    /// The model; `None` only where [`Instruction::unknown`] says why.
    pub fn model(&self, revision: Revision) -> Option<Model> {
        self.model_ref(revision).cloned()
    }

    /// As [`Instruction::model`], lent.
    pub fn model_ref(&self, revision: Revision) -> Option<&Model> {
        self.models.as_ref().map(|[hardware, paper]| match revision {
            Revision::Hardware => hardware,
            Revision::Paper => paper,
        })
    }

    /// The internal precision in one line: what is exact, what is cut where, how results are rounded.
    pub fn precision_line(&self, revision: Revision) -> String {
        match (self.model_ref(revision), self.unknown) {
            (Some(model), _) => crate::precision::line(model, self.products()),
            (None, reason) => format!("not known: {}", reason.unwrap_or("no reason given")),
        }
    }
}

impl fmt::Display for Instruction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.name())
    }
}

#[cfg(test)]
mod tests {
    use bitmma_arithmetic::{Conversion, Operation};
    use bitmma_formats::{F16, F32};

    use super::*;

    /// A new row claims what its author states, and nothing more.
    #[test]
    fn a_row_has_the_evidence_it_is_given() {
        let extent = Extent::one(16);
        let shape =
            Shape { m: extent, n: extent, k: 16, blocks: 1, a: F16, b: F16, c: F32, d: F32, scale: None };
        let model = |_| Model::new(F16, F16, F32, Operation::Fma, Conversion::RNE_FP32);
        for evidence in [
            Evidence::Inferred { why: "from CDNA3" },
            Evidence::printed(Architecture::Cdna3),
            Evidence::Recorded { on: &["a chip"], source: "a test" },
        ] {
            let identity = Identity {
                architecture: Architecture::Cdna3,
                family: Family::Mfma,
                spelling: "v_mfma_new".to_owned(),
                aliases: vec![],
                sass: None,
            };
            assert_eq!(Instruction::with_model(identity, shape, evidence, model).evidence, evidence);
        }
    }
}
