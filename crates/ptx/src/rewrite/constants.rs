//! What ptxas knows of constants before it fuses: values that are computed, and operations that change nothing.

use std::collections::HashSet;

use super::dead::{drop_instruction, is_nothing};
use super::evaluate::{evaluate, is_approximate, kind, reciprocal};
use super::uses::Uses;
use crate::flow::effects;
use crate::instruction::table::is_pure;
use crate::program::Number;
use crate::program::Type;
use crate::text::{Function, Instruction, Operand, RegisterId, Width};

/// The bits of an operand of a type, where they are known.
pub(super) fn value(function: &Function, uses: &Uses, at: usize, operand: &Operand) -> Option<u64> {
    match operand {
        Operand::Integer(value) => Some(*value),
        Operand::Single(bits) => Some((*bits).into()),
        Operand::Double(bits) if kind(&function.instructions[at]) == Some(Type::F32) => {
            Some((f64::from_bits(*bits) as f32).to_bits().into())
        }
        Operand::Double(bits) => Some(*bits),
        Operand::Not(id) => Some(!value(function, uses, at, &Operand::Register(*id))? & 1),
        Operand::Register(id) => {
            let [definition] = uses.reaching.get(&(at, *id))?.as_slice() else { return None };
            let instruction = &function.instructions[*definition];
            if instruction.name() != "mov" || instruction.guard.is_some() {
                return None;
            }
            match instruction.operands.as_slice() {
                [_, Operand::Register(_) | Operand::Not(_)] => None,
                [Operand::Register(d), source] => {
                    let bits = match function.registers[*d as usize].width {
                        Width::Predicate => 1,
                        Width::Word(bits) => bits,
                        Width::Wide => 64,
                    };
                    // true is any number but zero
                    let known = value(function, uses, *definition, source)?;
                    Some(if bits == 1 { u64::from(known != 0) } else { known & (u64::MAX >> (64 - bits)) })
                }
                _ => None,
            }
        }
        _ => None,
    }
}

/// The unguarded definition of a register's use, if there is one alone.
fn definition<'f>(function: &'f Function, uses: &Uses, at: usize, id: RegisterId) -> Option<&'f Instruction> {
    let [definition] = uses.reaching.get(&(at, id))?.as_slice() else { return None };
    Some(&function.instructions[*definition]).filter(|instruction| instruction.guard.is_none())
}

/// What an instruction is replaced by.
pub(super) struct Replacement {
    pub(super) form: String,
    pub(super) operands: Vec<Operand>,
    /// Whether the results differ from those of the instruction as it is written.
    pub(super) rounds: bool,
}

