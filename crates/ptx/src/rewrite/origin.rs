//! Where an operand of the text comes from, through instructions that change nothing.

use std::collections::BTreeSet;

use super::known::{constant, known};
use super::uses::Uses;
use crate::text::{Function, Instruction, Operand, RegisterId};

/// An element of a register that is several: which, and of how many bits.
pub(super) type Part = Option<(usize, u32)>;

/// Where values come from.
#[derive(Clone, Debug, Default)]
pub(super) struct Origin {
    /// Instructions that compute them, and whether what is taken from them is negated.
    pub(super) leaves: BTreeSet<(usize, bool)>,
    /// Instructions on the way, with those.
    pub(super) passed: BTreeSet<usize>,
    /// Constants.
    pub(super) constants: Vec<u64>,
    /// Whether it may be something else: a special register, or nothing at all.
    pub(super) open: bool,
    /// Steps on the way: the instruction and what it writes, and what it takes that from.
    pub(super) steps: Vec<Step>,
    /// Whether an element of a larger register is taken somewhere.
    pub(super) parted: bool,
}

/// A step of a value from register to register.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Step {
    pub(super) at: usize,
    pub(super) to: (RegisterId, Part),
    pub(super) from: (RegisterId, Part),
    pub(super) negates: bool,
}

/// Follows an operand of an instruction back. `like`: an instruction of the type that the value has.
pub(super) fn origin(
    function: &Function,
    uses: &Uses,
    at: usize,
    operand: &Operand,
    like: &Instruction,
) -> Origin {
    let mut origin = Origin::default();
    let register = match operand {
        Operand::Register(id) => *id,
        other => {
            match constant(other) {
                Some(bits) => origin.constants.push(bits),
                None => origin.open = true,
            }
            return origin;
        }
    };
    let mut seen = BTreeSet::new();
    let mut pending = vec![(at, register, None::<(usize, u32)>, false)];
    while let Some((at, register, part, negated)) = pending.pop() {
        if !seen.insert((at, register, part, negated)) {
            continue;
        }
        let Some(reaching) = uses.reaching.get(&(at, register)) else {
            origin.open = true;
            continue;
        };
        origin.open |= reaching.is_empty();
        for definition in reaching {
            let instruction = &function.instructions[*definition];
            origin.passed.insert(*definition);
            match through(function, uses, *definition, instruction, register, part, like) {
                Some((Operand::Register(from), from_part, negates)) => {
                    origin.parted |= from_part.is_some();
                    let step =
                        Step { at: *definition, to: (register, part), from: (from, from_part), negates };
                    origin.steps.push(step);
                    pending.push((*definition, from, from_part, negated != negates));
                }
                Some((other, _, _)) => match constant(&other) {
                    Some(bits) => origin.constants.push(bits),
                    None => origin.open = true,
                },
                None => drop(origin.leaves.insert((*definition, negated))),
            }
        }
    }
    origin.steps.sort_unstable();
    origin.steps.dedup();
    origin
}

/// What an instruction only passes on, with its part and whether it negates it.
fn through(
    function: &Function,
    uses: &Uses,
    at: usize,
    instruction: &Instruction,
    register: RegisterId,
    part: Part,
    like: &Instruction,
) -> Option<(Operand, Part, bool)> {
    let operands = &instruction.operands;
    let same = |operand: &Operand| Some((operand.clone(), part, false));
    let is = |operand: &Operand, wanted: u64| known(function, uses, at, operand) == Some(wanted);
    let ones = |operand: &Operand| {
        let mask = bits(instruction).map_or(u64::MAX, |bits| u64::MAX >> (64 - bits));
        known(function, uses, at, operand).is_some_and(|value| value & mask == mask)
    };
    match (instruction.name(), operands.as_slice()) {
        ("mov", [Operand::Register(_), Operand::Vector(all)]) => {
            let bits = bits(instruction)? / all.len() as u32;
            match part {
                Some((index, wide)) if wide == bits => Some((all.get(index)?.clone(), None, false)),
                _ => None,
            }
        }
        ("mov", [Operand::Vector(all), source]) if part.is_none() => {
            let bits = bits(instruction)? / all.len() as u32;
            let index = all.iter().position(|one| *one == Operand::Register(register))?;
            Some((source.clone(), Some((index, bits)), false))
        }
        ("mov", [Operand::Register(_), source]) => same(source),
        ("neg", [_, source])
            if part.is_none() && kind(instruction) == kind(like) && flush(instruction, like) =>
        {
            Some((source.clone(), part, true))
        }
        ("cvt", [_, source]) if matches!(instruction.form.as_str(), "cvt.f32.f32" | "cvt.f64.f64") => {
            same(source)
        }
        ("and", [_, a, b]) if ones(b) => same(a),
        ("and", [_, a, b]) if ones(a) => same(b),
        ("or" | "xor", [_, a, b]) if is(b, 0) => same(a),
        ("or" | "xor", [_, a, b]) if is(a, 0) => same(b),
        ("and" | "or", [_, a, b]) if a == b => same(a),
        ("shl" | "shr", [_, a, b]) if is(b, 0) => same(a),
        ("selp", [_, a, b, _]) if a == b => same(a),
        ("max" | "min", [_, a, b]) if a == b && flush(instruction, like) => same(a),
        ("mul", [_, a, b])
            if flush(instruction, like) && one_of(instruction).is_some_and(|one| is(b, one)) =>
        {
            same(a)
        }
        ("mul", [_, a, b])
            if flush(instruction, like) && one_of(instruction).is_some_and(|one| is(a, one)) =>
        {
            same(b)
        }
        ("div", [_, a, b])
            if flush(instruction, like)
                && (instruction.has("full") || instruction.has("approx"))
                && is(b, 0x3f80_0000) =>
        {
            same(a)
        }
        _ => None,
    }
}

/// The type of a form, which is its last word.
pub(super) fn kind(instruction: &Instruction) -> &str {
    instruction.form.rsplit('.').next().unwrap_or("")
}

fn flush(instruction: &Instruction, like: &Instruction) -> bool {
    instruction.has("ftz") == like.has("ftz")
}

/// The bits of a type of one element.
fn bits(instruction: &Instruction) -> Option<u32> {
    match kind(instruction) {
        "b16" | "u16" | "s16" | "f16" | "bf16" => Some(16),
        "b32" | "u32" | "s32" | "f32" => Some(32),
        "b64" | "u64" | "s64" | "f64" => Some(64),
        _ => None,
    }
}

/// One, in the type of an instruction.
fn one_of(instruction: &Instruction) -> Option<u64> {
    match kind(instruction) {
        "f32" => Some(0x3f80_0000),
        "f64" => Some(0x3ff0_0000_0000_0000),
        "f16" => Some(0x3c00),
        "f16x2" => Some(0x3c00_3c00),
        "bf16" => Some(0x3f80),
        "bf16x2" => Some(0x3f80_3f80),
        _ => None,
    }
}
