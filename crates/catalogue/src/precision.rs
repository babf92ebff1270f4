//! A model's internal precision in one line of English.

use bitmma_arithmetic::{Chains, InputFlush, Model, Order};

/// What is exact, what is cut where, how results are rounded; for a K of `k`.
pub(crate) fn line(model: &Model, k: usize) -> String {
    let core = (model.operation.family().line)(&model.operation, model.conversion, model.length(k));
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
