//! The models still possible, compared with everything that was observed.

pub(crate) mod fit;
pub(crate) mod refine;
pub(crate) mod space;

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use bitmma_engine::arithmetic::run::Side;
use bitmma_engine::arithmetic::{InputFlush, Lowering, Order, Prepared};
use bitmma_engine::formats::{Class, Format, Unpacked, decode};
use bitmma_engine::threads::prelude::*;
use bitmma_engine::{Case, Model, Signature};

use crate::numbers::{is_normal, same};

/// What was asked and what was answered.
#[derive(Debug)]
pub(crate) struct Observations {
    signature: Signature,
    cases: Vec<Case>,
    answers: Vec<u64>,
    /// Cases of normal numbers only: zeros, flushing and special values have no part in them.
    pub(crate) plain: Vec<usize>,
    /// Cases of at most one product and the accumulator, normal numbers: no order or arity has a part in them.
    pub(crate) pairs: Vec<usize>,
    /// Cases that tell orders apart, whatever else a model has.
    pub(crate) order: Vec<usize>,
    /// The cases that models are fitted to.
    pub(crate) fitting: Vec<usize>,
    /// Every case.
    pub(crate) all: Vec<usize>,
    read: Mutex<HashMap<Reading, Arc<Decoded>>>,
}

/// What decides how codes are read: models that share it share the work.
type Reading = (Option<Format>, InputFlush, Order);

/// Cases unpacked, one after the other.
#[derive(Debug)]
struct Decoded {
    a: Vec<Unpacked>,
    b: Vec<Unpacked>,
    scale_a: Vec<Unpacked>,
    scale_b: Vec<Unpacked>,
}

impl Observations {
    pub(crate) fn new(signature: &Signature) -> Observations {
        Observations {
            signature: signature.clone(),
            cases: Vec::new(),
            answers: Vec::new(),
            plain: Vec::new(),
            pairs: Vec::new(),
            order: Vec::new(),
            fitting: Vec::new(),
            all: Vec::new(),
            read: Mutex::default(),
        }
    }

    /// Takes questions with their answers.
    pub(crate) fn extend(&mut self, cases: Vec<Case>, answers: Vec<u64>) {
        let count = cases.len();
        self.extend_thinned(cases, answers, count);
    }

    /// Takes the questions of order with their answers, of which about `share` are enough to fit a model to:
    /// there are K² alike ones.
    pub(crate) fn extend_order(&mut self, cases: Vec<Case>, answers: Vec<u64>, share: usize) {
        self.extend_thinned(cases, answers, share);
        self.order.extend(&self.fitting);
    }

    fn extend_thinned(&mut self, cases: Vec<Case>, answers: Vec<u64>, share: usize) {
        let stride = cases.len().div_ceil(share.max(1)).max(1);
        for (number, (case, answer)) in cases.into_iter().zip(answers).enumerate() {
            let index = self.cases.len();
            if number.is_multiple_of(stride) {
                self.fitting.push(index);
                self.sort_in(index, &case, answer);
            }
            self.all.push(index);
            self.cases.push(case);
            self.answers.push(answer);
        }
        if let Ok(mut read) = self.read.lock() {
            read.clear();
        }
    }

    /// Notes whether a case is plain, or a pair.
    fn sort_in(&mut self, index: usize, case: &Case, answer: u64) {
        let Signature { a, b, c, d, k, .. } = &self.signature;
        if !decode(d, answer).is_finite() || !self.scales_are_plain(case) {
            return;
        }
        let is_zero = |code: u64, format: &Format| decode(format, code).class == Class::Zero;
        let products = case.a.iter().zip(&case.b).map(|(&x, &y)| match (is_normal(a, x), is_normal(b, y)) {
            (true, true) => Some(1),
            _ if is_zero(x, a) && is_zero(y, b) => Some(0),
            _ => None,
        });
        let products: Option<usize> = products.sum();
        if products == Some(*k) && is_normal(c, case.c) {
            self.plain.push(index);
        }
        if products.is_some_and(|count| count <= 1) && (is_normal(c, case.c) || is_zero(case.c, c)) {
            self.pairs.push(index);
        }
    }

    fn scales_are_plain(&self, case: &Case) -> bool {
        let Some(scale) = self.signature.scale else { return true };
        case.scale_a.iter().chain(&case.scale_b).all(|&code| {
            let value = decode(&scale.format, code);
            value.class == Class::Finite && (!scale.format.subnormals || is_normal(&scale.format, code))
        })
    }

    pub(crate) fn case(&self, index: usize) -> (&Case, u64) {
        (&self.cases[index], self.answers[index])
    }

    fn decoded(&self, prepared: &Prepared<'_>) -> Arc<Decoded> {
        let model = prepared.model();
        let Lowering { widen_operands, order, .. } = model.lowering;
        let key = (widen_operands, model.flush_operands, order);
        if let Ok(read) = self.read.lock()
            && let Some(decoded) = read.get(&key)
        {
            return Arc::clone(decoded);
        }
        let side = |side, of: fn(&Case) -> &[u64]| {
            let vectors = self.cases.iter().map(|case| prepared.vector(side, of(case).iter().copied()));
            vectors.flatten().collect()
        };
        let scales = |of: fn(&Case) -> &[u64]| {
            prepared.scales(self.cases.iter().flat_map(|case| of(case).iter().copied()))
        };
        let decoded = Arc::new(Decoded {
            a: side(Side::A, |case| &case.a),
            b: side(Side::B, |case| &case.b),
            scale_a: scales(|case| &case.scale_a),
            scale_b: scales(|case| &case.scale_b),
        });
        if let Ok(mut read) = self.read.lock() {
            read.insert(key, Arc::clone(&decoded));
        }
        decoded
    }

