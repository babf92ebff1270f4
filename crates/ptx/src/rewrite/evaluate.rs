//! What an instruction computes from constants.

use bitmma_engine::formats::F32;
use bitmma_functions::Function as Special;
use bitmma_functions::nearest::nearest;
use bitmma_functions::ptx::division_scale;

use crate::instruction::float::Mode;
use crate::instruction::row::Made;
use crate::instruction::table;
use crate::instruction::{double, single};
use crate::lanes::{LANES, WideLanes};
use crate::program::Type;
use crate::text::Instruction;

/// Functions that the multi-function unit computes, and that ptxas computes correctly rounded where the operand is a constant.
const FUNCTIONS: [(&str, Special); 7] = [
    ("rcp", Special::Rcp),
    ("sqrt", Special::Sqrt),
    ("rsqrt", Special::Rsqrt),
    ("ex2", Special::Ex2),
    ("lg2", Special::Lg2),
    ("sin", Special::Sin),
    ("cos", Special::Cos),
];

/// Whether ptxas computes an instruction on constants with other bits than the multi-function unit.
pub(super) fn is_approximate(instruction: &Instruction) -> bool {
    let name = instruction.name();
    (FUNCTIONS.iter().any(|(known, _)| *known == name) || name == "div")
        && instruction.form.ends_with(".f32")
        && (instruction.has("approx") || instruction.has("full"))
}

/// The type of a form, which is its last word.
pub(super) fn kind(instruction: &Instruction) -> Option<Type> {
    Type::named(instruction.form.rsplit('.').next()?)
}

/// The result of an instruction, as bits; `None` where it is not known here.
pub(super) fn evaluate(instruction: &Instruction, values: &[u64]) -> Option<u64> {
    let kind = kind(instruction)?;
    let narrow = |value: u64| if kind.bits() >= 64 { value } else { value & ((1 << kind.bits()) - 1) };
    let odd = ["cc", "hi", "wide", "rz", "rm", "rp", "relu", "xorsign", "abs"];
    if odd.iter().any(|word| instruction.has(word)) {
        return None;
    }
    match (instruction.name(), values) {
        ("mov", [a]) => Some(narrow(*a)),
        ("setp", [a, b]) => compares(instruction, kind, narrow(*a), narrow(*b)).map(u64::from),
        ("selp", [a, b, p]) => Some(narrow(if *p & 1 == 1 { *a } else { *b })),
        ("cvt", [a]) => converts(instruction, *a),
        _ if kind.float().is_some() => floats(instruction, values),
        ("not", [a]) if kind == Type::Pred => Some(!a & 1),
        ("and", [a, b]) if kind == Type::Pred => Some(a & b & 1),
        ("or", [a, b]) if kind == Type::Pred => Some((a | b) & 1),
        ("xor", [a, b]) if kind == Type::Pred => Some((a ^ b) & 1),
        (name, _) if WHOLE.contains(&name) => computes(instruction, values).map(narrow),
        _ => None,
    }
}

/// Operations on integers that ptxas computes before it fuses.
const WHOLE: [&str; 12] = ["add", "sub", "mul", "neg", "and", "or", "xor", "not", "min", "max", "shl", "shr"];

/// What the row of an instruction computes.
fn computes(instruction: &Instruction, values: &[u64]) -> Option<u64> {
    let Made::Computed(computation) = table::find(instruction).ok()?.made else { return None };
    let computation = computation(instruction);
    let operands: Vec<WideLanes> = values.iter().map(|value| [*value; LANES]).collect();
    (operands.len() == computation.a.len()).then(|| computation.f.of(&operands)[0])
}

fn compares(instruction: &Instruction, kind: Type, a: u64, b: u64) -> Option<bool> {
    let order = match kind {
        Type::F32 if !instruction.has("ftz") => {
            f32::from_bits(a as u32).partial_cmp(&f32::from_bits(b as u32))?
        }
        Type::F64 => f64::from_bits(a).partial_cmp(&f64::from_bits(b))?,
        _ if !kind.is_integer() => return None,
        _ if kind.is_signed() => {
            let signed = |value: u64| (value << (64 - kind.bits())) as i64;
            signed(a).cmp(&signed(b))
        }
        _ => a.cmp(&b),
    };
    let word = instruction.form.split('.').nth(1)?;
    Some(match word {
        "eq" => order.is_eq(),
        "ne" => order.is_ne(),
        "lt" | "lo" => order.is_lt(),
        "le" | "ls" => order.is_le(),
        "gt" | "hi" => order.is_gt(),
        "ge" | "hs" => order.is_ge(),
        _ => return None,
    })
}

fn converts(instruction: &Instruction, a: u64) -> Option<u64> {
    match instruction.form.as_str() {
        "cvt.rn.f32.s32" => Some((a as u32 as i32 as f32).to_bits().into()),
        "cvt.rn.f32.u32" => Some((a as u32 as f32).to_bits().into()),
        "cvt.f64.f32" => Some(f64::from(f32::from_bits(a as u32)).to_bits()),
        "cvt.rn.f64.s32" => Some(f64::from(a as u32 as i32).to_bits()),
        "cvt.u64.u32" => Some(a & 0xffff_ffff),
        "cvt.s64.s32" => Some(i64::from(a as u32 as i32) as u64),
        "cvt.u32.u64" | "cvt.s32.s64" => Some(a & 0xffff_ffff),
        _ => None,
    }
}

/// An operation on floats.
fn floats(instruction: &Instruction, values: &[u64]) -> Option<u64> {
    let flush = instruction.has("ftz");
    let in_place = |code: u64| if flush { single::flush(code as u32) } else { code as u32 };
    match (instruction.name(), values) {
        _ if !is_approximate(instruction) => {
            FLOAT.contains(&instruction.name()).then(|| computes(instruction, values))?
        }
        ("div", [a, b]) => {
            let mode = Mode { flush, ..Mode::NEAREST };
            let quotient = double::divide(&F32, mode, in_place(*a).into(), in_place(*b).into());
            Some(in_place(quotient).into())
        }
        (name, [a]) => {
            let (_, function) = FUNCTIONS.iter().find(|(known, _)| *known == name)?;
            Some(in_place(nearest(*function, in_place(*a)).into()).into())
        }
        _ => None,
    }
}

/// Operations on floats that ptxas computes, where they are rounded to nearest.
const FLOAT: [&str; 11] = ["add", "sub", "mul", "div", "min", "max", "neg", "abs", "sqrt", "rcp", "fma"];

/// The reciprocal, correctly rounded, by which ptxas multiplies where a divisor is a constant; `None` where it scales first.
pub(super) fn reciprocal(division: &Instruction, divisor: u32) -> Option<u32> {
    let scaled = division_scale(divisor, division.has("ftz"), division.has("full")).is_some();
    (!scaled).then(|| nearest(Special::Rcp, divisor))
}
