//! From nothing to a model: structures ranked, then parameters found one group at a time.

use bitmma_engine::Model;
use bitmma_engine::arithmetic::Parameter as Of;
use bitmma_engine::formats::Rounding;
use bitmma_engine::threads::prelude::*;

use super::Observations;
use super::refine::neighbourhood;
use super::space::{Coordinate, Kind, Space, Structure, kind_of};
use crate::order;

/// A model with how many observations it contradicts.
#[derive(Clone, Debug)]
pub(crate) struct Fitted {
    pub(crate) model: Model,
    pub(crate) contradictions: usize,
}

/// Structures that are followed up at most: with parameters made up, with those of seeds, of more seeds.
const FOLLOWED: [usize; 3] = [6, 16, 40];
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
    let plain = &observations.plain;
    let mut fitted: Vec<Fitted> = Vec::new();
    let some = some_of(plain, RANKED_ON);
    for (round, followed) in FOLLOWED.into_iter().enumerate() {
        let seeds = match round {
            0 => Vec::new(),
            1 => seeds(space, observations, &cheap, usize::MAX),
            _ => seeds(space, observations, &|model| of_model(model, &[CHEAP, OF_PAIRS]), 2),
        };
        for start in ranked(space, observations, &seeds, followed) {
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
    }
    // none at once: the best of each kind, thoroughly
    nearest_first(&mut fitted);
    let mut kinds = Kinds::new(1);
    fitted.retain(|fitted| kinds.takes(&fitted.model));
    fitted.truncate(THOROUGHLY);
    for one in &mut fitted {
        let start = descend(space, observations, one.clone(), &thorough, plain);
        *one = fit_all(space, observations, &start.model);
        if one.contradictions > 0 && one.contradictions * 20 < observations.fitting.len() {
            *one = descend(space, observations, one.clone(), &thorough, &observations.fitting);
        }
        if one.contradictions == 0 {
            return vec![one.clone()];
        }
    }
    // still none: other families and all that hides each other, from the nearest
    nearest_first(&mut fitted);
    for one in fitted.iter_mut().take(NEAREST) {
        *one = descend(space, observations, one.clone(), &|_| neighbourhood(), &observations.fitting);
        if one.contradictions == 0 {
            return vec![one.clone()];
        }
    }
    nearest_first(&mut fitted);
    fitted
}

/// Fewest contradictions first; equal ones stay as they were.
fn nearest_first(models: &mut [Fitted]) {
    models.sort_by_key(|fitted| fitted.contradictions);
}

/// Counts models by family and by what surrounds them, so that no kind crowds out the others.
struct Kinds {
    each: usize,
    seen: Vec<Kind>,
}

impl Kinds {
    fn new(each: usize) -> Kinds {
        Kinds { each, seen: Vec::new() }
    }

    fn takes(&mut self, model: &Model) -> bool {
        let kind = kind_of(model);
        self.seen.push(kind);
        self.seen.iter().filter(|one| **one == kind).count() <= self.each
    }
}

/// Models of each family, with and without what may surround it, fitted to single products and the
/// accumulator: no order or arity has a part in those. One for every `each` that are made up.
fn seeds(
    space: &Space,
    observations: &Observations,
    groups: &(dyn Fn(&Model) -> Groups + Sync),
    each: usize,
) -> Vec<(Structure, Model)> {
    let pairs = &some_of(&observations.pairs, RANKED_ON);
    let fit = |structure: &Structure| {
        let mut seeds: Vec<Fitted> = Vec::new();
        for made_up in made_up(space, structure).chunks(each) {
            let Some((index, contradictions)) = observations.best(made_up, pairs, usize::MAX) else {
                continue;
            };
            let start = Fitted { model: made_up[index].clone(), contradictions };
            let seed = descend(space, observations, start, groups, pairs);
            if !seeds.iter().any(|known| known.model == seed.model) {
                seeds.push(seed);
            }
        }
        let least = seeds.iter().map(|seed| seed.contradictions).min().unwrap_or(0);
        seeds.retain(|seed| seed.contradictions <= least + pairs.len() / 20);
        seeds.into_iter().map(|seed| (*structure, seed.model)).collect::<Vec<_>>()
    };
    space.representatives().par_iter().flat_map_iter(fit).collect()
}

