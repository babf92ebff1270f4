//! Products that ptxas scales by a power of two in the same instruction (`FMUL.D2`, `FMUL.M8`).
//!
//! The scaled product is the one of two multiplications unless something is below the least normal number, or beyond the greatest:
//! whether the GPU rounds it once or twice there is not known. The second multiplication looks at the factors of the first, and it is
//! an error where that matters.

use std::collections::HashMap;

use super::contract::rounds;
use super::list::insert_before;
use super::uses::Uses;
use crate::flow::Flow;
use crate::text::{Function, Instruction, Operand, Register, RegisterId, Width};

/// 2, 4, 8 and their reciprocals.
const POWERS: [u32; 6] = [0x4000_0000, 0x4080_0000, 0x4100_0000, 0x3f00_0000, 0x3e80_0000, 0x3e00_0000];

/// The operand that is scaled by a constant.
fn scaled(instruction: &Instruction) -> Option<RegisterId> {
    let is_power = |operand: &Operand| matches!(operand, Operand::Single(bits) if POWERS.contains(bits));
    match instruction.operands.as_slice() {
        [_, Operand::Register(id), power] | [_, power, Operand::Register(id)]
            if instruction.name() == "mul" && is_product(instruction) && is_power(power) =>
        {
            Some(*id)
        }
        _ => None,
    }
}

/// Whether ptxas may scale it: a multiplication is what it ends with.
fn is_product(instruction: &Instruction) -> bool {
    let ends = match instruction.name() {
        "mul" => !rounds(instruction),
        "div" => instruction.has("approx") || instruction.has("full"),
        _ => false,
    };
    ends && instruction.form.ends_with(".f32")
}

/// Makes each a multiplication that looks.
pub(super) fn apply(function: &mut Function) {
    if !function.instructions.iter().any(|instruction| scaled(instruction).is_some()) {
        return;
    }
    let flow = Flow::of(&function.instructions);
    let Some(uses) = Uses::of(function, &flow) else { return };
    let mut before: HashMap<usize, Vec<Instruction>> = HashMap::new();
    for at in 0..function.instructions.len() {
        let Some(register) = scaled(&function.instructions[at]) else { continue };
        let Some([product]) = uses.reaching.get(&(at, register)).map(Vec::as_slice) else { continue };
        let first = function.instructions[*product].clone();
        if *product == at || uses.of[*product].len() != 1 || first.has("sat") || !is_product(&first) {
            continue;
        }
        let factors = [0, 1].map(|_| {
            function.registers.push(Register { name: "%factor".to_owned(), width: Width::Word(32) });
            (function.registers.len() - 1) as RegisterId
        });
        let new = |form: String, operands: Vec<Operand>| Instruction {
            form,
            operands,
            negate: [false; 2],
            ..first.clone()
        };
        let list = before.entry(*product).or_default();
        match first.name() {
            "mul" => list.extend(
                factors
                    .iter()
                    .zip(&first.operands[1..])
                    .map(|(to, from)| new("mov.b32".to_owned(), vec![Operand::Register(*to), from.clone()])),
            ),
            _ => {
                let mut operands: Vec<Operand> = factors.map(Operand::Register).into();
                operands.extend(first.operands[1..].iter().cloned());
                list.push(new(format!("%{}", first.form), operands));
            }
        }
        let second = &mut function.instructions[at];
        second.form = second.form.replacen("mul", "%scaled", 1);
        if matches!(second.operands[1], Operand::Single(_)) {
            second.operands.swap(1, 2);
        }
        second.operands.extend(factors.map(Operand::Register));
    }
    insert_before(function, before);
}
