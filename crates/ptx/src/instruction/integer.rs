//! Integers and bits.

use crate::lanes::{Lanes, WideLanes, map1, map2, map3};
use crate::program::{Carry, Integer1, Integer2, Integer3, Permute, Type};

fn extend(kind: Type, a: &Lanes) -> Lanes {
    match kind.is_signed() {
        true => map1(a, |a| i32::from(a as u16 as i16) as u32),
        false => map1(a, |a| a & 0xffff),
    }
}

pub(crate) fn word1(f: Integer1, kind: Type, a: &Lanes) -> Lanes {
    if kind.bits() == 16 {
        let signed = extend(kind, a);
        return map1(&signed, |a| {
            0xffff
                & match f {
                    Integer1::Move => a,
                    Integer1::Not => !a,
                    Integer1::Negate => a.wrapping_neg(),
                    Integer1::Absolute => (a as i32).wrapping_abs() as u32,
                    Integer1::LogicalNot => u32::from(a & 0xffff == 0),
                    Integer1::Population => (a & 0xffff).count_ones(),
                    Integer1::LeadingZeros => (a & 0xffff).leading_zeros() - 16,
                    Integer1::Reverse => a.reverse_bits() >> 16,
                    Integer1::Find | Integer1::FindShift => a,
                }
        });
    }
    let signed = kind.is_signed();
    match f {
        Integer1::Move => *a,
        Integer1::Not => map1(a, |a| !a),
        Integer1::Negate => map1(a, |a| a.wrapping_neg()),
        Integer1::Absolute => map1(a, |a| (a as i32).wrapping_abs() as u32),
        Integer1::Population => map1(a, u32::count_ones),
        Integer1::LeadingZeros => map1(a, u32::leading_zeros),
        Integer1::Reverse => map1(a, u32::reverse_bits),
        Integer1::LogicalNot => map1(a, |a| u32::from(a == 0)),
        Integer1::Find | Integer1::FindShift => map1(a, |a| {
            let a = if signed && (a as i32) < 0 { !a } else { a };
            find(a.into(), 32, f == Integer1::FindShift)
        }),
    }
}

fn find(a: u64, bits: u32, shift: bool) -> u32 {
    match a.checked_ilog2() {
        None => u32::MAX,
        Some(place) if shift => bits - 1 - place,
        Some(place) => place,
    }
}

pub(crate) fn wide1(f: Integer1, a: &WideLanes) -> WideLanes {
    match f {
        Integer1::Move => *a,
        Integer1::Not => map1(a, |a| !a),
        Integer1::Negate => map1(a, |a| a.wrapping_neg()),
        Integer1::Absolute => map1(a, |a| (a as i64).wrapping_abs() as u64),
        Integer1::Reverse => map1(a, u64::reverse_bits),
        Integer1::LogicalNot => map1(a, |a| u64::from(a == 0)),
        _ => map1(a, u64::from),
    }
}

/// Those of which the result is a word.
pub(crate) fn wide_count(f: Integer1, kind: Type, a: &WideLanes) -> Lanes {
    match f {
        Integer1::Population => map1(a, u64::count_ones),
        Integer1::LeadingZeros => map1(a, u64::leading_zeros),
        _ => map1(a, |a| {
            let a = if kind.is_signed() && (a as i64) < 0 { !a } else { a };
            find(a, 64, f == Integer1::FindShift)
        }),
    }
}

fn mask_of(a: u32, b: u32) -> u32 {
    if b == 0 {
        0
    } else {
        let ones = if b >= 32 { u32::MAX } else { (1 << b) - 1 };
        if a >= 32 { 0 } else { ones << a }
    }
}

