//! Integers and bits (PTX ISA, "Integer Arithmetic Instructions", "Logic and Shift Instructions").

use super::compute::{Computation, Element, Spread, of1, of2, of3, of4};
use super::row::{Row, Since, computed, decoded, kind, refused, types};
use crate::decode::decoder::Decoder;
use crate::decode::form::operands;
use crate::error::Error;
use crate::lanes::{LANES, Registers};
use crate::program::{CARRY, Carry, Condition, Logic, Op, Type};
use crate::text::{Instruction, Operand};

const WHOLE: &str = "u16 u32 u64 s16 s32 s64";
const BITS: &str = "b16 b32 b64";

/// An expression for the type of a form.
macro_rules! by_type {
    ($at:expr, $T:ident => $made:expr) => {
        match kind($at) {
            Type::B16 | Type::U16 => {
                type $T = u16;
                $made
            }
            Type::S16 => {
                type $T = i16;
                $made
            }
            Type::B32 | Type::U32 => {
                type $T = u32;
                $made
            }
            Type::S32 => {
                type $T = i32;
                $made
            }
            Type::S64 => {
                type $T = i64;
                $made
            }
            _ => {
                type $T = u64;
                $made
            }
        }
    };
}

/// An expression for a type with a sign.
macro_rules! by_signed {
    ($at:expr, $T:ident => $made:expr) => {
        match kind($at) {
            Type::S16 => {
                type $T = i16;
                $made
            }
            Type::S32 => {
                type $T = i32;
                $made
            }
            _ => {
                type $T = i64;
                $made
            }
        }
    };
}

/// An expression for a type without a sign.
macro_rules! by_width {
    ($at:expr, $T:ident => $made:expr) => {
        match kind($at).bits() {
            16 => {
                type $T = u16;
                $made
            }
            32 => {
                type $T = u32;
                $made
            }
            _ => {
                type $T = u64;
                $made
            }
        }
    };
}

/// An expression for a type and the one of products, which is twice as wide.
macro_rules! with_double {
    ($at:expr, $T:ident, $D:ident => $made:expr) => {
        match kind($at) {
            Type::U16 => {
                type $T = u16;
                type $D = u32;
                $made
            }
            Type::S16 => {
                type $T = i16;
                type $D = i32;
                $made
            }
            Type::U32 => {
                type $T = u32;
                type $D = u64;
                $made
            }
            _ => {
                type $T = i32;
                type $D = i64;
                $made
            }
        }
    };
}

