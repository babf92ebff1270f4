//! AMD: `v_mfma_*`, as LLVM's assembler takes it.
//!
//! One file for each generation, with its table; [`parameters`] holds the models. Sources of the tables:
//! LLVM 22.1.8 `llvm-mc`, and `matrix_calculator.py` of ROCm/amd_matrix_instruction_calculator.

pub mod cdna1;
pub mod cdna2;
pub mod cdna3;
pub mod parameters;

use bitmma_formats::{F32, F64, Format};

use crate::architecture::Architecture;
use crate::extent::Extent;
use crate::instruction::{Family, Identity, Instruction, Shape};

/// One instruction: M, N, K, blocks, formats of A and B, suffix of the name.
type Row = ([usize; 3], usize, (Format, Format), &'static str);

/// C and D are FP64 with FP64 inputs, FP32 with all others.
fn shape(([m, n, k], blocks, (a, b), _): &Row) -> Shape {
    let c = if *a == F64 { F64 } else { F32 };
    let (m, n) = (Extent::one(*m), Extent::one(*n));
    Shape { m, n, k: *k, blocks: *blocks, a: *a, b: *b, c, d: c, scale: None }
}

/// `v_mfma_`, D, M×N×K: how every name begins.
fn stem(shape: &Shape) -> String {
    let Shape { m, n, k, d, .. } = shape;
    format!("v_mfma_{d}_{m}x{n}x{k}")
}

/// The HIP builtin of a mnemonic.
fn builtin(mnemonic: &str) -> String {
    format!("__builtin_amdgcn_{}", mnemonic.trim_start_matches("v_"))
}

fn instruction(
    architecture: Architecture,
    row: &Row,
    name: impl Fn(&Shape, &str) -> (String, Vec<String>),
) -> Instruction {
    let shape = shape(row);
    let (spelling, aliases) = name(&shape, row.3);
    let identity = Identity { architecture, family: Family::Mfma, spelling, aliases, sass: None };
    Instruction::native(identity, shape, |revision| parameters::model(architecture, &shape, row.3, revision))
}

/// CDNA1 and CDNA2: stem, format, suffix; the number of blocks is not in the name.
fn old_name(shape: &Shape, suffix: &str) -> (String, Vec<String>) {
    let name = format!("{}{}{suffix}", stem(shape), shape.a);
    let builtin = builtin(&name);
    (name, vec![builtin])
}

/// Every row of every AMD architecture.
pub(crate) fn rows() -> Vec<Instruction> {
    let mut rows = cdna1::rows();
    rows.extend(cdna2::rows());
    rows.extend(cdna3::rows());
    rows
}
