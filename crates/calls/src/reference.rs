//! The definition: one element of D, step by step, in whole numbers.
//!
//! Nothing here is fast and nothing uses the processor's floating-point numbers. The executor is held to this path
//! bit for bit.
#![deny(clippy::float_arithmetic)]

use bitmma_engine::arithmetic::{fma, run};
use bitmma_engine::formats::{Class, F32, Format, Overflow, Real, Rounding, decode, encode};

use crate::call::Call;
use crate::deal::{Chain, Layout, Slice};
use crate::epilogue::{Finish, nan_code, overflow};
use crate::error::Error;
use crate::fp32::exact::{RNE, add, canonical, fp32, lift, multiply, multiply_add};
use crate::plan::{BlockOrder, Blocks, First, Merge, MergeOrder, MergeType, Multiply, Plan, Through};

/// The code of an FP32 number in another format, to nearest even.
fn narrowed(word: u32, format: &Format, overflow: Overflow) -> u64 {
    let value = decode(&F32, u64::from(word));
    let real = Real {
        negative: value.negative,
        significand: u128::from(value.significand),
        exponent: value.exponent - F32.fraction_bits as i32,
        inexact: false,
    };
    stored(value.class, real, format, overflow)
}

/// The code of a value, to nearest even.
fn stored(class: Class, real: Real, format: &Format, overflow: Overflow) -> u64 {
    let beyond = Real { significand: 1, exponent: 1 << 20, ..real };
    match class {
        Class::Nan => nan_code(format),
        Class::Infinity => encode(format, beyond, Rounding::NearestEven, overflow),
        Class::Zero => encode(format, Real::zero(real.negative), Rounding::NearestEven, overflow),
        Class::Finite => encode(format, real, Rounding::NearestEven, overflow),
    }
}

/// An FP32 number rounded into D's type and lifted back.
fn through(word: u32, d: &Format) -> u32 {
    lift(d, narrowed(word, d, Overflow::Ieee))
}

/// The merged number of parts (rules 15 to 19); +0 without a part.
pub fn merged(merge: &Merge, parts: &[u32], d: &Format) -> u32 {
    let Some((&first, rest)) = parts.split_first() else { return 0 };
    match (merge.order, merge.kind) {
        (MergeOrder::Pairwise, _) if parts.len() > 1 => {
            let (count, half) = (parts.len(), parts.len().div_ceil(2));
            let slot =
                |i: usize| if i + half < count - 1 { add(parts[i], parts[i + half]) } else { parts[i] };
            // with two parts slot 0 is p0, and with one more than pairs the last slot has no partner
            (0..half).map(slot).fold(parts[count - 1], add)
        }
        (_, kind) => {
            let partial = |part: u32| if kind == MergeType::DPartials { through(part, d) } else { part };
            let round = |sum: u32| if kind == MergeType::D { through(sum, d) } else { sum };
            let start = match merge.start {
                First::First => partial(first),
                First::Zero => add(0, partial(first)),
            };
            rest.iter().fold(round(start), |sum, &part| round(add(sum, partial(part))))
        }
    }
}

/// The code of D that a merged number becomes (rules 20 to 24).
pub fn finish(finish: &Finish, word: u32) -> u64 {
    let (epilogue, alpha, out) = (&finish.epilogue, finish.alpha, finish.out());
    let overflow = overflow(finish);
    if epilogue.through == Through::None && finish.result.is_none() && epilogue.multiply != Multiply::None {
        // the exact product, rounded once
        let (x, y) = (fp32(word).value, fp32(alpha).value);
        let product = fma::multiply(&fp32(word), &fp32(alpha), RNE);
        let class = match decode(&F32, product).class {
            class @ (Class::Nan | Class::Infinity) if !(x.is_finite() && y.is_finite()) => class,
            _ if x.significand == 0 || y.significand == 0 => Class::Zero,
            _ => Class::Finite,
        };
        let zero = class == Class::Zero && epilogue.multiply != Multiply::Mul;
        let real = Real {
            negative: x.negative != y.negative && !zero,
            significand: u128::from(x.significand) * u128::from(y.significand),
            exponent: x.exponent + y.exponent - 2 * F32.fraction_bits as i32,
            inexact: false,
        };
        return stored(class, real, &out, overflow);
    }
    let scaled = match epilogue.multiply {
        Multiply::FmaZero => multiply_add(word, alpha, 0),
        Multiply::Mul => multiply(word, alpha),
        Multiply::MulAdd => add(multiply(word, alpha), 0),
        Multiply::None => word,
    };
    let scaled = finish.result.map_or(scaled, |result| multiply(scaled, result));
    narrowed(scaled, &out, overflow)
}

