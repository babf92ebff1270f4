//! Which instruction a library's matrix product would run.
//!
//! cuBLAS, hipBLASLt and the frameworks above them accumulate in FP32 (FP64 for FP64) and choose a tile by
//! speed. What a tile's M and N are does not change an element of D; what does is the family of
//! instructions, the formats, and K. So the rule is, in this order:
//!
//! 1. the families that [`FAMILIES`] lists for the architecture, the first that has the formats;
//! 2. instructions the hardware has (nothing a compiler composes), C in D's format;
//! 3. the fewest independent blocks, the largest K, the largest M×N, the first in the tables.
//!
//! TF32 is XF32 where that is what the hardware has ([`TF32_OF`]). [`PROMOTED`] says where sums are moved to FP32.
//!
//! It is our reading of published kernels (CUTLASS, Composable Kernel), not something a vendor promises: a
//! library may split K, or take another instruction for a small or a narrow product. FP32 on NVIDIA is
//! computed outside the matrix unit unless TF32 is allowed, so FP32 has no instruction there.

use bitmma_formats::{BlockScale, E4M3, F32, F64, Format, TF32, UE4M3, UE8M0, XF32};

use crate::architecture::Architecture::{self, *};
use crate::error::LookupError;
use crate::instruction::Family::{self, *};
use crate::instruction::Instruction;
use crate::lookup::Found;
use crate::rows;

/// The families a library's kernels are written with, best first.
#[rustfmt::skip]
pub const FAMILIES: &[(Architecture, &[Family])] = &[
    (Volta,        &[MmaSync]),
    (Turing,       &[MmaSync]),
    (Ampere,       &[MmaSync]),
    (Ada,          &[MmaSync]),
    (Hopper,       &[Wgmma, MmaSync]),
    (Blackwell,    &[Tcgen05, MmaSync]),
    (RtxBlackwell, &[MmaSync]),
    (Cdna1,        &[Mfma]),
    (Cdna2,        &[Mfma]),
    (Cdna3,        &[Mfma]),
];

/// What a library's TF32 is on architectures that have another format of that kind.
pub const TF32_OF: &[(Architecture, Format)] = &[(Cdna3, XF32)];

/// Architectures whose FP8 instructions keep 13 bits of the sum, and the elements along K after which kernels without fast
/// accumulation move it to FP32 (DeepGEMM; CUTLASS, mainloop promotion every 4 instructions).
pub const PROMOTED: &[(Architecture, usize)] = &[(Ada, 128), (Hopper, 128)];

/// The elements of K after which a library without fast accumulation moves the sum to FP32; `None` where it does not.
pub fn promotion(architecture: Architecture) -> Option<usize> {
    PROMOTED.iter().find(|(of, _)| *of == architecture.unit()).map(|(_, every)| *every)
}

/// What is to be multiplied.
#[derive(Clone, Copy, Debug)]
pub struct Product {
    /// Format of A.
    pub a: Format,
    /// Format of B.
    pub b: Format,
    /// Format of D, in which the sum is kept.
    pub d: Format,
    /// Scale factors of A and B, where there are any.
    pub scale: Option<BlockScale>,
}

impl Product {
    /// A by B with what a library chooses where nothing is said: the sum in FP32 (FP64 where A is FP64), and
    /// [`block_scale`]'s size. `scale` is the format of the scale factors, and how many elements share one.
    pub fn new(
        (a, b): (Format, Format),
        accumulate: Option<Format>,
        scale: Option<(Format, Option<usize>)>,
    ) -> Product {
        let d = accumulate.unwrap_or(if a == F64 { F64 } else { F32 });
        Product { a, b, d, scale: scale.map(|(format, size)| block_scale(format, size)) }
    }
}

/// Scale factors as libraries store them: codes that are typed E4M3 (PyTorch has no type without a sign) are UE4M3;
/// where no size is given, 16 elements share a UE4M3 factor (NVFP4) and 32 any other (OCP MX).
pub fn block_scale(format: Format, size: Option<usize>) -> BlockScale {
    let format = if format == E4M3 { UE4M3 } else { format };
    BlockScale { format, size: size.unwrap_or(if format == UE4M3 { 16 } else { 32 }) }
}

/// The format of scale factors that are given as codes, `along` of them along K elements: UE4M3 where at most 16 elements
/// share one, UE8M0 otherwise.
pub fn scale_of_codes(k: usize, along: usize) -> Format {
    if along > 0 && k.div_ceil(along) <= 16 { UE4M3 } else { UE8M0 }
}

/// The instruction a library would take for `product` on `architecture`, by the rule of [the
/// module](self), with the largest M and N it has.
pub fn choose(architecture: Architecture, product: &Product) -> Result<Found, LookupError> {
    let as_there = |format: Format| match TF32_OF.iter().find(|(of, _)| *of == architecture.unit()) {
        Some((_, own)) if format == TF32 => *own,
        _ => format,
    };
    let product = &Product { a: as_there(product.a), b: as_there(product.b), ..*product };
    let families =
        FAMILIES.iter().find(|(of, _)| *of == architecture.unit()).map_or(&[][..], |(_, list)| list);
    for family in families {
        let rows = rows::of(architecture).filter(|row| row.family == *family && row.is_native());
        let best = rows.filter(|row| computes(row, product)).reduce(|best, row| {
            if rank(row) > rank(best) { row } else { best } // the first of equals
        });
        if let Some(instruction) = best {
            return Ok(Found { instruction, m: instruction.m.last, n: instruction.n.last });
        }
    }
    Err(LookupError::NoInstruction {
        architecture,
        a: product.a.name,
        b: product.b.name,
        d: product.d.name,
        offer: offer(architecture, families, product),
    })
}

fn computes(row: &Instruction, product: &Product) -> bool {
    (row.a, row.b, row.d, row.c, row.scale) == (product.a, product.b, product.d, product.d, product.scale)
}

/// Few blocks, a large K, a large tile.
fn rank(row: &Instruction) -> (std::cmp::Reverse<usize>, usize, usize) {
    (std::cmp::Reverse(row.blocks), row.k, row.m.last * row.n.last)
}

/// What the families multiply into D's format without scale factors (with the same ones, where some were
/// given).
fn offer(architecture: Architecture, families: &[Family], product: &Product) -> String {
    let mut pairs: Vec<String> = Vec::new();
    for row in rows::of(architecture).filter(|row| row.is_native() && families.contains(&row.family)) {
        let pair = match row.a == row.b {
            true => row.a.name.to_owned(),
            false => format!("{} by {}", row.a, row.b),
        };
        let same = row.d == product.d && row.c == product.d && row.scale == product.scale;
        if same && !pairs.contains(&pair) {
            pairs.push(pair);
        }
    }
    let scaled = if product.scale.is_some() { " with these scale factors" } else { "" };
    match pairs.is_empty() {
        true => format!("it multiplies nothing into {}{scaled}", product.d),
        false => format!("into {}{scaled} it multiplies {}", product.d, pairs.join(", ")),
    }
}