/// A division by zero gives all ones, its remainder the dividend.
pub(crate) fn word2(f: Integer2, kind: Type, a: &Lanes, b: &Lanes) -> Lanes {
    let signed = kind.is_signed();
    if kind.bits() == 16 {
        let a16 = extend(kind, a);
        let narrow = |lanes: Lanes| map1(&lanes, |value| value & 0xffff);
        return match f {
            Integer2::ShiftLeft => map2(&a16, b, |a, b| if b > 15 { 0 } else { a << b & 0xffff }),
            Integer2::ShiftRight => narrow(word2(f, kind_of_32(signed), &a16, b)),
            Integer2::MultiplyHigh => {
                let b = extend(kind, b);
                map2(&a16, &b, |a, b| a.wrapping_mul(b) >> 16)
            }
            _ => narrow(word2(f, kind_of_32(signed), &a16, &extend(kind, b))),
        };
    }
    match (f, signed) {
        (Integer2::Add, _) => map2(a, b, u32::wrapping_add),
        (Integer2::Subtract, _) => map2(a, b, u32::wrapping_sub),
        (Integer2::AddSaturating, _) => map2(a, b, |a, b| (a as i32).saturating_add(b as i32) as u32),
        (Integer2::SubtractSaturating, _) => map2(a, b, |a, b| (a as i32).saturating_sub(b as i32) as u32),
        (Integer2::MultiplyLow, _) => map2(a, b, u32::wrapping_mul),
        (Integer2::MultiplyHigh, false) => map2(a, b, |a, b| ((u64::from(a) * u64::from(b)) >> 32) as u32),
        (Integer2::MultiplyHigh, true) => {
            map2(a, b, |a, b| ((i64::from(a as i32) * i64::from(b as i32)) >> 32) as u32)
        }
        (Integer2::Divide, false) => map2(a, b, |a, b| a.checked_div(b).unwrap_or(u32::MAX)),
        (Integer2::Divide, true) => map2(a, b, |a, b| match b {
            0 => u32::MAX,
            _ => (a as i32).wrapping_div(b as i32) as u32,
        }),
        (Integer2::Remainder, false) => map2(a, b, |a, b| a.checked_rem(b).unwrap_or(a)),
        (Integer2::Remainder, true) => map2(a, b, |a, b| match b {
            0 => a,
            _ => (a as i32).wrapping_rem(b as i32) as u32,
        }),
        (Integer2::Minimum, false) => map2(a, b, u32::min),
        (Integer2::Minimum, true) => map2(a, b, |a, b| (a as i32).min(b as i32) as u32),
        (Integer2::Maximum, false) => map2(a, b, u32::max),
        (Integer2::Maximum, true) => map2(a, b, |a, b| (a as i32).max(b as i32) as u32),
        (Integer2::And, _) => map2(a, b, |a, b| a & b),
        (Integer2::Or, _) => map2(a, b, |a, b| a | b),
        (Integer2::Xor, _) => map2(a, b, |a, b| a ^ b),
        (Integer2::ShiftLeft, _) => map2(a, b, |a, b| if b > 31 { 0 } else { a << (b & 31) }),
        (Integer2::ShiftRight, false) => map2(a, b, |a, b| if b > 31 { 0 } else { a >> (b & 31) }),
        (Integer2::ShiftRight, true) => map2(a, b, |a, b| ((a as i32) >> b.min(31)) as u32),
        (Integer2::BitMaskClamp, _) => map2(a, b, mask_of),
        (Integer2::BitMaskWrap, _) => map2(a, b, |a, b| mask_of(a & 31, b & 31)),
    }
}

fn kind_of_32(signed: bool) -> Type {
    if signed { Type::S32 } else { Type::U32 }
}

pub(crate) fn wide2(f: Integer2, kind: Type, a: &WideLanes, b: &WideLanes) -> WideLanes {
    match (f, kind.is_signed()) {
        (Integer2::Add | Integer2::AddSaturating, _) => map2(a, b, u64::wrapping_add),
        (Integer2::Subtract | Integer2::SubtractSaturating, _) => map2(a, b, u64::wrapping_sub),
        (Integer2::MultiplyLow, _) => map2(a, b, u64::wrapping_mul),
        (Integer2::MultiplyHigh, false) => map2(a, b, |a, b| ((u128::from(a) * u128::from(b)) >> 64) as u64),
        (Integer2::MultiplyHigh, true) => {
            map2(a, b, |a, b| ((i128::from(a as i64) * i128::from(b as i64)) >> 64) as u64)
        }
        (Integer2::Divide, false) => map2(a, b, |a, b| a.checked_div(b).unwrap_or(u64::MAX)),
        (Integer2::Divide, true) => map2(a, b, |a, b| match b {
            0 => u64::MAX,
            _ => (a as i64).wrapping_div(b as i64) as u64,
        }),
        (Integer2::Remainder, false) => map2(a, b, |a, b| a.checked_rem(b).unwrap_or(a)),
        (Integer2::Remainder, true) => map2(a, b, |a, b| match b {
            0 => a,
            _ => (a as i64).wrapping_rem(b as i64) as u64,
        }),
        (Integer2::Minimum, false) => map2(a, b, u64::min),
        (Integer2::Minimum, true) => map2(a, b, |a, b| (a as i64).min(b as i64) as u64),
        (Integer2::Maximum, false) => map2(a, b, u64::max),
        (Integer2::Maximum, true) => map2(a, b, |a, b| (a as i64).max(b as i64) as u64),
        (Integer2::And, _) => map2(a, b, |a, b| a & b),
        (Integer2::Or, _) => map2(a, b, |a, b| a | b),
        (Integer2::Xor, _) => map2(a, b, |a, b| a ^ b),
        _ => *a,
    }
}

