//! Comparisons and selections (PTX ISA, "Comparison and Selection Instructions").

use bitmma_engine::formats::F16;
use bitmma_functions::float::flush as flush_code;

use super::narrow::from_half;
use super::row::{Row, decoded, types};
use super::{double, single};
use crate::decode::decoder::Decoder;
use crate::decode::form::operands;
use crate::error::Error;
use crate::lanes::{LANES, Lanes, Registers, WideLanes, map1, test2};
use crate::program::{Compare, Comparison, Condition, Logic, Op, Predicate, Slot, Type};
use crate::text::{Instruction, Operand};

const BITS: &str = "b16 b32 b64";
const SET: &str = "u32 s32 f16 bf16 f32";

#[rustfmt::skip]
pub(super) const ROWS: &[Row] = &[
    decoded("setp", &[BITS], "eq|ne and|or|xor?", compares).pure(),
    decoded("setp", &["u16 u32 u64"], "eq|ne|lt|le|gt|ge|lo|ls|hi|hs and|or|xor?", compares).pure(),
    decoded("setp", &["s16 s32 s64"], "eq|ne|lt|le|gt|ge and|or|xor?", compares).pure(),
    decoded("setp", &["f16 f16x2 f32"], "eq|ne|lt|le|gt|ge|equ|neu|ltu|leu|gtu|geu|num|nan and|or|xor? ftz?", compares).pure(),
    decoded("setp", &["bf16 bf16x2 f64"], "eq|ne|lt|le|gt|ge|equ|neu|ltu|leu|gtu|geu|num|nan and|or|xor?", compares).pure(),
    decoded("set", &[SET, BITS], "eq|ne and|or|xor?", sets).pure(),
    decoded("set", &[SET, "u16 u32 u64"], "eq|ne|lt|le|gt|ge|lo|ls|hi|hs and|or|xor?", sets).pure(),
    decoded("set", &[SET, "s16 s32 s64"], "eq|ne|lt|le|gt|ge and|or|xor?", sets).pure(),
    decoded("set", &[SET, "f64"], "eq|ne|lt|le|gt|ge|equ|neu|ltu|leu|gtu|geu|num|nan and|or|xor?", sets).pure(),
    decoded("set", &["u32 s32 f16 f32", "f32"], "eq|ne|lt|le|gt|ge|equ|neu|ltu|leu|gtu|geu|num|nan and|or|xor? ftz?", sets).pure(),
    decoded("set", &["bf16", "f32"], "eq|ne|lt|le|gt|ge|equ|neu|ltu|leu|gtu|geu|num|nan and|or|xor?", sets).pure(),
    decoded("set", &["bf16", "f16"], "eq|ne|lt|le|gt|ge|equ|neu|ltu|leu|gtu|geu|num|nan and|or|xor?", sets).pure(),
    decoded("set", &["u16 s16 u32 s32 f16", "f16"], "eq|ne|lt|le|gt|ge|equ|neu|ltu|leu|gtu|geu|num|nan and|or|xor? ftz?", sets).pure(),
    decoded("set", &["u16 s16 u32 s32 bf16", "bf16"], "eq|ne|lt|le|gt|ge|equ|neu|ltu|leu|gtu|geu|num|nan and|or|xor?", sets).pure(),
    decoded("set", &["u32 s32 f16x2", "f16x2"], "eq|ne|lt|le|gt|ge|equ|neu|ltu|leu|gtu|geu|num|nan and|or|xor? ftz?", sets).pure(),
    decoded("set", &["u32 s32 bf16x2", "bf16x2"], "eq|ne|lt|le|gt|ge|equ|neu|ltu|leu|gtu|geu|num|nan and|or|xor?", sets).pure(),
    decoded("selp", &["b16 b32 b64 u16 u32 u64 s16 s32 s64 f32 f64"], "", |decoder, at| {
        let [d, a, b, c] = operands(at)?;
        let condition = decoder.condition(c, at)?;
        let mut slot = |operand| decoder.typed(operand, super::row::kind(at), at);
        Ok(Op::Select { d: slot(d)?, a: slot(a)?, b: slot(b)?, condition })
    }).pure(),
];

