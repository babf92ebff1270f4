//! Which definition of a register reaches which use.

use std::collections::HashMap;

use crate::flow::{Flow, effects};
use crate::text::{Function, RegisterId};

/// Words of 64 definitions of all blocks together, at most.
const MOST_WORDS: usize = 1 << 25;
/// Definitions that reach uses, at most.
const MOST_REACHING: usize = 1 << 22;

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

/// What a block does to a register: its definitions that are left at the end, and whether those before the block are gone.
#[derive(Default)]
struct Left {
    definitions: Vec<usize>,
    replaces: bool,
}

/// Definitions of all registers, numbered.
struct Definitions {
    /// Instructions, by number.
    at: Vec<usize>,
    by_register: HashMap<RegisterId, Vec<usize>>,
}

impl Definitions {
    /// Those of a register among a set of them.
    fn within<'d>(&'d self, bits: &'d [u64], register: RegisterId) -> impl Iterator<Item = usize> + 'd {
        let all = self.by_register.get(&register).map_or(&[][..], Vec::as_slice);
        all.iter().copied().filter(|number| bits[number / 64] >> (number % 64) & 1 == 1)
    }
}

impl Uses {
    /// None if there are too many to tell.
    pub(super) fn of(function: &Function, flow: &Flow) -> Option<Uses> {
        let instructions = &function.instructions;
        let mut effects: Vec<_> = instructions.iter().map(effects).collect();
        let mut definitions = Definitions { at: vec![], by_register: HashMap::new() };
        let mut numbers = vec![];
        for (at, (writes, reads)) in effects.iter_mut().enumerate() {
            for list in [&mut *writes, reads] {
                list.sort_unstable();
                list.dedup();
            }
            numbers.push(definitions.at.len());
            for register in writes {
                definitions.by_register.entry(*register).or_default().push(definitions.at.len());
                definitions.at.push(at);
            }
        }
        let (blocks, words) = (flow.blocks(), definitions.at.len().div_ceil(64));
        if blocks * words > MOST_WORDS {
            return None;
        }
        let step = |left: &mut HashMap<RegisterId, Left>, at: usize| {
            for (number, register) in (numbers[at]..).zip(&effects[at].0) {
                let left = left.entry(*register).or_default();
                if instructions[at].guard.is_none() {
                    *left = Left { definitions: vec![], replaces: true };
                }
                left.definitions.push(number);
            }
        };
        let ends: Vec<HashMap<RegisterId, Left>> = (0..blocks)
            .map(|block| {
                let mut left = HashMap::new();
                flow.range(block).for_each(|at| step(&mut left, at));
                left
            })
            .collect();
        let mut before = vec![vec![0u64; words]; blocks];
        let mut work: Vec<usize> = (0..blocks).rev().collect();
        while let Some(block) = work.pop() {
            let mut bits = before[block].clone();
            for (register, left) in &ends[block] {
                if left.replaces {
                    definitions.by_register[register]
                        .iter()
                        .for_each(|number| bits[number / 64] &= !(1 << (number % 64)));
                }
                left.definitions.iter().for_each(|number| bits[number / 64] |= 1 << (number % 64));
            }
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
        let mut room = MOST_REACHING;
        for block in 0..blocks {
            let mut left: HashMap<RegisterId, Left> = HashMap::new();
            for at in flow.range(block) {
                for register in &effects[at].1 {
                    let here = left.get(register);
                    let earlier = here
                        .is_none_or(|left| !left.replaces)
                        .then(|| definitions.within(&before[block], *register));
                    let here = here.into_iter().flat_map(|left| left.definitions.iter().copied());
                    let mut reaching: Vec<usize> = earlier
                        .into_iter()
                        .flatten()
                        .chain(here)
                        .map(|number| definitions.at[number])
                        .collect();
                    reaching.sort_unstable();
                    reaching.dedup();
                    room = room.checked_sub(reaching.len())?;
                    for definition in &reaching {
                        let one = Use { at, register: *register, sole: reaching.len() == 1 };
                        uses.of[*definition].push(one);
                    }
                    uses.reaching.insert((at, *register), reaching);
                }
                step(&mut left, at);
            }
        }
        Some(uses)
    }
}
