//! Products that ptxas scales by a power of two in the same instruction (`FMUL.D2`, `FMUL.M8`).
//!
//! The scaled product is the one of two multiplications unless something is below the least normal number, or beyond the greatest:
//! whether the GPU rounds it once or twice there is not known. A check before the product looks at its factors, and is an error where
//! that matters.

use std::collections::{HashMap, HashSet};

use super::contract::{is_product, multiplies};
use super::dead::live;
use super::evaluate::kind;
use super::known::known;
use super::list::insert_before;
use super::loops::loops;
use super::origin::origin;
use super::uses::Uses;
use crate::flow::Flow;
use crate::program::Type;
use crate::text::{Function, Instruction, Operand, Register, RegisterId, Width};

/// What ptxas has for 2, 4, 8 and their reciprocals.
pub(super) const POWERS: [(&str, u32); 6] = [
    ("M2", 0x4000_0000),
    ("M4", 0x4080_0000),
    ("M8", 0x4100_0000),
    ("D2", 0x3f00_0000),
    ("D4", 0x3e80_0000),
    ("D8", 0x3e00_0000),
];

/// A product, and how it is scaled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Scaled {
    pub(super) product: usize,
    pub(super) power: u32,
    pub(super) flush: bool,
    pub(super) saturate: bool,
}

/// Whether ptxas may scale what an instruction computes where its guard, if it has one, is known to be true.
pub(super) fn may_be(instruction: &Instruction) -> bool {
    kind(instruction) == Some(Type::F32) && multiplies(instruction)
}

/// Products of a text that ptxas may scale: what reaches a multiplication by a power of two. One with another use is not scaled,
/// unless it is in a loop, of which ptxas has several copies.
fn predict(function: &Function) -> Vec<Scaled> {
    let all = &function.instructions;
    let may_scale = |at: &usize| {
        let one = &all[*at];
        let rounds = ["rz", "rm", "rp"].iter().any(|word| one.has(word));
        one.name() == "mul" && kind(one) == Some(Type::F32) && one.operands.len() == 3 && !rounds
    };
    let scaling: Vec<usize> = (0..all.len()).filter(may_scale).collect();
    if scaling.is_empty() {
        return vec![];
    }
    let Some(uses) = Uses::of(function, &Flow::of(all)) else { return vec![] };
    let mut function = function.clone();
    for (at, one) in all.iter().enumerate() {
        let Some((id, negated)) = one.guard else { continue };
        // of a guard that always holds
        if known(&function, &uses, at, &Operand::Register(id)).is_some_and(|bits| (bits & 1 == 1) != negated)
        {
            function.instructions[at].guard = None;
        }
    }
    let (function, all) = (&function, &function.instructions);
    let flow = Flow::of(all);
    let Some(uses) = Uses::of(function, &flow) else { return vec![] };
    let live = live(function, &uses);
    let mut found: Vec<(Scaled, usize)> = vec![];
    let mut passed = vec![];
    let loops = loops(&flow);
    let turns = |at: usize| loops.iter().any(|one| one.has(flow.block(at)));
    for at in scaling.into_iter().filter(|at| live[*at]) {
        let power = |operand: usize| {
            let bits = known(function, &uses, at, &all[at].operands[operand])? as u32;
            POWERS.iter().any(|(_, power)| *power == bits).then_some((3 - operand, bits))
        };
        let Some((operand, power)) = power(2).or_else(|| power(1)) else { continue };
        let origin = origin(function, &uses, at, &all[at].operands[operand], &all[at]);
        for (product, negated) in &origin.leaves {
            let scaled =
                Scaled { product: *product, power, flush: all[at].has("ftz"), saturate: all[at].has("sat") };
            if !negated && is_product(&all[*product]) && may_be(&all[*product]) {
                found.push((scaled, at));
            }
        }
        passed.extend(origin.steps.iter().map(|step| step.at));
    }
    found.sort_by_key(|(one, _)| one.product);
    let alone = |one: &(Scaled, usize)| {
        let product = one.0.product;
        let fits =
            |at: usize| passed.contains(&at) || found.iter().any(|(other, by)| *other == one.0 && *by == at);
        !uses.of[product].iter().any(|used| live[used.at] && !fits(used.at))
    };
    let (mut taken, mut scales) = (vec![], HashSet::new());
    for one in &found {
        // what scales a product is no product that is scaled again
        let is_sure = alone(one) && !scales.contains(&one.0.product);
        if is_sure {
            scales.insert(one.1);
        }
        if is_sure || turns(one.0.product) {
            taken.push(one.0);
        }
    }
    taken
}

/// Checks what a function may scale.
pub(super) fn apply(function: &mut Function) {
    let all = predict(function);
    let checks = checks(function, &all);
    insert_before(function, checks);
}

/// The checks of products, which come before them.
pub(super) fn checks(function: &mut Function, all: &[Scaled]) -> HashMap<usize, Vec<Instruction>> {
    let mut before: HashMap<usize, Vec<Instruction>> = HashMap::new();
    for (index, scaled) in all.iter().enumerate() {
        if all[..index].contains(scaled) {
            continue;
        }
        let product = function.instructions[scaled.product].clone();
        let new = |form: String, operands: Vec<Operand>| Instruction {
            form,
            operands,
            negate: [false; 2],
            ..product.clone()
        };
        let list = before.entry(scaled.product).or_default();
        let mut factors = product.operands[1..].to_vec();
        if product.name() != "mul" {
            let made = [0, 1].map(|_| {
                function.registers.push(Register { name: "%factor".to_owned(), width: Width::Word(32) });
                Operand::Register((function.registers.len() - 1) as RegisterId)
            });
            let operands = made.iter().cloned().chain(factors).collect();
            list.push(new(format!("%{}", product.form), operands));
            factors = made.to_vec();
        }
        factors.push(Operand::Single(scaled.power));
        let words = [(product.has("ftz"), ".first"), (scaled.flush, ".ftz"), (scaled.saturate, ".sat")];
        let words: String = words.iter().filter(|(has, _)| *has).map(|(_, word)| *word).collect();
        list.push(new(format!("%scaled{words}.f32"), factors));
    }
    before
}
