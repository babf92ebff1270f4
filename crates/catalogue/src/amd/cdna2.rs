//! CDNA1 and CDNA2: gfx908 and gfx90a.

use bitmma_formats::{BF16, F16, F32, F64, S8};

use super::row::{Row, instruction, old_name};
use crate::architecture::Architecture::{Cdna1, Cdna2};
use crate::instruction::Instruction;

// CDNA1 has those without FP64 and without a suffix
// columns: [M, N, K], blocks, A and B, suffix
#[rustfmt::skip]
const ROWS: [Row; 27] = [
    ([16, 16, 16],  1, (BF16, BF16), "_1k"),
    ([16, 16, 16],  1, (F16, F16),   ""),
    ([16, 16,  1],  4, (F32, F32),   ""),
    ([16, 16,  2],  4, (BF16, BF16), ""),
    ([16, 16,  4],  4, (BF16, BF16), "_1k"),
    ([16, 16,  4],  4, (F16, F16),   ""),
    ([16, 16,  4],  1, (F32, F32),   ""),
    ([16, 16,  8],  1, (BF16, BF16), ""),
    ([32, 32,  1],  2, (F32, F32),   ""),
    ([32, 32,  2],  2, (BF16, BF16), ""),
    ([32, 32,  2],  1, (F32, F32),   ""),
    ([32, 32,  4],  1, (BF16, BF16), ""),
    ([32, 32,  4],  2, (BF16, BF16), "_1k"),
    ([32, 32,  4],  2, (F16, F16),   ""),
    ([32, 32,  8],  1, (BF16, BF16), "_1k"),
    ([32, 32,  8],  1, (F16, F16),   ""),
    ([ 4,  4,  1], 16, (F32, F32),   ""),
    ([ 4,  4,  2], 16, (BF16, BF16), ""),
    ([ 4,  4,  4], 16, (BF16, BF16), "_1k"),
    ([ 4,  4,  4], 16, (F16, F16),   ""),
    ([16, 16,  4],  1, (F64, F64),   ""),
    ([ 4,  4,  4],  4, (F64, F64),   ""),
    ([16, 16,  4],  4, (S8, S8),     ""),
    ([16, 16, 16],  1, (S8, S8),     ""),
    ([32, 32,  4],  2, (S8, S8),     ""),
    ([32, 32,  8],  1, (S8, S8),     ""),
    ([ 4,  4,  4], 16, (S8, S8),     ""),
];

/// Every row.
pub(super) fn rows() -> Vec<Instruction> {
    let is_first = |(_, _, (a, _), suffix): &&Row| *a != F64 && suffix.is_empty();
    let first = ROWS.iter().filter(is_first).map(|row| instruction(Cdna1, row, old_name));
    first.chain(ROWS.iter().map(|row| instruction(Cdna2, row, old_name))).collect()
}
