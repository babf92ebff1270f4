//! Arbitrary models and operands.

use arbtest::arbitrary::{Result, Unstructured};
use bitmma_engine::Case;
use bitmma_engine::arithmetic::family::{FAMILIES, Scale};
use bitmma_engine::arithmetic::parameter::{MAX_FRACTION_BITS, MAX_LENGTH, Missing, Parameter, Range, Value};
use bitmma_engine::arithmetic::{
    Chains, Conversion, InputFlush, Lowering, Model, Operation, Order, ResultFlush,
};
use bitmma_engine::formats::{BlockScale, FORMATS, Format, Rounding, UE4M3, UE8M0, cases::notable_codes};

fn format(u: &mut Unstructured<'_>, wanted: impl Fn(&Format) -> bool) -> Result<Format> {
    let formats: Vec<Format> = FORMATS.into_iter().filter(|format| wanted(format)).collect();
    u.choose(&formats).copied()
}

/// Formats an operand may have, FP64 seldom: it makes the second implementation slow.
fn operand(u: &mut Unstructured<'_>) -> Result<Format> {
    let wide = u.ratio(1, 8)?;
    format(u, |format| format.is_signed() && (wide || format.bits() <= 32))
}

pub(crate) fn rounding(u: &mut Unstructured<'_>) -> Result<Rounding> {
    u.choose(&Rounding::ALL).map(|(rounding, _)| *rounding)
}

fn conversion(u: &mut Unstructured<'_>) -> Result<Conversion> {
    let flush = if u.ratio(1, 4)? { u.choose(&ResultFlush::ALL)?.0 } else { ResultFlush::Never };
    let saturate = u.ratio(1, 4)?;
    Ok(Conversion {
        flush,
        saturate,
        ..Conversion::new(rounding(u)?, format(u, |format| format.infinity_code().is_some())?)
    })
}

/// An exponent that zeros bring: none, near the formats' own, or anywhere it may be.
fn zero_exponent(u: &mut Unstructured<'_>) -> Result<Option<i32>> {
    Ok(match u.int_in_range(0..=5)? {
        0 | 1 => None,
        2 => Some(u.int_in_range(-2000..=2000)?),
        3 => Some(u.int_in_range(-65536..=65536)?),
        _ => Some(u.int_in_range(-160..=20)?),
    })
}

fn length(u: &mut Unstructured<'_>) -> Result<usize> {
    Ok(if u.ratio(1, 40)? { u.int_in_range(1..=65536)? } else { u.int_in_range(1..=16)? })
}

fn flush(u: &mut Unstructured<'_>) -> Result<InputFlush> {
    Ok(match u.int_in_range(0..=7)? {
        0 => InputFlush::Signed,
        1 => InputFlush::Positive,
        _ => InputFlush::Never,
    })
}

/// An operation of any family, its parameters anywhere in their ranges.
fn operation(u: &mut Unstructured<'_>) -> Result<Operation> {
    let family = u.choose_iter(FAMILIES.iter())?;
    let mut operation = family.example;
    if operation.has(Parameter::Group) {
        let group = u.int_in_range(1..=8)?;
        let length = group * u.int_in_range(1..=4)?;
        operation = operation.with_length(length).with(Parameter::Group, Value::Number(group as i128));
    } else if operation.has(Parameter::MaxLength) {
        operation = operation.with_length(family.multiple * length(u)?.min(MAX_LENGTH / family.multiple));
    }
    for (parameter, _) in family.example.parameters() {
        let row = parameter.row();
        let number = match row.range {
            // drawn above
            Range::Length | Range::Divisor => continue,
            Range::PowerOfTwo => Some(1 << u.int_in_range(0..=4)?),
            Range::Bits => {
                let given = !matches!(row.missing, Missing::As(_)) || u.ratio(1, 4)?;
                if given { Some(u.int_in_range(0..=i128::from(MAX_FRACTION_BITS))?) } else { None }
            }
            Range::Exponent => zero_exponent(u)?.map(i128::from),
            // any is allowed; beyond this the second implementation would write out 2^2147483647
            Range::Limit => {
                if u.arbitrary()? {
                    Some(u.int_in_range(-5000..=5000)?)
                } else {
                    None
                }
            }
            Range::Rounding => {
                operation = operation.with(parameter, Value::Rounding(rounding(u)?));
                continue;
            }
            Range::Flag => {
                operation = operation.with(parameter, Value::Flag(u.arbitrary()?));
                continue;
            }
        };
        operation = operation.with(parameter, number.map_or(Value::None, Value::Number));
    }
    Ok(operation)
}

fn order(u: &mut Unstructured<'_>) -> Result<Order> {
    Ok(match u.int_in_range(0..=2)? {
        0 => Order::Sequential,
        1 => Order::Reversed,
        _ => {
            let run = u.int_in_range(1..=3)?;
            Order::Interleaved { run, period: run * u.int_in_range(1..=3)? }
        }
    })
}

