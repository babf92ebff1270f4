//! Moves and conversions (PTX ISA, "Data Movement and Conversion Instructions").

use bitmma_engine::formats::{
    BF16, Class, E2M1, E2M3, E3M2, E4M3, E5M2, F16, F32, F64, Format, Overflow, Real, Rounding, TF32, UE8M0,
    decode, encode,
};
use bitmma_functions::convert::{Modifiers, convert as convert_code};
use bitmma_functions::float::{flush as flush_code, nan};

use super::compute::Computed;
use super::narrow::{from_half, to_brain, to_half};
use super::row::{Row, Since, decoded, free, kind, refused, types};
use super::single;
use crate::decode::decoder::Decoder;
use crate::decode::form::{Form, operands};
use crate::error::Error;
use crate::lanes::{Registers, WideLanes, map1, map2};
use crate::program::{Condition, Convert, Logic, Op, Region, Slot, Type};
use crate::text::{Instruction, Operand};

const WHOLE: &str = "u16 u32 u64 s16 s32 s64";
const NARROW: &str = "e4m3x2 e5m2x2 e2m3x2 e3m2x2 e2m1x2";
const INTEGERS: &str = "u8 u16 u32 u64 s8 s16 s32 s64";

#[rustfmt::skip]
pub(super) const ROWS: &[Row] = &[
    decoded("mov", &["pred b16 b32 b64 u16 u32 u64 s16 s32 s64 f32 f64"], "", moved).pure(),
    decoded("mov", &["b128"], "", moved_halves).pure(),
    decoded("cvta", &["u64"], "=to? global|shared|shared::cta|local|const|param|param::entry", window).pure(),
    decoded("cvta", &["u64"], "=to? shared::cluster", window).pure().since(Since::Hopper),
    decoded("cvt", &[INTEGERS, INTEGERS], "sat?", conversion).pure(),
    decoded("cvt", &[INTEGERS, "f16 f64"], "rni|rzi|rmi|rpi sat?", conversion).pure(),
    decoded("cvt", &[INTEGERS, "f32"], "rni|rzi|rmi|rpi ftz? sat?", conversion).pure(),
    decoded("cvt", &[WHOLE, "bf16"], "rni|rzi|rmi|rpi", conversion).pure(),
    decoded("cvt", &["f16 f64", INTEGERS], "rn|rz|rm|rp sat?", conversion).pure(),
    decoded("cvt", &["f32", "u8 u16 u32 u64 s8 s16 s32 s64 f64"], "rn|rz|rm|rp ftz? sat?", conversion).pure(),
    decoded("cvt", &["bf16", "u16 u32 u64 s16 s32 s64 f64"], "rn|rz|rm|rp", conversion).pure(),
    decoded("cvt", &["f16", "f64"], "rn|rz|rm|rp sat?", conversion).pure(),
    decoded("cvt", &["f16", "f32"], "rn|rz|rm|rp ftz? sat?", conversion).pure(),
    decoded("cvt", &["f16 bf16", "f32"], "rn|rz satfinite? relu?", conversion).pure(),
    decoded("cvt", &["bf16", "f32"], "rn|rz|rm|rp ftz?", conversion).pure(),
    decoded("cvt", &["f16", "f16"], "rni|rzi|rmi|rpi? sat?", conversion).pure(),
    decoded("cvt", &["f64", "f64"], "rni|rzi|rmi|rpi? sat?", conversion).pure(),
    decoded("cvt", &["f32", "f32"], "rni|rzi|rmi|rpi? ftz? sat?", conversion).pure(),
    decoded("cvt", &["bf16", "bf16"], "rni|rzi|rmi|rpi?", conversion).pure(),
    decoded("cvt", &["f32", "f16"], "ftz? sat?", conversion).pure(),
    decoded("cvt", &["f64", "f32"], "ftz? sat?", conversion).pure(),
    decoded("cvt", &["f64", "f16"], "sat?", conversion).pure(),
    decoded("cvt", &["f32", "bf16"], "rn|rz|rm|rp? ftz?", conversion).pure(),
    decoded("cvt", &["f16 f64", "bf16"], "rn|rz|rm|rp?", conversion).pure(),
    decoded("cvt", &["bf16", "f16"], "rn|rz|rm|rp?", conversion).pure(),
    decoded("cvt", &["tf32", "f32"], "rn|rz relu?", conversion).pure().since(Since::Hopper),
    decoded("cvt", &["tf32", "f32"], "rn|rz satfinite relu?", conversion).pure().since(Since::Blackwell),
    decoded("cvt", &["tf32", "f32"], "rna satfinite?", conversion).pure(),
    decoded("cvt", &["f16x2 bf16x2", "f32"], "rn|rz satfinite? relu?", conversion).pure(),
    decoded("cvt", &["e4m3x2 e5m2x2", "f32 f16x2"], "rn satfinite relu?", conversion).pure().since(Since::Ada),
    decoded("cvt", &["f16x2", "e4m3x2 e5m2x2"], "rn relu?", conversion).pure().since(Since::Ada),
    decoded("cvt", &["f16x2", "e2m3x2 e3m2x2 e2m1x2"], "rn relu?", conversion).pure().since(Since::Blackwell),
    decoded("cvt", &["bf16x2", NARROW], "rn satfinite? relu?", conversion).pure().since(Since::Blackwell),
    decoded("cvt", &["bf16x2", "ue8m0x2"], "rn", conversion).pure().since(Since::Blackwell),
    decoded("cvt", &["e2m3x2 e3m2x2 e2m1x2", "f32 f16x2"], "rn satfinite relu?", conversion).pure().since(Since::Blackwell),
    decoded("cvt", &[NARROW, "bf16x2"], "rn satfinite relu?", conversion).pure().since(Since::Blackwell),
    refused("cvt", &["ue8m0x2", "f32 bf16x2"], "rz|rp satfinite?", "conversions to ue8m0x2 are not supported here"),
    refused("cvt", &["s16 u16", "s32"], "=pack sat", "packed integers are not supported here"),
    refused("cvt", &["s8 u8", "s32", "b32"], "=pack sat", "packed integers are not supported here"),
    decoded("isspacep", &[], "global|shared|shared::cta|local|const|param|param::entry", is_space).pure(),
    decoded("isspacep", &[], "shared::cluster", is_space).pure().since(Since::Hopper),
    free("mapa", |decoder, form, at| {
        let generic = !form.flag("shared::cluster");
        let kind = form.need_kind()?;
        if !matches!(kind, Type::U32 | Type::U64) {
            return Err(form.unsupported());
        }
        let [d, a, rank] = operands(at)?;
        let (d, a) = (decoder.any(d, kind, at)?, decoder.any(a, kind, at)?);
        Ok(Op::MapShared { generic, d, a, rank: decoder.word(rank, at)? })
    }).since(Since::Hopper),
    free("getctarank", |decoder, form, at| {
        form.flag("shared::cluster");
        let kind = form.need_kind()?;
        if !matches!(kind, Type::U32 | Type::U64) {
            return Err(form.unsupported());
        }
        let [d, a] = operands(at)?;
        Ok(Op::Rank { d: decoder.word(d, at)?, a: decoder.any(a, kind, at)? })
    }).since(Since::Hopper),
];

