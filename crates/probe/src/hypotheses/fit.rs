//! From nothing to a model: structures ranked, then parameters found one group at a time.

use bitmma::Model;
use bitmma::arithmetic::{Lowering, Operation};
use bitmma::formats::Rounding;
use rayon::prelude::*;

use super::Observations;
use super::refine::neighbourhood;
use super::space::{Parameter, Space, Structure};

/// A model with how many observations it contradicts.
#[derive(Clone, Debug)]
pub(crate) struct Fitted {
    pub(crate) model: Model,
    pub(crate) contradictions: usize,
}

/// Structures that are followed up at most.
const FOLLOWED: usize = 40;
/// Of each kind.
const EACH: usize = 3;
/// Plain cases on which structures are ranked.
const RANKED_ON: usize = 160;

/// Structures that are gone through thoroughly where none fits at once.
const THOROUGHLY: usize = 10;

/// Of them, those whose whole neighbourhood is searched.
const NEAREST: usize = 4;

/// The models that fit best, best first: one that contradicts nothing, or the best ones.
pub(crate) fn fit(space: &Space, observations: &Observations) -> Vec<Fitted> {
    let seeds = seeds(space, observations);
    let plain = observations.plain();
    let mut fitted: Vec<Fitted> = Vec::new();
    let some = some_of(plain);
    for start in ranked(space, observations, &seeds) {
        let mut start = descend(space, observations, start, &cheap, &some);
        start.contradictions = count(observations, &start.model, plain);
        if start.contradictions < plain.len() / 2 {
            start = descend(space, observations, start, &cheap, plain);
        }
        if fitted.iter().any(|known| known.model == start.model) {
            continue;
        }
        fitted.push(start.clone());
        if start.contradictions * 10 > plain.len() && start.contradictions > 8 {
            continue;
        }
        let done = fit_all(space, observations, &start.model);
        if done.contradictions == 0 {
            return vec![done];
        }
    }
    // none at once: the best of each kind, thoroughly
    fitted.sort_by_key(|fitted| fitted.contradictions);
    let mut kinds = Kinds::new(1);
    fitted.retain(|fitted| kinds.takes(&fitted.model));
    fitted.truncate(THOROUGHLY);
    for one in &mut fitted {
        let start = descend(space, observations, one.clone(), &thorough, plain);
        *one = fit_all(space, observations, &start.model);
        if one.contradictions > 0 && one.contradictions * 20 < observations.fitting().len() {
            *one = descend(space, observations, one.clone(), &thorough, observations.fitting());
        }
        if one.contradictions == 0 {
            return vec![one.clone()];
        }
    }
    // still none: other families and all that hides each other, from the nearest
    fitted.sort_by_key(|fitted| fitted.contradictions);
    for one in fitted.iter_mut().take(NEAREST) {
        *one = descend(space, observations, one.clone(), &|_| neighbourhood(), observations.fitting());
        if one.contradictions == 0 {
            return vec![one.clone()];
        }
    }
    fitted.sort_by_key(|fitted| fitted.contradictions);
    fitted
}

/// Counts models by family and by what surrounds them, so that no kind crowds out the others.
struct Kinds {
    each: usize,
    seen: Vec<(&'static str, bool, bool)>,
}

impl Kinds {
    fn new(each: usize) -> Kinds {
        Kinds { each, seen: Vec::new() }
    }

