//! From nothing to a model: structures ranked, then parameters found one group at a time.

use bitmma::Model;
use bitmma::arithmetic::Operation;
use bitmma::formats::Rounding;
use rayon::prelude::*;

use super::Observations;
use super::space::{Parameter, Space, Structure};

/// A model with how many observations it contradicts.
#[derive(Clone, Debug)]
pub(crate) struct Fitted {
    pub(crate) model: Model,
    pub(crate) contradictions: usize,
}

/// Structures that are followed up at most.
const FOLLOWED: usize = 24;
/// Plain cases on which structures are ranked.
const RANKED_ON: usize = 160;

/// The models that fit best, best first: those that contradict nothing, or the single best one.
pub(crate) fn fit(space: &Space, observations: &Observations) -> Vec<Fitted> {
    let ranked = ranked(space, observations);
    let plain = observations.plain();
    let mut fitted: Vec<Fitted> = Vec::new();
    let mut perfect: Vec<Fitted> = Vec::new();
    for structure in ranked.iter().take(FOLLOWED) {
        let Some(start) = fit_plain(space, observations, structure) else { continue };
        if start.contradictions * 4 > plain.len() {
            fitted.push(Fitted { contradictions: usize::MAX, ..start });
            continue;
        }
        let done = fit_all(space, observations, &start.model);
        if done.contradictions == 0 {
            perfect.push(done);
            if perfect.len() >= 3 {
                break;
            }
        } else {
            fitted.push(done);
        }
    }
    if !perfect.is_empty() {
        return perfect;
    }
    fitted.sort_by_key(|fitted| fitted.contradictions);
    fitted.truncate(3);
    fitted
}

/// Structures, the likeliest first: by how many plain cases they explain with parameters made up.
fn ranked(space: &Space, observations: &Observations) -> Vec<Structure> {
    let plain = observations.plain();
    let stride = plain.len().div_ceil(RANKED_ON).max(1);
    let some: Vec<usize> = plain.iter().copied().step_by(stride).collect();
    let structures = space.structures();
    let best = |structure: &Structure| -> Option<usize> {
        let bits: &[u32] = match structure.operation {
            Operation::Fma
            | Operation::FtzFma { .. }
            | Operation::EFdpa { .. }
            | Operation::FtzAddMul { .. } => &[0],
            _ => &[12, 24, 36],
        };
        let seeds = bits.iter().flat_map(|&bits| {
            [Rounding::TowardZero, Rounding::NearestEven]
                .into_iter()
                .filter_map(move |rounding| space.seed(structure, bits, rounding))
        });
        seeds.filter_map(|seed| observations.contradictions(&seed, &some, usize::MAX)).min()
    };
    let scores: Vec<_> = structures.par_iter().map(best).collect();
    let mut ranked: Vec<(usize, usize)> = scores
        .into_iter()
        .enumerate()
        .filter_map(|(index, score)| score.map(|score| (score, index)))
        .collect();
    ranked.sort_unstable();
    ranked.into_iter().map(|(_, index)| structures[index]).collect()
}

/// Parameters that plain cases show.
fn fit_plain(space: &Space, observations: &Observations, structure: &Structure) -> Option<Fitted> {
    use Parameter as P;
    let groups: &[&[P]] = match structure.operation {
        Operation::Fma | Operation::FtzFma { .. } | Operation::EFdpa { .. } | Operation::FtzAddMul { .. } => {
            &[&[P::Conversion], &[P::AddLast], &[P::Narrow], &[P::Conversion, P::Narrow]]
        }
        Operation::TrFdpa(_) | Operation::GtrFdpa(_) => &[
            &[P::FractionBits, P::TermRounding],
            &[P::SumFractionBits, P::Renormalize],
            &[P::SumRounding, P::TermRounding],
            &[P::Conversion],
            &[P::FractionBits, P::SumFractionBits],
            &[P::AddLast],
            &[P::Narrow],
        ],
        _ => &[&[P::FractionBits, P::TermRounding], &[P::Conversion], &[P::AddLast], &[P::Narrow]],
    };
    let seeds: Vec<Model> = [12, 24, 36]
        .into_iter()
        .flat_map(|bits| {
            [Rounding::TowardZero, Rounding::NearestEven]
                .into_iter()
                .filter_map(move |rounding| space.seed(structure, bits, rounding))
        })
        .collect();
    let (index, contradictions) = observations.best(&seeds, observations.plain(), usize::MAX)?;
    let start = Fitted { model: seeds[index].clone(), contradictions };
    Some(descend(space, observations, start, groups, observations.plain()))
}

/// Parameters that zeros, subnormal numbers and special values show.
pub(crate) fn fit_all(space: &Space, observations: &Observations, model: &Model) -> Fitted {
    use Parameter as P;
    let contradictions =
        observations.contradictions(model, observations.all(), usize::MAX).unwrap_or(usize::MAX);
    let start = Fitted { model: model.clone(), contradictions };
    let groups: &[&[P]] = &[
        &[P::FlushInputs, P::WidenOperands, P::WidenAccumulator],
        &[P::ZeroExponent],
        &[P::ZeroAccumulator],
        &[P::ProductOverflow],
        &[P::Family],
        &[P::FractionBits, P::TermRounding],
        &[P::SumFractionBits, P::Renormalize],
        &[P::SumRounding],
        &[P::Conversion],
        &[P::AddLast],
        &[P::Narrow],
        &[P::Group],
        &[P::Length],
        &[P::Order],
    ];
    descend(space, observations, start, groups, observations.all())
}

/// Goes through the groups until none of them makes it better.
fn descend(
    space: &Space,
    observations: &Observations,
    start: Fitted,
    groups: &[&[Parameter]],
    which: &[usize],
) -> Fitted {
    let mut best = start;
    let mut unchanged = 0;
    for group in groups.iter().cycle() {
        if best.contradictions == 0 || unchanged == groups.len() {
            break;
        }
        let models = space.vary(&best.model, group);
        match observations.best(&models, which, best.contradictions) {
            Some((index, contradictions)) => {
                best = Fitted { model: models[index].clone(), contradictions };
                unchanged = 0;
            }
            None => unchanged += 1,
        }
    }
    best
}
