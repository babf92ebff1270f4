//! A model as data: an elementary operation, its parameters, the formats it takes and gives.

use bitmma_formats::{BlockScale, Format};
use serde::{Deserialize, Serialize};

use crate::convert::Conversion;
use crate::family::Operation;
use crate::lowering::Lowering;
use crate::parameter::{Parameter, Value};

/// Whether subnormal numbers that go in are flushed: read as zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum InputFlush {
    /// They are read as they are.
    #[default]
    Never,
    /// They, and zeros, are read as +0.
    Positive,
    /// They are read as zero of their sign.
    Signed,
}

impl InputFlush {
    /// In one word, as model files have it.
    pub const fn name(self) -> &'static str {
        match self {
            InputFlush::Never => "never",
            InputFlush::Positive => "positive",
            InputFlush::Signed => "signed",
        }
    }

    /// Whether subnormal numbers are read as zero.
    pub fn is_on(self) -> bool {
        self != InputFlush::Never
    }
}

/// How one element of D is computed from a row of A, a column of B and an element of C.
///
/// K is not part of a model: it takes every K that is a multiple of L = min(K, L_max).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Model {
    /// Format of A.
    pub a: Format,
    /// Format of B.
    pub b: Format,
    /// Format of C.
    pub c: Format,
    /// Format of D.
    pub d: Format,
    /// Scale factors of A and of B along K; only and always for ST- and GST-FDPA.
    pub scale: Option<BlockScale>,
    /// The elementary operation.
    pub operation: Operation,
    /// rho: how the result of each elementary operation becomes a number.
    pub conversion: Conversion,
    /// Whether subnormal numbers of A and B are read as zero.
    pub flush_operands: InputFlush,
    /// Whether subnormal numbers of C are read as zero; what becomes of results is [`Conversion::flush`].
    pub flush_accumulator: InputFlush,
    /// The code a NaN result has; `None` where the vendor does not say, then any NaN agrees with any
    /// other and the quiet NaN with positive sign and no payload is written.
    pub nan_code: Option<u64>,
    /// What surrounds the operation where a compiler composes the instruction from others.
    pub lowering: Lowering,
}

impl Model {
    /// A model without scale factors, flushing or lowering, D in the container of `conversion`'s format.
    pub fn new(a: Format, b: Format, c: Format, operation: Operation, conversion: Conversion) -> Model {
        let d = conversion.container();
        Model {
            a,
            b,
            c,
            d,
            scale: None,
            operation,
            conversion,
            flush_operands: InputFlush::Never,
            flush_accumulator: InputFlush::Never,
            nan_code: None,
            lowering: Lowering::NONE,
        }
    }

    /// The code written for a NaN result; `None` where D are integers, which have no NaN.
    pub fn emitted_nan(&self) -> Option<u64> {
        self.nan_code.or(self.d.nan_code())
    }

    /// Whether it multiplies and sums integers. Such a model has no rounding, NaN or infinity, and no zero has a sign.
    pub fn is_integer(&self) -> bool {
        self.conversion.format.is_integer()
    }

    /// L: products in one elementary operation for this K, at most L_max.
    pub fn length(&self, k: usize) -> usize {
        if let Some(pairing) = self.operation.number(Parameter::Pairing) {
            return pairing;
        }
        (k / self.lowering.parts()).min(self.operation.max_length())
    }

    /// The parameters that tell models of a family apart at a glance, with L for this K: `L` or `P`, `G`, `F`, `F2`.
    pub fn short(&self, k: usize) -> Vec<(&'static str, Value)> {
        let short = self.operation.parameters().filter(|(parameter, _)| parameter.row().short);
        short
            .map(|(parameter, value)| match parameter {
                Parameter::MaxLength => ("L", Value::Number(self.length(k) as i128)),
                _ => (parameter.key(), value),
            })
            .collect()
    }

    /// The conversion that gives D.
    pub fn last_conversion(&self) -> Conversion {
        let Lowering { chains, add_accumulator_last, narrow_output, .. } = self.lowering;
        let merge = chains.map(|chains| chains.merge);
        narrow_output.or(add_accumulator_last).or(merge).unwrap_or(self.conversion)
    }

    /// The model with subnormal numbers of A, B and C read as zero.
    pub fn flushing(self, flush: InputFlush) -> Model {
        Model { flush_operands: flush, flush_accumulator: flush, ..self }
    }

    /// Whether `d` codes are the same result: equal bits, or two NaNs where no code is specified.
    pub fn agrees(&self, expected: u64, actual: u64, strict_nan: bool) -> bool {
        expected == actual
            || (!strict_nan && self.nan_code.is_none() && self.d.is_nan(expected) && self.d.is_nan(actual))
    }
}
