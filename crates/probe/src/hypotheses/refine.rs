//! Rivals of a model, and inputs on which they part.

use std::collections::{HashMap, HashSet};

use bitmma_engine::arithmetic::Prepared;
use bitmma_engine::arithmetic::parameter::{Missing, Range, Value};
use bitmma_engine::threads::prelude::*;
use bitmma_engine::{Case, Model};
use bitmma_verify::inputs::{Family, Formats, case};

use super::space::{Coordinate, Space};
use super::{Observations, answer, answers};
use crate::inputs::{Kind, directed};
use crate::numbers::same;
use crate::separate::{Landmarks, separating};

/// Parameters that are varied together to see what else a model could be: each by itself, and those that
/// hide each other.
pub(crate) fn neighbourhood() -> Vec<Vec<Coordinate>> {
    use Coordinate as P;
    const TOGETHER: [&[Coordinate]; 30] = [
        &[P::F, P::TERM_ROUNDING],
        &[P::F2, P::RENORMALIZE],
        &[P::SUM_ROUNDING, P::TERM_ROUNDING],
        &[P::FlushOperands, P::FlushAccumulator, P::WidenOperands, P::WidenAccumulator],
        &[P::FlushResult, P::FlushAccumulator],
        &[P::FlushResult, P::Conversion],
        &[P::FlushResult, P::E_ZERO],
        &[P::FlushAccumulator, P::E_ZERO],
        &[P::FlushAccumulator, P::E_ZERO_C],
        &[P::FlushResult, P::E_ZERO_C],
        &[P::F, P::F_C],
        &[P::AddLast, P::Chains],
        &[P::E_ZERO, P::WidenOperands],
        &[P::E_ZERO_C, P::WidenOperands],
        &[P::F, P::WidenOperands],
        &[P::F2, P::WidenOperands],
        &[P::E_ZERO, P::TERM_ROUNDING],
        &[P::E_ZERO, P::ConversionRounding],
        &[P::E_ZERO_C, P::SUM_ROUNDING],
        &[P::E_ZERO_C, P::ConversionRounding],
        &[P::F, P::ConversionRounding],
        &[P::F2, P::SUM_ROUNDING],
        &[P::F2, P::ConversionRounding],
        &[P::TERM_ROUNDING, P::ConversionRounding],
        &[P::SUM_ROUNDING, P::ConversionRounding],
        &[P::G, P::TERM_ROUNDING],
        &[P::Length, P::Order],
        &[P::Family, P::F],
        &[P::AddLast, P::Narrow],
        &[P::Conversion, P::Narrow],
    ];
    let alone = P::all().into_iter().map(|parameter| vec![parameter]);
    alone.chain(TOGETHER.into_iter().map(<[Coordinate]>::to_vec)).collect()
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
        found.extend(observations.survivors(candidates, &observations.fitting));
    }
    found
}

/// Of rivals that differ in numbers only, those with the least and the greatest of each: what tells one between them
/// tells one of those too.
pub(crate) fn outermost(rivals: &[Model]) -> Vec<Model> {
    let mut runs: HashMap<Model, Vec<(usize, Vec<i32>)>> = HashMap::new();
    for (index, rival) in rivals.iter().enumerate() {
        let (rest, numbers) = numbers(rival);
        runs.entry(rest).or_default().push((index, numbers));
    }
    let mut kept: Vec<usize> = Vec::new();
    for run in runs.values() {
        kept.push(run[0].0);
        for at in 0..run[0].1.len() {
            let number = |member: &&(usize, Vec<i32>)| (member.1[at], member.0);
            kept.extend(run.iter().min_by_key(number).map(|(index, _)| *index));
            kept.extend(run.iter().max_by_key(number).map(|(index, _)| *index));
        }
    }
    kept.sort_unstable();
    kept.dedup();
    kept.into_iter().map(|index| rivals[index].clone()).collect()
}

/// The model without the numbers that can go up and down, and those numbers: bits that are kept, exponents of zeros,
/// limits of products; the least where there is none.
fn numbers(model: &Model) -> (Model, Vec<i32>) {
    let (mut rest, mut numbers) = (model.operation, Vec::new());
    for (parameter, value) in model.operation.parameters() {
        let row = parameter.row();
        if !matches!(row.range, Range::Bits | Range::Exponent | Range::Limit) {
            continue;
        }
        let own = match (value, row.missing) {
            (Value::None, Missing::As(other)) => model.operation.number(other),
            _ => model.operation.number(parameter),
        };
        numbers.push(own.unwrap_or(i32::MIN));
        rest = rest.with(parameter, Value::Number(0)).with(parameter, Value::None);
    }
    (Model { operation: rest, ..model.clone() }, numbers)
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

/// One case of the pool for each rival that it tells from the model, fewer where one tells several.
pub(crate) fn splitting(space: &Space, model: &Model, rivals: &[Model], pool: &[Case]) -> Vec<Case> {
    let k = space.signature.k;
    let d = space.signature.d;
    let Some(expected) = answers(model, k, pool) else { return Vec::new() };
    one_each(space, model, rivals, |rival| {
        let prepared = Prepared::new(rival, k).ok()?;
        let tells = |(case, expected): &(&Case, &u64)| !same(&d, answer(&prepared, case), **expected);
        pool.iter().zip(&expected).find(tells).map(|(case, _)| case.clone())
    })
}

/// A case constructed for each rival and the model, where `tries` of them are enough; fewer where one tells several.
pub(crate) fn constructed(
    space: &Space,
    model: &Model,
    rivals: &[Model],
    (seed, tries): (u64, u64),
) -> Vec<Case> {
    let formats = Formats::from(&space.signature);
    let k = space.signature.k;
    one_each(space, model, rivals, |rival| separating(&formats, k, [model, rival], (seed, tries)))
}

/// Rivals that are gone through at once.
const AT_ONCE: usize = 32;

/// What `find` finds for each rival, except for those that a case found before tells from the model.
fn one_each(
    space: &Space,
    model: &Model,
    rivals: &[Model],
    find: impl Fn(&Model) -> Option<Case> + Sync,
) -> Vec<Case> {
    let k = space.signature.k;
    let d = space.signature.d;
    let Ok(prepared) = Prepared::new(model, k) else { return Vec::new() };
    let mut chosen: Vec<Case> = Vec::new();
    let mut expected: Vec<u64> = Vec::new();
    let told = |rival: &Model, chosen: &[Case], expected: &[u64]| {
        let Ok(rival) = Prepared::new(rival, k) else { return true };
        chosen.iter().zip(expected).any(|(case, &expected)| !same(&d, answer(&rival, case), expected))
    };
    for rivals in rivals.chunks(AT_ONCE) {
        let found: Vec<Option<Case>> = rivals
            .par_iter()
            .map(|rival| if told(rival, &chosen, &expected) { None } else { find(rival) })
            .collect();
        for (rival, case) in rivals.iter().zip(found) {
            if let Some(case) = case
                && !told(rival, &chosen, &expected)
            {
                expected.push(answer(&prepared, &case));
                chosen.push(case);
            }
        }
    }
    chosen
}
