//! Instructions that are several others.

use super::fragments::Access;
use super::{Function, Instruction, Operand, Register, RegisterId, Width};
use crate::error::Error;

/// Puts the others in their place.
pub(crate) fn expanded(function: &mut Function) -> Result<(), Error> {
    let is_access = |one: &Instruction| one.name() == "wmma" && (one.has("load") || one.has("store"));
    let is_logic = |one: &Instruction| one.name() == "lop3" && (one.has("and") || one.has("or"));
    if !function.instructions.iter().any(|one| is_access(one) || is_logic(one)) {
        return Ok(());
    }
    function.replace(|instruction, registers| match () {
        () if is_access(&instruction) => Access::new(&instruction, registers).expand(),
        () if is_logic(&instruction) => logic(&instruction, registers),
        () => Ok(vec![instruction]),
    })
}

/// `lop3.or.b32 d|p, a, b, c, table, q`: d is what it is without a predicate, p is d ≠ 0 or q.
fn logic(instruction: &Instruction, registers: &mut Vec<Register>) -> Result<Vec<Instruction>, Error> {
    let refused = || Error::unsupported(instruction.line, &instruction.form, "it has other operands");
    let [Operand::Pair(d, p), rest @ .., q] = instruction.operands.as_slice() else { return Err(refused()) };
    if **p == Operand::Sink {
        return Err(refused());
    }
    let mut d = (**d).clone();
    if d == Operand::Sink {
        registers.push(Register { name: "%lop3".to_owned(), width: Width::Word(32) });
        d = Operand::Register(registers.len() as RegisterId - 1);
    }
    let operation = if instruction.has("and") { "and" } else { "or" };
    let test = vec![(**p).clone(), d.clone(), Operand::Integer(0), q.clone()];
    Ok(vec![
        instruction.made(&instruction.form.replacen(&format!(".{operation}"), "", 1), [&[d], rest].concat()),
        instruction.made(&format!("setp.ne.{operation}.b32"), test),
    ])
}