/// The values of every part of one element of D, and below each the results of its chains, slice by slice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Element {
    /// Part by part, slice by slice: the results of the chains, as FP32 codes.
    pub chains: Vec<Vec<Vec<u32>>>,
    /// The value of each part.
    pub parts: Vec<u32>,
    /// The merged number.
    pub merged: u32,
    /// The code of D.
    pub code: u64,
}

/// One element of D, and what became of it on the way.
pub fn element(plan: &Plan, call: &Call<'_>, row: usize, column: usize) -> Result<Element, Error> {
    let finish_with = Finish::new(&plan.epilogue, call.scales, call.out)?;
    let a: Vec<u64> = call.a.row(0, row).collect();
    let b: Vec<u64> = call.b.column(0, column).collect();
    let none = Element { chains: vec![], parts: vec![], merged: 0, code: 0 };
    if a.is_empty() {
        return Ok(none);
    }
    if let Some(simt) = &plan.simt {
        let merged = crate::simt::reference(simt, &lifted(call.a.format(), &a), &lifted(call.b.format(), &b));
        return Ok(Element { merged, code: finish(&finish_with, merged), parts: vec![merged], ..none });
    }
    let Some(target) = plan.target()? else { return Ok(none) };
    let layout = Layout::new(plan, a.len(), target.step())?;
    let chain = |chain: &Chain| -> Result<u32, Error> {
        let gather = |from: &[u64]| {
            let mut codes = Vec::new();
            for piece in chain {
                codes.extend_from_slice(&from[piece.range.clone()]);
                codes.resize(codes.len() + piece.padded - piece.range.len(), 0);
            }
            codes.resize(codes.len().next_multiple_of(target.step()), 0);
            codes
        };
        let (a, b) = (gather(&a), gather(&b));
        let mut sum = 0;
        for (a, b) in a.chunks(target.step()).zip(b.chunks(target.step())) {
            let operands = run::Operands { a, b, c: sum, scale_a: &[], scale_b: &[] };
            sum = target.model().dot(&operands).map_err(bitmma_engine::Error::from)?;
        }
        Ok(canonical(sum))
    };
    let mut chains = Vec::new();
    let mut parts = Vec::new();
    for part in &layout.parts {
        let mut slices = Vec::new();
        for slice in part {
            slices.push(slice.iter().map(chain).collect::<Result<Vec<u32>, Error>>()?);
        }
        let value = |(slice, results): (&Slice, &Vec<u32>)| match &plan.blocks {
            Some(blocks) if blocks.k > 0 => {
                let places = slice.iter().map(|chain| chain[0].range.start / blocks.k);
                scaled(blocks, call, (row, column), places.zip(results))
            }
            _ if layout.promoted => Ok(results.iter().fold(0, |sum, &result| add(sum, result))),
            _ => Ok(results.first().copied().unwrap_or(0)),
        };
        let mut values =
            part.iter().zip(&slices).map(value).collect::<Result<Vec<u32>, Error>>()?.into_iter();
        let first = values.next().unwrap_or(0);
        parts.push(values.fold(first, add));
        chains.push(slices);
    }
    let mut merged = merged(&plan.merge, &parts, &call.out);
    if let Some(blocks) = plan.blocks.as_ref().filter(|blocks| blocks.k == 0) {
        merged = scaled(blocks, call, (row, column), std::iter::once((0, &merged)))?;
    }
    Ok(Element { code: finish(&finish_with, merged), chains, parts, merged })
}

/// The sum of the results of blocks of K, each with its place along K and scaled.
fn scaled<'r>(
    blocks: &Blocks,
    call: &Call<'_>,
    (row, column): (usize, usize),
    results: impl Iterator<Item = (usize, &'r u32)>,
) -> Result<u32, Error> {
    let Some((of_a, of_b)) = call.blocks else {
        return Err(Error::Operands("the plan has [blocks]; the call gives no block scales".to_owned()));
    };
    Ok(results.fold(0, |sum, (index, &d)| {
        let a = of_a.get(0, row / blocks.rows, index) as u32;
        let b = of_b.get(0, index, column / blocks.columns) as u32;
        let (x, y) = match blocks.order {
            BlockOrder::Product => (d, multiply(a, b)),
            BlockOrder::AFirst => (multiply(d, a), b),
            BlockOrder::BFirst => (multiply(d, b), a),
        };
        if blocks.fma { multiply_add(x, y, sum) } else { add(sum, multiply(x, y)) }
    }))
}

fn lifted(format: Format, codes: &[u64]) -> Vec<u32> {
    codes.iter().map(|&code| lift(&format, code)).collect()
}