    fn takes(&mut self, model: &Model) -> bool {
        let Lowering { add_accumulator_last, narrow_output, .. } = model.lowering;
        let kind = (model.operation.name(), add_accumulator_last.is_some(), narrow_output.is_some());
        self.seen.push(kind);
        self.seen.iter().filter(|one| **one == kind).count() <= self.each
    }
}

/// A model of each family, with and without what may surround it, fitted to single products and the
/// accumulator: no order or arity has a part in those.
fn seeds(space: &Space, observations: &Observations) -> Vec<(Structure, Model)> {
    let pairs = observations.pairs();
    let fit = |structure: &Structure| {
        let made_up = made_up(space, structure);
        let (index, contradictions) = observations.best(&made_up, pairs, usize::MAX)?;
        let start = Fitted { model: made_up[index].clone(), contradictions };
        let fitted = descend(space, observations, start, &cheap, pairs);
        Some((*structure, fitted.model))
    };
    space.representatives().par_iter().filter_map(fit).collect()
}

/// Models of a structure with parameters made up.
fn made_up(space: &Space, structure: &Structure) -> Vec<Model> {
    let bits: &[u32] = match structure.operation {
        Operation::Fma | Operation::FtzFma { .. } | Operation::EFdpa { .. } | Operation::FtzAddMul { .. } => {
            &[0]
        }
        _ => &[12, 24, 36],
    };
    let roundings = [Rounding::TowardZero, Rounding::NearestEven];
    let seeds = bits.iter().flat_map(|&bits| roundings.map(|rounding| space.seed(structure, bits, rounding)));
    seeds.flatten().collect()
}

/// A model of each structure, the likeliest first: by how many plain cases it explains with the parameters of
/// its family's seed, or with made up ones.
fn ranked(space: &Space, observations: &Observations, seeds: &[(Structure, Model)]) -> Vec<Fitted> {
    let plain = observations.plain();
    let some = some_of(plain);
    let best = |structure: &Structure| -> Option<Fitted> {
        let mut models = made_up(space, structure);
        let of_family = seeds.iter().filter(|(seed, _)| {
            seed.operation.name() == structure.operation.name()
                && (seed.last, seed.narrow) == (structure.last, structure.narrow)
        });
        models.extend(of_family.filter_map(|(_, model)| space.restructured(model, structure)));
        let counted = models.into_iter().filter_map(|model| {
            let contradictions = observations.contradictions(&model, &some, usize::MAX)?;
            Some(Fitted { model, contradictions })
        });
        counted.min_by_key(|fitted| fitted.contradictions)
    };
    let mut ranked: Vec<Fitted> = space.structures().par_iter().filter_map(best).collect();
    ranked.sort_by_key(|fitted| fitted.contradictions);
    let mut kinds = Kinds::new(EACH);
    ranked.retain(|fitted| kinds.takes(&fitted.model));
    ranked.truncate(FOLLOWED);
    ranked
}

/// About so many cases of all as structures are ranked on, evenly spaced.
fn some_of(cases: &[usize]) -> Vec<usize> {
    let stride = cases.len().div_ceil(RANKED_ON).max(1);
    cases.iter().copied().step_by(stride).collect()
}

fn count(observations: &Observations, model: &Model, which: &[usize]) -> usize {
    observations.contradictions(model, which, usize::MAX).unwrap_or(usize::MAX)
}

/// Groups of parameters that are varied together.
type Groups = Vec<Vec<Parameter>>;

/// Parameters that normal numbers show, few at a time.
fn cheap(model: &Model) -> Groups {
    use Parameter as P;
    let mut groups = match model.operation {
        Operation::Fma | Operation::FtzFma { .. } | Operation::EFdpa { .. } | Operation::FtzAddMul { .. } => {
            vec![]
        }
        Operation::TrFdpa(_) | Operation::GtrFdpa(_) => vec![
            vec![P::FractionBits, P::TermRounding],
            vec![P::SumFractionBits, P::Renormalize],
            vec![P::SumRounding, P::TermRounding],
        ],
        _ => vec![vec![P::FractionBits, P::TermRounding]],
    };
    groups.push(vec![P::Conversion]);
    if model.lowering.add_accumulator_last.is_some() {
        groups.push(vec![P::AddLast]);
    }
    if model.lowering.narrow_output.is_some() {
        groups.push(vec![P::Narrow]);
    }
    groups
}

/// The same, more at a time: what hides behind each other.
fn thorough(model: &Model) -> Groups {
    use Parameter as P;
    let mut groups = cheap(model);
    match model.operation {
        Operation::TrFdpa(_) | Operation::GtrFdpa(_) => {
            groups.push(vec![P::SumFractionBits, P::Renormalize, P::SumRounding]);
            groups.push(vec![P::FractionBits, P::SumFractionBits]);
        }
        Operation::GstFdpa { .. } => groups.push(vec![P::Group, P::FractionBits]),
        _ => {}
    }
    if model.lowering.add_accumulator_last.is_some() {
        groups.push(vec![P::Conversion, P::AddLast]);
    }
    if model.lowering.narrow_output.is_some() {
        groups.push(vec![P::Conversion, P::Narrow]);
    }
    groups.push(vec![P::Length, P::Order]);
    groups
}

/// Parameters that zeros, subnormal numbers and special values show, before the others.
fn everything(model: &Model) -> Groups {
    use Parameter as P;
    let mut groups = vec![vec![P::FlushInputs, P::WidenOperands, P::WidenAccumulator]];
    match model.operation {
        Operation::Fma | Operation::FtzFma { .. } | Operation::EFdpa { .. } | Operation::FtzAddMul { .. } => {
        }
        Operation::TrFdpa(_) | Operation::GtrFdpa(_) => {
            groups.extend([vec![P::ZeroAccumulator], vec![P::ProductOverflow]]);
        }
        _ => groups.push(vec![P::ZeroExponent]),
    }
    groups.extend(cheap(model));
    groups.extend([vec![P::Group], vec![P::Length], vec![P::Order]]);
    groups
}

/// The model fitted to all cases that models are fitted to.
pub(crate) fn fit_all(space: &Space, observations: &Observations, model: &Model) -> Fitted {
    let contradictions = count(observations, model, observations.fitting());
    let start = Fitted { model: model.clone(), contradictions };
    descend(space, observations, start, &everything, observations.fitting())
}

/// Goes through the groups until none of them makes it better.
fn descend(
    space: &Space,
    observations: &Observations,
    start: Fitted,
    groups: &dyn Fn(&Model) -> Groups,
    which: &[usize],
) -> Fitted {
    let mut best = start;
    let mut unchanged = 0;
    let groups = groups(&best.model);
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
