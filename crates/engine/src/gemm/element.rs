//! The definition of a product: one element of D, step by step, in whole numbers.
//!
//! Nothing here is fast and nothing uses the processor's floating-point numbers. The kernels are compared with it bit for bit.

use bitmma_arithmetic::Prepared;
use bitmma_arithmetic::line::{Line, chain};
use bitmma_arithmetic::run::Side;
use bitmma_formats::{F32, Format};
use bitmma_kernel::{ScaleBlocks, ScaleOrder};

use super::Given;
use super::convert::{Converter, OutputConversion};
use super::finish::Finish;
use super::schedule::{AddC, Chain, First, Merge, MergeOrder, MergeType, Schedule, Sums};
use super::target::Target;
use super::{exact, simt};
use crate::error::Error;
use crate::matrix::Matrix;

/// The values of every part of one element of D, and below each the results of its chains, slice by slice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Element {
    /// Part by part, slice by slice: the results of the chains, as codes of W.
    pub chains: Vec<Vec<Vec<u64>>>,
    /// The value of each part, a code of W.
    pub parts: Vec<u64>,
    /// The merged number, a code of W.
    pub merged: u64,
    /// The code of D.
    pub code: u64,
}

/// One element of D of operands that fit the schedule, and the numbers on the way.
pub fn element(
    target: Option<&Target>,
    schedule: &Schedule,
    given: &Given<'_>,
    (block, row, column): (usize, usize, usize),
) -> Result<Element, Error> {
    let working = schedule.working;
    let a: Vec<u64> = given.a.view.row(block, row).collect();
    let b: Vec<u64> = given.b.view.column(block, column).collect();
    let c = given.c.filter(|_| schedule.reads_c()).map(|c| (c.format(), c.get(block, row, column)));
    let c_lifted = c.map(|(format, code)| exact::lift(working, &format, code));
    let finish = Finish::new(schedule, to_result(target, schedule, 0)?);
    let (parts, promoted) = match &schedule.sums {
        Sums::Threads(simt) => {
            let merged = simt::element(simt, (given.a.format, &a), (given.b.format, &b));
            let code = finish.code(merged, c_lifted);
            return Ok(Element { chains: vec![], parts: vec![merged], merged, code });
        }
        Sums::Chains { parts, promoted } => (parts, *promoted),
    };
    let Some(target) = target else { return Err(no_instruction()) };
    let model = target.model();
    let prepared = Prepared::new(model, target.step())?;
    let factors = |of: Option<&Matrix>, line: &dyn Fn(&Matrix) -> Vec<u64>| match model.scale {
        Some(scale) => of.map(|of| (line(of), scale)),
        None => None,
    };
    let scale_a = factors(given.scale_a, &|of| of.row(block, row).collect());
    let scale_b = factors(given.scale_b, &|of| of.column(block, column).collect());
    let run = |along: &Chain, start: u64| {
        let line = |side, codes: &[u64], scales: &Option<(Vec<u64>, bitmma_formats::BlockScale)>| {
            let mut all = Vec::new();
            for piece in along {
                all.extend_from_slice(&codes[piece.range.clone()]);
                all.resize(all.len() + piece.padded - piece.range.len(), 0);
            }
            all.resize(all.len().next_multiple_of(target.step()), 0);
            let first = along.first().map_or(0, |piece| piece.range.start);
            let scales = scales.as_ref().map(|(scales, scale)| {
                let places = first / scale.size..(first + all.len()) / scale.size;
                let one = scale.format.one_code();
                places.map(|place| scales.get(place).copied().unwrap_or(one)).collect::<Vec<u64>>()
            });
            Line::new(&prepared, side, &all, scales)
        };
        chain(&prepared, &line(Side::A, &a, &scale_a), &line(Side::B, &b, &scale_b), start)
    };
    if schedule.is_plain() {
        let own = to_d(target, working, 0);
        let d = match schedule.only_chain() {
            Some(chain) => run(chain, c.map_or(0, |(_, code)| code)),
            None => c.map_or(0, |(format, code)| {
                Converter::new(format, own.to, model.emitted_nan(), 0).by_definition(code)
            }),
        };
        let code = match schedule.output {
            Some(to) => Converter::new(model.d, to, None, 0).by_definition(d),
            None => d,
        };
        let merged = exact::lift(working, &model.d, d);
        let chains = vec![vec![schedule.only_chain().iter().map(|_| merged).collect()]];
        return Ok(Element { chains, parts: vec![merged], merged, code });
    }
    let scaled = |sum: u64, (place, d): (usize, u64)| match schedule.scale_blocks {
        Some(blocks) => scaled(blocks, given, (block, row, column, place), sum, d),
        None => exact::add(working, sum, d),
    };
    let along_k = schedule.scale_blocks.is_some_and(|blocks| blocks.k > 0);
    let start = match schedule.c {
        AddC::Sum => c_lifted.unwrap_or(0),
        _ => 0,
    };
    let (mut chains, mut values) = (Vec::new(), Vec::new());
    for part in parts {
        let mut results: Vec<Vec<u64>> = Vec::new();
        for slice in part {
            let of_chain = |chain: &Chain| exact::lift(working, &model.d, run(chain, 0));
            results.push(slice.iter().map(of_chain).collect());
        }
        let value = |(slice, results): (&Vec<Chain>, &Vec<u64>)| match promoted {
            true => {
                let places = slice.iter().map(|chain| schedule.block_of(chain));
                places.zip(results).fold(start, |sum, (place, &d)| match along_k {
                    true => scaled(sum, (place, d)),
                    false => exact::add(working, sum, d),
                })
            }
            false => results.first().copied().unwrap_or(0),
        };
        let mut slices = part.iter().zip(&results).map(value);
        let first = slices.next().unwrap_or(0);
        values.push(slices.fold(first, |sum, value| exact::add(working, sum, value)));
        chains.push(results);
    }
    let mut merged = match values.is_empty() {
        true => start,
        false => merged(
            &schedule.merge,
            working,
            &values,
            &schedule.output.map_or(model.d, |to| to.conversion.format),
        ),
    };
    if schedule.scale_blocks.is_some() && !along_k && !parts.is_empty() {
        merged = scaled(0, (0, merged));
    }
    Ok(Element { code: finish.code(merged, c_lifted), chains, parts: values, merged })
}

