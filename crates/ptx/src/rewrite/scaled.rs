//! Products that ptxas scales by a power of two in the same instruction (`FMUL.D2`, `FMUL.M8`).
//!
//! The scaled product is the one of two multiplications unless something is below the least normal number, or beyond the greatest:
//! whether the GPU rounds it once or twice there is not known. The second multiplication looks at the factors of the first, and it is
//! an error where that matters.

use std::collections::{HashMap, HashSet};

use super::contract::rounds;
use super::dead::live;
use super::known::known;
use super::list::insert_before;
use super::uses::Uses;
use crate::flow::Flow;
use crate::text::{Function, Instruction, Operand, Register, RegisterId, Width};

/// 2, 4, 8 and their reciprocals.
const POWERS: [u32; 6] = [0x4000_0000, 0x4080_0000, 0x4100_0000, 0x3f00_0000, 0x3e80_0000, 0x3e00_0000];

/// A product that is scaled, and the multiplication that scales it, with the operand that is the product.
struct Scaled {
    at: usize,
    operand: usize,
    product: usize,
}

/// Whether an instruction is a multiplication of FP32 in which one is possible: `mul` and `mul.rn` are one.
fn may_scale(instruction: &Instruction) -> bool {
    let rounds = ["rz", "rm", "rp"].iter().any(|word| instruction.has(word));
    instruction.name() == "mul" && !rounds && instruction.form.ends_with(".f32")
}

/// Whether ptxas may scale it: a multiplication is what it ends with.
fn is_product(instruction: &Instruction) -> bool {
    let ends = match instruction.name() {
        "mul" => !rounds(instruction),
        "div" => instruction.has("approx") || instruction.has("full"),
        _ => false,
    };
    ends && instruction.form.ends_with(".f32") && !instruction.has("sat")
}

/// The definition of a register, through moves.
fn defined(function: &Function, uses: &Uses, mut at: usize, mut register: RegisterId) -> Option<usize> {
    for _ in 0..16 {
        let [definition] = uses.reaching.get(&(at, register))?.as_slice() else { return None };
        let one = &function.instructions[*definition];
        match (one.name(), one.operands.as_slice()) {
            ("mov", [_, Operand::Register(from)]) if one.guard.is_none() => {
                (at, register) = (*definition, *from);
            }
            _ => return Some(*definition),
        }
    }
    None
}

fn find(function: &Function) -> Vec<Scaled> {
    let all = &function.instructions;
    if !all.iter().any(may_scale) {
        return vec![];
    }
    let flow = Flow::of(all);
    let Some(uses) = Uses::of(function, &flow) else { return vec![] };
    let live = live(function, &uses);
    let scaled = |at: usize| {
        let is_power = |operand: usize| {
            let bits = known(function, &uses, at, &all[at].operands[operand]);
            bits.is_some_and(|bits| POWERS.contains(&(bits as u32)))
        };
        let operand = (1..3).find(|operand| is_power(3 - operand))?;
        let Operand::Register(register) = all[at].operands[operand] else { return None };
        let product = defined(function, &uses, at, register)?;
        let used = uses.of[product].iter().filter(|one| live[one.at]).count();
        (product != at && used == 1 && is_product(&all[product])).then_some(Scaled { at, operand, product })
    };
    (0..all.len())
        .filter(|at| may_scale(&all[*at]) && all[*at].operands.len() == 3)
        .filter_map(scaled)
        .collect()
}

/// Multiplications of a text that are scaled, or scale.
pub(super) fn numbers(function: &Function) -> HashSet<usize> {
    find(function).iter().flat_map(|one| [one.at, one.product]).collect()
}

/// Makes each a multiplication that looks.
pub(super) fn apply(function: &mut Function) {
    let mut before: HashMap<usize, Vec<Instruction>> = HashMap::new();
    for Scaled { at, operand, product } in find(function) {
        let first = function.instructions[product].clone();
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
        let list = before.entry(product).or_default();
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
        second.form = second.form.replacen("mul", "%scaled", 1).replace(".rn", "");
        if operand == 2 {
            second.operands.swap(1, 2);
        }
        second.operands.extend(factors.map(Operand::Register));
    }
    insert_before(function, before);
}
