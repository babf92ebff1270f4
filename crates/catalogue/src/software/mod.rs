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
use crate::rows::Rows;
use crate::spelling::Key;

pub(crate) use meaning::Meaning;
pub use meaning::Options;

/// The meaning of a name that is not a spelling of the catalogue, if software has such a name.
pub(crate) fn meaning(architecture: Architecture, text: &str) -> Option<Meaning> {
    let text = text.trim();
    triton::meaning(architecture, text)
        .or_else(|| atom::meaning(text))
        .or_else(|| call::meaning(text))
        .or_else(|| known::meaning(text))
}

/// The rows of an architecture and the options that a meaning asks for; an error for what is known and is not an
/// instruction, and for an option that cannot be applied.
pub(crate) fn resolved(
    architecture: Architecture,
    given: &str,
    meaning: Meaning,
    spelled: impl Fn(&str) -> Rows,
) -> Result<(Rows, Options), LookupError> {
    let given = || given.trim().to_owned();
    match meaning {
        Meaning::Known(about) => Err(LookupError::NotAnInstruction { given: given(), about }),
        Meaning::Refused(option, why) => Err(LookupError::Option { given: given(), option, why }),
        Meaning::Spelling(spelling, options) => Ok((spelled(&spelling), options)),
        Meaning::Rows(wanted, options) => {
            let key = || Key { text: String::new(), m: wanted.m, n: wanted.n };
            Ok((wanted.rows(architecture).into_iter().map(|row| (row, key())).collect(), options))
        }
    }
}
