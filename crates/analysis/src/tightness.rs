//! How close an error comes to its bound: a worst case, by search.
//!
//! The search climbs: random cases of every family first, then changes of the best one, each kept unless
//! it is worse. It is seeded, so a worst case found once is found again.

use bitmma_engine::arithmetic::Prepared;
use bitmma_engine::formats::Format;
use bitmma_engine::formats::cases::notable_codes;
use bitmma_engine::{Case, Model};
use bitmma_verify::inputs::{Family, case};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

use crate::account::{Account, Start, account_prepared};
use crate::dyadic::Dyadic;
use crate::error::{Error, check, check_k, check_rounds, option};
use crate::error_source::Source;

/// Which bound an error is compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Objective {
    /// |D − exact| against the sum of all sources' bounds.
    Total,
    /// |D − exact| against the paper's formula.
    Paper,
    /// What one source lost against its own bound.
    Source(Source),
}

impl Objective {
    /// Error over bound; `None` where there is no bound, or it is zero: nothing can be lost there.
    pub fn ratio(self, account: &Account) -> Option<f64> {
        let bound = account.bound()?;
        let (error, bound) = match self {
            Objective::Total => (account.error()?, bound),
            Objective::Paper => (account.error()?, account.paper_bound.clone()),
            Objective::Source(source) => {
                let entry = account.entry(source);
                (entry.error.clone(), entry.bound.clone())
            }
        };
        (!bound.is_zero()).then(|| error.magnitude().ratio(&bound))
    }

    /// Takes a case as the best one unless it is worse: one that is as good may lead on.
    fn consider(self, account: &Account, case: &Case, tried: u64, best: &mut Option<Worst>) {
        let (Some(ratio), Some(error)) = (self.ratio(account), account.error()) else { return };
        if best.as_ref().is_none_or(|best| ratio >= best.ratio) {
            *best = Some(Worst { case: case.clone(), ratio, error, tried });
        }
    }
}

/// A case and how much of the bound it uses up.
#[derive(Clone, Debug)]
pub struct Worst {
    /// The operands.
    pub case: Case,
    /// Error over bound.
    pub ratio: f64,
    /// The error.
    pub error: Dyadic,
    /// Cases tried.
    pub tried: u64,
}

/// How long a search runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Effort {
    /// Cases to try at most.
    pub budget: u64,
    /// A ratio that is good enough to stop at.
    pub enough: f64,
}

/// The worst case that a search finds for dot products of `k` elements, 1 to 2^20; `None` where no case has a
/// bound above zero. The budget is 80 or more, as an eighth of it are starts, one of each family at least;
/// `enough` is 0 to 1.
pub fn search(
    model: &Model,
    k: usize,
    objective: Objective,
    effort: Effort,
    seed: u64,
) -> Result<Option<Worst>, Error> {
    Ok(search_each(model, k, &[objective], effort, seed)?.pop().flatten())
}

/// The same of several objectives, whose searches start from the same cases.
pub(crate) fn search_each(
    model: &Model,
    k: usize,
    objectives: &[Objective],
    effort: Effort,
    seed: u64,
) -> Result<Vec<Option<Worst>>, Error> {
    check_k(k)?;
    check("budget", effort.budget, 8 * Family::ALL.len() as u64..=u64::MAX)?;
    if !(0.0..=1.0).contains(&effort.enough) {
        return Err(option("enough", effort.enough, "a ratio of error and bound is 0 to 1"));
    }
    check_rounds(model, "bounds")?;
    let prepared = Prepared::new(model, k)?;
    let each = effort.budget / 8 / Family::ALL.len() as u64;
    let mut best = vec![None; objectives.len()];
    let mut tried = 0;
    for family in Family::ALL {
        for index in 0..each {
            tried += 1;
            let start = case(model, k, family, seed, index);
            let account = account_prepared(&prepared, &start, Start::C, false);
            for (objective, best) in objectives.iter().zip(&mut best) {
                objective.consider(&account, &start, tried, best);
            }
        }
    }
    let climb = |(&objective, best)| climb(&prepared, (model, k), objective, best, (tried, effort), seed);
    Ok(objectives.iter().zip(best).map(climb).collect())
}

