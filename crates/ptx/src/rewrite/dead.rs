//! Instructions of which nothing comes, and branches that lead nowhere else.

use super::loops::{loops, reached};
use super::uses::Uses;
use crate::flow::{Flow, effects};
use crate::instruction::table::is_pure;
use crate::text::{Function, Instruction, Operand};

/// Whether an instruction was dropped.
pub(super) fn is_nothing(instruction: &Instruction) -> bool {
    instruction.form == "%nothing"
}

pub(super) fn drop_instruction(instruction: &mut Instruction) {
    instruction.form = "%nothing".to_owned();
    instruction.operands = vec![];
    instruction.guard = None;
}

/// Of each instruction whether anything comes of it: ptxas drops the others first. A load from which nothing comes is dropped,
/// too, unless it is volatile.
pub(super) fn live(function: &Function, uses: &Uses) -> Vec<bool> {
    let droppable = |instruction: &Instruction| {
        is_pure(instruction) || matches!(instruction.name(), "ld" | "ldu") && !instruction.has("volatile")
    };
    let mut live: Vec<bool> =
        function.instructions.iter().map(|instruction| !droppable(instruction)).collect();
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

/// Drops what nothing comes of. Whether anything was.
pub(super) fn drop_dead(function: &mut Function, uses: &Uses) -> bool {
    let live = live(function, uses);
    let mut changed = false;
    for (instruction, live) in function.instructions.iter_mut().zip(live) {
        if !live && !is_nothing(instruction) {
            drop_instruction(instruction);
            changed = true;
        }
    }
    changed
}

fn target(instruction: &Instruction) -> Option<usize> {
    match instruction.operands.as_slice() {
        [Operand::Label(target)] if instruction.name() == "bra" => Some(*target),
        _ => None,
    }
}

/// The first instruction from one on that does something, along branches that are always taken.
fn resolve(function: &Function, from: usize) -> usize {
    let mut at = from;
    for _ in 0..=function.instructions.len() {
        let Some(instruction) = function.instructions.get(at) else { return at };
        match target(instruction) {
            _ if is_nothing(instruction) => at += 1,
            Some(target) if instruction.guard.is_none() => at = target,
            _ => return at,
        }
    }
    at
}

/// Drops branches that lead where their block goes anyway, what nothing reaches, and loops of which nothing comes. Whether
/// anything was. `merged` is told of branches under a guard.
pub(super) fn drop_branches(function: &mut Function, mut merged: impl FnMut(usize)) -> bool {
    let mut changed = false;
    for at in 0..function.instructions.len() {
        let Some(to) = target(&function.instructions[at]) else { continue };
        let resolved = resolve(function, to);
        if resolved == resolve(function, at + 1) {
            if function.instructions[at].guard.is_some() {
                merged(at);
            }
            drop_instruction(&mut function.instructions[at]);
            changed = true;
        } else if resolved != to {
            function.instructions[at].operands = vec![Operand::Label(resolved)];
            changed = true;
        }
    }
    let flow = Flow::of(&function.instructions);
    let reached = reached(&flow);
    for block in (0..flow.blocks()).filter(|block| !reached[*block]) {
        for at in flow.range(block) {
            if !is_nothing(&function.instructions[at]) {
                drop_instruction(&mut function.instructions[at]);
                changed = true;
            }
        }
    }
    changed
}

/// Drops loops that only compute, and nothing that is used after them.
pub(super) fn drop_empty_loops(function: &mut Function, flow: &Flow, uses: &Uses) -> bool {
    for one in loops(flow) {
        let inside = |at: usize| one.has(flow.block(at));
        let pure = one.blocks.iter().flat_map(|block| flow.range(*block)).all(|at| {
            let instruction = &function.instructions[at];
            (is_pure(instruction) || target(instruction).is_some())
                && uses.of[at].iter().all(|one| inside(one.at))
        });
        let mut exits: Vec<usize> = one
            .blocks
            .iter()
            .flat_map(|block| flow.successors(*block))
            .filter(|next| !one.has(*next))
            .map(|next| resolve(function, flow.range(next).start))
            .collect();
        exits.sort_unstable();
        exits.dedup();
        let [exit] = exits.as_slice() else { continue };
        if !pure {
            continue;
        }
        for at in one.blocks.iter().flat_map(|block| flow.range(*block)) {
            drop_instruction(&mut function.instructions[at]);
        }
        let first = &mut function.instructions[flow.range(one.header).start];
        first.form = "bra".to_owned();
        first.operands = vec![Operand::Label(*exit)];
        return true;
    }
    false
}
