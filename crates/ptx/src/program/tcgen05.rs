//! Operations of the tensor cores of Blackwell (PTX ISA, "TensorCore 5th Generation Family Instructions").

use crate::operand::{Address, Condition, Slot, Wide, Word};

/// An operation of the tensor cores of Blackwell.
#[derive(Clone, Debug)]
pub(crate) enum Tcgen05 {
    /// Columns of tensor memory; the address of the first is stored to shared memory.
    Allocate {
        to: Address,
        columns: Word,
    },
    Free {
        from: Word,
        columns: Word,
    },
    /// Nothing more is allocated.
    GiveUp,
    Load {
        d: Box<[Slot]>,
        from: Address,
        shape: TensorShape,
    },
    Store {
        to: Address,
        a: Box<[Slot]>,
        shape: TensorShape,
    },
    /// Until the loads, or the stores, of the warp are over.
    Wait {
        stores: bool,
    },
    /// From shared memory.
    Copy {
        to: Address,
        from: Wide,
        shape: TensorCopy,
    },
    Multiply(Box<TensorProduct>),
    /// Arrives at a barrier object when what was started before is over.
    Commit {
        barrier: Address,
        /// Bits of the blocks of the cluster whose objects it arrives at.
        blocks: Option<crate::program::Word>,
    },
}

impl Tcgen05 {
    /// Whether all lanes of a warp do it together.
    pub(crate) fn is_of_the_warp(&self) -> bool {
        !matches!(self, Tcgen05::Copy { .. } | Tcgen05::Multiply(_) | Tcgen05::Commit { .. })
    }
}

/// How words of tensor memory are spread over a warp.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TensorShape {
    pub(crate) pattern: Pattern,
    /// Two words of which the upper halves mean nothing share a register.
    pub(crate) packs: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pattern {
    /// `32x32b`
    Lanes,
    /// `16x32bx2`: the upper lanes of the warp are so many columns further.
    Halves(u32),
    /// `16x64b`
    Bits64,
    /// `16x128b`
    Bits128,
    /// `16x256b`
    Bits256,
}

/// Rows that are copied, chunks of 16 bytes of each, and how often and how far apart rows are in the lanes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TensorCopy {
    pub(crate) rows: usize,
    pub(crate) chunks: usize,
    /// The quarters of the lanes that each 32 rows go to.
    pub(crate) quarters: &'static [&'static [usize]],
}

impl TensorCopy {
    /// The lanes that a row goes to.
    pub(crate) fn lanes(self, row: usize) -> impl Iterator<Item = usize> {
        let quarters = self.quarters.get(row / 32).copied().unwrap_or(&[]);
        quarters.iter().map(move |quarter| 32 * quarter + row % 32)
    }
}

/// `tcgen05.mma`; what it multiplies is in its instruction descriptor.
#[derive(Clone, Debug)]
pub(crate) struct TensorProduct {
    pub(crate) line: u32,
    pub(crate) kind: TensorKind,
    pub(crate) d: Address,
    pub(crate) a: TensorA,
    pub(crate) b: Wide,
    pub(crate) descriptor: Word,
    /// Of A and of B.
    pub(crate) scales: Option<[Address; 2]>,
    /// Lanes that are not written, a bit for each; none without.
    pub(crate) disabled: Box<[Word]>,
    pub(crate) adds: Condition,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum TensorA {
    Shared(Wide),
    Tensor(Address),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum TensorKind {
    F16,
    Tf32,
    F8f6f4,
    I8,
    Mxf8f6f4,
    Mxf4,
    Mxf4nvf4 { block: u8 },
}

impl TensorKind {
    /// As PTX writes it.
    pub(crate) fn word(self) -> &'static str {
        match self {
            TensorKind::F16 => "kind::f16",
            TensorKind::Tf32 => "kind::tf32",
            TensorKind::F8f6f4 => "kind::f8f6f4",
            TensorKind::I8 => "kind::i8",
            TensorKind::Mxf8f6f4 => "kind::mxf8f6f4",
            TensorKind::Mxf4 => "kind::mxf4",
            TensorKind::Mxf4nvf4 { .. } => "kind::mxf4nvf4",
        }
    }

    /// Elements along K.
    pub(crate) fn k(self) -> usize {
        match self {
            TensorKind::Tf32 => 8,
            TensorKind::F16 => 16,
            TensorKind::F8f6f4 | TensorKind::I8 | TensorKind::Mxf8f6f4 => 32,
            TensorKind::Mxf4 | TensorKind::Mxf4nvf4 { .. } => 64,
        }
    }

    /// Elements that have a scale factor together.
    pub(crate) fn block(self) -> Option<usize> {
        match self {
            TensorKind::Mxf8f6f4 | TensorKind::Mxf4 => Some(32),
            TensorKind::Mxf4nvf4 { block } => Some(block.into()),
            _ => None,
        }
    }
}
