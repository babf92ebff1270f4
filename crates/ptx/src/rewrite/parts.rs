//! Where ptxas parts a block of the text before it fuses.
//!
//! Read from the SASS of single instructions between a product and an addition, ptxas 12.9 (sm_80) and 13.4 (sm_90, sm_100): a
//! guarded instruction that does more than compute becomes a branch, unless its guard is a constant; so do fences, and divisions
//! and roots that have a path of their own for hard operands.

use super::uses::Uses;
use crate::flow::effects;
use crate::text::{Function, Instruction, Operand};

/// Instructions that compute registers from registers, and are executed under a guard without a branch.
const COMPUTE: [&str; 53] = [
    "mov", "add", "sub", "mul", "mad", "mul24", "mad24", "fma", "div", "rem", "abs", "neg", "min", "max",
    "sad", "popc", "clz", "bfind", "fns", "brev", "bfe", "bfi", "bmsk", "szext", "dp4a", "dp2a", "and", "or",
    "xor", "not", "cnot", "lop3", "shf", "shl", "shr", "prmt", "setp", "set", "selp", "slct", "testp",
    "copysign", "cvt", "cvta", "rcp", "sqrt", "rsqrt", "sin", "cos", "lg2", "ex2", "tanh", "isspacep",
];

/// Of each instruction how many before it part the text.
pub(super) fn parts(function: &Function, uses: &Uses, live: &[bool]) -> Vec<usize> {
    let mut count = 0;
    let of = |(at, instruction): (usize, &Instruction)| {
        let before = count;
        count += usize::from(live[at] && parts_here(function, uses, at, instruction));
        before
    };
    function.instructions.iter().enumerate().map(of).collect()
}

/// Whether an instruction does no more than compute its results.
fn computes(instruction: &Instruction) -> bool {
    let name = instruction.name();
    COMPUTE.contains(&name) || name.starts_with('%')
}

/// Of each instruction whether anything comes of it: ptxas drops the others first.
pub(super) fn live(function: &Function, uses: &Uses) -> Vec<bool> {
    let mut live: Vec<bool> =
        function.instructions.iter().map(|instruction| !computes(instruction)).collect();
    let mut pending: Vec<usize> = (0..live.len()).filter(|at| live[*at]).collect();
    while let Some(at) = pending.pop() {
        for register in effects(&function.instructions[at]).1 {
            for definition in uses.reaching.get(&(at, register)).into_iter().flatten() {
                if !live[*definition] {
                    live[*definition] = true;
                    pending.push(*definition);
                }
            }
        }
    }
    live
}

fn parts_here(function: &Function, uses: &Uses, at: usize, instruction: &Instruction) -> bool {
    let name = instruction.name();
    let branches = |(guard, _)| !computes(instruction) && !is_constant(function, uses, at, guard);
    instruction.guard.is_some_and(branches)
        || name == "membar"
        || name == "fence" && !instruction.has("proxy")
        || has_a_slow_path(instruction)
}

/// Whether a predicate is set to a constant wherever it comes from.
fn is_constant(function: &Function, uses: &Uses, at: usize, predicate: u32) -> bool {
    let constant = |definition: &usize| {
        let instruction = &function.instructions[*definition];
        instruction.name() == "mov" && matches!(instruction.operands.get(1), Some(Operand::Integer(_)))
    };
    uses.reaching.get(&(at, predicate)).is_some_and(|all| matches!(all.as_slice(), [one] if constant(one)))
}

fn has_a_slow_path(instruction: &Instruction) -> bool {
    let rounds = ["rn", "rz", "rm", "rp"].iter().any(|rounding| instruction.has(rounding));
    // all but u32, as measured
    let integer = ["s16", "u16", "s32", "s64", "u64"].iter().any(|kind| instruction.has(kind));
    match instruction.name() {
        "div" | "rcp" | "sqrt" if rounds => true,
        "div" | "rem" => integer,
        _ => false,
    }
}
