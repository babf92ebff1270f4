//! The models a second time, on exact rationals: for tests and fuzzing only.
//!
//! Written from the paper and `semantics.md` alone and sharing nothing with the first writing but the
//! data that describe a model, so that one can be compared with the other. A number is what its format's
//! definition says it is; "cut to F bits at e" is rounding to a multiple of 2^(e-F); rounding is choosing
//! between floor and ceiling. Nothing here is fast on purpose.

mod dyadic;
mod element;
mod fused;
mod ieee;
mod integer;
mod number;
mod rounded;
#[cfg(test)]
mod tests;

use crate::family::Operation;
use crate::lowering::Order;
use crate::model::{InputFlush, Model};
use element::Element;
use number::Number;

/// The code of D: one row of A, one column of B, one element of C.
///
/// `a` and `b` hold K codes each, `scale_a` and `scale_b` a code for each block of K, or none. Every NaN
/// result is [`Model::emitted_nan`].
///
/// # Panics
///
/// If the model or the number of operands makes no sense, as [`Model::validate`] would have said.
pub fn dot(model: &Model, a: &[u64], b: &[u64], c: u64, scale_a: &[u64], scale_b: &[u64]) -> u64 {
    if model.is_integer() {
        return integer::dot(model, a, b, c);
    }
    let lowering = &model.lowering;
    let elements: Vec<Element> = order(lowering.order, a.len())
        .into_iter()
        .map(|index| Element {
            product: factor(model, &model.a, a[index]).times(&factor(model, &model.b, b[index])),
            scale: model.scale.map(|scale| {
                let factor = |codes: &[u64]| Number::read(&scale.format, codes[index / scale.size], false);
                factor(scale_a).times(&factor(scale_b))
            }),
        })
        .collect();
    let c = operand(model.flush_accumulator, &model.c, lowering.widen_accumulator.as_ref(), c);

    // one chain for each part of the elements; the first begins with C, unless that comes last
    let parts = lowering.chains.map_or(1, |chains| chains.count);
    let mut sums = elements.chunks(elements.len() / parts).enumerate().map(|(part, elements)| {
        let with_c = part == 0 && lowering.add_accumulator_last.is_none();
        elements
            .chunks(model.length(a.len()))
            .fold(if with_c { c.clone() } else { Number::ZERO }, |accumulator, elements| {
                operate(model, elements, &accumulator)
            })
    });
    let mut result = sums.next().expect("K is not zero");
    for sum in sums {
        let merge = &lowering.chains.expect("there is more than one").merge;
        result = ieee::add(&result, &sum, merge);
    }
    if let Some(conversion) = &lowering.add_accumulator_last {
        result = ieee::add(&result, &c, conversion);
    }
    if let Some(conversion) = &lowering.narrow_output {
        result = result.convert(conversion);
    }
    result.code(&model.d, model.emitted_nan().expect("the format has a NaN"))
}

/// An element of A, B or C as the operation sees it: flushed or widened if asked.
fn operand(
    flush: InputFlush,
    format: &bitmma_formats::Format,
    widen: Option<&bitmma_formats::Format>,
    code: u64,
) -> Number {
    let number = Number::read(format, code, flush == InputFlush::Positive);
    let number = if flush == InputFlush::Signed { ieee::signed_zero_if_subnormal(number) } else { number };
    match widen {
        None => number,
        Some(wide) => number.widened(wide),
    }
}

/// An element of A or B as the operation takes it; FTZ-FMA reads subnormal factors as zero. Its
/// accumulator it flushes when that enters an operation, which a C that is added last never does.
fn factor(model: &Model, format: &bitmma_formats::Format, code: u64) -> Number {
    let number = operand(model.flush_operands, format, model.lowering.widen_operands.as_ref(), code);
    match model.operation {
        Operation::FtzFma { .. } => ieee::signed_zero_if_subnormal(number),
        _ => number,
    }
}

/// The indices 0…k-1 as they enter the operations.
fn order(order: Order, k: usize) -> Vec<usize> {
    let mut indices: Vec<usize> = (0..k).collect();
    match order {
        Order::Sequential => {}
        Order::Reversed => indices.reverse(),
        // the sort is stable: each pass stays ascending
        Order::Interleaved { run, period } => indices.sort_by_key(|index| (index % period) / run),
    }
    indices
}

/// One elementary operation on one group of elements.
fn operate(model: &Model, elements: &[Element], accumulator: &Number) -> Number {
    let rho = &model.conversion;
    match &model.operation {
        Operation::FtzAddMul { .. } => ieee::pairwise(elements, accumulator, rho),
        Operation::Fma => ieee::fused_multiply_add(&elements[0], accumulator, rho),
        Operation::FtzFma { .. } => ieee::flushing_chain(elements, accumulator, rho),
        Operation::EFdpa { .. } => fused::exact(elements, accumulator, rho),
        Operation::DotAdd { .. } => {
            let products: Vec<Number> = elements.iter().map(|element| element.product.clone()).collect();
            ieee::add(&ieee::sum(&products, rho), accumulator, rho)
        }
        Operation::TFdpa(sum) | Operation::StFdpa(sum) => fused::truncated(elements, accumulator, sum, rho),
        Operation::GstFdpa { sum, group } => fused::grouped(elements, accumulator, sum, *group, rho),
        Operation::TrFdpa(sum) => rounded::truncated(elements, accumulator, sum, rho),
        Operation::GtrFdpa(sum) => rounded::grouped(elements, accumulator, sum, rho),
    }
}