/// The code of D that a merged number becomes, without C.
pub fn finished(schedule: &Schedule, word: u64) -> Result<u64, Error> {
    Ok(Finish::new(schedule, to_result(None, schedule, 0)?).code(word, None))
}

/// That a schedule of chains has nothing to run along them.
pub(super) fn no_instruction() -> Error {
    Error::GemmOption {
        option: "schedule",
        value: "of chains".to_owned(),
        allowed: "it needs an instruction or a model".to_owned(),
    }
}

/// From W into D as the instruction has it.
pub(super) fn to_d(target: &Target, working: Format, count: usize) -> Converter {
    let nan = target.model().emitted_nan();
    Converter::new(working, OutputConversion::nearest(target.model().d), nan, count)
}

/// From W into the result.
pub(super) fn to_result(
    target: Option<&Target>,
    schedule: &Schedule,
    count: usize,
) -> Result<Converter, Error> {
    match (schedule.output, target) {
        (Some(to), _) => Ok(Converter::new(schedule.working, to, None, count)),
        (None, Some(target)) => Ok(to_d(target, schedule.working, count)),
        (None, None) => Err(no_instruction()),
    }
}

/// A sum and a block's result times its two scales.
fn scaled(
    blocks: ScaleBlocks,
    given: &Given<'_>,
    (block, row, column, place): (usize, usize, usize, usize),
    sum: u64,
    d: u64,
) -> u64 {
    let (Some(of_a), Some(of_b)) = (given.scale_a, given.scale_b) else { return sum };
    let a = of_a.get(block, row / blocks.rows, place);
    let b = of_b.get(block, place, column / blocks.columns);
    let multiply = |x, y| exact::multiply(F32, x, y);
    let (x, y) = match blocks.order {
        ScaleOrder::Product => (d, multiply(a, b)),
        ScaleOrder::AFirst => (multiply(d, a), b),
        ScaleOrder::BFirst => (multiply(d, b), a),
    };
    if blocks.fma { exact::multiply_add(F32, x, y, sum) } else { exact::add(F32, sum, multiply(x, y)) }
}

/// The merged number of parts (rules 15 to 19), in W; `d` is D's format. +0 without a part.
pub fn merged(merge: &Merge, working: Format, parts: &[u64], d: &Format) -> u64 {
    let add = |x, y| exact::add(working, x, y);
    let there = Converter::new(working, OutputConversion::nearest(*d), None, 0);
    let through = |word| exact::lift(working, d, there.by_definition(word));
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
            let partial = |part| if kind == MergeType::DPartials { through(part) } else { part };
            let round = |sum| if kind == MergeType::D { through(sum) } else { sum };
            let start = match merge.start {
                First::First => partial(first),
                First::Zero => add(0, partial(first)),
            };
            rest.iter().fold(round(start), |sum, &part| round(add(sum, partial(part))))
        }
    }
}