fn lowering(u: &mut Unstructured<'_>) -> Result<Lowering> {
    let some = |u: &mut Unstructured<'_>| u.ratio(1, 3);
    let widened = |u: &mut Unstructured<'_>| format(u, |_| true);
    let chains =
        |u: &mut Unstructured<'_>| Ok(Chains { count: u.int_in_range(2..=4)?, merge: conversion(u)? });
    Ok(Lowering {
        widen_operands: if some(u)? { Some(widened(u)?) } else { None },
        widen_accumulator: if some(u)? { Some(widened(u)?) } else { None },
        order: order(u)?,
        chains: if some(u)? { Some(chains(u)?) } else { None },
        add_accumulator_last: if some(u)? { Some(conversion(u)?) } else { None },
        narrow_output: if some(u)? { Some(conversion(u)?) } else { None },
    })
}

/// Any model that its own check accepts; `None` where the dice fell on one that it refuses.
pub(crate) fn model(u: &mut Unstructured<'_>) -> Result<Option<Model>> {
    let operation = operation(u)?;
    let conversion = conversion(u)?;
    let (a, b) = (operand(u)?, operand(u)?);
    let family = operation.family();
    let c = if family.adds_in_rho { conversion.container() } else { operand(u)? };
    let mut model = Model::new(a, b, c, operation, conversion);
    if operation.is_scaled() {
        // infinity under a scale factor of zero: the specification is silent, for only FP4 is scaled by
        // UE4M3, and it has no infinity
        let may_be_zero =
            family.scale == Scale::Numbers && a.infinity_code().is_none() && b.infinity_code().is_none();
        let format = if may_be_zero && u.arbitrary()? { UE4M3 } else { UE8M0 };
        model.scale = Some(BlockScale { format, size: operation.group() * u.int_in_range(1..=4)? });
    } else if u.arbitrary()? {
        model.lowering = lowering(u)?;
    }
    model.d = model.last_conversion().container();
    (model.flush_operands, model.flush_accumulator) = (flush(u)?, flush(u)?);
    if u.ratio(1, 4)? {
        let nans = notable_codes(&model.d);
        let nans: Vec<u64> = nans
            .into_iter()
            .filter(|code| {
                bitmma_engine::formats::decode(&model.d, *code).class == bitmma_engine::formats::Class::Nan
            })
            .collect();
        model.nan_code = Some(*u.choose(&nans)?);
    }
    Ok(model.validate().is_ok().then_some(model))
}

/// A K that the model takes, at most a few dozen; `None` if there is none that short.
pub(crate) fn k(u: &mut Unstructured<'_>, model: &Model) -> Result<Option<usize>> {
    let taken: Vec<usize> =
        (1..=36).filter(|k| bitmma_engine::arithmetic::Prepared::new(model, *k).is_ok()).collect();
    if taken.is_empty() { Ok(None) } else { u.choose(&taken).map(|k| Some(*k)) }
}

/// A code: any bits, a notable one, zero, or a number near a chosen exponent.
fn code(u: &mut Unstructured<'_>, format: &Format, centre: i32) -> Result<u64> {
    Ok(match u.int_in_range(0..=7)? {
        0 => u.arbitrary::<u64>()? & format.max_code(),
        1 => *u.choose(&notable_codes(format))?,
        2 => u.arbitrary::<u64>()? & format.sign_bit(),
        _ => {
            let exponent = centre + u.int_in_range(-4..=4)?;
            let low = format.fraction_bits + format.padding_bits;
            let largest = (format.max_finite_code() >> low) as i32;
            let field = (exponent + format.bias).clamp(0, largest) as u64;
            let fraction = match u.int_in_range(0..=2)? {
                0 => 0,
                1 => ((1 << format.fraction_bits) - 1) << format.padding_bits,
                _ => u.arbitrary::<u64>()? & ((1 << low) - 1),
            };
            let magnitude = (field << low | fraction).min(format.max_finite_code());
            magnitude | (u.arbitrary::<u64>()? & format.sign_bit())
        }
    })
}

/// Operands whose numbers lie together in some part of their range, now and then elsewhere.
pub(crate) fn case(u: &mut Unstructured<'_>, model: &Model, k: usize) -> Result<Case> {
    let centre = if u.arbitrary()? { 0 } else { u.int_in_range(-160..=130)? };
    let mut vector = |format: &Format, length: usize, centre: i32| -> Result<Vec<u64>> {
        (0..length).map(|_| code(u, format, centre)).collect()
    };
    let a = vector(&model.a, k, centre)?;
    let b = vector(&model.b, k, centre)?;
    let c = vector(&model.c, 1, 2 * centre)?[0];
    let (scale_a, scale_b) = match model.scale {
        None => (Vec::new(), Vec::new()),
        Some(scale) => {
            let count = k / scale.size;
            (vector(&scale.format, count, -centre)?, vector(&scale.format, count, -centre)?)
        }
    };
    Ok(Case { a, b, c, scale_a, scale_b })
}
