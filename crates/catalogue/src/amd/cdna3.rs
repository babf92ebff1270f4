//! CDNA3: gfx942. Its FP8 formats are the FNUZ ones; `bf8` is E5M2FNUZ, `fp8` is E4M3FNUZ.

use bitmma_formats::{BF16, E4M3FNUZ, E5M2FNUZ, F16, F32, F64, S8, XF32};

use super::row::{Row, builtin, instruction, stem, word};
use crate::architecture::Architecture::Cdna3;
use crate::instruction::{Instruction, Shape};

// columns: [M, N, K], blocks, A and B, suffix
#[rustfmt::skip]
const ROWS: [Row; 32] = [
    ([16, 16, 16],  1, (BF16, BF16),         "_bf16"),
    ([16, 16, 16],  1, (F16, F16),           "_f16"),
    ([16, 16,  1],  4, (F32, F32),           "_f32"),
    ([16, 16, 32],  1, (E5M2FNUZ, E5M2FNUZ), "_bf8_bf8"),
    ([16, 16, 32],  1, (E5M2FNUZ, E4M3FNUZ), "_bf8_fp8"),
    ([16, 16, 32],  1, (E4M3FNUZ, E5M2FNUZ), "_fp8_bf8"),
    ([16, 16, 32],  1, (E4M3FNUZ, E4M3FNUZ), "_fp8_fp8"),
    ([16, 16,  4],  4, (BF16, BF16),         "_bf16"),
    ([16, 16,  4],  4, (F16, F16),           "_f16"),
    ([16, 16,  4],  1, (F32, F32),           "_f32"),
    ([16, 16,  8],  1, (XF32, XF32),         "_xf32"),
    ([32, 32, 16],  1, (E5M2FNUZ, E5M2FNUZ), "_bf8_bf8"),
    ([32, 32, 16],  1, (E5M2FNUZ, E4M3FNUZ), "_bf8_fp8"),
    ([32, 32, 16],  1, (E4M3FNUZ, E5M2FNUZ), "_fp8_bf8"),
    ([32, 32, 16],  1, (E4M3FNUZ, E4M3FNUZ), "_fp8_fp8"),
    ([32, 32,  1],  2, (F32, F32),           "_f32"),
    ([32, 32,  2],  1, (F32, F32),           "_f32"),
    ([32, 32,  4],  2, (BF16, BF16),         "_bf16"),
    ([32, 32,  4],  2, (F16, F16),           "_f16"),
    ([32, 32,  4],  1, (XF32, XF32),         "_xf32"),
    ([32, 32,  8],  1, (BF16, BF16),         "_bf16"),
    ([32, 32,  8],  1, (F16, F16),           "_f16"),
    ([ 4,  4,  1], 16, (F32, F32),           "_f32"),
    ([ 4,  4,  4], 16, (BF16, BF16),         "_bf16"),
    ([ 4,  4,  4], 16, (F16, F16),           "_f16"),
    ([16, 16,  4],  1, (F64, F64),           "_f64"),
    ([ 4,  4,  4],  4, (F64, F64),           "_f64"),
    ([16, 16,  4],  4, (S8, S8),             "_i8"),
    ([16, 16, 32],  1, (S8, S8),             "_i8"),
    ([32, 32,  4],  2, (S8, S8),             "_i8"),
    ([32, 32, 16],  1, (S8, S8),             "_i8"),
    ([ 4,  4,  4], 16, (S8, S8),             "_i8"),
];

/// Stem, blocks where there are several, formats. The aliases: the spellings of CDNA1 and CDNA2, which
/// LLVM still takes (none for FP8, which those had not), and the HIP builtin, which kept the older
/// spelling except for XF32.
fn name(shape: &Shape, suffix: &str) -> (String, Vec<String>) {
    let stem = stem(shape);
    let blocks = if shape.blocks > 1 { format!("_{}b", shape.blocks) } else { String::new() };
    let name = format!("{stem}{blocks}{suffix}");
    let old = format!("{stem}{}", word(&shape.a));
    let aliases = match shape.a {
        E4M3FNUZ | E5M2FNUZ => vec![builtin(&name)],
        XF32 => vec![old, builtin(&name)],
        // new with CDNA3, whose builtins have the new spelling
        S8 if shape.blocks == 1 => vec![old, builtin(&name)],
        BF16 => vec![format!("{old}_1k"), builtin(&format!("{old}_1k")), old],
        _ => vec![builtin(&old), old],
    };
    (name, aliases)
}

/// Every row.
pub(super) fn rows() -> Vec<Instruction> {
    ROWS.iter().map(|row| instruction(Cdna3, row, name)).collect()
}
