//! A model's internal precision in one line of English.

use bitmma_arithmetic::{Chains, FusedSum, InputFlush, Model, Operation, Order, RoundedSum};

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
    let (of_ab, of_c) = (model.flush_operands, model.flush_accumulator);
    let flushed: &[_] = if of_ab == of_c { &[("inputs", of_ab)] } else { &[("A and B", of_ab), ("C", of_c)] };
    for (what, flush) in flushed {
        match flush {
            InputFlush::Never => {}
            InputFlush::Positive => parts.push(format!("subnormal {what} read as +0")),
            InputFlush::Signed => parts.push(format!("subnormal {what} read as zero of their sign")),
        }
    }
    match model.lowering.chains {
        Some(Chains { count, merge }) => {
            let dealt = match model.lowering.order {
                Order::Interleaved { run: 1, period } if period == count => "in turn",
                Order::Interleaved { .. } => "as the order has them",
                Order::Sequential | Order::Reversed => "in runs",
            };
            parts.push(format!("K dealt {dealt} to {count} chains, each: {core}"));
            parts.push(format!("chains added, {merge}"));
        }
        None => parts.push(core),
    }
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
    let of_c = match sum.accumulator_bits() {
        bits if bits == *fraction_bits => String::new(),
        bits => format!(" (C to {bits})"),
    };
    format!("terms cut ({term_rounding}) to {fraction_bits} bits below the largest exponent{of_c}")
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
