//! NVIDIA: what the PTX assembler takes and what it makes of it.
//!
//! One file for each family, with its table; [`composed`] holds what the compiler makes of several
//! instructions; [`parameters`] holds the models. Source of the tables: `ptxas` 13.5.37 (PTX 9.5; Volta:
//! 12.9.86) and its output disassembled; `tcgen05` shapes: PTX ISA, "Various combinations of .kind and
//! shapes".

pub mod composed;
pub mod fp64;
pub mod mma;
pub mod parameters;
pub mod sparse;
mod spelling;
pub mod tcgen05;
pub mod wgmma;
pub mod wmma;

use bitmma_formats::{BF16, BlockScale, E2M1, E2M3, E3M2, E4M3, E5M2, F16, Format, TF32, UE4M3, UE8M0};

use crate::architecture::Architecture::{self, Ada, Ampere, Blackwell, Hopper, RtxBlackwell, Turing, Volta};
use crate::extent::Extent;
use crate::instruction::{Family, Identity, Instruction, Shape};

const FROM_VOLTA: &[Architecture] = &[Volta, Turing, Ampere, Ada, Hopper, Blackwell, RtxBlackwell];
const FROM_TURING: &[Architecture] = FROM_VOLTA.split_at(1).1;
const FROM_AMPERE: &[Architecture] = FROM_VOLTA.split_at(2).1;

// Sets of formats for A and B; every A goes with every B.
const ONLY_TF32: &[Format] = &[TF32];
const ONLY_BF16: &[Format] = &[BF16];
const ONLY_FP16: &[Format] = &[F16];
const FP16_BF16: &[Format] = &[F16, BF16];
const FP8: &[Format] = &[E4M3, E5M2];
const FP8_6_4: &[Format] = &[E4M3, E5M2, E2M3, E3M2, E2M1];
const FP4: &[Format] = &[E2M1];

// Scale factors.
const E8_32: Option<BlockScale> = Some(BlockScale { format: UE8M0, size: 32 });
const E8_16: Option<BlockScale> = Some(BlockScale { format: UE8M0, size: 16 });
const E4M3_16: Option<BlockScale> = Some(BlockScale { format: UE4M3, size: 16 });

/// Every A with every B.
fn pairs(inputs: &'static [Format]) -> impl Iterator<Item = (Format, Format)> {
    inputs.iter().flat_map(move |a| inputs.iter().map(move |b| (*a, *b)))
}

/// One instruction form, before an architecture is chosen.
#[derive(Clone, Copy)]
struct Form {
    family: Family,
    m: Extent,
    n: Extent,
    k: usize,
    blocks: usize,
    /// PTX `.kind`, as in `kind::f8f6f4`; may be empty.
    kind: &'static str,
    /// PTX rounding of FP64: `rn` (which is also what nothing means), `rz`, `rm`, `rp`; else empty.
    rounding: &'static str,
    a: Format,
    b: Format,
    c: Format,
    d: Format,
    scale: Option<BlockScale>,
}

impl Form {
    /// One block, no kind, no scale factors.
    fn plain(family: Family, [m, n, k]: [usize; 3], (a, b): (Format, Format), c: Format, d: Format) -> Form {
        let (m, n) = (Extent::one(m), Extent::one(n));
        Form { family, m, n, k, blocks: 1, kind: "", rounding: "", a, b, c, d, scale: None }
    }

    /// Products of one element of D, as [`Instruction::products`].
    fn products(&self) -> usize {
        if self.family.is_sparse() { self.k / 2 } else { self.k }
    }

    fn shape(&self) -> Shape {
        let Form { m, n, k, blocks, a, b, c, d, scale, .. } = *self;
        Shape { m, n, k, blocks, a, b, c, d, scale }
    }

    fn identity(&self, architecture: Architecture, sass: Option<String>) -> Identity {
        let (spelling, aliases) = (self.name(), self.aliases());
        Identity { architecture, family: self.family, spelling, aliases, sass }
    }

    /// Name and SASS name, as a part of something composed.
    fn part(&self, architecture: Architecture) -> (String, String) {
        (self.name(), self.sass(architecture))
    }

    /// The row of an instruction the hardware has, with the parameters of its architecture.
    fn native(&self, architecture: Architecture) -> Instruction {
        let identity = self.identity(architecture, Some(self.sass(architecture)));
        Instruction::native(identity, self.shape(), |revision| {
            parameters::model(architecture, self.shape(), self.rounding, revision)
        })
    }
}

/// Every row of every NVIDIA architecture.
pub(crate) fn rows() -> Vec<Instruction> {
    let mut rows = mma::rows();
    rows.extend(fp64::rows());
    rows.extend(composed::rows());
    rows.extend(wgmma::rows());
    rows.extend(tcgen05::rows());
    rows.extend(wmma::rows());
    rows.extend(sparse::rows());
    rows
}