const COMPARISONS: [(&str, Comparison); 18] = [
    ("eq", Comparison::Equal),
    ("ne", Comparison::NotEqual),
    ("lt", Comparison::Less),
    ("le", Comparison::LessEqual),
    ("gt", Comparison::Greater),
    ("ge", Comparison::GreaterEqual),
    ("lo", Comparison::Less),
    ("ls", Comparison::LessEqual),
    ("hi", Comparison::Greater),
    ("hs", Comparison::GreaterEqual),
    ("equ", Comparison::EqualUnordered),
    ("neu", Comparison::NotEqualUnordered),
    ("ltu", Comparison::LessUnordered),
    ("leu", Comparison::LessEqualUnordered),
    ("gtu", Comparison::GreaterUnordered),
    ("geu", Comparison::GreaterEqualUnordered),
    ("num", Comparison::Ordered),
    ("nan", Comparison::Unordered),
];

fn compares(decoder: &mut Decoder<'_>, at: &Instruction) -> Result<Op, Error> {
    let (d, [a, b], combine) = combined(decoder, at)?;
    let kind = super::row::kind(at);
    let (d, q) = match d {
        Operand::Pair(..) if matches!(kind, Type::F16 | Type::BF16) => {
            return Err(Error::unsupported(at.line, &at.form, "of one half it has one result"));
        }
        // setp.gt.f16x2 p|q: the lower half's outcome and the upper's
        Operand::Pair(d, q) => (d.as_ref(), Some(q.as_ref())),
        d => (d, None),
    };
    let mut outcome = |operand: &Operand| match operand {
        // nobody looks at it
        Operand::Sink => Ok(decoder.unused()),
        _ => decoder.predicate(operand, at),
    };
    let (d, q) = (outcome(d)?, q.map(outcome).transpose()?);
    let compare = Box::new(comparison(decoder, at, [a, b], kind, combine)?);
    Ok(Op::Compare { compare, d, q })
}

fn sets(decoder: &mut Decoder<'_>, at: &Instruction) -> Result<Op, Error> {
    let (d, operands, combine) = combined(decoder, at)?;
    let (kind, from) = (types(at).next().unwrap_or(Type::U32), super::row::kind(at));
    let compare = Box::new(comparison(decoder, at, operands, from, combine)?);
    Ok(Op::Set { compare, kind, d: decoder.typed(d, kind, at)? })
}

/// The result, the operands of a comparison, and what its outcome is combined with.
#[expect(clippy::type_complexity)]
fn combined<'i>(
    decoder: &mut Decoder<'_>,
    at: &'i Instruction,
) -> Result<(&'i Operand, [&'i Operand; 2], Option<(Logic, Condition)>), Error> {
    let logic = [("and", Logic::And), ("or", Logic::Or), ("xor", Logic::Xor)];
    let logic = logic.into_iter().find(|(word, _)| at.has(word)).map(|(_, logic)| logic);
    match logic {
        None => {
            let [d, a, b] = operands(at)?;
            Ok((d, [a, b], None))
        }
        Some(logic) => {
            let [d, a, b, c] = operands(at)?;
            Ok((d, [a, b], Some((logic, decoder.condition(c, at)?))))
        }
    }
}

fn comparison(
    decoder: &mut Decoder<'_>,
    at: &Instruction,
    [a, b]: [&Operand; 2],
    kind: Type,
    combine: Option<(Logic, Condition)>,
) -> Result<Compare, Error> {
    let comparison = COMPARISONS.iter().find(|(word, _)| at.has(word));
    let comparison = comparison.map_or(Comparison::Equal, |(_, comparison)| *comparison);
    let (a, b) = (decoder.typed(a, kind, at)?, decoder.typed(b, kind, at)?);
    Ok(Compare { comparison, kind, flush: at.has("ftz"), a, b, combine })
}

/// `setp`
pub(crate) fn set_predicates(
    registers: &mut Registers,
    mask: u32,
    compare: &Compare,
    d: Predicate,
    q: Option<Predicate>,
) {
    let [low, high] = outcomes(registers, compare);
    let combined = |bits: u32| compare.combined(registers, bits);
    // the second result is the upper half's, or the outcome turned over
    let (first, second) = (combined(low), combined(if compare.kind.is_packed() { high } else { !low }));
    registers.set_predicate(d, mask, first);
    if let Some(q) = q {
        registers.set_predicate(q, mask, second);
    }
}

