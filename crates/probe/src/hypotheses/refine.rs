//! Rivals of a model, and inputs on which they part.

use std::collections::HashSet;

use bitmma::Model;
use bitmma::arithmetic::{Operation, Prepared, RoundedSum};
use bitmma::inputs::{Case, Family, Formats, case};
use rayon::prelude::*;

use super::space::{Parameter, Space, fused_of, rounded_of};
use super::{Observations, answer, answers};
use crate::inputs::{Kind, directed};
use crate::numbers::same;
use crate::separate::Landmarks;

/// Parameters that are varied together to see what else a model could be: each by itself, and those that
/// hide each other.
pub(crate) fn neighbourhood() -> Vec<Vec<Parameter>> {
    use Parameter as P;
    const TOGETHER: [&[Parameter]; 26] = [
        &[P::FractionBits, P::TermRounding],
        &[P::SumFractionBits, P::Renormalize],
        &[P::SumRounding, P::TermRounding],
        &[P::FlushOperands, P::FlushAccumulator, P::WidenOperands, P::WidenAccumulator],
        &[P::FlushResult, P::FlushAccumulator],
        &[P::FlushResult, P::Conversion],
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

/// Of rivals that differ in one number only, the outermost: what tells one between them tells those too.
pub(crate) fn outermost(rivals: &[Model]) -> Vec<Model> {
    let mut runs: Vec<Run> = Vec::new();
    let mut kept = Vec::new();
    for (index, rival) in rivals.iter().enumerate() {
        let Some((rest, number)) = ladder(rival) else {
            kept.push(index);
            continue;
        };
        match runs.iter_mut().find(|run| run.rest == rest) {
            None => runs.push(Run { rest, low: (number, index), high: (number, index) }),
            Some(run) => {
                run.low = run.low.min((number, index));
                run.high = run.high.max((number, index));
            }
        }
    }
    kept.extend(runs.iter().flat_map(|run| [run.low.1, run.high.1]));
    kept.sort_unstable();
    kept.dedup();
    kept.into_iter().map(|index| rivals[index].clone()).collect()
}

/// Rivals that differ in one number only.
struct Run {
    /// What they have in common.
    rest: Model,
    /// The smallest number, and whose it is.
    low: (Option<i32>, usize),
    /// The largest.
    high: (Option<i32>, usize),
}

/// The model without its exponent of zero terms or its limit of products, and that number.
fn ladder(model: &Model) -> Option<(Model, Option<i32>)> {
    let mut rest = model.clone();
    if let Some(sum) = fused_of(&model.operation) {
        let without = bitmma::arithmetic::FusedSum { zero_exponent: None, ..*sum };
        rest.operation = match model.operation {
            Operation::TFdpa(_) => Operation::TFdpa(without),
            Operation::StFdpa(_) => Operation::StFdpa(without),
            Operation::GstFdpa { group, .. } => Operation::GstFdpa { sum: without, group },
            other => other,
        };
        return Some((rest, sum.zero_exponent));
    }
    let sum = rounded_of(&model.operation)?;
    let without = RoundedSum { zero_accumulator_exponent: None, ..*sum };
    rest.operation = match model.operation {
        Operation::TrFdpa(_) => Operation::TrFdpa(without),
        _ => Operation::GtrFdpa(without),
    };
    Some((rest, sum.zero_accumulator_exponent))
}

/// Inputs tried in one go.
pub(crate) const POOL: usize = 4096;

/// A pool of inputs, of all kinds; three in four are constructed from where these models cut, tie and end.
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
                3 => case(*formats, k, Family::ALL[(number / 16 % 10) as usize], seed, number),
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
