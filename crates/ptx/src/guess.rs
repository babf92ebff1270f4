//! Plain loads that may be first guesses of compare-and-swap loops.
//!
//! `old = *p; do { assumed = old; old = atomicCAS(p, assumed, f(assumed)); } while (assumed != old);` reads `*p` by a plain load
//! while other threads change it. What it reads decides nothing: a wrong guess exchanges nothing and is replaced by what was found.
//! This is how the CUDA C++ Programming Guide and CUDA's headers write the atomic operations that a GPU lacks.
//!
//! By its text a load may be such a guess if a compare-and-swap at the same address compares with it. Whether it is one, a launch
//! shows that runs again with wrong guesses (`run/guesses.rs`).

use std::collections::{BTreeSet, HashSet};

use crate::flow::{Flow, effects};
use crate::instruction::warp::scope;
use crate::program::Scope;
use crate::rewrite::goes_around;
use crate::text::{Base, Function, Instruction, Operand, RegisterId};

/// An address: the sum of registers, variables and an offset.
type Place = (Vec<Base>, i64);

/// What an address is a sum of, at most.
const MOST_TERMS: usize = 8;

/// Instructions that move values, or put them together of parts.
const MOVES: &[&str] = &["mov", "cvt", "bfi", "shl", "shr", "or", "prmt", "selp"];

/// The plain loads with which a compare-and-swap at their address compares, each with its least scope.
pub(crate) fn first_guesses(function: &Function, flow: &Flow) -> Vec<(usize, Scope)> {
    let all = &function.instructions;
    let is_swap = |at: &usize| all[*at].name() == "atom" && all[*at].has("cas");
    if !(0..all.len()).any(|at| is_swap(&at)) {
        return vec![];
    }
    let mut writers = vec![vec![]; function.registers.len()];
    for (at, instruction) in all.iter().enumerate() {
        effects(instruction).0.into_iter().for_each(|id| writers[id as usize].push(at));
    }
    let places = Places { function, flow, writers };
    let mut found: Vec<(usize, Scope)> = vec![];
    for swap in (0..all.len()).filter(is_swap) {
        let Some(place) = places.of(swap, 1) else { continue };
        let scope = scope(|word| all[swap].has(word));
        for load in places.moved_from(&all[swap].operands[2]) {
            let moves = || registers(&place.0).any(|base| effects(&all[load]).0.contains(&base));
            // what is exchanged has a part of what is loaded, or all of it and more
            let meets = |(terms, offset): Place| {
                let (Some(swapped), Some(loaded)) = (bits(&all[swap]), loaded(&all[load])) else {
                    return false;
                };
                let apart = place.1.wrapping_sub(offset);
                terms == place.0 && -i64::from(swapped / 8) < apart && apart < i64::from(loaded / 8)
            };
            if space(&all[swap]) == space(&all[load]) && places.of(load, 1).is_some_and(meets) && !moves() {
                match found.iter_mut().find(|(at, _)| *at == load) {
                    Some((_, least)) => *least = scope.min(*least),
                    None => found.push((load, scope)),
                }
            }
        }
    }
    found
}

/// Whether an instruction is a weak access.
fn is_plain_load(instruction: &Instruction) -> bool {
    let others = ["volatile", "relaxed", "acquire", "mmio", "nc", "const", "param", "local"];
    instruction.name() == "ld" && !others.iter().any(|word| instruction.has(word))
}

/// Bits that an instruction loads.
fn loaded(instruction: &Instruction) -> Option<u32> {
    let parts = match &instruction.operands[0] {
        Operand::Vector(parts) => parts.len() as u32,
        _ => 1,
    };
    Some(parts * bits(instruction)?)
}

fn registers(terms: &[Base]) -> impl Iterator<Item = RegisterId> {
    terms.iter().filter_map(|term| if let Base::Register(register) = term { Some(*register) } else { None })
}

/// Bits of the type that an instruction's form ends with.
fn bits(instruction: &Instruction) -> Option<u32> {
    instruction.form.rsplit('.').next()?.get(1..)?.parse().ok()
}