/// F of models that are made up.
const MADE_UP_BITS: [u32; 3] = [12, 24, 36];
/// Roundings of rho of models that are made up.
const USUAL: [Rounding; 2] = [Rounding::TowardZero, Rounding::NearestEven];

/// Models of a structure with parameters made up.
fn made_up(space: &Space, structure: &Structure) -> Vec<Model> {
    let bits: &[u32] = if structure.operation.has(Of::FractionBits) { &MADE_UP_BITS } else { &[0] };
    of_bits(space, structure, bits.iter().copied(), &USUAL)
}

/// Further ones, for signatures whose models are not found from those: with every rounding of rho, which F and F2 can
/// imitate from the wrong one; and where C is added last, with each F that decides how much of a sum of small products
/// is kept beside a large one, for C beside one product does not show F.
fn more_made_up(space: &Space, structure: &Structure) -> Vec<Model> {
    let roundings = Rounding::ALL.map(|(rounding, _)| rounding);
    let mut models = of_bits(space, structure, MADE_UP_BITS[2..].iter().copied(), &roundings);
    if let Some(bits) = order::critical_bits(&space.signature)
        && structure.last
        && structure.operation.has(Of::FractionBits)
    {
        models.extend(of_bits(space, structure, bits, &USUAL));
    }
    models
}

/// Models of a structure with each F and each rounding of rho.
fn of_bits(
    space: &Space,
    structure: &Structure,
    bits: impl Iterator<Item = u32>,
    roundings: &[Rounding],
) -> Vec<Model> {
    let seed = |bits| roundings.iter().filter_map(move |&rounding| space.seed(structure, bits, rounding));
    bits.flat_map(seed).collect()
}

/// A model of each structure, the likeliest first: by how many questions of order and plain cases it explains
/// with the parameters of its family's seeds, or with made up ones.
fn ranked(
    space: &Space,
    observations: &Observations,
    seeds: &[(Structure, Model)],
    followed: usize,
) -> Vec<Fitted> {
    let (order, plain) =
        (some_of(&observations.order, RANKED_ON / 2), some_of(&observations.plain, RANKED_ON));
    // whatever else they have, those that explain the order best
    let by_order = |structure: &Structure| {
        let mut models = made_up(space, structure);
        let of_family = seeds.iter().filter(|(seed, _)| seed.kind() == structure.kind());
        models.extend(of_family.filter_map(|(_, model)| space.restructured(model, structure)));
        if !seeds.is_empty() {
            models.extend(more_made_up(space, structure));
        }
        let counted = models
            .into_iter()
            .filter_map(|model| Some((observations.contradictions(&model, &order, usize::MAX)?, model)));
        let mut counted: Vec<(usize, Model)> = counted.collect();
        let least = counted.iter().map(|(count, _)| *count).min()?;
        counted.retain(|(count, _)| *count == least);
        Some((least, counted.into_iter().map(|(_, model)| model).collect()))
    };
    let mut structures: Vec<(usize, Vec<Model>)> =
        space.structures().par_iter().filter_map(by_order).collect();
    let least = structures.iter().map(|(least, _)| *least).min().unwrap_or(0);
    structures.retain(|(count, _)| *count <= least + order.len() / 4);
    let by_plain = |(least, models): (usize, Vec<Model>)| {
        let counted = models.into_iter().filter_map(|model| {
            let contradictions = 2 * least + observations.contradictions(&model, &plain, usize::MAX)?;
            Some(Fitted { model, contradictions })
        });
        counted.min_by_key(|fitted| fitted.contradictions)
    };
    let mut ranked: Vec<Fitted> = structures.into_par_iter().filter_map(by_plain).collect();
    nearest_first(&mut ranked);
    let mut kinds = Kinds::new(EACH);
    ranked.retain(|fitted| kinds.takes(&fitted.model));
    ranked.truncate(followed);
    ranked
}