impl Convert {
    fn plain(to: Type, from: Type, d: Slot) -> Convert {
        Convert {
            to,
            from,
            rounding: None,
            integral: false,
            flush: false,
            saturate: false,
            finite: false,
            relu: false,
            d,
            a: Slot::Sink,
            b: None,
        }
    }
}

fn moved(decoder: &mut Decoder<'_>, at: &Instruction) -> Result<Op, Error> {
    let kind = kind(at);
    let [d, a] = operands(at)?;
    if kind == Type::Pred {
        let a = decoder.condition(a, at)?;
        return Ok(Op::Logic { f: Logic::And, d: decoder.predicate(d, at)?, a, b: Condition::TRUE });
    }
    let parts = |count: usize| match kind.bits() as usize / count {
        bits @ (8 | 16 | 32) if kind.bits() as usize == bits * count => Ok(bits as u32),
        _ => Err(Error::syntax(at.line, format!("'{}' cannot have {count} parts", at.form))),
    };
    let part_kind = |bits: u32| match bits {
        8 => Type::B8,
        16 => Type::B16,
        _ => Type::B32,
    };
    match (d, a) {
        (Operand::Vector(_), Operand::Vector(_)) => Err(Error::unsupported(at.line, &at.form, "")),
        (d, Operand::Vector(list)) => {
            let bits = parts(list.len())?;
            let parts = fitting(decoder.list(a, part_kind(bits), at)?, bits, at)?;
            Ok(Op::Pack { d: decoder.typed(d, kind, at)?, bits, parts })
        }
        (Operand::Vector(list), a) => {
            let bits = parts(list.len())?;
            let parts = fitting(decoder.list(d, part_kind(bits), at)?, bits, at)?;
            Ok(Op::Unpack { a: decoder.typed(a, kind, at)?, bits, parts })
        }
        (d, Operand::Special(name)) if let Some((bits, shift)) = clock(name) => match kind.bits() == bits {
            true => Ok(Op::Clock { d: decoder.typed(d, kind, at)?, shift }),
            false => Err(Error::syntax(at.line, format!("'%{name}' has {bits} bits"))),
        },
        (d, Operand::Special(name)) if kind.bits() == 64 => {
            let is_zero = matches!(name.as_str(), "gridid" | "current_graph_exec") || name.ends_with("_64");
            let zero = Slot::Wide(decoder.wide_constant(0));
            let d = decoder.typed(d, kind, at)?;
            let copied = is_zero.then(|| copied(d, zero)).flatten();
            copied.ok_or_else(|| Error::syntax(at.line, format!("'%{name}' does not have 64 bits")))
        }
        _ => {
            let (d, a) = (decoder.typed(d, kind, at)?, decoder.typed(a, kind, at)?);
            copied(d, a).ok_or_else(|| Error::unsupported(at.line, &at.form, ""))
        }
    }
}