pub(crate) fn wide_shift(f: Integer2, kind: Type, a: &WideLanes, b: &Lanes) -> WideLanes {
    match (f, kind.is_signed()) {
        (Integer2::ShiftLeft, _) => map2(a, b, |a, b| a.checked_shl(b).unwrap_or(0)),
        (_, false) => map2(a, b, |a, b| a.checked_shr(b).unwrap_or(0)),
        (_, true) => map2(a, b, |a, b| ((a as i64) >> b.min(63)) as u64),
    }
}

pub(crate) fn word3(f: Integer3, kind: Type, a: &Lanes, b: &Lanes, c: &Lanes) -> Lanes {
    let signed = kind.is_signed();
    if kind.bits() == 16 {
        let product = match f {
            Integer3::MultiplyAddHigh => word2(Integer2::MultiplyHigh, kind, a, b),
            _ => word2(Integer2::MultiplyLow, kind, a, b),
        };
        return map2(&product, c, |product, c| product.wrapping_add(c) & 0xffff);
    }
    match f {
        Integer3::MultiplyAddLow => map3(a, b, c, |a, b, c| a.wrapping_mul(b).wrapping_add(c)),
        Integer3::MultiplyAddHigh => {
            let high = word2(Integer2::MultiplyHigh, kind, a, b);
            map2(&high, c, u32::wrapping_add)
        }
        Integer3::Extract => {
            map3(a, b, c, |a, b, c| extract(a.into(), b & 0xff, c & 0xff, signed, 32) as u32)
        }
        Integer3::Logic(table) => map3(a, b, c, |a, b, c| logic(table, a, b, c)),
        Integer3::Permute(mode) => map3(a, b, c, |a, b, c| permute(mode, a, b, c)),
        Integer3::FunnelLeftWrap => map3(a, b, c, |a, b, c| funnel(a, b, c & 31, true)),
        Integer3::FunnelLeftClamp => map3(a, b, c, |a, b, c| funnel(a, b, c.min(32), true)),
        Integer3::FunnelRightWrap => map3(a, b, c, |a, b, c| funnel(a, b, c & 31, false)),
        Integer3::FunnelRightClamp => map3(a, b, c, |a, b, c| funnel(a, b, c.min(32), false)),
        Integer3::AbsoluteDifference if signed => {
            map3(a, b, c, |a, b, c| c.wrapping_add((a as i32).abs_diff(b as i32)))
        }
        Integer3::AbsoluteDifference => map3(a, b, c, |a, b, c| c.wrapping_add(a.abs_diff(b))),
        Integer3::Dot4(x, y) => map3(a, b, c, |a, b, c| {
            let product = |byte: u32| part(a >> (8 * byte), 8, x).wrapping_mul(part(b >> (8 * byte), 8, y));
            (0..4).fold(c, |sum, byte| sum.wrapping_add(product(byte)))
        }),
        Integer3::Dot2(x, y, high) => map3(a, b, c, |a, b, c| {
            let b = if high { b >> 16 } else { b };
            let product = |at: u32| part(a >> (16 * at), 16, x).wrapping_mul(part(b >> (8 * at), 8, y));
            c.wrapping_add(product(0)).wrapping_add(product(1))
        }),
        Integer3::Select => map3(a, b, c, |a, b, c| if (c as i32) >= 0 { a } else { b }),
    }
}

fn part(word: u32, bits: u32, signed: bool) -> u32 {
    let up = word << (32 - bits);
    if signed { ((up as i32) >> (32 - bits)) as u32 } else { up >> (32 - bits) }
}

fn logic(table: u8, a: u32, b: u32, c: u32) -> u32 {
    let mut result = 0;
    for row in 0..8 {
        if table >> row & 1 == 1 {
            let (x, y, z) = (row & 4 != 0, row & 2 != 0, row & 1 != 0);
            let pick = |bits: u32, set: bool| if set { bits } else { !bits };
            result |= pick(a, x) & pick(b, y) & pick(c, z);
        }
    }
    result
}

