//! Constants that operands are known to be.

use super::evaluate::evaluate;
use super::uses::Uses;
use crate::text::{Function, Operand};

/// Operations on constants that are computed for one operand, at most.
const MOST_OPERATIONS: usize = 32;

/// The bits of a constant.
pub(super) fn constant(operand: &Operand) -> Option<u64> {
    match operand {
        Operand::Integer(value) | Operand::Double(value) => Some(*value),
        Operand::Single(bits) => Some(u64::from(*bits)),
        _ => None,
    }
}

/// The constant that an operand is known to be, through operations on constants.
pub(super) fn known(function: &Function, uses: &Uses, at: usize, operand: &Operand) -> Option<u64> {
    through(function, uses, at, operand, &mut MOST_OPERATIONS.clone())
}

fn through(function: &Function, uses: &Uses, at: usize, operand: &Operand, left: &mut usize) -> Option<u64> {
    let Operand::Register(id) = operand else { return constant(operand) };
    let [definition] = uses.reaching.get(&(at, *id))?.as_slice() else { return None };
    let instruction = &function.instructions[*definition];
    let [Operand::Register(_), sources @ ..] = instruction.operands.as_slice() else { return None };
    if instruction.guard.is_some() {
        return None;
    }
    *left = left.checked_sub(1)?;
    let values: Option<Vec<u64>> =
        sources.iter().map(|source| through(function, uses, *definition, source, left)).collect();
    evaluate(instruction, &values?)
}
