//! NVIDIA: what the PTX assembler takes and what it makes of it.
//!
//! One file for each family, with its table; [`composed`] holds what the compiler makes of several
//! instructions; [`parameters`] holds the models. Source of the tables: `ptxas` 13.5.37 (PTX 9.5; Volta:
//! 12.9.86) and its output disassembled; `tcgen05` shapes: PTX ISA, "Various combinations of .kind and
//! shapes".

pub mod composed;
mod form;
pub mod fp64;
pub mod integer;
pub mod mma;
pub mod parameters;
mod sets;
pub mod sparse;
mod spelling;
pub mod tcgen05;
pub mod wgmma;
pub mod wmma;

use crate::instruction::Instruction;

/// Every row of every NVIDIA architecture.
pub(crate) fn rows() -> Vec<Instruction> {
    let mut rows = mma::rows();
    rows.extend(fp64::rows());
    rows.extend(composed::rows());
    rows.extend(wgmma::rows());
    rows.extend(tcgen05::rows());
    rows.extend(wmma::rows());
    rows.extend(sparse::rows());
    rows.extend(integer::rows());
    rows
}