#[rustfmt::skip]
pub(super) const ROWS: &[Row] = &[
    computed("add", &[WHOLE], "", |at| by_type!(at, T => of2(T::wrapping_add)).spreads(Spread::Upward)),
    computed("sub", &[WHOLE], "", |at| by_type!(at, T => of2(T::wrapping_sub)).spreads(Spread::Difference)),
    computed("add", &["s32"], "sat", |_| of2(i32::saturating_add)),
    computed("sub", &["s32"], "sat", |_| of2(i32::saturating_sub)),
    computed("mul", &[WHOLE], "=lo", |at| by_type!(at, T => of2(T::wrapping_mul)).spreads(Spread::Upward)),
    computed("mul", &[WHOLE], "=hi", |at| by_type!(at, T => of2(T::high))),
    computed("mul", &["u16 u32 s16 s32"], "=wide", |at| with_double!(at, T, D => of2(|a: T, b: T| D::from(a) * D::from(b)))),
    computed("mul24", &["u32 s32"], "=lo|hi", mul24),
    computed("mad", &[WHOLE], "=lo", |at| by_type!(at, T => of3(|a: T, b: T, c: T| a.wrapping_mul(b).wrapping_add(c))).spreads(Spread::Upward)),
    computed("mad", &[WHOLE], "=hi", |at| by_type!(at, T => of3(|a: T, b: T, c: T| a.high(b).wrapping_add(c)))),
    computed("mad", &["s32"], "=hi sat", |_| of3(|a: i32, b: i32, c: i32| a.high(b).saturating_add(c))),
    computed("mad", &["u16 u32 s16 s32"], "=wide", |at| with_double!(at, T, D => of3(|a: T, b: T, c: D| (D::from(a) * D::from(b)).wrapping_add(c)))),
    computed("mad24", &["u32 s32"], "=lo|hi", mad24),
    computed("mad24", &["s32"], "=hi sat", |_| of3(|a: i32, b: i32, c: i32| product24(a, b, true).saturating_add(c))),
    // a division by zero gives all ones, and so does its remainder, as in ptxas's code of both
    computed("div", &[WHOLE], "", |at| by_type!(at, T => of2(|a: T, b: T| if b == 0 { !0 } else { a.wrapping_div(b) }))),
    computed("rem", &[WHOLE], "", |at| by_type!(at, T => of2(|a: T, b: T| if b == 0 { !0 } else { a.wrapping_rem(b) }))),
    computed("min", &[WHOLE], "", |at| by_type!(at, T => of2(<T as Ord>::min))),
    computed("max", &[WHOLE], "", |at| by_type!(at, T => of2(<T as Ord>::max))),
    computed("add", &["u16x2 s16x2"], "", |_| halves(u16::wrapping_add)).since(Since::Hopper),
    computed("min", &["u16x2"], "", |_| halves(u16::min)).since(Since::Hopper),
    computed("max", &["u16x2"], "", |_| halves(u16::max)).since(Since::Hopper),
    computed("min", &["s16x2"], "relu?", |at| signed_halves(at, i16::min)).since(Since::Hopper),
    computed("max", &["s16x2"], "relu?", |at| signed_halves(at, i16::max)).since(Since::Hopper),
    computed("min", &["s32"], "relu", |_| of2(|a: i32, b: i32| a.min(b).max(0))).since(Since::Hopper),
    computed("max", &["s32"], "relu", |_| of2(|a: i32, b: i32| a.max(b).max(0))).since(Since::Hopper),
    computed("abs", &["s16 s32 s64"], "", |at| by_signed!(at, T => of1(T::wrapping_abs))),
    computed("neg", &["s16 s32 s64"], "", |at| by_signed!(at, T => of1(T::wrapping_neg)).spreads(Spread::Upward)),
    computed("sad", &[WHOLE], "", |at| by_type!(at, T => of3(|a: T, b: T, c: T| c.wrapping_add(a.abs_diff(b) as T)))),

    computed("and", &[BITS], "", |at| by_width!(at, T => of2(|a: T, b: T| a & b)).spreads(Spread::Bitwise)),
    computed("or", &[BITS], "", |at| by_width!(at, T => of2(|a: T, b: T| a | b)).spreads(Spread::Bitwise)),
    computed("xor", &[BITS], "", |at| by_width!(at, T => of2(|a: T, b: T| a ^ b)).spreads(Spread::Bitwise)),
    computed("not", &[BITS], "", |at| by_width!(at, T => of1(|a: T| !a)).spreads(Spread::Bitwise)),
    computed("cnot", &[BITS], "", |at| by_width!(at, T => of1(|a: T| T::from(a == 0)))),
    computed("shl", &[BITS], "", |at| by_width!(at, T => of2(|a: T, b: u32| if b < T::BITS { a << b } else { 0 })).spreads(Spread::Moves(1))),
    computed("shr", &["b16 b32 b64 u16 u32 u64 s16 s32 s64"], "", |at| by_type!(at, T => of2(|a: T, b: u32| {
        if b < T::BITS { a >> b } else { a >> (T::BITS - 1) >> 1 }
    })).spreads(Spread::Moves(1))),
    computed("shf", &["b32"], "=l|r wrap|clamp", funnel),
    computed("lop3", &["b32"], "", lop3),
    computed("prmt", &["b32"], "f4e|b4e|rc8|ecl|ecr|rc16?", permute),
    computed("popc", &["b32 b64"], "", |at| by_width!(at, T => of1(T::count_ones))),
    computed("clz", &["b32 b64"], "", |at| by_width!(at, T => of1(T::leading_zeros))),
    computed("brev", &["b32 b64"], "", |at| by_width!(at, T => of1(T::reverse_bits)).spreads(Spread::Moves(1))),
    computed("bfind", &["u32 u64 s32 s64"], "shiftamt?", find),
    computed("fns", &["b32"], "", |_| of3(nth_set)),
    computed("szext", &["u32 s32"], "wrap|clamp", |at| {
        let (wraps, signed) = (at.has("wrap"), kind(at).is_signed());
        of2(move |a: u32, b: u32| field(a.into(), 0, if wraps { b & 31 } else { b.min(32) }, signed, 32) as u32)
    }),
    computed("bfe", &["u32 u64 s32 s64"], "", extract),
    computed("bfi", &["b32"], "", |_| of4(|a: u32, b: u32, place, length| {
        insert(a.into(), b.into(), place, length, 32) as u32
    }).spreads(Spread::Moves(2))),
    computed("bfi", &["b64"], "", |_| of4(|a: u64, b: u64, place, length| {
        insert(a, b, place, length, 64)
    }).spreads(Spread::Moves(2))),
    computed("bmsk", &["b32"], "wrap|clamp", |at| match at.has("wrap") {
        true => of2(|a: u32, b: u32| ones(a & 31, b & 31)),
        false => of2(ones),
    }),
    computed("dp4a", &["u32 s32", "u32 s32"], "", dp4a),
    computed("dp2a", &["u32 s32", "u32 s32"], "=lo|hi", dp2a),
    computed("slct", &["b16 b32 b64 u16 u32 u64 s16 s32 s64 f32 f64", "s32"], "", |at| selected(at, |c| c as i32 >= 0)),
    computed("slct", &["b16 b32 b64 u16 u32 u64 s16 s32 s64 f32 f64", "f32"], "ftz?", |at| match at.has("ftz") {
        true => selected(at, |c| f32::from_bits(super::single::flush(c)) >= 0.0),
        false => selected(at, |c| f32::from_bits(c) >= 0.0),
    }),

    decoded("add", &["u32 u64 s32 s64"], "cc", carry),
    decoded("sub", &["u32 u64 s32 s64"], "cc", carry),
    decoded("addc", &[WHOLE], "", carry),
    decoded("addc", &["u32 u64 s32 s64"], "cc", carry),
    decoded("subc", &[WHOLE], "", carry),
    decoded("subc", &["u32 u64 s32 s64"], "cc", carry),
    decoded("mad", &["u32 u64 s32 s64"], "=lo|hi cc", carry),
    decoded("madc", &[WHOLE], "=lo|hi", carry),
    decoded("madc", &["u32 u64 s32 s64"], "=lo|hi cc", carry),
    refused("madc", &["s32"], "=hi sat", "the manual does not have it, and ptxas leaves .sat out"),
    decoded("and", &["pred"], "", |decoder, at| predicates(decoder, at, Logic::And)),
    decoded("or", &["pred"], "", |decoder, at| predicates(decoder, at, Logic::Or)),
    decoded("xor", &["pred"], "", |decoder, at| predicates(decoder, at, Logic::Xor)),
    decoded("%copy", &[], "", |decoder, at| {
        let [d, e, a, b] = operands(at)?;
        let d = [decoder.any(d, Type::B32, at)?, decoder.any(e, Type::B32, at)?];
        let a = [decoder.any(a, Type::B32, at)?, decoder.any(b, Type::B32, at)?];
        Ok(Op::Copy { d, a })
    }).pure().results(2),
    decoded("%nothing", &[], "", |_, _| Ok(Op::Nothing)).pure(),
    decoded("not", &["pred"], "", |decoder, at| {
        let [d, a] = operands(at)?;
        let a = decoder.condition(a, at)?;
        let a = Condition { negated: !a.negated, ..a };
        Ok(Op::Logic { f: Logic::And, d: decoder.predicate(d, at)?, a, b: Condition::TRUE })
    }),
];