/// About that many of the cases, evenly spaced.
fn some_of(cases: &[usize], many: usize) -> Vec<usize> {
    let stride = cases.len().div_ceil(many).max(1);
    cases.iter().copied().step_by(stride).collect()
}

fn count(observations: &Observations, model: &Model, which: &[usize]) -> usize {
    observations.contradictions(model, which, usize::MAX).unwrap_or(usize::MAX)
}

use Coordinate as P;

/// Parameters that are varied together.
type Group = &'static [Coordinate];
/// Groups that are gone through one after the other.
type Groups = Vec<Vec<Coordinate>>;

/// Parameters that normal numbers show, few at a time.
const CHEAP: &[Group] = &[
    &[P::F, P::TERM_ROUNDING],
    &[P::F2, P::RENORMALIZE],
    &[P::SUM_ROUNDING, P::TERM_ROUNDING],
    &[P::F_C],
    &[P::Conversion],
    &[P::AddLast],
    &[P::Chains],
    &[P::Narrow],
];
/// Parameters that single products beside zeros show.
const OF_PAIRS: &[Group] =
    &[&[P::FlushOperands, P::FlushAccumulator], &[P::E_ZERO], &[P::E_ZERO_C], &[P::Conversion, P::Narrow]];
/// What hides behind each other.
const HIDDEN: &[Group] = &[
    &[P::F2, P::RENORMALIZE, P::SUM_ROUNDING],
    &[P::F, P::F2],
    &[P::F2, P::RENORMALIZE, P::Conversion],
    &[P::G, P::F],
    &[P::F, P::F_C],
    &[P::Conversion, P::AddLast],
    &[P::Conversion, P::Narrow],
    &[P::Length, P::Order],
];
/// Parameters that zeros, subnormal numbers and special values show.
const OF_SPECIALS: &[Group] = &[
    &[P::FlushOperands, P::FlushAccumulator, P::WidenOperands, P::WidenAccumulator],
    &[P::E_ZERO_C],
    &[P::PRODUCT_OVERFLOW],
    &[P::E_ZERO],
    &[P::FlushResult],
    &[P::Saturate],
];
/// Which elements meet.
const MEETING: &[Group] = &[&[P::G], &[P::Length], &[P::Order]];
/// The exponent of zeros and what is flushed together: tens of thousands of models.
const ZEROS_FLUSHED: &[Group] = &[&[P::E_ZERO, P::FlushAccumulator], &[P::E_ZERO, P::FlushResult]];

/// Those groups of the lists all of whose parameters the model has.
fn of_model(model: &Model, lists: &[&[Group]]) -> Groups {
    let has_all = |group: &Group| group.iter().all(|parameter| parameter.is_of(model));
    lists.concat().into_iter().filter(has_all).map(<[Coordinate]>::to_vec).collect()
}

fn cheap(model: &Model) -> Groups {
    of_model(model, &[CHEAP])
}

fn thorough(model: &Model) -> Groups {
    of_model(model, &[CHEAP, HIDDEN])
}

/// The model fitted to all cases that models are fitted to.
pub(crate) fn fit_all(space: &Space, observations: &Observations, model: &Model) -> Fitted {
    let which = &observations.fitting;
    let contradictions = count(observations, model, which);
    let start = Fitted { model: model.clone(), contradictions };
    let best =
        descend(space, observations, start, &|model| of_model(model, &[OF_SPECIALS, CHEAP, MEETING]), which);
    // zeros and flushing explain no plain case, and hardly any whose sums get small
    let plain = &observations.plain;
    if best.contradictions == 0 || count(observations, &best.model, plain) * 50 > plain.len() {
        return best;
    }
    descend(
        space,
        observations,
        best,
        &|model| of_model(model, &[ZEROS_FLUSHED, OF_SPECIALS, CHEAP, MEETING]),
        which,
    )
}

/// Goes through the groups until none of them makes it better.
fn descend(
    space: &Space,
    observations: &Observations,
    start: Fitted,
    groups: &(dyn Fn(&Model) -> Groups + Sync),
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
