//! Operations taken apart and put together.

use bitmma::Model;
use bitmma::arithmetic::{FusedSum, Operation, RoundedSum};

/// The model with each value of something its fused sum has; as it is if it has none.
pub(crate) fn fused<V>(
    model: &Model,
    values: impl IntoIterator<Item = V>,
    set: impl Fn(&mut FusedSum, V),
) -> Vec<Model> {
    let Some(sum) = fused_of(&model.operation) else { return vec![model.clone()] };
    let with = |value| {
        let mut sum = *sum;
        set(&mut sum, value);
        let operation = match model.operation {
            Operation::StFdpa(_) => Operation::StFdpa(sum),
            Operation::GstFdpa { group, .. } => Operation::GstFdpa { sum, group },
            _ => Operation::TFdpa(sum),
        };
        Model { operation, ..model.clone() }
    };
    values.into_iter().map(with).collect()
}

/// The model with each value of something its rounded sum has; as it is if it has none.
pub(crate) fn rounded<V>(
    model: &Model,
    values: impl IntoIterator<Item = V>,
    set: impl Fn(&mut RoundedSum, V),
) -> Vec<Model> {
    let Some(sum) = rounded_of(&model.operation) else { return vec![model.clone()] };
    let with = |value| {
        let mut sum = *sum;
        set(&mut sum, value);
        let operation = match model.operation {
            Operation::GtrFdpa(_) => Operation::GtrFdpa(sum),
            _ => Operation::TrFdpa(sum),
        };
        Model { operation, ..model.clone() }
    };
    values.into_iter().map(with).collect()
}

/// The divisors of a number, smallest first.
pub(crate) fn divisors(of: usize) -> Vec<usize> {
    (1..=of).filter(|&divisor| of.is_multiple_of(divisor)).collect()
}

pub(crate) fn fused_of(operation: &Operation) -> Option<&FusedSum> {
    match operation {
        Operation::TFdpa(sum) | Operation::StFdpa(sum) | Operation::GstFdpa { sum, .. } => Some(sum),
        _ => None,
    }
}

pub(crate) fn fused_mut(operation: &mut Operation) -> Option<&mut FusedSum> {
    match operation {
        Operation::TFdpa(sum) | Operation::StFdpa(sum) | Operation::GstFdpa { sum, .. } => Some(sum),
        _ => None,
    }
}

pub(crate) fn rounded_of(operation: &Operation) -> Option<&RoundedSum> {
    match operation {
        Operation::TrFdpa(sum) | Operation::GtrFdpa(sum) => Some(sum),
        _ => None,
    }
}

pub(crate) fn rounded_mut(operation: &mut Operation) -> Option<&mut RoundedSum> {
    match operation {
        Operation::TrFdpa(sum) | Operation::GtrFdpa(sum) => Some(sum),
        _ => None,
    }
}

pub(crate) fn with_length(operation: Operation, length: usize) -> Operation {
    let mut operation = operation;
    match &mut operation {
        Operation::Fma => {}
        Operation::FtzAddMul { pairing } => *pairing = length,
        Operation::FtzFma { max_length } | Operation::EFdpa { max_length } => *max_length = length,
        Operation::TFdpa(sum) | Operation::StFdpa(sum) | Operation::GstFdpa { sum, .. } => {
            sum.max_length = length;
        }
        Operation::TrFdpa(sum) | Operation::GtrFdpa(sum) => sum.max_length = length,
    }
    operation
}

pub(crate) fn with_fraction_bits(operation: Operation, bits: u32) -> Operation {
    let mut operation = operation;
    if let Some(sum) = fused_mut(&mut operation) {
        sum.fraction_bits = bits;
    } else if let Some(sum) = rounded_mut(&mut operation) {
        sum.fraction_bits = bits;
    }
    operation
}
