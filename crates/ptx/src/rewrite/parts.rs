//! The stretches of a function within which ptxas fuses: basic blocks of which one always follows the other are one, and some
//! instructions part them.
//!
//! Read from the SASS of single instructions between a product and an addition, ptxas 12.9 (sm_80) and 13.4 (sm_90, sm_100): a
//! guarded instruction that does more than compute becomes a branch, unless its guard is a constant; so do fences, and divisions
//! and roots that have a path of their own for hard operands.

use super::dead::is_nothing;
use super::loops::{predecessors, reached};
use crate::flow::Flow;
use crate::instruction::table::is_pure;
use crate::text::{Function, Instruction};

/// Where an instruction is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct At {
    /// The stretch; 0 for what nothing reaches.
    pub(super) part: usize,
    /// Grows along each stretch.
    pub(super) position: usize,
}

/// The place of each instruction.
pub(super) fn places(function: &Function, flow: &Flow) -> Vec<At> {
    let (before, reached) = (predecessors(flow), reached(flow));
    let next = |block: usize| {
        let last = &function.instructions[flow.range(block).end - 1];
        let leaves = matches!(last.name(), "ret" | "exit" | "trap" | "brx");
        let mut successors: Vec<usize> = flow.successors(block).collect();
        successors.dedup();
        match successors.as_slice() {
            [next] if !leaves && before[*next].len() == 1 && *next != 0 => Some(*next),
            _ => None,
        }
    };
    let follows: Vec<bool> = {
        let mut follows = vec![false; flow.blocks()];
        (0..flow.blocks())
            .filter(|block| reached[*block])
            .filter_map(next)
            .for_each(|block| follows[block] = true);
        follows
    };
    let mut places = vec![At::default(); function.instructions.len()];
    let mut now = At::default();
    for first in (0..flow.blocks()).filter(|block| reached[*block] && !follows[*block]) {
        now.part += 1;
        let mut block = Some(first);
        while let Some(here) = block {
            for at in flow.range(here) {
                now.position += 1;
                places[at] = now;
                now.part += usize::from(parts(&function.instructions[at]));
            }
            block = next(here);
        }
    }
    places
}

fn parts(instruction: &Instruction) -> bool {
    let name = instruction.name();
    !is_nothing(instruction)
        && (instruction.guard.is_some() && !is_pure(instruction)
            || name == "membar"
            || name == "fence" && !instruction.has("proxy")
            || has_a_slow_path(instruction))
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
