//! Rivals of a model, and inputs on which they part.

use std::collections::{HashMap, HashSet};

use bitmma::arithmetic::{FusedSum, Prepared, RoundedSum};
use bitmma::{Case, Model};
use bitmma_verify::inputs::{Family, Formats, case};
use rayon::prelude::*;

use super::space::{Parameter, Space, fused_mut, rounded_mut};
use super::{Observations, answer, answers};
use crate::inputs::{Kind, directed};
use crate::numbers::same;
use crate::separate::Landmarks;

/// Parameters that are varied together to see what else a model could be: each by itself, and those that
/// hide each other.
pub(crate) fn neighbourhood() -> Vec<Vec<Parameter>> {
    use Parameter as P;
    const TOGETHER: [&[Parameter]; 30] = [
        &[P::FractionBits, P::TermRounding],
        &[P::SumFractionBits, P::Renormalize],
        &[P::SumRounding, P::TermRounding],
        &[P::FlushOperands, P::FlushAccumulator, P::WidenOperands, P::WidenAccumulator],
        &[P::FlushResult, P::FlushAccumulator],
        &[P::FlushResult, P::Conversion],
        &[P::FlushResult, P::ZeroExponent],
        &[P::FlushAccumulator, P::ZeroExponent],
        &[P::FlushAccumulator, P::ZeroAccumulator],
        &[P::FlushResult, P::ZeroAccumulator],
        &[P::FractionBits, P::AccumulatorBits],
        &[P::AddLast, P::Chains],
        &[P::ZeroExponent, P::WidenOperands],
        &[P::ZeroAccumulator, P::WidenOperands],
        &[P::FractionBits, P::WidenOperands],
        &[P::SumFractionBits, P::WidenOperands],
        &[P::ZeroExponent, P::TermRounding],
        &[P::ZeroExponent, P::ConversionRounding],
        &[P::ZeroAccumulator, P::SumRounding],
        &[P::ZeroAccumulator, P::ConversionRounding],
        &[P::FractionBits, P::ConversionRounding],
        &[P::SumFractionBits, P::SumRounding],
        &[P::SumFractionBits, P::ConversionRounding],
        &[P::TermRounding, P::ConversionRounding],
        &[P::SumRounding, P::ConversionRounding],
        &[P::Group, P::TermRounding],
        &[P::Length, P::Order],
        &[P::Family, P::FractionBits],
        &[P::AddLast, P::Narrow],
        &[P::Conversion, P::Narrow],
    ];
    let alone = P::ALL.into_iter().map(|parameter| vec![parameter]);
    alone.chain(TOGETHER.into_iter().map(<[Parameter]>::to_vec)).collect()
}

/// Models that differ from `model` in one parameter, or in two that hide each other, and that contradict none of the
/// cases that models are fitted to.
pub(crate) fn rivals(space: &Space, observations: &Observations, model: &Model) -> Vec<Model> {
    let mut seen: HashSet<Model> = HashSet::from([space.canonical(model)]);
    let mut found: Vec<Model> = Vec::new();
    for group in neighbourhood() {
        let mut candidates: Vec<Model> = Vec::new();
        for candidate in space.vary(model, &group) {
            let candidate = space.canonical(&candidate);
            if seen.insert(candidate.clone()) {
                candidates.push(candidate);
            }
        }
        found.extend(observations.survivors(candidates, observations.fitting()));
    }
    found
}

/// Of rivals that differ in numbers only, those with the least and the greatest of each: what tells one between them
/// tells one of those too.
pub(crate) fn outermost(rivals: &[Model]) -> Vec<Model> {
    let mut runs: HashMap<Model, Vec<(usize, [i32; NUMBERS])>> = HashMap::new();
    for (index, rival) in rivals.iter().enumerate() {
        let (rest, numbers) = numbers(rival);
        runs.entry(rest).or_default().push((index, numbers));
    }
    let mut kept: Vec<usize> = Vec::new();
    for run in runs.values() {
        for at in 0..NUMBERS {
            let number = |member: &&(usize, [i32; NUMBERS])| (member.1[at], member.0);
            kept.extend(run.iter().min_by_key(number).map(|(index, _)| *index));
            kept.extend(run.iter().max_by_key(number).map(|(index, _)| *index));
        }
    }
    kept.sort_unstable();
    kept.dedup();
    kept.into_iter().map(|index| rivals[index].clone()).collect()
}

