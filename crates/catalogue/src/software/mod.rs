//! Names that software gives to an instruction: CUTLASS and CuTe atoms, `tl.dot`, the WMMA of CUDA C++ and rocWMMA,
//! compilers' intrinsics, dtypes; and names of library calls, which are not instructions.
//!
//! Sources, for every table here: CUTLASS 4 (`include/cute/arch/mma_sm*.hpp`, `include/cutlass/arch/*mma_sm*.h`), Triton
//! (`python/triton/language`, `lib/Dialect/TritonGPU/Transforms`), rocWMMA (`internal/mfma_impl.hpp`,
//! `internal/types.hpp`), NVIDIA's CUDA C++ Programming Guide (warp matrix functions), LLVM (`IntrinsicsAMDGPU.td`,
//! MLIR's ROCDL dialect), the documentation of PyTorch, JAX, cuBLAS and hipBLASLt.

mod atom;
mod call;
mod known;
mod meaning;
mod triton;

use crate::architecture::Architecture;
use crate::error::LookupError;

pub(crate) use meaning::{Meaning, Wanted};

/// The meaning of a name that is not a spelling of the catalogue, if software has such a name.
pub(crate) fn meaning(architecture: Architecture, text: &str) -> Option<Meaning> {
    let text = text.trim();
    triton::meaning(architecture, text)
        .or_else(|| atom::meaning(text))
        .or_else(|| call::meaning(text))
        .or_else(|| known::meaning(text))
        .or_else(|| of_format(text))
}

/// A format's name, for the instructions that multiply it.
fn of_format(text: &str) -> Option<Meaning> {
    match bitmma_formats::alias::find(text) {
        Ok(format) => Some(Meaning::Rows(Box::new(Wanted { a: Some(format), ..Wanted::default() }))),
        Err(bitmma_formats::alias::UnknownFormat::Other { about, .. }) => Some(Meaning::Known(about)),
        Err(_) => None,
    }
}

/// The error for a name that is known and is not an instruction.
pub(crate) fn refused(given: &str, about: &'static str) -> LookupError {
    LookupError::NotAnInstruction { given: given.trim().to_owned(), about }
}
