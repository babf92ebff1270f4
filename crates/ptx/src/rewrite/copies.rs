//! Moves of registers, which ptxas looks through before it fuses.

use std::collections::HashMap;

use super::uses::Uses;
use crate::flow::{Flow, effects};
use crate::text::{Base, Function, Instruction, Operand, RegisterId};

/// The register that a move copies, be it guarded or not.
fn source(instruction: &Instruction) -> Option<RegisterId> {
    match instruction.operands.as_slice() {
        [Operand::Register(_), Operand::Register(source)] if instruction.name() == "mov" => Some(*source),
        _ => None,
    }
}

/// Whether control can go from behind an instruction to a use without passing any of some others.
pub(crate) fn goes_around(flow: &Flow, from: usize, to: usize, others: &[usize]) -> bool {
    let mut seen = vec![false; flow.blocks()];
    let mut pending = vec![(flow.block(from), from + 1)];
    while let Some((block, first)) = pending.pop() {
        let range = flow.range(block);
        let stops = (first..range.end).find(|at| *at == to || others.contains(at));
        match stops {
            Some(at) if at == to => return true,
            Some(_) => {}
            None => {
                for next in flow.successors(block) {
                    if !std::mem::replace(&mut seen[next], true) {
                        pending.push((next, flow.range(next).start));
                    }
                }
            }
        }
    }
    false
}

/// Reads what was copied where a copy is read. Whether any was.
pub(super) fn forward(function: &mut Function, flow: &Flow, uses: &Uses) -> bool {
    let mut writers: HashMap<RegisterId, Vec<usize>> = HashMap::new();
    for (at, instruction) in function.instructions.iter().enumerate() {
        effects(instruction).0.into_iter().for_each(|id| writers.entry(id).or_default().push(at));
    }
    let mut replaced = vec![];
    for ((at, copy), reaching) in &uses.reaching {
        let sources: Option<Vec<RegisterId>> =
            reaching.iter().map(|definition| source(&function.instructions[*definition])).collect();
        let Some(sources) = sources else { continue };
        let [original, rest @ ..] = sources.as_slice() else { continue };
        let widths = [*original, *copy].map(|id| function.registers[id as usize].width);
        if rest.iter().any(|other| other != original) || original == copy || widths[0] != widths[1] {
            continue;
        }
        // accumulators, which are read and written in one place
        if effects(&function.instructions[*at]).0.contains(copy) {
            continue;
        }
        let of = |at: usize| match uses.reaching.get(&(at, *original)).map(Vec::as_slice) {
            Some([definition]) => Some(*definition),
            _ => None,
        };
        let Some(definition) = of(reaching[0]) else { continue };
        if !reaching.iter().all(|one| of(*one) == Some(definition)) {
            continue;
        }
        // the use must not see a later value, be it of another definition or of the same; under a guard nothing may be copied
        let sure = |one: &&usize| function.instructions[**one].guard.is_none();
        let sure: Vec<usize> = reaching.iter().filter(sure).copied().collect();
        if sure.is_empty() || writers[original].iter().any(|writer| goes_around(flow, *writer, *at, &sure)) {
            continue;
        }
        replaced.push((*at, *copy, *original));
    }
    let changed = !replaced.is_empty();
    for (at, copy, original) in replaced {
        rename(&mut function.instructions[at], copy, original);
    }
    changed
}

/// Reads another register.
fn rename(instruction: &mut Instruction, from: RegisterId, to: RegisterId) {
    fn within(operand: &mut Operand, from: RegisterId, to: RegisterId) {
        match operand {
            Operand::Register(id) | Operand::Not(id) | Operand::Address(Base::Register(id), _)
                if *id == from =>
            {
                *id = to;
            }
            Operand::Vector(all) => all.iter_mut().for_each(|operand| within(operand, from, to)),
            _ => {}
        }
    }
    let reads_first = effects(instruction).0.is_empty();
    let skip = usize::from(!reads_first);
    instruction.operands.iter_mut().skip(skip).for_each(|operand| within(operand, from, to));
    if let Some((guard, _)) = &mut instruction.guard
        && *guard == from
    {
        *guard = to;
    }
}
