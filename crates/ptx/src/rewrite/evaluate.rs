//! What an instruction computes from constants.

use bitmma_engine::formats::F32;
use bitmma_functions::Function as Special;
use bitmma_functions::nearest::nearest;
use bitmma_functions::ptx::division_scale;

use crate::instruction::{double, float, integer, single};
use crate::program::{Float, Float1, Float2, Integer2, Mode, Type};
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
        _ if kind.float().is_some() => floats(instruction, kind.float()?, values),
        (_, [a]) => match instruction.name() {
            "neg" if kind.is_integer() => Some(narrow(a.wrapping_neg())),
            "not" if kind == Type::Pred => Some(!a & 1),
            "not" => Some(narrow(!a)),
            _ => None,
        },
        (_, [a, b]) => integers(instruction, kind, *a, *b).map(narrow),
        _ => None,
    }
}

fn integers(instruction: &Instruction, kind: Type, a: u64, b: u64) -> Option<u64> {
    if kind == Type::Pred {
        return match instruction.name() {
            "and" => Some(a & b & 1),
            "or" => Some((a | b) & 1),
            "xor" => Some((a ^ b) & 1),
            _ => None,
        };
    }
    let f = match instruction.name() {
        "add" => Integer2::Add,
        "sub" => Integer2::Subtract,
        "mul" if instruction.has("lo") => Integer2::MultiplyLow,
        "and" => Integer2::And,
        "or" => Integer2::Or,
        "xor" => Integer2::Xor,
        "min" => Integer2::Minimum,
        "max" => Integer2::Maximum,
        "shl" => Integer2::ShiftLeft,
        "shr" => Integer2::ShiftRight,
        _ => return None,
    };
    Some(match (kind.bits(), f) {
        (64, Integer2::ShiftLeft | Integer2::ShiftRight) => {
            integer::wide_shift(f, kind, &[a; 32], &[b as u32; 32])[0]
        }
        (64, _) => integer::wide2(f, kind, &[a; 32], &[b; 32])[0],
        _ => integer::word2(f, kind, &[a as u32; 32], &[b as u32; 32])[0].into(),
    })
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

/// An operation on floats, as [`float`] computes it.
fn floats(instruction: &Instruction, float: Float, values: &[u64]) -> Option<u64> {
    let (flush, saturate) = (instruction.has("ftz"), instruction.has("sat"));
    let mode = Mode { flush, saturate, ..Mode::NEAREST };
    let nan = instruction.has("NaN");
    let name = instruction.name();
    if is_approximate(instruction) {
        let in_place = |code: u64| if flush { single::flush(code as u32) } else { code as u32 };
        return match (name, values) {
            ("div", [a, b]) => {
                let quotient = double::divide(&F32, mode, in_place(*a).into(), in_place(*b).into());
                Some(in_place(quotient).into())
            }
            (_, [a]) => {
                let (_, function) = FUNCTIONS.iter().find(|(known, _)| *known == name)?;
                Some(in_place(nearest(*function, in_place(*a)).into()).into())
            }
            _ => None,
        };
    }
    let wide = kind(instruction)?.bits() == 64;
    let two = |f: Float2, a: u64, b: u64| match wide {
        true => float::wides2(f, float, mode, &[a; 32], &[b; 32])[0],
        false => float::words2(f, float, mode, &[a as u32; 32], &[b as u32; 32])[0].into(),
    };
    let one = |f: Float1, a: u64| match wide {
        true => float::wides1(f, float, mode, &[a; 32])[0],
        false => float::words1(f, float, mode, &[a as u32; 32])[0].into(),
    };
    let rounded = instruction.has("rn");
    let plain = |all: bool| Float2::Minimum { nan: all, xorsign: false, absolute: false };
    Some(match (name, values) {
        ("add", [a, b]) => two(Float2::Add, *a, *b),
        ("sub", [a, b]) => two(Float2::Subtract, *a, *b),
        ("mul", [a, b]) => two(Float2::Multiply, *a, *b),
        ("div", [a, b]) if rounded => two(Float2::Divide, *a, *b),
        ("min", [a, b]) => two(plain(nan), *a, *b),
        ("max", [a, b]) => two(Float2::Maximum { nan, xorsign: false, absolute: false }, *a, *b),
        ("neg", [a]) => one(Float1::Negate, *a),
        ("abs", [a]) => one(Float1::Absolute, *a),
        ("sqrt", [a]) if rounded => one(Float1::SquareRoot, *a),
        ("rcp", [a]) if rounded => one(Float1::Reciprocal, *a),
        ("fma", [a, b, c]) if wide => {
            float::wides_fma(float, mode, [false; 2], &[*a; 32], &[*b; 32], &[*c; 32])[0]
        }
        ("fma", [a, b, c]) => {
            let [a, b, c] = [a, b, c].map(|value| [*value as u32; 32]);
            float::words_fma(float, mode, [false; 2], &a, &b, &c)[0].into()
        }
        _ => return None,
    })
}

/// The reciprocal, correctly rounded, by which ptxas multiplies where a divisor is a constant; `None` where it scales first.
pub(super) fn reciprocal(division: &Instruction, divisor: u32) -> Option<u32> {
    let scaled = division_scale(divisor, division.has("ftz"), division.has("full")).is_some();
    (!scaled).then(|| nearest(Special::Rcp, divisor))
}