/// The space of an access; generic addresses of global memory are its own.
fn space(instruction: &Instruction) -> &'static str {
    if instruction.form.contains(".shared") { "shared" } else { "global" }
}

struct Places<'f> {
    function: &'f Function,
    flow: &'f Flow,
    /// Instructions that write each register.
    writers: Vec<Vec<usize>>,
}

impl Places<'_> {
    /// The plain loads whose values come to an operand, as they are or in parts.
    fn moved_from(&self, operand: &Operand) -> BTreeSet<usize> {
        let all = &self.function.instructions;
        let mut pending: Vec<RegisterId> = match operand {
            Operand::Register(id) => vec![*id],
            _ => vec![],
        };
        let (mut seen, mut loads) = (HashSet::new(), BTreeSet::new());
        while let Some(register) = pending.pop() {
            for at in self.writers[register as usize].iter().copied().filter(|at| seen.insert(*at)) {
                let instruction = &all[at];
                match instruction.name() {
                    "ld" if instruction.has("local") => {
                        let stores = all.iter().filter(|one| one.name() == "st" && one.has("local"));
                        stores.for_each(|store| pending.extend(effects(store).1));
                    }
                    "ld" if is_plain_load(instruction) => _ = loads.insert(at),
                    name if MOVES.contains(&name) => pending.extend(effects(instruction).1),
                    _ => {}
                }
            }
        }
        loads
    }

    /// The address of an operand as a sum, as far as what its registers are sums of has the values that it had then.
    fn of(&self, at: usize, operand: usize) -> Option<Place> {
        let Operand::Address(base, offset) = self.function.instructions[at].operands.get(operand)? else {
            return None;
        };
        let (mut terms, mut offset) = (vec![], *offset);
        let mut open = vec![(base.clone(), at)];
        while let Some((term, reader)) = open.pop() {
            let definition = match term {
                Base::Register(register) => self.writers[register as usize].as_slice(),
                _ => &[],
            };
            let sum = match definition {
                [definition] if open.len() + terms.len() < MOST_TERMS => self.sum(*definition),
                _ => None,
            };
            // what the register was a sum of must be so still, here and where the next one reads it
            let stale = |from: RegisterId| {
                let around = |writer: &usize| {
                    [reader, at].iter().any(|to| goes_around(self.flow, *writer, *to, definition))
                };
                self.writers[from as usize].iter().any(around)
            };
            match sum {
                Some((parts, plus)) if !registers(&parts).any(stale) => {
                    offset = offset.wrapping_add(plus);
                    open.extend(parts.into_iter().map(|part| (part, definition[0])));
                }
                _ => terms.push(term),
            }
        }
        terms.sort_unstable();
        Some((terms, offset))
    }

    /// What an instruction adds, and the constant that it adds.
    fn sum(&self, at: usize) -> Option<Place> {
        let instruction = &self.function.instructions[at];
        let of_integers =
            || instruction.form.rsplit('.').next().is_some_and(|kind| kind.starts_with(['u', 's', 'b']));
        let integer =
            || bits(instruction).is_some_and(|bits| bits >= 32) && of_integers() && !instruction.has("sat");
        match (instruction.name(), &instruction.operands.as_slice()[1..]) {
            _ if instruction.guard.is_some() => None,
            ("mov", [Operand::Symbol(name, offset)]) => Some((vec![Base::Symbol(name.clone())], *offset)),
            ("mov", [Operand::Register(from)]) => Some((vec![Base::Register(*from)], 0)),
            ("cvta", [Operand::Register(from)]) if instruction.has("global") => {
                Some((vec![Base::Register(*from)], 0))
            }
            ("add", [Operand::Register(from), Operand::Integer(plus)]) if integer() => {
                Some((vec![Base::Register(*from)], *plus as i64))
            }
            ("add", [Operand::Register(a), Operand::Register(b)]) if integer() => {
                Some((vec![Base::Register(*a), Base::Register(*b)], 0))
            }
            _ => None,
        }
    }
}
