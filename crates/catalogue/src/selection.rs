//! Which elements of a sparse A are stored, as a suffix of an instruction's name: `mma.sp.m16n8k32.f32.f16.f16.f32.select13`.
//!
//! The instruction sums the same products whatever is selected; a GPU is told by metadata which elements they are.

use crate::instruction::Instruction;

/// What comes before the name of a selection.
const SELECT: &str = ".select";

/// An instruction's name, and the name of the selection after it.
pub fn split(instruction: &str) -> (&str, Option<&str>) {
    match instruction.rfind(SELECT) {
        Some(at) => (&instruction[..at], Some(&instruction[at + SELECT.len()..])),
        None => (instruction, None),
    }
}

/// An instruction's name with that of a selection.
pub fn named(instruction: &str, selection: &str) -> String {
    format!("{instruction}{SELECT}{selection}")
}

/// The selections of an instruction: `01` to `23`, the elements of four that are stored (TF32: `0` or `1` of two; packed
/// FP4: the pairs of four); `mixed`, all of these in turn. None where A is not sparse.
pub fn names(row: &Instruction) -> &'static [&'static str] {
    match (row.family.is_sparse(), row.a.bits()) {
        (false, _) => &[],
        (true, 32) => &["0", "1", "mixed"],
        (true, _) => &["01", "02", "03", "12", "13", "23", "mixed"],
    }
}