/// The same of the two halves of words.
fn halves(f: fn(u16, u16) -> u16) -> Computation {
    let both = move |a: u32, b: u32| {
        let upper = f((a >> 16) as u16, (b >> 16) as u16);
        u32::from(upper) << 16 | u32::from(f(a as u16, b as u16))
    };
    of2(both).spreads(Spread::Elements(16))
}

/// The same of signed halves, with `.relu` at least zero.
fn signed_halves(at: &Instruction, f: fn(i16, i16) -> i16) -> Computation {
    let least = if at.has("relu") { 0 } else { i16::MIN };
    let both = move |a: u32, b: u32| {
        let one = |shift: u32| f((a >> shift) as u16 as i16, (b >> shift) as u16 as i16).max(least) as u16;
        u32::from(one(16)) << 16 | u32::from(one(0))
    };
    of2(both).spreads(Spread::Elements(16))
}

/// The upper half of a product.
trait High: Sized {
    fn high(self, other: Self) -> Self;
}

macro_rules! high {
    ($($T:ty, $double:ty;)*) => {$(
        impl High for $T {
            #[inline(always)]
            fn high(self, other: $T) -> $T {
                ((<$double>::from(self) * <$double>::from(other)) >> <$T>::BITS) as $T
            }
        }
    )*};
}