/// `set`: one, or all bits, where it holds.
pub(crate) fn set(registers: &mut Registers, mask: u32, compare: &Compare, kind: Type, d: Slot) {
    let [low, high] = outcomes(registers, compare).map(|bits| compare.combined(registers, bits));
    let packed = kind.is_packed() || compare.kind.is_packed();
    let one = match kind {
        Type::F32 => 0x3f80_0000,
        Type::F16 | Type::F16x2 => 0x3c00,
        Type::BF16 | Type::BF16x2 => 0x3f80,
        kind if packed || kind.bits() == 16 => 0xffff,
        _ => u32::MAX,
    };
    let mut value = [0; LANES];
    for lane in 0..LANES {
        value[lane] = (low >> lane & 1) * one;
        if packed {
            value[lane] |= ((high >> lane & 1) * one) << 16;
        }
    }
    registers.set_any(d, mask, &map1(&value, u64::from));
}

impl Compare {
    fn combined(&self, registers: &Registers, bits: u32) -> u32 {
        self.combine.map_or(bits, |(f, with)| f.of(bits, registers.condition(with)))
    }
}

/// `selp`
pub(crate) fn select(registers: &mut Registers, mask: u32, [d, a, b]: [Slot; 3], condition: Condition) {
    let bits = registers.condition(condition);
    match (d, a, b) {
        (Slot::Word(d, _), Slot::Word(a, _), Slot::Word(b, _)) => {
            let value = chosen(bits, registers.word(a), registers.word(b));
            registers.set_word(d, mask, &value);
        }
        (Slot::Wide(d), Slot::Wide(a), Slot::Wide(b)) => {
            let value = chosen(bits, registers.wide(a), registers.wide(b));
            registers.set_wide(d, mask, &value);
        }
        _ => {}
    }
}

#[inline(always)]
fn chosen<T: Copy>(bits: u32, a: &[T; LANES], b: &[T; LANES]) -> [T; LANES] {
    let mut value = *b;
    for lane in 0..LANES {
        value[lane] = if bits >> lane & 1 == 1 { a[lane] } else { value[lane] };
    }
    value
}

/// Outcomes of a comparison, the second those of the upper halves of packed operands.
pub(crate) fn outcomes(registers: &Registers, compare: &Compare) -> [u32; 2] {
    let Compare { comparison, kind, flush, a, b, .. } = *compare;
    match (a, b) {
        (Slot::Wide(a), Slot::Wide(b)) => {
            let (a, b) = (registers.wide(a), registers.wide(b));
            let bits =
                if kind == Type::F64 { doubles(comparison, a, b) } else { wides(comparison, kind, a, b) };
            [bits, bits]
        }
        (Slot::Word(a, _), Slot::Word(b, _)) => {
            words(comparison, kind, flush, registers.word(a), registers.word(b))
        }
        _ => [0; 2],
    }
}

fn words(comparison: Comparison, kind: Type, flush: bool, a: &Lanes, b: &Lanes) -> [u32; 2] {
    let both = |bits: u32| [bits, bits];
    let halves = |lanes: &Lanes| (map1(lanes, |word| word & 0xffff), map1(lanes, |word| word >> 16));
    let half = |lanes: &Lanes| {
        map1(lanes, |code| from_half(if flush { flush_code(&F16, code.into()) as u32 } else { code }))
    };
    let brain = |lanes: &Lanes| map1(lanes, |code| code << 16);
    match kind {
        Type::F32 if flush => both(singles(comparison, &map1(a, single::flush), &map1(b, single::flush))),
        Type::F32 => both(singles(comparison, a, b)),
        Type::F16 => both(singles(comparison, &half(a), &half(b))),
        Type::BF16 => both(singles(comparison, &brain(a), &brain(b))),
        Type::F16x2 => {
            let ((a, x), (b, y)) = (halves(a), halves(b));
            [singles(comparison, &half(&a), &half(&b)), singles(comparison, &half(&x), &half(&y))]
        }
        Type::BF16x2 => {
            let ((a, x), (b, y)) = (halves(a), halves(b));
            [singles(comparison, &brain(&a), &brain(&b)), singles(comparison, &brain(&x), &brain(&y))]
        }
        Type::S16 => {
            let signed = |lanes: &Lanes| map1(lanes, |word| i32::from(word as u16 as i16) as u32);
            both(integers(comparison, true, &signed(a), &signed(b)))
        }
        Type::B16 | Type::U16 => {
            let low = |lanes: &Lanes| map1(lanes, |word| word & 0xffff);
            both(integers(comparison, false, &low(a), &low(b)))
        }
        _ => both(integers(comparison, kind.is_signed(), a, b)),
    }
}

