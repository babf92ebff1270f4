//! What else a model could be, and what the unit says to that.

use std::collections::HashSet;

use bitmma_engine::{Case, Model};

use super::{Alive, MENDED_BY, Search};
use crate::error::Error;
use crate::hypotheses::refine;

/// Rounds without a difference after which models count as equivalent: the first holds the model against those at the
/// ends of each number, the last against all.
const QUIET: u64 = 2;
/// Evaluations of rivals after that, about, in rounds against those at the ends: what is seen once in a hundred thousand
/// inputs is found by as many.
const EVALUATIONS: usize = 2 << 20;
/// As many rounds of them, at most.
const MOST_ROUNDS: usize = 8;
/// Models that are looked around where none is left.
const NEAREST: usize = 4;
/// Inputs constructed for the model and one rival, a round.
const TRIES: u64 = 512;
/// Constructed inputs that are asked once nothing tells models apart.
const CONFIRMING: usize = 512;

/// Rounds that tell models from rivals that few inputs tell them from.
fn long_rounds(rivals: &[Model]) -> u64 {
    let each = (refine::POOL + TRIES as usize) * refine::outermost(rivals).len();
    (EVALUATIONS / each.max(1)).clamp(1, MOST_ROUNDS) as u64
}

impl Search<'_> {
    /// Widens the set by what else is possible, then asks what tells its members apart until nothing does.
    pub(super) fn refined(&mut self, models: Vec<Model>) -> Result<Option<Alive>, Error> {
        let mut alive: Vec<Model> = Vec::new();
        for model in models {
            let model = self.space.canonical(&model);
            if !alive.contains(&model) {
                alive.push(model);
            }
        }
        let mut widened: Vec<Model> = Vec::new();
        let mut confirmed: Option<Model> = None;
        let (mut quiet, mut tried) = (0, 0);
        loop {
            let Some(first) = alive.first().cloned() else { return Ok(None) };
            if !widened.contains(&first) {
                let rivals = refine::rivals(&self.space, &self.observations, &first);
                let known: HashSet<Model> = alive.iter().cloned().collect();
                alive.extend(rivals.into_iter().filter(|rival| !known.contains(rival)));
                widened.push(first.clone());
            }
            if alive.len() > 1 && quiet < QUIET + long_rounds(&alive[1..]) {
                self.session.progress("hypotheses", 0, 0)?;
                let split = self.telling_apart(&first, &alive[1..], quiet);
                if split.is_empty() {
                    quiet += 1;
                    tried += refine::POOL as u64 + TRIES;
                    continue;
                }
                (quiet, tried) = (0, 0);
                let known = self.observations.all.len();
                self.ask("hypotheses", split)?;
                let left = self.observations.survivors_since(alive.clone(), known);
                alive = if left.is_empty() { self.around_the_nearest(&alive) } else { left };
            } else if confirmed.as_ref() != Some(&first) {
                alive = self.confirming(&first, alive)?;
                if alive.first() != Some(&first) {
                    (quiet, tried) = (0, 0); // nothing was told apart from the new first yet
                }
                confirmed = Some(first);
            } else {
                // the questions of order that nothing was fitted to have a say too
                alive = self.observations.survivors(alive, &self.observations.all);
                if alive.first() == Some(&first) {
                    return Ok(Some(Alive { models: alive, tried }));
                }
                let missed = self.observations.contradicting(&first, MENDED_BY);
                self.observations.fitting.extend(missed);
                quiet = 0;
            }
        }
    }

    /// What is left around those of the models that contradict the fewest observations.
    fn around_the_nearest(&self, models: &[Model]) -> Vec<Model> {
        let observations = &self.observations;
        let mut counted: Vec<(usize, &Model)> = models
            .iter()
            .filter_map(|model| {
                Some((observations.contradictions(model, &observations.all, usize::MAX)?, model))
            })
            .collect();
        counted.sort_by_key(|(count, _)| *count);
        let nearest = counted.into_iter().take(NEAREST);
        let rivals = |(_, model)| {
            Some(refine::rivals(&self.space, observations, model)).filter(|left| !left.is_empty())
        };
        nearest.into_iter().find_map(rivals).unwrap_or_default()
    }

    /// Questions that tell a model from rivals: of a pool, and where that has none, constructed for each of them.
    fn telling_apart(&mut self, first: &Model, rivals: &[Model], quiet: u64) -> Vec<Case> {
        let k = self.space.signature.k;
        // those at the ends until nothing tells them apart, then all once, then those at the ends for long
        let rivals = if quiet + 1 == QUIET { rivals.to_vec() } else { refine::outermost(rivals) };
        let around: Vec<Model> = std::iter::once(first).chain(&rivals).cloned().collect();
        let pool = refine::pool(&self.formats, k, self.seed, self.pools, &around);
        self.pools += 1;
        let split = refine::splitting(&self.space, first, &rivals, &pool);
        if !split.is_empty() {
            return split;
        }
        let seed = self.seed.wrapping_add(self.pools << 32);
        refine::constructed(&self.space, first, &rivals, (seed, TRIES))
    }

    /// The models that are left once the unit was asked what is constructed from where the first of them cuts, ties and
    /// ends; its rivals where none is.
    fn confirming(&mut self, first: &Model, alive: Vec<Model>) -> Result<Vec<Model>, Error> {
        let k = self.space.signature.k;
        let pool = refine::pool(&self.formats, k, self.seed, self.pools, &alive);
        self.pools += 1;
        let known = self.observations.all.len();
        self.ask("hypotheses", pool.into_iter().take(CONFIRMING).collect())?;
        let alive = self.observations.survivors_since(alive, known);
        Ok(match alive.is_empty() {
            true => refine::rivals(&self.space, &self.observations, first),
            false => alive,
        })
    }
}
