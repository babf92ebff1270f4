//! Which definition of a register reaches which use.

use std::collections::HashMap;

use crate::flow::{Flow, effects};
use crate::text::{Function, RegisterId};

/// A use of what an instruction defines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Use {
    pub(super) at: usize,
    pub(super) register: RegisterId,
    /// Whether no other definition reaches it.
    pub(super) sole: bool,
}

pub(super) struct Uses {
    /// Of each instruction.
    pub(super) of: Vec<Vec<Use>>,
    /// Definitions that reach a register's use in an instruction.
    pub(super) reaching: HashMap<(usize, RegisterId), Vec<usize>>,
}

impl Uses {
    pub(super) fn of(function: &Function, flow: &Flow) -> Uses {
        let instructions = &function.instructions;
        let effects: Vec<_> = instructions.iter().map(effects).collect();
        let mut definitions: Vec<(usize, RegisterId)> = vec![];
        let mut by_register: HashMap<RegisterId, Vec<usize>> = HashMap::new();
        let mut by_instruction: HashMap<(usize, RegisterId), usize> = HashMap::new();
        for (at, (writes, _)) in effects.iter().enumerate() {
            for register in writes {
                by_register.entry(*register).or_default().push(definitions.len());
                by_instruction.insert((at, *register), definitions.len());
                definitions.push((at, *register));
            }
        }
        let words = definitions.len().div_ceil(64);
        let set = |bits: &mut [u64], index: usize| bits[index / 64] |= 1 << (index % 64);
        let clear = |bits: &mut [u64], index: usize| bits[index / 64] &= !(1 << (index % 64));
        let step = |bits: &mut [u64], at: usize| {
            let certain = instructions[at].guard.is_none();
            for register in &effects[at].0 {
                if certain {
                    by_register[register].iter().for_each(|index| clear(bits, *index));
                }
                set(bits, by_instruction[&(at, *register)]);
            }
        };
        let blocks = flow.blocks();
        let mut before = vec![vec![0u64; words]; blocks];
        let mut work: Vec<usize> = (0..blocks).rev().collect();
        while let Some(block) = work.pop() {
            let mut bits = before[block].clone();
            flow.range(block).for_each(|at| step(&mut bits, at));
            for next in flow.successors(block) {
                let mut changed = false;
                for (old, new) in before[next].iter_mut().zip(&bits) {
                    changed |= *old | new != *old;
                    *old |= new;
                }
                if changed && !work.contains(&next) {
                    work.push(next);
                }
            }
        }
        let mut uses = Uses { of: vec![vec![]; instructions.len()], reaching: HashMap::new() };
        for block in 0..blocks {
            let mut bits = before[block].clone();
            for at in flow.range(block) {
                for register in &effects[at].1 {
                    let empty = vec![];
                    let all = by_register.get(register).unwrap_or(&empty);
                    let reaching: Vec<usize> = all
                        .iter()
                        .filter(|index| bits[**index / 64] >> (**index % 64) & 1 == 1)
                        .map(|index| definitions[*index].0)
                        .collect();
                    for definition in &reaching {
                        let one = Use { at, register: *register, sole: reaching.len() == 1 };
                        if !uses.of[*definition].contains(&one) {
                            uses.of[*definition].push(one);
                        }
                    }
                    uses.reaching.insert((at, *register), reaching);
                }
                step(&mut bits, at);
            }
        }
        uses
    }
}