fn permute(mode: Permute, a: u32, b: u32, c: u32) -> u32 {
    let bytes = u64::from(b) << 32 | u64::from(a);
    let byte = |index: u32| (bytes >> (8 * (index & 7))) as u32 & 0xff;
    let places = |place: fn(u32, u32) -> u32| {
        let selector = c & 3;
        (0..4).fold(0, |word, index| word | byte(place(selector, index)) << (8 * index))
    };
    match mode {
        Permute::Index => (0..4).fold(0, |word, index| {
            let selector = c >> (4 * index);
            let value = byte(selector);
            let value = if selector & 8 != 0 { (value >> 7) * 0xff } else { value };
            word | value << (8 * index)
        }),
        Permute::Forward4 => places(|selector, index| selector + index),
        Permute::Backward4 => places(|selector, index| selector.wrapping_sub(index) & 7),
        Permute::Replicate8 => places(|selector, _| selector),
        Permute::EdgeLeft => places(|selector, index| index.max(selector)),
        Permute::EdgeRight => places(|selector, index| index.min(selector)),
        Permute::Replicate16 => places(|selector, index| 2 * (selector & 1) + (index & 1)),
    }
}

fn funnel(low: u32, high: u32, amount: u32, left: bool) -> u32 {
    let both = u64::from(high) << 32 | u64::from(low);
    if left { ((both << amount) >> 32) as u32 } else { (both >> amount) as u32 }
}

/// Bits of a from a place on, sign-extended if so.
fn extract(a: u64, place: u32, length: u32, signed: bool, width: u32) -> u64 {
    let shifted = a.checked_shr(place).unwrap_or(0);
    let shifted = if place >= width { 0 } else { shifted };
    let field = if length >= 64 { shifted } else { shifted & ((1 << length) - 1) };
    if !signed || length == 0 {
        return field;
    }
    let sign = (place + length - 1).min(width - 1);
    let negative = a >> sign & 1 == 1;
    let kept = length.min(width.saturating_sub(place));
    if negative && kept < 64 { field | u64::MAX << kept } else { field }
}

pub(crate) fn wide_extract(signed: bool, a: &WideLanes, b: &Lanes, c: &Lanes) -> WideLanes {
    map3(a, b, c, |a, b, c| extract(a, b & 0xff, c & 0xff, signed, 64))
}

/// Bits of a put into b.
pub(crate) fn insert(a: u64, b: u64, place: u32, length: u32, width: u32) -> u64 {
    let (place, length) = (place & 0xff, length & 0xff);
    if place >= width || length == 0 {
        return b;
    }
    let ones = if length >= 64 { u64::MAX } else { (1 << length) - 1 };
    let mask = ones << place;
    b & !mask | (a << place) & mask
}

pub(crate) fn multiply_wide(signed: bool, bits: u32, a: &Lanes, b: &Lanes) -> WideLanes {
    match (signed, bits) {
        (true, 32) => map2(a, b, |a, b| (i64::from(a as i32) * i64::from(b as i32)) as u64),
        (false, 32) => map2(a, b, |a, b| u64::from(a) * u64::from(b)),
        (true, _) => {
            map2(a, b, |a, b| u64::from((i32::from(a as u16 as i16) * i32::from(b as u16 as i16)) as u32))
        }
        (false, _) => map2(a, b, |a, b| u64::from((a & 0xffff) * (b & 0xffff))),
    }
}

pub(crate) fn wide_mad(high: bool, signed: bool, a: &WideLanes, b: &WideLanes, c: &WideLanes) -> WideLanes {
    let f = if high { Integer2::MultiplyHigh } else { Integer2::MultiplyLow };
    let kind = if signed { Type::S64 } else { Type::U64 };
    map2(&wide2(f, kind, a, b), c, u64::wrapping_add)
}

/// The result and the carry of one lane, of that many bits.
pub(crate) fn carry(f: Carry, a: u64, b: u64, c: u64, carry: bool, bits: u32) -> (u64, bool) {
    let mask = u64::MAX >> (64 - bits);
    let (x, y) = match f.product {
        None => (a, b),
        Some((high, signed)) => {
            let product = match (signed, bits) {
                (true, 32) => i128::from(i64::from(a as u32 as i32) * i64::from(b as u32 as i32)) as u128,
                (true, _) => (i128::from(a as i64) * i128::from(b as i64)) as u128,
                (false, _) => u128::from(a) * u128::from(b),
            };
            let product = if high { product >> bits } else { product };
            (product as u64 & mask, c)
        }
    };
    let taken = u128::from(f.takes && carry);
    if f.subtract {
        let whole = u128::from(x).wrapping_sub(u128::from(y)).wrapping_sub(taken);
        (whole as u64 & mask, whole >> 127 == 1)
    } else {
        let whole = u128::from(x) + u128::from(y) + taken;
        (whole as u64 & mask, whole >> bits != 0)
    }
}
