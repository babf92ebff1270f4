//! One row of AMD's tables, and the names that follow from it.

use bitmma_formats::{F32, F64, Format, S8, S32};

use super::parameters;
use crate::architecture::Architecture;
use crate::evidence::Evidence;
use crate::extent::Extent;
use crate::instruction::{Family, Identity, Instruction, Shape};

/// One instruction: M, N, K, blocks, formats of A and B, suffix of the name.
pub(super) type Row = ([usize; 3], usize, (Format, Format), &'static str);

/// C and D are FP64 with FP64 inputs, S32 with integers, FP32 with all others.
fn shape(([m, n, k], blocks, (a, b), _): &Row) -> Shape {
    let c = match *a {
        F64 => F64,
        S8 => S32,
        _ => F32,
    };
    let (m, n) = (Extent::one(*m), Extent::one(*n));
    Shape { m, n, k: *k, blocks: *blocks, a: *a, b: *b, c, d: c, scale: None }
}

/// `v_mfma_`, D, M×N×K: how every name begins.
pub(super) fn stem(shape: &Shape) -> String {
    let Shape { m, n, k, d, .. } = shape;
    format!("v_mfma_{}_{m}x{n}x{k}", word(d))
}

/// What a name has for a format.
pub(super) fn word(format: &Format) -> &'static str {
    match *format {
        S8 => "i8",
        S32 => "i32",
        _ => format.name,
    }
}

/// The HIP builtin of a mnemonic.
pub(super) fn builtin(mnemonic: &str) -> String {
    format!("__builtin_amdgcn_{}", mnemonic.trim_start_matches("v_"))
}

/// No manual of AMD's says what becomes of a sum beyond 32 bits, and these instructions have no bit that clamps it.
const WRAPS: Evidence = Evidence::Inferred {
    why: "integer sums of AMD's wrap unless an instruction clamps them, which v_mfma_i32 cannot be told",
};

pub(super) fn instruction(
    architecture: Architecture,
    row: &Row,
    name: impl Fn(&Shape, &str) -> (String, Vec<String>),
) -> Instruction {
    let shape = shape(row);
    let (spelling, aliases) = name(&shape, row.3);
    let evidence = if shape.d == S32 { WRAPS } else { Evidence::printed(architecture) };
    let identity = Identity { architecture, family: Family::Mfma, spelling, aliases, sass: None };
    Instruction::with_model(identity, shape, evidence, |revision| {
        parameters::model(architecture, &shape, row.3, revision)
    })
}

/// CDNA1 and CDNA2: stem, format, suffix; the number of blocks is not in the name.
pub(super) fn old_name(shape: &Shape, suffix: &str) -> (String, Vec<String>) {
    let name = format!("{}{}{suffix}", stem(shape), word(&shape.a));
    let builtin = builtin(&name);
    (name, vec![builtin])
}
