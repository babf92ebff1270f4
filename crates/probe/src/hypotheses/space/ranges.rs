//! Which values of a parameter make a difference.

use bitmma_engine::Model;
use bitmma_engine::arithmetic::Parameter;
use bitmma_engine::arithmetic::family::Meeting;
use bitmma_engine::formats::{BF16, F16, F32, F64, Format};

use super::{Space, or_none};

/// Exponents above the largest term that are tried for zero terms.
const ABOVE: i32 = 24;

/// The smallest exponent of a number of `format` as operations read it.
fn lowest_exponent(format: &Format, wide: Option<Format>) -> i32 {
    let lowest = format.min_exponent() - format.fraction_bits as i32;
    wide.map_or(format.min_exponent(), |wide| wide.min_exponent().max(lowest))
}

impl Space {
    /// Smallest and largest exponent a product that is not zero can bring; for GST-FDPA, a group of them.
    pub(super) fn product_exponents(&self, model: &Model) -> (i32, i32) {
        let scale = model
            .scale
            .map_or((0, 0), |scale| (2 * scale.format.min_exponent(), 2 * scale.format.max_exponent()));
        let operands = model.lowering.widen_operands;
        if model.operation.family().meeting == Meeting::InGroups {
            return scale;
        }
        (
            lowest_exponent(&model.a, operands) + lowest_exponent(&model.b, operands) + scale.0,
            model.a.max_exponent() + model.b.max_exponent() + scale.1,
        )
    }

    /// Smallest and largest exponent a term that is not zero can bring.
    pub(crate) fn term_exponents(&self, model: &Model) -> (i32, i32) {
        let products = self.product_exponents(model);
        let chained = model.conversion.format;
        let accumulators = match model.lowering.add_accumulator_last {
            Some(_) => (chained.min_exponent(), chained.max_exponent()),
            None => {
                let c = lowest_exponent(&model.c, model.lowering.widen_accumulator);
                (c.min(chained.min_exponent()), model.c.max_exponent().max(chained.max_exponent()))
            }
        };
        if model.operation.has(Parameter::ZeroAccumulator) {
            return products;
        }
        (products.0.min(accumulators.0), products.1.max(accumulators.1))
    }

    /// Exponents of zero terms that make a difference, and none.
    pub(super) fn zero_exponents(&self, model: &Model) -> Vec<Option<i32>> {
        let (low, high) = self.term_exponents(model);
        or_none(low + 1..=high + ABOVE).collect()
    }

    /// Limits of products that make a difference, and none.
    pub(super) fn overflows(&self) -> Vec<Option<i32>> {
        let highest = self.signature.a.max_exponent() + self.signature.b.max_exponent() + 1;
        or_none((0..=highest).rev()).collect()
    }

    /// Wider formats that make a difference, and none.
    pub(super) fn wide(&self, model: &Model, formats: &[Format]) -> Vec<Option<Format>> {
        let mut wide = vec![None];
        // where nothing is cut, the exponent that a number is read with is not seen
        if !model.operation.has(Parameter::FractionBits) {
            return wide;
        }
        let effect = |to: Format| -> Vec<i32> {
            let read = |from: &Format| to.min_exponent().max(from.min_exponent() - from.fraction_bits as i32);
            formats.iter().map(read).collect()
        };
        let mut known: Vec<Vec<i32>> = vec![formats.iter().map(Format::min_exponent).collect()];
        let holds = |to: &Format| {
            formats.iter().all(|from| {
                to.fraction_bits >= from.fraction_bits && to.max_exponent() >= from.max_exponent()
            })
        };
        for format in [F16, BF16, F32, F64] {
            if holds(&format) && !known.contains(&effect(format)) {
                known.push(effect(format));
                wide.push(Some(format));
            }
        }
        wide
    }
}