/// The bits of a clock, and how many lower ones it leaves out.
fn clock(name: &str) -> Option<(u32, u32)> {
    match name {
        "clock" | "globaltimer_lo" => Some((32, 0)),
        "clock_hi" | "globaltimer_hi" => Some((32, 32)),
        "clock64" | "globaltimer" => Some((64, 0)),
        _ => None,
    }
}

/// A register of 128 bits, or its halves.
fn moved_halves(decoder: &mut Decoder<'_>, at: &Instruction) -> Result<Op, Error> {
    let [d, a] = operands(at)?;
    if matches!((d, a), (Operand::Vector(_), Operand::Vector(_))) {
        return Err(Error::unsupported(at.line, &at.form, ""));
    }
    let mut halves = |operand: &Operand| match operand {
        Operand::Vector(list) if list.len() == 2 => {
            Ok([decoder.any(&list[0], Type::B64, at)?, decoder.any(&list[1], Type::B64, at)?])
        }
        Operand::Vector(_) => Err(Error::unsupported(at.line, &at.form, "only two halves of 64 bits are")),
        _ => decoder.halves(operand, at),
    };
    Ok(Op::Copy { d: halves(d)?, a: halves(a)? })
}

/// The parts of a register, each of so many bits.
fn fitting(parts: Box<[Slot]>, bits: u32, at: &Instruction) -> Result<Box<[Slot]>, Error> {
    let fits = |part: &Slot| match part {
        Slot::Word(_, width) => *width == bits,
        Slot::Wide(_) => false,
        Slot::Sink => true,
    };
    match parts.iter().all(fits) {
        true => Ok(parts),
        false => Err(Error::syntax(at.line, format!("'{}' takes parts of {bits} bits here", at.form))),
    }
}

