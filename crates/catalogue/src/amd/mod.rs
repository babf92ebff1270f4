//! AMD: `v_mfma_*`, as LLVM's assembler takes it.
//!
//! One table for CDNA1 and CDNA2, one for CDNA3; [`parameters`] holds the models. Sources of the tables:
//! LLVM 22.1.8 `llvm-mc`, and `matrix_calculator.py` of ROCm/amd_matrix_instruction_calculator.

pub mod cdna2;
pub mod cdna3;
pub mod parameters;
mod row;

use crate::instruction::Instruction;

/// Every row of every AMD architecture.
pub(crate) fn rows() -> Vec<Instruction> {
    let mut rows = cdna2::rows();
    rows.extend(cdna3::rows());
    rows
}