high! { u16, u32; i16, i32; u32, u64; i32, i64; u64, u128; i64, i128; }

/// Of the 48 bits of a product of numbers of 24 bits the lower or the upper 32.
fn product24<T: Element<Lane = u32> + Into<i64>>(a: T, b: T, high: bool) -> T {
    let signed = T::TYPE.is_signed();
    let part = |value: T| match signed {
        true => value.into() << 40 >> 40,
        false => value.into() & 0xff_ffff,
    };
    let product = part(a) * part(b);
    T::of((if high { product >> 16 } else { product }) as u32)
}

fn mul24(at: &Instruction) -> Computation {
    let high = at.has("hi");
    match kind(at) {
        Type::S32 => of2(move |a: i32, b: i32| product24(a, b, high)),
        _ => of2(move |a: u32, b: u32| product24(a, b, high)),
    }
}

fn mad24(at: &Instruction) -> Computation {
    let high = at.has("hi");
    match kind(at) {
        Type::S32 => of3(move |a: i32, b: i32, c: i32| product24(a, b, high).wrapping_add(c)),
        _ => of3(move |a: u32, b: u32, c: u32| product24(a, b, high).wrapping_add(c)),
    }
}

/// The position of the highest bit that differs from the sign; with `.shiftamt` the shift that brings it to the top.
fn find(at: &Instruction) -> Computation {
    let shift = at.has("shiftamt");
    let place = move |bits: u64, width: u32| match bits.checked_ilog2() {
        None => u32::MAX,
        Some(place) if shift => width - 1 - place,
        Some(place) => place,
    };
    match kind(at) {
        Type::U32 => of1(move |a: u32| place(a.into(), 32)),
        Type::S32 => of1(move |a: i32| place((a ^ a >> 31) as u64, 32)),
        Type::U64 => of1(move |a: u64| place(a, 64)),
        _ => of1(move |a: i64| place((a ^ a >> 63) as u64, 64)),
    }
}

/// The place of the n-th bit that is set, from a base on upwards, or downwards where n is negative; zero asks for the base itself.
fn nth_set(mask: u32, base: u32, n: i32) -> u32 {
    let mut set = (0..32).filter(|place| base < 32 && mask >> place & 1 == 1);
    let skipped = n.unsigned_abs().wrapping_sub(1) as usize;
    let found = match n {
        // it has no absolute value: as in ptxas's code
        i32::MIN => Some(0),
        0 => set.find(|place| *place == base),
        1.. => set.filter(|place| *place >= base).nth(skipped),
        _ => set.rev().filter(|place| *place <= base).nth(skipped),
    };
    found.unwrap_or(u32::MAX)
}

/// As many ones, from a place on.
fn ones(place: u32, length: u32) -> u32 {
    let ones = if length >= 32 { u32::MAX } else { (1 << length) - 1 };
    if place >= 32 { 0 } else { ones << place }
}

fn funnel(at: &Instruction) -> Computation {
    let both = |low: u32, high: u32| u64::from(high) << 32 | u64::from(low);
    let made = match (at.has("l"), at.has("wrap")) {
        (true, true) => of3(move |a: u32, b: u32, c: u32| ((both(a, b) << (c & 31)) >> 32) as u32),
        (true, false) => of3(move |a: u32, b: u32, c: u32| ((both(a, b) << c.min(32)) >> 32) as u32),
        (false, true) => of3(move |a: u32, b: u32, c: u32| (both(a, b) >> (c & 31)) as u32),
        (false, false) => of3(move |a: u32, b: u32, c: u32| (both(a, b) >> c.min(32)) as u32),
    };
    made.spreads(Spread::Moves(2))
}