/// Changes the best case of that many, as long as that makes it worse.
fn climb(
    prepared: &Prepared<'_>,
    (model, k): (&Model, usize),
    objective: Objective,
    mut best: Option<Worst>,
    (starts, Effort { budget, enough }): (u64, Effort),
    seed: u64,
) -> Option<Worst> {
    let mut tried = starts;
    let mut consider = |case: Case, best: &mut Option<Worst>| {
        tried += 1;
        objective.consider(&account_prepared(prepared, &case, Start::C, false), &case, tried, best);
    };
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    random.set_stream(u64::MAX);
    let mut at = best.clone();
    for round in starts..budget {
        let Some(from) = at.as_ref().filter(|from| from.ratio < enough) else { break };
        let mut next = from.case.clone();
        for _ in 0..=random.next_u64() % 3 {
            change(model, &mut next, &mut random);
        }
        consider(next, &mut best);
        // a climb that gets stuck starts once more from a new place
        if round % 4096 == 4095 && best.as_ref().is_some_and(|best| best.ratio < 0.5) {
            let mut fresh = None;
            for index in 0..64 {
                let family = Family::ALL[(index % 10) as usize];
                consider(case(model, k, family, seed ^ round, index), &mut fresh);
            }
            let ratio = best.as_ref().map_or(0.0, |best| best.ratio);
            if fresh.as_ref().is_some_and(|fresh| fresh.ratio > ratio) {
                best = fresh;
            }
        }
        at.clone_from(&best);
    }
    if let Some(best) = &mut best {
        best.tried = tried;
    }
    best
}

/// One change: a bit, an exponent, a sign, a notable number, or one element's pair put everywhere.
fn change(model: &Model, case: &mut Case, random: &mut ChaCha8Rng) {
    let k = case.a.len();
    let mut below = |bound: usize| (random.next_u64() % bound.max(1) as u64) as usize;
    let element = below(k);
    match below(10) {
        0 => case.a[element] = change_code(&model.a, case.a[element], &mut below),
        1 => case.b[element] = change_code(&model.b, case.b[element], &mut below),
        2 | 3 => case.c = change_code(&model.c, case.c, &mut below),
        4 => {
            // the same pair everywhere but in one place
            let kept = below(k);
            let (a, b) = (case.a[element], case.b[element]);
            for other in (0..k).filter(|other| *other != kept) {
                (case.a[other], case.b[other]) = (a, b);
            }
        }
        5 => {
            let other = below(k);
            (case.a[other], case.b[other]) = (case.a[element], case.b[element]);
        }
        6 => case.a[element] ^= model.a.sign_bit(),
        7 => {
            // both factors at once
            case.a[element] = change_code(&model.a, case.a[element], &mut below);
            case.b[element] = change_code(&model.b, case.b[element], &mut below);
        }
        8 => case.c ^= model.c.sign_bit(),
        _ => match &model.scale {
            Some(scale) => {
                let block = below(case.scale_a.len());
                let codes = if below(2) == 0 { &mut case.scale_a } else { &mut case.scale_b };
                codes[block] = change_code(&scale.format, codes[block], &mut below);
            }
            None => (case.a[element], case.b[element]) = (0, 0),
        },
    }
}

fn change_code(format: &Format, code: u64, below: &mut impl FnMut(usize) -> usize) -> u64 {
    let low = format.fraction_bits + format.padding_bits;
    let changed = match below(5) {
        0 => code ^ (1 << below(format.bits() as usize)),
        1 => code.wrapping_add(1 << low) & format.max_code(),
        2 => code.wrapping_sub(1 << low) & format.max_code(),
        3 => code | (((1 << format.fraction_bits) - 1) << format.padding_bits),
        _ => {
            let codes = notable_codes(format);
            codes[below(codes.len())]
        }
    };
    changed & format.max_code()
}