    /// How many of the cases `which` the model contradicts; counting stops beyond `limit`. `None` for a
    /// model that does not take this K.
    pub(crate) fn contradictions(&self, model: &Model, which: &[usize], limit: usize) -> Option<usize> {
        let mut count = 0;
        self.contradicted(model, which, |_, _| {
            count += 1;
            count <= limit
        })?;
        Some(count)
    }

    /// The first of the cases `which` that the model contradicts, and what the model would answer.
    pub(crate) fn first_contradiction(&self, model: &Model, which: &[usize]) -> Option<(usize, u64)> {
        let mut found = None;
        self.contradicted(model, which, |index, answer| {
            found = Some((index, answer));
            false
        })?;
        found
    }

    /// The first `most` of all cases that the model contradicts.
    pub(crate) fn contradicting(&self, model: &Model, most: usize) -> Vec<usize> {
        let mut found = Vec::new();
        let _ = self.contradicted(model, &self.all, |index, _| {
            found.push(index);
            found.len() < most
        });
        found
    }

    /// Passes the cases `which` that the model contradicts, with what it would answer, until `each` has enough; `None`
    /// for a model that does not take this K.
    fn contradicted(
        &self,
        model: &Model,
        which: &[usize],
        mut each: impl FnMut(usize, u64) -> bool,
    ) -> Option<()> {
        let k = self.signature.k;
        let prepared = Prepared::new(model, k).ok()?;
        let decoded = self.decoded(&prepared);
        let blocks = model.scale.map_or(0, |scale| k / scale.size);
        for &index in which {
            let (elements, factors) = (index * k..(index + 1) * k, index * blocks..(index + 1) * blocks);
            let answer = prepared.dot(
                &decoded.a[elements.clone()],
                &decoded.b[elements],
                self.cases[index].c,
                &decoded.scale_a[factors.clone()],
                &decoded.scale_b[factors],
                &mut (),
            );
            if !same(&self.signature.d, answer, self.answers[index]) && !each(index, answer) {
                break;
            }
        }
        Some(())
    }

    /// Those of the models that contradict none of the cases from `first` on.
    pub(crate) fn survivors_since(&self, models: Vec<Model>, first: usize) -> Vec<Model> {
        let d = self.signature.d;
        let (cases, given) = (&self.cases[first..], &self.answers[first..]);
        kept(models, |model| {
            let answers = answers(model, self.signature.k, cases);
            answers.is_some_and(|answers| answers.iter().zip(given).all(|(&one, &two)| same(&d, one, two)))
        })
    }

    /// The models that contradict nothing in `which`: the last cases first, which were asked to tell such models apart.
    pub(crate) fn survivors(&self, models: Vec<Model>, which: &[usize]) -> Vec<Model> {
        let latest_first: Vec<usize> = which.iter().rev().copied().collect();
        kept(models, |model| self.contradictions(model, &latest_first, 0) == Some(0))
    }

    /// The model with fewest contradictions in `which`, the first of several, with their number;
    /// `None` if each of them has `limit` or more. Of many models those are looked at that do best on some
    /// of the cases, and of very many those that do best on few.
    pub(crate) fn best(&self, models: &[Model], which: &[usize], limit: usize) -> Option<(usize, usize)> {
        /// Cases, and models that may stay beside those that do as well.
        const ROUNDS: [(usize, usize); 2] = [(20, 64), (80, 16)];
        let below = limit.checked_sub(1)?;
        let mut looked_at: Vec<usize> = (0..models.len()).collect();
        for (some, stay) in ROUNDS {
            if looked_at.len() <= 4 * stay || which.len() <= 2 * some {
                continue;
            }
            let some: Vec<usize> = which.iter().copied().step_by(which.len() / some).collect();
            let mut counted = self.counted(models, &looked_at, &some, below);
            counted.sort_unstable();
            let last = counted.get(stay).map_or(usize::MAX, |(count, _)| *count);
            looked_at =
                counted.into_iter().take_while(|(count, _)| *count <= last).map(|(_, index)| index).collect();
            looked_at.sort_unstable();
            if last < usize::MAX && 2 * last > some.len() {
                // all are far off: a few will do
                looked_at = looked_at.iter().copied().step_by(looked_at.len().div_ceil(2 * stay)).collect();
            }
        }
        self.counted(models, &looked_at, which, below).into_iter().min().map(|(count, index)| (index, count))
    }

    /// Contradictions and index of the models looked at that have `limit` of them or fewer.
    fn counted(
        &self,
        models: &[Model],
        looked_at: &[usize],
        which: &[usize],
        limit: usize,
    ) -> Vec<(usize, usize)> {
        looked_at
            .par_iter()
            .with_min_len(4)
            .filter_map(|&index| {
                let count = self.contradictions(&models[index], which, limit)?;
                (count <= limit).then_some((count, index))
            })
            .collect()
    }
}

/// The models that are to be kept.
fn kept(models: Vec<Model>, keep: impl Fn(&Model) -> bool + Sync) -> Vec<Model> {
    models.into_par_iter().with_min_len(8).filter(|model| keep(model)).collect()
}

/// What a model answers to cases; `None` if it does not take them.
pub(crate) fn answers(model: &Model, k: usize, cases: &[Case]) -> Option<Vec<u64>> {
    let prepared = Prepared::new(model, k).ok()?;
    Some(cases.par_iter().with_min_len(64).map(|case| answer(&prepared, case)).collect())
}

/// What a model answers to a case.
pub(crate) fn answer(model: &Prepared<'_>, case: &Case) -> u64 {
    model.dot_of_codes(&case.operands(), &mut ())
}