/// Numbers of a model that one can go up and down.
const NUMBERS: usize = 4;

/// The model without its numbers of bits kept, its exponent of zero terms and its limit of products, and those: F, F_c or
/// F2, the exponent, the limit; the least where there is none.
fn numbers(model: &Model) -> (Model, [i32; NUMBERS]) {
    let mut rest = model.clone();
    let or_least = |number: Option<i32>| number.unwrap_or(i32::MIN);
    let mut numbers = [i32::MIN; NUMBERS];
    if let Some(sum) = fused_mut(&mut rest.operation) {
        numbers =
            [sum.fraction_bits as i32, sum.accumulator_bits() as i32, or_least(sum.zero_exponent), i32::MIN];
        *sum = FusedSum { fraction_bits: 0, accumulator_fraction_bits: None, zero_exponent: None, ..*sum };
    } else if let Some(sum) = rounded_mut(&mut rest.operation) {
        numbers = [
            sum.fraction_bits as i32,
            sum.sum_fraction_bits as i32,
            or_least(sum.zero_accumulator_exponent),
            or_least(sum.product_overflow),
        ];
        *sum = RoundedSum {
            fraction_bits: 0,
            sum_fraction_bits: 0,
            zero_accumulator_exponent: None,
            product_overflow: None,
            ..*sum
        };
    }
    (rest, numbers)
}

/// Inputs tried in one go.
pub(crate) const POOL: usize = 4096;

/// A pool of inputs, of all kinds; ten in sixteen are constructed from where these models cut, tie and end.
pub(crate) fn pool(formats: &Formats, k: usize, seed: u64, round: u64, models: &[Model]) -> Vec<Case> {
    let marks = Landmarks::of(formats, k, models.iter());
    (0..POOL)
        .into_par_iter()
        .with_min_len(64)
        .map(|index| {
            let index = index as u64;
            let number = round * POOL as u64 + index;
            match index % 16 {
                0 | 1 => directed(formats, k, Kind::Dense, seed, number),
                2 => directed(formats, k, Kind::Any, seed, number),
                3..=5 => case(*formats, k, Family::ALL[(number / 16 % 10) as usize], seed, number),
                _ => marks.case(seed, number),
            }
        })
        .collect()
}

/// Rivals that are gone through at once.
const AT_ONCE: usize = 32;

/// One case of the pool for each rival that it tells from the model, fewer where one tells several.
pub(crate) fn splitting(space: &Space, model: &Model, rivals: &[Model], pool: &[Case]) -> Vec<Case> {
    let k = space.signature().k;
    let d = space.signature().d;
    let Some(expected) = answers(model, k, pool) else { return Vec::new() };
    let first_of = |rival: &Model, which: &[usize]| -> Option<usize> {
        let prepared = Prepared::new(rival, k).ok()?;
        which.iter().copied().find(|&index| !same(&d, answer(&prepared, &pool[index]), expected[index]))
    };
    let all: Vec<usize> = (0..pool.len()).collect();
    let mut chosen: Vec<usize> = Vec::new();
    for rivals in rivals.chunks(AT_ONCE) {
        let found: Vec<Option<usize>> = rivals
            .par_iter()
            .map(|rival| {
                let told = first_of(rival, &chosen).is_some();
                if told { None } else { first_of(rival, &all) }
            })
            .collect();
        for (rival, index) in rivals.iter().zip(found) {
            if let Some(index) = index
                && first_of(rival, &chosen).is_none()
            {
                chosen.push(index);
            }
        }
    }
    chosen.into_iter().map(|index| pool[index].clone()).collect()
}