fn integers(comparison: Comparison, signed: bool, a: &Lanes, b: &Lanes) -> u32 {
    // the sign bit turned over, signed numbers are in the order of unsigned ones
    let turn = if signed { 1 << 31 } else { 0 };
    ordered(comparison, a, b, |value| value ^ turn)
}

fn wides(comparison: Comparison, kind: Type, a: &WideLanes, b: &WideLanes) -> u32 {
    let turn = if kind.is_signed() { 1 << 63 } else { 0 };
    ordered(comparison, a, b, |value| value ^ turn)
}

#[inline(always)]
fn ordered<T: Copy, V: PartialOrd>(
    comparison: Comparison,
    a: &[T; 32],
    b: &[T; 32],
    value: impl Fn(T) -> V,
) -> u32 {
    let v = value;
    match comparison {
        Comparison::Equal | Comparison::EqualUnordered => test2(a, b, |a, b| v(a) == v(b)),
        Comparison::NotEqual | Comparison::NotEqualUnordered => test2(a, b, |a, b| v(a) != v(b)),
        Comparison::Less | Comparison::LessUnordered => test2(a, b, |a, b| v(a) < v(b)),
        Comparison::LessEqual | Comparison::LessEqualUnordered => test2(a, b, |a, b| v(a) <= v(b)),
        Comparison::Greater | Comparison::GreaterUnordered => test2(a, b, |a, b| v(a) > v(b)),
        Comparison::GreaterEqual | Comparison::GreaterEqualUnordered => test2(a, b, |a, b| v(a) >= v(b)),
        Comparison::Ordered => u32::MAX,
        Comparison::Unordered => 0,
    }
}

/// Whether a comparison of numbers holds where one of them is NaN.
fn unordered(comparison: Comparison) -> bool {
    matches!(
        comparison,
        Comparison::EqualUnordered
            | Comparison::NotEqualUnordered
            | Comparison::LessUnordered
            | Comparison::LessEqualUnordered
            | Comparison::GreaterUnordered
            | Comparison::GreaterEqualUnordered
            | Comparison::Unordered
    )
}

fn singles(comparison: Comparison, a: &Lanes, b: &Lanes) -> u32 {
    let nan = test2(a, b, |a, b| single::is_nan(a) || single::is_nan(b));
    let bits = ordered(comparison, a, b, f32::from_bits) & !nan;
    if unordered(comparison) { bits | nan } else { bits }
}

fn doubles(comparison: Comparison, a: &WideLanes, b: &WideLanes) -> u32 {
    let nan = test2(a, b, |a, b| double::is_nan(a) || double::is_nan(b));
    let bits = ordered(comparison, a, b, f64::from_bits) & !nan;
    if unordered(comparison) { bits | nan } else { bits }
}

/// `testp`
pub(crate) fn test(class: u8, kind: Type, code: u64) -> bool {
    let (magnitude, infinity, normal) = match kind {
        Type::F64 => (code & !(1 << 63), 0x7ff0_0000_0000_0000, 1 << 52),
        _ => (code & 0x7fff_ffff, 0x7f80_0000, 1 << 23),
    };
    match class {
        0 => magnitude < infinity,
        1 => magnitude == infinity,
        2 => magnitude <= infinity,
        3 => magnitude > infinity,
        // zeros count as normal
        4 => magnitude < infinity && (magnitude >= normal || magnitude == 0),
        _ => magnitude < normal && magnitude != 0,
    }
}