fn conversion(decoder: &mut Decoder<'_>, at: &Instruction) -> Result<Op, Error> {
    let unsupported = |why: &str| Error::unsupported(at.line, &at.form, why);
    let mut kinds = types(at);
    let (Some(to), Some(from)) = (kinds.next(), kinds.next()) else { return Err(unsupported("")) };
    if at.has("sat") && holds(to, from) {
        return Err(unsupported("every value of the second type is one of the first: there is no .sat"));
    }
    let roundings = [
        ("rn", Rounding::NearestEven),
        ("rz", Rounding::TowardZero),
        ("rm", Rounding::Down),
        ("rp", Rounding::Up),
        ("rna", Rounding::NearestAway),
    ];
    let integral = [
        ("rni", Rounding::NearestEven),
        ("rzi", Rounding::TowardZero),
        ("rmi", Rounding::Down),
        ("rpi", Rounding::Up),
    ];
    let named = |roundings: &[(&str, Rounding)]| {
        roundings.iter().find(|(word, _)| at.has(word)).map(|(_, rounding)| *rounding)
    };
    let (rounding, whole) = (named(&roundings), named(&integral));
    let packs = (to.is_packed() || to.is_narrow()) && from == Type::F32;
    let (d, a, b) = match at.operands.as_slice() {
        [d, a, b] if packs => (d, a, Some(b)),
        [d, a] if !packs => (d, a, None),
        _ => return Err(unsupported("")),
    };
    let d = decoder.any(d, to, at)?;
    if let Slot::Word(_, bits) = d
        && bits < to.bits()
    {
        let what = format!("'{}' takes a register of {} bits or more, not of {bits}", at.form, to.bits());
        return Err(Error::syntax(at.line, what));
    }
    let source = decoder.any(a, from, at)?;
    // two numbers of 4 bits are in a register of 8
    for (kind, slot) in [(to, d), (from, source)] {
        if kind == Type::E2M1x2 && !matches!(slot, Slot::Word(_, 8)) {
            return Err(Error::syntax(at.line, format!("'{}' takes a register of 8 bits", at.form)));
        }
    }
    Ok(Op::Convert(Box::new(Convert {
        rounding: rounding.or(whole),
        integral: whole.is_some(),
        flush: at.has("ftz"),
        saturate: at.has("sat"),
        finite: at.has("satfinite"),
        relu: at.has("relu"),
        a: source,
        b: b.map(|b| decoder.any(b, from, at)).transpose()?,
        ..Convert::plain(to, from, d)
    })))
}

/// Whether an integer type holds every value of another one.
fn holds(to: Type, from: Type) -> bool {
    let unsigned = !from.is_signed();
    to.is_integer()
        && from.is_integer()
        && match to.is_signed() {
            true => from.bits() < to.bits() || !unsigned && from.bits() == to.bits(),
            false => unsigned && from.bits() <= to.bits(),
        }
}

/// One register into another of the same width.
pub(super) fn copied(d: Slot, a: Slot) -> Option<Op> {
    Some(Op::Computed(Computed::copy(d, a)?.into()))
}

/// From an address of a window to a generic one, or back.
fn window(decoder: &mut Decoder<'_>, at: &Instruction) -> Result<Op, Error> {
    let mut form = Form::of(at);
    let region = region(&mut form).ok_or_else(|| form.unsupported())?;
    let [d, a] = operands(at)?;
    let (d, a) = (decoder.typed(d, Type::U64, at)?, decoder.typed(a, Type::U64, at)?);
    Ok(Op::Window { to_generic: !at.has("to"), region, d, a })
}

/// Whether an address, of 64 bits or its lower 32, is in a space.
fn is_space(decoder: &mut Decoder<'_>, at: &Instruction) -> Result<Op, Error> {
    let mut form = Form::of(at);
    let region = region(&mut form).ok_or_else(|| form.unsupported())?;
    let region = if at.has("const") { Region::Constant } else { region };
    let [d, a] = operands(at)?;
    if let Operand::Symbol(name, _) = a {
        let what = format!("'{}' takes a register, not the variable '{name}'", at.form);
        return Err(Error::syntax(at.line, what));
    }
    let a = decoder.wide(a, at).map(Slot::Wide).or_else(|_| Ok(Slot::Word(decoder.word(a, at)?, 32)))?;
    Ok(Op::IsSpace { region, own_only: !at.has("shared::cluster"), d: decoder.predicate(d, at)?, a })
}

