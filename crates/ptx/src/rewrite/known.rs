//! Constants that operands are known to be.

use super::uses::Uses;
use crate::text::{Function, Operand};

/// The bits of a constant.
pub(super) fn constant(operand: &Operand) -> Option<u64> {
    match operand {
        Operand::Integer(value) | Operand::Double(value) => Some(*value),
        Operand::Single(bits) => Some(u64::from(*bits)),
        _ => None,
    }
}

/// The constant that a register is known to hold.
pub(super) fn known(function: &Function, uses: &Uses, at: usize, operand: &Operand) -> Option<u64> {
    let (mut at, mut operand) = (at, operand.clone());
    for _ in 0..16 {
        let Operand::Register(id) = operand else { return constant(&operand) };
        let [definition] = uses.reaching.get(&(at, id))?.as_slice() else { return None };
        let instruction = &function.instructions[*definition];
        match (instruction.name(), instruction.operands.as_slice()) {
            ("mov", [Operand::Register(_), source]) if instruction.guard.is_none() => {
                (at, operand) = (*definition, source.clone());
            }
            _ => return None,
        }
    }
    None
}