/// Any function of three bits: the last operand is its table.
fn lop3(at: &Instruction) -> Computation {
    let table = match at.operands.last() {
        Some(Operand::Integer(table)) => *table as u8,
        _ => 0,
    };
    let f = move |a: u32, b: u32, c: u32| {
        (0..8).filter(|row| table >> row & 1 == 1).fold(0, |result, row| {
            let pick = |bits: u32, set: u8| if set != 0 { bits } else { !bits };
            result | pick(a, row & 4) & pick(b, row & 2) & pick(c, row & 1)
        })
    };
    of3(f).with_constants(1).spreads(Spread::Bitwise)
}

fn permute(at: &Instruction) -> Computation {
    let byte =
        |a: u32, b: u32, index: u32| ((u64::from(b) << 32 | u64::from(a)) >> (8 * (index & 7))) as u32 & 0xff;
    let places = move |place: fn(u32, u32) -> u32| {
        of3(move |a: u32, b: u32, c: u32| {
            (0..4).fold(0, |word, index| word | byte(a, b, place(c & 3, index)) << (8 * index))
        })
    };
    let mode = ["f4e", "b4e", "rc8", "ecl", "ecr", "rc16"].into_iter().find(|mode| at.has(mode));
    let made = match mode {
        Some("f4e") => places(|selector, index| selector + index),
        Some("b4e") => places(|selector, index| selector.wrapping_sub(index)),
        Some("rc8") => places(|selector, _| selector),
        Some("ecl") => places(|selector, index| index.max(selector)),
        Some("ecr") => places(|selector, index| index.min(selector)),
        Some(_) => places(|selector, index| 2 * (selector & 1) + (index & 1)),
        None => of3(move |a: u32, b: u32, c: u32| {
            (0..4).fold(0, |word, index| {
                let selector = c >> (4 * index);
                let value = byte(a, b, selector);
                let value = if selector & 8 != 0 { (value >> 7) * 0xff } else { value };
                word | value << (8 * index)
            })
        }),
    };
    made.spreads(Spread::Moves(2))
}

/// Bits of a from a place on, sign-extended if so.
fn field(a: u64, place: u32, length: u32, signed: bool, width: u32) -> u64 {
    let (place, length) = (place & 0xff, length & 0xff);
    let shifted = if place >= width { 0 } else { a >> place };
    let field = if length >= 64 { shifted } else { shifted & ((1 << length) - 1) };
    if !signed || length == 0 {
        return field;
    }
    let sign = (place + length - 1).min(width - 1);
    let negative = a >> sign & 1 == 1;
    let kept = length.min(width.saturating_sub(place));
    if negative && kept < 64 { field | u64::MAX << kept } else { field }
}

fn extract(at: &Instruction) -> Computation {
    let signed = kind(at).is_signed();
    let made = match kind(at).bits() {
        32 => of3(move |a: u32, b: u32, c: u32| field(a.into(), b, c, signed, 32) as u32),
        _ => of3(move |a: u64, b: u32, c: u32| field(a, b, c, signed, 64)),
    };
    made.spreads(Spread::Moves(1))
}

/// Bits of a put into b.
fn insert(a: u64, b: u64, place: u32, length: u32, width: u32) -> u64 {
    let (place, length) = (place & 0xff, length & 0xff);
    if place >= width || length == 0 {
        return b;
    }
    let ones = if length >= 64 { u64::MAX } else { (1 << length) - 1 };
    let mask = ones << place;
    b & !mask | (a << place) & mask
}

/// Some bits of a word, from a place on, extended.
fn part(word: u32, place: u32, bits: u32, signed: bool) -> u32 {
    let up = word >> place << (32 - bits);
    if signed { ((up as i32) >> (32 - bits)) as u32 } else { up >> (32 - bits) }
}

/// Whether each of the two types of a form is signed.
fn signs(at: &Instruction) -> [bool; 2] {
    let mut signs = types(at).map(Type::is_signed);
    [signs.next().unwrap_or(false), signs.next().unwrap_or(false)]
}

fn dp4a(at: &Instruction) -> Computation {
    let [x, y] = signs(at);
    of3(move |a: u32, b: u32, c: u32| {
        let product = |at: u32| part(a, 8 * at, 8, x).wrapping_mul(part(b, 8 * at, 8, y));
        (0..4).fold(c, |sum, at| sum.wrapping_add(product(at)))
    })
}

