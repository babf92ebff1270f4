//! Operations of all families with what is known of one of them.

use bitmma_engine::arithmetic::{Operation, Parameter, Value};

/// The divisors of a number, smallest first.
pub(crate) fn divisors(of: usize) -> Vec<usize> {
    (1..=of).filter(|&divisor| of.is_multiple_of(divisor)).collect()
}

/// F, of families that have it.
pub(crate) fn with_fraction_bits(operation: Operation, bits: u32) -> Operation {
    operation.with(Parameter::FractionBits, Value::Number(bits.into()))
}

/// `to` with all parameters of `from` that it has too; the exponent of zeros is one of both.
pub(crate) fn carried_over(from: &Operation, to: Operation) -> Operation {
    from.parameters().fold(to, |to, (parameter, value)| {
        let to = to.with(parameter, value);
        match parameter {
            Parameter::ZeroExponent => to.with(Parameter::ZeroAccumulator, value),
            Parameter::ZeroAccumulator => to.with(Parameter::ZeroExponent, value),
            _ => to,
        }
    })
}
