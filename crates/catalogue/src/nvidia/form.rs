//! One form of an instruction, of whatever family.

use bitmma_formats::{BlockScale, Format};

use super::parameters;
use crate::architecture::Architecture;
use crate::evidence::Evidence;
use crate::extent::Extent;
use crate::instruction::{Family, Identity, Instruction, Shape};

/// One instruction form, before an architecture is chosen.
#[derive(Clone, Copy)]
pub(super) struct Form {
    pub(super) family: Family,
    pub(super) m: Extent,
    pub(super) n: Extent,
    pub(super) k: usize,
    pub(super) blocks: usize,
    /// PTX `.kind`, as in `kind::f8f6f4`; may be empty.
    pub(super) kind: &'static str,
    /// PTX rounding of FP64: `rn` (which is also what nothing means), `rz`, `rm`, `rp`; of integers `satfinite`; else empty.
    pub(super) modifier: &'static str,
    pub(super) a: Format,
    pub(super) b: Format,
    pub(super) c: Format,
    pub(super) d: Format,
    pub(super) scale: Option<BlockScale>,
}

impl Form {
    /// One block, no kind, no scale factors.
    pub(super) fn plain(
        family: Family,
        [m, n, k]: [usize; 3],
        (a, b): (Format, Format),
        c: Format,
        d: Format,
    ) -> Form {
        let (m, n) = (Extent::one(m), Extent::one(n));
        Form { family, m, n, k, blocks: 1, kind: "", modifier: "", a, b, c, d, scale: None }
    }

    /// Products of one element of D, as [`Instruction::products`].
    pub(super) fn products(&self) -> usize {
        if self.family.is_sparse() { self.k / 2 } else { self.k }
    }

    /// The dense form that has the products of a sparse one: K half as large.
    pub(super) fn dense(&self) -> Form {
        let family = if self.family == Family::WgmmaSp { Family::Wgmma } else { Family::MmaSync };
        Form { family, k: self.products(), ..*self }
    }

    pub(super) fn shape(&self) -> Shape {
        let Form { m, n, k, blocks, a, b, c, d, scale, .. } = *self;
        Shape { m, n, k, blocks, a, b, c, d, scale }
    }

    pub(super) fn identity(&self, architecture: Architecture, sass: Option<String>) -> Identity {
        let (spelling, aliases) = (self.name(), self.aliases());
        Identity { architecture, family: self.family, spelling, aliases, sass }
    }

    /// Name and SASS name, as a part of something composed.
    pub(super) fn part(&self, architecture: Architecture) -> (String, String) {
        (self.name(), self.sass(architecture))
    }

    /// The row of an instruction the hardware has, with the parameters of its architecture.
    pub(super) fn native(&self, architecture: Architecture, evidence: Evidence) -> Instruction {
        let identity = self.identity(architecture, Some(self.sass(architecture)));
        Instruction::with_model(identity, self.shape(), evidence, |revision| {
            parameters::model(architecture, self.shape(), self.modifier, revision)
        })
    }
}