/// The space that a form names.
pub(super) fn region(form: &mut Form<'_>) -> Option<Region> {
    form.one_of(&[
        ("global", Region::Global),
        ("const", Region::Global),
        ("shared", Region::Shared),
        ("shared::cta", Region::Shared),
        ("shared::cluster", Region::Shared),
        ("local", Region::Local),
        ("param", Region::Parameter),
        ("param::entry", Region::Parameter),
    ])
}

fn format(kind: Type) -> Option<&'static Format> {
    Some(match kind {
        Type::F16 | Type::F16x2 => &F16,
        Type::BF16 | Type::BF16x2 => &BF16,
        Type::F32 => &F32,
        Type::F64 => &F64,
        Type::TF32 => &TF32,
        Type::E4M3x2 => &E4M3,
        Type::E5M2x2 => &E5M2,
        Type::E2M3x2 => &E2M3,
        Type::E3M2x2 => &E3M2,
        Type::E2M1x2 => &E2M1,
        Type::UE8M0x2 => &UE8M0,
        _ => return None,
    })
}

pub(crate) fn convert(registers: &mut Registers, mask: u32, convert: &Convert) {
    let Convert { to, from, rounding, integral, flush, saturate, finite, relu, d, a, b } = *convert;
    let plain = !(integral || flush || saturate || finite || relu);
    let nearest = rounding == Some(Rounding::NearestEven);
    // what kernels use most
    if let (Slot::Word(d, _), Slot::Word(a, _)) = (d, a)
        && plain
    {
        let a = registers.word(a);
        let value = match (to, from, b) {
            (Type::F32, Type::F16, _) => Some(map1(a, from_half)),
            (Type::F32, Type::BF16, _) => Some(map1(a, |a| a << 16)),
            (Type::F16, Type::F32, _) if nearest => Some(map1(a, to_half)),
            (Type::BF16, Type::F32, _) if nearest => Some(map1(a, to_brain)),
            (Type::F16x2, Type::F32, Some(Slot::Word(b, _))) if nearest => {
                Some(map2(a, registers.word(b), |a, b| to_half(a) << 16 | to_half(b)))
            }
            (Type::BF16x2, Type::F32, Some(Slot::Word(b, _))) if nearest => {
                Some(map2(a, registers.word(b), |a, b| to_brain(a) << 16 | to_brain(b)))
            }
            // the host rounds to nearest even
            (Type::F32, Type::S32, _) if nearest => Some(map1(a, |a| (a as i32 as f32).to_bits())),
            (Type::F32, Type::U32, _) if nearest => Some(map1(a, |a| (a as f32).to_bits())),
            _ => None,
        };
        if let Some(value) = value {
            registers.set_word(d, mask, &value);
            return;
        }
    }
    let one = |code: u64| scalar(convert, code);
    let value: WideLanes = match (to, from) {
        // two numbers into two
        _ if b.is_none() && (from.is_packed() || from.is_narrow()) => {
            let (up, down) = (element_bits(to), element_bits(from));
            let keep = u64::MAX >> (64 - down);
            map1(&registers.any(a), |a| one(a & keep) | one(a >> down & keep) << up)
        }
        _ => match b {
            Some(b) => {
                let shift = to.bits() / 2;
                map2(&registers.any(a), &registers.any(b), |a, b| one(a) << shift | one(b))
            }
            None => map1(&registers.any(a), one),
        },
    };
    // the result is as wide as its type; a wider register gets it extended
    let value = match (to.bits(), to.is_signed()) {
        (64, _) => value,
        (bits, true) => map1(&value, |value| ((value << (64 - bits)) as i64 >> (64 - bits)) as u64),
        (bits, false) => map1(&value, |value| value & (u64::MAX >> (64 - bits))),
    };
    registers.set_any(d, mask, &value);
}

