//! Elementary operations: one file for each way of summing, each in the steps of the paper's algorithms.
//!
//! Every step that is computed is reported to a [`Trace`] with the values that were used.

mod dot_add;
mod exact;
mod fused;
mod grouped;
mod rounded;

use crate::convert::Conversion;
use crate::family::Operation;
use crate::fma::{fma, ftz_fma};
use crate::ftz::add_mul;
use crate::operand::Vectors;
use crate::trace::Trace;

pub use rounded::tr_fdpa_end;

/// One elementary operation; its result is a code of rho's container.
pub(crate) fn operate<T: Trace>(
    operation: &Operation,
    rho: Conversion,
    vectors: &Vectors<'_>,
    trace: &mut T,
) -> u64 {
    match operation {
        Operation::FtzAddMul { .. } => add_mul(vectors, rho, trace),
        Operation::Fma => {
            let [a, b] = vectors.factors(0);
            fma(&a, &b, &vectors.c, vectors.indices[0], rho, trace)
        }
        Operation::FtzFma { .. } => ftz_fma(vectors, rho, trace),
        Operation::EFdpa { .. } => exact::e_fdpa(rho, vectors, trace),
        Operation::DotAdd { .. } => dot_add::dot_add(rho, vectors, trace),
        Operation::TFdpa(sum) | Operation::StFdpa(sum) => fused::t_fdpa(sum, rho, vectors, trace),
        Operation::GstFdpa { sum, group } => grouped::gst_fdpa(sum, *group, rho, vectors, trace),
        Operation::TrFdpa(sum) => rounded::tr_fdpa(sum, rho, vectors, trace),
        Operation::GtrFdpa(sum) => rounded::gtr_fdpa(sum, rho, vectors, trace),
    }
}