/// An instruction whose operands, or some of them, are known, in its simplest form; `None` where there is nothing simpler.
pub(super) fn simpler(function: &Function, uses: &Uses, at: usize) -> Option<Replacement> {
    let instruction = &function.instructions[at];
    let [Operand::Register(d), sources @ ..] = instruction.operands.as_slice() else { return None };
    if !is_pure(instruction) || sources.is_empty() || sources.len() > 3 {
        return None;
    }
    let width = function.registers[*d as usize].width;
    let plain = match width {
        Width::Predicate => "mov.pred",
        Width::Word(16) => "mov.b16",
        Width::Word(_) => "mov.b32",
        Width::Wide => "mov.b64",
    };
    let replaced = |form: String, operand: Operand| {
        let operands = vec![Operand::Register(*d), operand];
        (instruction.form != form || instruction.operands != operands).then_some(Replacement {
            form,
            operands,
            rounds: false,
        })
    };
    let values: Vec<Option<u64>> = sources.iter().map(|source| value(function, uses, at, source)).collect();
    if let Some(all) = values.iter().copied().collect::<Option<Vec<u64>>>()
        && let Some(result) = evaluate(instruction, &all)
    {
        let operand = match width {
            Width::Wide => Operand::Integer(result),
            Width::Predicate => Operand::Integer(result & 1),
            _ => Operand::Single(result as u32),
        };
        // 16-bit registers take integers
        let operand = match (width, operand) {
            (Width::Word(16), Operand::Single(bits)) => Operand::Integer(bits.into()),
            (_, operand) => operand,
        };
        let found = replaced(plain.to_owned(), operand)?;
        return Some(Replacement { rounds: is_approximate(instruction), ..found });
    }
    let register = |operand: &Operand| matches!(operand, Operand::Register(_));
    let same = |index: usize| {
        replaced(plain.to_owned(), sources[index].clone()).filter(|_| register(&sources[index]))
    };
    let is = |index: usize, known: u64| values.get(index).copied().flatten() == Some(known);
    let float = kind(instruction).and_then(Type::float).is_some();
    let bits = kind(instruction).map_or(0, Type::bits);
    let ones = u64::MAX >> (64 - bits.max(1));
    // what flushes changes nothing of what was flushed
    let flushed = |index: usize| {
        !instruction.has("ftz")
            || matches!(&sources[index], Operand::Register(id)
                if definition(function, uses, at, *id).is_some_and(|from| from.has("ftz")))
    };
    // with .ftz it is computed for some uses and looked through for others
    let once = !instruction.has("ftz") || uses.of[at].len() == 1;
    let odd = ["sat", "relu", "rz", "rm", "rp", "xorsign", "abs", "cc", "wide", "hi"];
    if odd.iter().any(|word| instruction.has(word)) {
        return None;
    }
    let one = match kind(instruction) {
        Some(Type::F32) => 0x3f80_0000,
        Some(Type::F64) => 1023 << 52,
        Some(Type::F16) => 0x3c00,
        Some(Type::BF16) => 0x3f80,
        _ => u64::MAX,
    };
    let minus_one = one | if bits > 0 { 1 << (bits - 1) } else { 0 };
    match (instruction.name(), sources.len()) {
        ("setp", 2) if !float && sources[0] == sources[1] => {
            let equal = evaluate(instruction, &[0, 0])?;
            replaced(plain.to_owned(), Operand::Integer(equal))
        }
        // nothing is less than itself, and a NaN is not even unequal to itself in order
        ("setp", 2)
            if sources[0] == sources[1]
                && matches!(instruction.form.split('.').nth(1), Some("lt" | "gt" | "ne")) =>
        {
            replaced(plain.to_owned(), Operand::Integer(0))
        }
        ("mov", 1) if register(&sources[0]) && width != Width::Predicate => same(0),
        ("cvt", 1)
            if matches!(instruction.form.as_str(), "cvt.f32.f32" | "cvt.ftz.f32.f32" | "cvt.f64.f64")
                && flushed(0) =>
        {
            same(0)
        }
        ("and", 2) if !float && is_all(values[1], ones) => same(0),
        ("and", 2) if !float && is_all(values[0], ones) => same(1),
        ("or" | "xor" | "add", 2) if !float && is(1, 0) => same(0),
        ("or" | "xor" | "add", 2) if !float && is(0, 0) => same(1),
        ("and" | "or", 2) if !float && sources[0] == sources[1] => same(0),
        ("sub" | "shl" | "shr", 2) if !float && is(1, 0) => same(0),
        ("mul", 2) if !float && instruction.has("lo") && is(1, 1) => same(0),
        // packed ones are multiplied by
        ("mul", 2) if float && !packed(instruction) && is(1, one) && flushed(0) && once => same(0),
        ("mul", 2) if float && !packed(instruction) && is(0, one) && flushed(1) && once => same(1),
        ("mul", 2) if float && is(1, minus_one) && !packed(instruction) && flushed(0) => {
            negated(instruction, *d, &sources[0])
        }
        ("mul", 2) if float && is(0, minus_one) && !packed(instruction) && flushed(1) => {
            negated(instruction, *d, &sources[1])
        }
        // of halves it is not always seen
        ("max" | "min", 2) if sources[0] == sources[1] && flushed(0) && !(float && half(instruction)) => {
            same(0)
        }
        ("selp", 3) if sources[0] == sources[1] => same(0),
        ("selp", 3) => match values[2] {
            Some(0) => same(1),
            Some(_) => same(0),
            None => None,
        },
        ("div", 2) if is_approximate(instruction) && is(1, one) && flushed(0) && once => same(0),
        ("div", 2) if is_approximate(instruction) => {
            let factor = reciprocal(instruction, values[1]? as u32)?;
            let flush = if instruction.has("ftz") { ".ftz" } else { "" };
            Some(Replacement {
                form: format!("mul{flush}.f32"),
                operands: vec![Operand::Register(*d), sources[0].clone(), Operand::Single(factor)],
                rounds: true,
            })
        }
        _ => None,
    }
}

fn is_all(value: Option<u64>, ones: u64) -> bool {
    value.is_some_and(|value| value & ones == ones)
}

/// Whether the numbers of an instruction have 16 bits, or are pairs of such.
pub(super) fn half(instruction: &Instruction) -> bool {
    kind(instruction)
        .and_then(Type::float)
        .is_some_and(|float| matches!(float.number, Number::Half | Number::Brain))
}

fn packed(instruction: &Instruction) -> bool {
    kind(instruction).and_then(Type::float).is_some_and(|float| float.packed)
}

fn negated(instruction: &Instruction, d: RegisterId, source: &Operand) -> Option<Replacement> {
    let flush = if instruction.has("ftz") { ".ftz" } else { "" };
    let word = instruction.form.rsplit('.').next()?;
    matches!(source, Operand::Register(_)).then(|| Replacement {
        form: format!("neg{flush}.{word}"),
        operands: vec![Operand::Register(d), source.clone()],
        rounds: false,
    })
}

/// Decides guards that are constants. Whether any was. `shadows`: what the instructions that are never executed depend on.
pub(super) fn decide_guards(function: &mut Function, uses: &Uses, shadows: &mut HashSet<usize>) -> bool {
    let mut changed = false;
    for at in 0..function.instructions.len() {
        let Some((id, negated)) = function.instructions[at].guard else { continue };
        let Some(known) = value(function, uses, at, &Operand::Register(id)) else { continue };
        if (known & 1 == 1) != negated {
            function.instructions[at].guard = None;
        } else if !is_nothing(&function.instructions[at]) {
            let mut pending = vec![at];
            while let Some(at) = pending.pop() {
                for register in effects(&function.instructions[at]).1 {
                    let all = uses.reaching.get(&(at, register)).into_iter().flatten();
                    pending.extend(all.filter(|definition| shadows.insert(**definition)));
                }
            }
            drop_instruction(&mut function.instructions[at]);
        }
        changed = true;
    }
    changed
}