/// One number.
fn scalar(convert: &Convert, code: u64) -> u64 {
    let Convert { to, from, rounding, integral, flush, saturate, finite, relu, .. } = *convert;
    let narrow = code & (u64::MAX >> (64 - element_bits(from)));
    match (format(from), format(to)) {
        (None, None) => integer_to_integer(to, from, narrow, saturate),
        (None, Some(format)) => {
            let (value, rounding) = (signed(from, narrow), rounding.unwrap_or(Rounding::NearestEven));
            clamp(format, encode(format, Real::exact(value, 0), rounding, Overflow::Ieee), saturate)
        }
        (Some(format), None) => {
            let code = if flush && *format == F32 { flush_code(format, narrow) } else { narrow };
            float_to_integer(format, to, code, rounding.unwrap_or(Rounding::TowardZero))
        }
        (Some(source), Some(target)) => {
            if integral {
                let code = if flush && *source == F32 { flush_code(source, narrow) } else { narrow };
                let whole = to_integral(source, code, rounding.unwrap_or(Rounding::NearestEven));
                return clamp(target, whole, saturate);
            }
            let rounding = rounding.unwrap_or(Rounding::NearestEven);
            let modifiers = Modifiers { rounding, satfinite: finite, relu, ftz: flush };
            clamp(target, convert_code(source, target, narrow, modifiers), saturate)
        }
    }
}

fn element_bits(kind: Type) -> u32 {
    match kind {
        _ if kind.is_packed() || kind.is_narrow() => kind.bits() / 2,
        _ => kind.bits(),
    }
}

/// `.sat` of a float.
fn clamp(format: &Format, code: u64, saturate: bool) -> u64 {
    let negative = code & format.sign_bit() != 0;
    match saturate {
        false => code,
        true if negative || format.is_nan(code) => 0,
        true => code.min(format.one_code()),
    }
}

fn signed(kind: Type, code: u64) -> i128 {
    let up = 64 - kind.bits();
    if kind.is_signed() { i128::from((code << up) as i64 >> up) } else { i128::from(code) }
}

/// The least and the greatest number of an integer type.
fn range(kind: Type) -> (i128, i128) {
    let bits = kind.bits();
    if kind.is_signed() { (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) } else { (0, (1 << bits) - 1) }
}

fn integer_to_integer(to: Type, from: Type, code: u64, saturate: bool) -> u64 {
    let value = signed(from, code);
    let (least, greatest) = range(to);
    if saturate { value.clamp(least, greatest) as u64 } else { value as u64 }
}

/// A whole number of the same sign.
fn rounded(value: Real, rounding: Rounding) -> Real {
    if value.exponent >= 0 {
        return value;
    }
    let below = value.exponent.unsigned_abs();
    let (kept, half, rest) = match below {
        1..=127 => {
            let half = value.significand >> (below - 1) & 1 == 1;
            (value.significand >> below, half, value.significand & ((1 << (below - 1)) - 1) != 0)
        }
        _ => (0, false, value.significand != 0),
    };
    let up = rounding.rounds_up(value.negative, kept & 1 == 1, half, rest);
    Real { significand: kept + u128::from(up), exponent: 0, ..value }
}

/// NaN becomes zero; of FP64, and of integers of 64 bits, the number whose first bit alone is set (PTX ISA, `cvt`).
fn float_to_integer(format: &Format, to: Type, code: u64, rounding: Rounding) -> u64 {
    let value = decode(format, code);
    let (least, greatest) = range(to);
    match value.class {
        Class::Nan if *format == F64 || to.bits() == 64 => 1 << (to.bits() - 1),
        Class::Nan => 0,
        Class::Infinity => {
            if value.negative {
                least as u64
            } else {
                greatest as u64
            }
        }
        _ => {
            let whole = rounded(value.real(format), rounding);
            let magnitude = match whole.exponent {
                exponent if exponent > 64 && whole.significand != 0 => 1 << 100,
                exponent => whole.significand.checked_shl(exponent as u32).unwrap_or(0),
            };
            let magnitude = magnitude.min(1 << 100) as i128;
            let value = if whole.negative { -magnitude } else { magnitude };
            value.clamp(least, greatest) as u64
        }
    }
}

fn to_integral(format: &Format, code: u64, rounding: Rounding) -> u64 {
    let value = decode(format, code);
    match value.class {
        Class::Nan => nan(format).unwrap_or(single::NAN.into()),
        Class::Infinity | Class::Zero => code,
        Class::Finite => encode(format, rounded(value.real(format), rounding), rounding, Overflow::Ieee),
    }
}
