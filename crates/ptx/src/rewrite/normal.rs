//! A function as ptxas has it when it fuses: constants computed, copies looked through, what is dead gone, loops of constant turns
//! unrolled.

use std::collections::HashMap;

use super::constants::{decide_guards, simpler};
use super::copies::forward;
use super::dead::{drop_branches, drop_dead, drop_empty_loops};
use super::evaluate::is_approximate;
use super::loops::{Loop, loops};
use super::unroll::{Fate, fate, unroll};
use super::uses::Uses;
use crate::flow::Flow;
use crate::text::{Function, Instruction, Operand};

/// Instructions that a function may grow to.
const MOST_INSTRUCTIONS: usize = 1 << 16;

/// An operation of which ptxas computed something.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Folded {
    /// In which order it was found.
    pub(super) order: usize,
    pub(super) form: String,
    pub(super) operands: Vec<Operand>,
}

pub(super) struct Normal {
    pub(super) function: Function,
    /// The instruction of the text that each is a copy of.
    pub(super) origin: Vec<usize>,
    /// What each has become, where its results differ from those of the text.
    pub(super) folded: Vec<Option<Folded>>,
    pub(super) flow: Flow,
    pub(super) uses: Uses,
    /// Loops that ptxas may unroll, and those that it unrolls in part.
    pub(super) loops: Vec<(Loop, Fate)>,
}

impl Normal {
    /// `None` if the function is too large.
    pub(super) fn of(text: &Function) -> Option<Normal> {
        let mut function = text.clone();
        let mut origin: Vec<usize> = (0..function.instructions.len()).collect();
        let mut folded = vec![None; function.instructions.len()];
        loop {
            let flow = Flow::of(&function.instructions);
            let uses = Uses::of(&function, &flow)?;
            let simplified = simplify(&mut function, &uses, &mut folded);
            if simplified | decide_guards(&mut function, &uses) {
                continue;
            }
            if forward(&mut function, &flow, &uses) {
                continue;
            }
            if drop_dead(&mut function, &uses) | drop_branches(&mut function) {
                continue;
            }
            if drop_empty_loops(&mut function, &flow, &uses) {
                continue;
            }
            let mut kept = vec![];
            let mut next = None;
            for one in loops(&flow) {
                match fate(&function, &flow, &uses, &one) {
                    Fate::Unrolled(turns) if function.instructions.len() < MOST_INSTRUCTIONS => {
                        next = Some((one, turns));
                        break;
                    }
                    Fate::Kept => {}
                    Fate::Unrolled(_) => kept.push((one, Fate::Unknown)),
                    fate => kept.push((one, fate)),
                }
            }
            match next {
                Some((one, turns)) => {
                    unroll(&mut function, &mut origin, &flow, &one, turns);
                    let copies: Vec<_> = origin.iter().skip(folded.len()).copied().collect();
                    // what was folded before the copy is so in each
                    let before: HashMap<usize, Folded> = (0..folded.len())
                        .filter_map(|at| folded[at].clone().map(|known| (origin[at], known)))
                        .collect();
                    folded.extend(copies.iter().map(|at| before.get(at).cloned()));
                }
                None => return Some(Normal { function, origin, folded, flow, uses, loops: kept }),
            }
        }
    }
}

/// Makes instructions simpler whose operands are known. Whether any was.
fn simplify(function: &mut Function, uses: &Uses, folded: &mut [Option<Folded>]) -> bool {
    let mut changed = false;
    let mut order = folded.iter().flatten().map(|one| one.order + 1).max().unwrap_or(0);
    for at in 0..function.instructions.len() {
        while let Some(found) = simpler(function, uses, at) {
            let instruction: &mut Instruction = &mut function.instructions[at];
            debug_assert!(found.rounds <= is_approximate(instruction));
            if found.rounds {
                folded[at] =
                    Some(Folded { order, form: found.form.clone(), operands: found.operands.clone() });
                order += 1;
            }
            instruction.form = found.form;
            instruction.operands = found.operands;
            changed = true;
        }
    }
    changed
}