fn dp2a(at: &Instruction) -> Computation {
    let ([x, y], first) = (signs(at), if at.has("hi") { 16 } else { 0 });
    of3(move |a: u32, b: u32, c: u32| {
        let product = |at: u32| part(a, 16 * at, 16, x).wrapping_mul(part(b, first + 8 * at, 8, y));
        c.wrapping_add(product(0)).wrapping_add(product(1))
    })
}

/// a or b, by a number.
fn selected(at: &Instruction, first: fn(u32) -> bool) -> Computation {
    let made = match types(at).next().map_or(32, Type::bits) {
        16 => of3(move |a: u16, b: u16, c: u32| if first(c) { a } else { b }),
        32 => of3(move |a: u32, b: u32, c: u32| if first(c) { a } else { b }),
        _ => of3(move |a: u64, b: u64, c: u32| if first(c) { a } else { b }),
    };
    made.spreads(Spread::Moves(2))
}

fn predicates(decoder: &mut Decoder<'_>, at: &Instruction, f: Logic) -> Result<Op, Error> {
    let [d, a, b] = operands(at)?;
    let (a, b) = (decoder.condition(a, at)?, decoder.condition(b, at)?);
    Ok(Op::Logic { f, d: decoder.predicate(d, at)?, a, b })
}

fn carry(decoder: &mut Decoder<'_>, at: &Instruction) -> Result<Op, Error> {
    let kind = kind(at);
    let product = (at.has("lo") || at.has("hi")).then(|| (at.has("hi"), kind.is_signed()));
    let (d, a) = match (at.operands.as_slice(), product) {
        ([d, a, b], None) => (d, [a, b, a]),
        ([d, a, b, c], Some(_)) => (d, [a, b, c]),
        _ => return Err(Error::unsupported(at.line, &at.form, "")),
    };
    let (subtract, gives) = (at.name().starts_with("sub"), at.has("cc"));
    let takes = matches!(at.name(), "addc" | "subc" | "madc");
    // of a difference the hardware keeps the opposite of a borrow
    if takes && decoder.borrows.is_some_and(|borrows| borrows != subtract) {
        let why = "whether a carry of a difference goes into a sum, or the other way round, is left to ptxas";
        return Err(Error::unsupported(at.line, &at.form, why));
    }
    if gives {
        decoder.borrows = Some(subtract);
    }
    let mut slot = |operand: &Operand| decoder.typed(operand, kind, at);
    Ok(Op::Carry(Box::new(Carry {
        subtract,
        product,
        takes,
        gives,
        bits: kind.bits(),
        d: slot(d)?,
        a: [slot(a[0])?, slot(a[1])?, slot(a[2])?],
    })))
}

impl Carry {
    pub(crate) fn run(&self, registers: &mut Registers, mask: u32) {
        let carries = registers.predicates[CARRY.0 as usize];
        let [a, b, c] = self.a.map(|slot| registers.any(slot));
        let (mut value, mut out) = ([0; LANES], 0);
        for lane in 0..LANES {
            let taken = self.takes && carries >> lane & 1 == 1;
            let (whole, carry) = self.of(a[lane], b[lane], c[lane], taken);
            value[lane] = whole;
            out |= u32::from(carry) << lane;
        }
        registers.set_any(self.d, mask, &value);
        if self.gives {
            registers.set_predicate(CARRY, mask, out);
        }
    }

    /// The result and the carry of one lane.
    fn of(&self, a: u64, b: u64, c: u64, taken: bool) -> (u64, bool) {
        let keep = u64::MAX >> (64 - self.bits);
        let (x, y) = match self.product {
            None => (a, b),
            Some((high, signed)) => {
                let extended = |value: u64| match signed {
                    true => i128::from((value << (64 - self.bits)) as i64 >> (64 - self.bits)),
                    false => i128::from(value),
                };
                // of two numbers of 64 bits without a sign it may have all 128
                let product = extended(a).wrapping_mul(extended(b)) as u128;
                ((if high { product >> self.bits } else { product }) as u64 & keep, c)
            }
        };
        let (x, y, taken) = (u128::from(x), u128::from(y), u128::from(taken));
        let whole = match self.subtract {
            true => x.wrapping_sub(y).wrapping_sub(taken),
            false => x + y + taken,
        };
        (whole as u64 & keep, whole >> self.bits & 1 == 1)
    }
}
