//! AMD: `v_mfma_*`, as LLVM's assembler takes it.
//!
//! One file for each generation, with its table; [`parameters`] holds the models. Sources of the tables:
//! LLVM 22.1.8 `llvm-mc`, and `matrix_calculator.py` of ROCm/amd_matrix_instruction_calculator.

pub mod cdna1;
pub mod cdna2;
pub mod cdna3;
pub mod parameters;
mod row;

use crate::instruction::Instruction;

/// Every row of every AMD architecture.
pub(crate) fn rows() -> Vec<Instruction> {
    let mut rows = cdna1::rows();
    rows.extend(cdna2::rows());
    rows.extend(cdna3::rows());
    rows
}
