//! Comparisons.

use bitmma_engine::formats::F16;
use bitmma_functions::float::flush as flush_code;

use super::narrow::from_half;
use super::{double, single};
use crate::lanes::{Lanes, Registers, WideLanes, map1, test2};
use crate::program::{Compare, Comparison, Slot, Type};

/// Outcomes of a comparison, the second those of the upper halves of packed operands.
pub(crate) fn compare(registers: &Registers, compare: &Compare) -> [u32; 2] {
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
        4 => magnitude < infinity && magnitude >= normal,
        _ => magnitude < normal && magnitude != 0,
    }
}
