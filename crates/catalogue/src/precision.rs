//! A model's internal precision in one line of English.

use bitmma_arithmetic::{FusedSum, Model, Operation, RoundedSum};

/// What is exact, what is cut where, how results are rounded; for a K of `k`.
pub(crate) fn line(model: &Model, k: usize) -> String {
    let length = model.length(k);
    let rho = model.conversion;
    let core = match &model.operation {
        Operation::FtzAddMul { pairing } => format!(
            "each product and each sum {rho} with subnormal results flushed to zero, {pairing} products summed pairwise before C"
        ),
        Operation::Fma => format!("a chain of fused multiply-adds along K, each {rho}"),
        Operation::FtzFma { .. } => format!(
            "fused multiply-adds along K, of {length} products the last first, each {rho}; subnormal inputs and results flushed to zero of their sign"
        ),
        Operation::EFdpa { .. } => format!("sums of {length} products and C exact, result {rho}"),
        Operation::TFdpa(sum) => format!("products exact, {}, {}", terms(sum), sums(length, rho)),
        Operation::StFdpa(sum) => {
            format!("products exact, scaled by powers of two, {}, {}", terms(sum), sums(length, rho))
        }
        Operation::GstFdpa { sum, group } => {
            format!("dot products of {group} exact, scaled, {}, {}", terms(sum), sums(length, rho))
        }
        Operation::TrFdpa(sum) => format!("products exact, {}, result {rho}", rounded(sum, length)),
        Operation::GtrFdpa(sum) => {
            format!("products of even and of odd index apart, exact, {}, result {rho}", rounded(sum, length))
        }
    };
    let mut parts = vec![];
    if let Some(format) = model.lowering.widen_operands {
        parts.push(format!("A and B widened to {format}"));
    }
    if let Some(format) = model.lowering.widen_accumulator {
        parts.push(format!("C widened to {format}"));
    }
    if model.flush_inputs {
        let zero = if model.flush_keeps_sign { "zero of their sign" } else { "+0" };
        parts.push(format!("subnormal inputs read as {zero}"));
    }
    parts.push(core);
    if let Some(conversion) = model.lowering.add_accumulator_last {
        parts.push(format!("C added last, {conversion}"));
    }
    if let Some(conversion) = model.lowering.narrow_output {
        parts.push(format!("narrowed {conversion}"));
    }
    parts.join("; ")
}

fn terms(sum: &FusedSum) -> String {
    let FusedSum { fraction_bits, term_rounding, .. } = sum;
    format!("terms cut ({term_rounding}) to {fraction_bits} bits below the largest exponent")
}

fn sums(length: usize, rho: bitmma_arithmetic::Conversion) -> String {
    format!("sums of {length}, result {rho}")
}

fn rounded(sum: &RoundedSum, length: usize) -> String {
    let RoundedSum { fraction_bits, sum_fraction_bits, term_rounding, sum_rounding, renormalize, .. } = sum;
    let kept = sum_fraction_bits + u32::from(*renormalize);
    let then = match renormalize {
        true => format!(", normalised and cut ({sum_rounding}) to {sum_fraction_bits} bits"),
        false => String::new(),
    };
    format!(
        "cut ({term_rounding}) to {fraction_bits} bits below the largest exponent, sums of {length}, \
         then added to C with {kept} bits of the sum and {fraction_bits} of C kept ({sum_rounding}){then}"
    )
}
