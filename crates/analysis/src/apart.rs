//! A small input on which two products of one shape differ.

use std::cell::Cell;

use bitmma_engine::Case;
use bitmma_engine::arithmetic::Model;
use bitmma_verify::apart::Rules;
use bitmma_verify::inputs::{Family, case};

use crate::discrepancy::{Difference, comparable, smallest};
use crate::error::Error;
use crate::scheme::Scheme;
use crate::shrink::{leading, shrink};
use crate::subject::essence;

/// Kinds of random input that are tried: no NaN and no infinity in most of them.
const FAMILIES: [Family; 6] =
    [Family::Spread, Family::Cancelling, Family::Normal, Family::Zeros, Family::Moderate, Family::Tiny];
/// Products that making an input smaller takes, at most.
const MOST_PRODUCTS: usize = 1 << 23;
/// Smaller inputs that are tried, at most.
const MOST_CHECKS: usize = 2_000;
/// Elements of all random inputs, at most.
const MOST_DRAWN: usize = 1 << 20;
/// Elements of all random inputs of a batch, about.
const BATCH: usize = 1 << 17;
/// Inputs of each kind that the search for the smallest input of two models tries.
const SMALL: u64 = 2_000;
/// Constructed inputs that are tried for two models.
const BUILT: u64 = 5_000;
/// Seeds of constructed inputs.
const SEEDS: u64 = 3;

/// An input of `k` elements on which two products differ, few of them not zero; `None` where none was found among `tries`
/// random ones and those that tell the models apart. Without `with_c` C is +0.
pub fn separating(
    pair: [&Scheme; 2],
    k: usize,
    with_c: bool,
    rules: &Rules,
    tries: (u64, usize),
) -> Result<Option<Case>, Error> {
    // thousands of products, one after the other: each would wait for a thread of the pool
    bitmma_engine::threads::run(|| searched(pair, k, with_c, rules, tries))
}

fn searched(
    [x, y]: [&Scheme; 2],
    k: usize,
    with_c: bool,
    rules: &Rules,
    (seed, tries): (u64, usize),
) -> Result<Option<Case>, Error> {
    // each input takes two products of K elements
    let weight = x.weight(k).max(y.weight(k)).max(1);
    let left = Cell::new((MOST_PRODUCTS / weight).min(MOST_CHECKS));
    let differ = |case: &Case| {
        if left.get() == 0 {
            return false;
        }
        left.set(left.get() - 1);
        let one = std::slice::from_ref(case);
        matches!((x.dots(one), y.dots(one)), (Ok(x), Ok(y)) if x != y)
    };
    let tries = tries.min(MOST_DRAWN / weight).max(1);
    let of_models = of_models([x, y], k, with_c, rules, seed)?;
    if let Some(case) = of_models.into_iter().find(|case| differ(case)) {
        return Ok(Some(reduced(x, case, differ)));
    }
    let batch = (BATCH / weight).clamp(1, 128).min(tries);
    let formats = x.formats();
    for first in (0..tries).step_by(batch) {
        let family = FAMILIES[first / batch % FAMILIES.len()];
        let draw = |index: usize| {
            let drawn = case(formats, k.next_multiple_of(block(x)), family, seed, index as u64);
            fitted(drawn, k, with_c)
        };
        let cases: Vec<Case> = (first..first + batch).map(draw).collect();
        let (Ok(of_x), Ok(of_y)) = (x.dots(&cases), y.dots(&cases)) else { continue };
        if let Some(at) = of_x.iter().zip(&of_y).position(|(x, y)| x != y) {
            return Ok(Some(reduced(x, cases[at].clone(), differ)));
        }
    }
    Ok(None)
}

/// Elements that share a scale factor.
fn block(scheme: &Scheme) -> usize {
    scheme.scale().map_or(1, |scale| scale.size)
}

/// The first `k` elements.
fn fitted(mut case: Case, k: usize, with_c: bool) -> Case {
    case.a.truncate(k);
    case.b.truncate(k);
    case.c = if with_c { case.c } else { 0 };
    case
}

/// Inputs that tell the models apart in one step, at the beginning of K.
fn of_models(
    [x, y]: [&Scheme; 2],
    k: usize,
    with_c: bool,
    rules: &Rules,
    seed: u64,
) -> Result<Vec<Case>, Error> {
    let (Some(one), Some(other)) = (&x.target, &y.target) else { return Ok(vec![]) };
    let (left, right) = (one.model(), other.model());
    let step = one.step().max(other.step());
    if comparable(left, right).is_err() || step > k || essence(left, step) == essence(right, step) {
        return Ok(vec![]);
    }
    let mut found = vec![];
    // doubles with three bits set are millions
    if left.c.bits() <= 32
        && left.a.bits() <= 32
        && let Difference::Found { case, .. } = smallest(left, right, step, SMALL, seed)?
    {
        found.push(case);
    }
    if left.d == right.d {
        found.extend((0..SEEDS).filter_map(|more| (rules.differing)(left, right, step, seed + more, BUILT)));
    }
    let one = left.scale.map_or(0, |scale| scale.format.one_code());
    let along = left.scale.map_or(0, |scale| k.div_ceil(scale.size));
    for case in &mut found {
        case.a.resize(k, 0);
        case.b.resize(k, 0);
        case.scale_a.resize(along, one);
        case.scale_b.resize(along, one);
        if !with_c {
            case.c = 0;
        }
    }
    Ok(found)
}

/// As few elements that are not zero as single changes lead to, each as simple.
fn reduced(scheme: &Scheme, case: Case, mut differ: impl FnMut(&Case) -> bool) -> Case {
    let mut best = case;
    let k = best.a.len();
    // halves, quarters, … are zero if the difference stays
    let mut size = k.div_ceil(2);
    while size > 0 {
        for first in (0..k).step_by(size) {
            let range = first..(first + size).min(k);
            if range.clone().all(|index| (best.a[index], best.b[index]) == (0, 0)) {
                continue;
            }
            let mut next = best.clone();
            next.a[range.clone()].fill(0);
            next.b[range].fill(0);
            if differ(&next) {
                best = next;
            }
        }
        size /= 2;
    }
    without_cancelling_pairs(scheme, &mut best, &mut differ);
    let places: Vec<usize> = (0..k).filter(|&index| (best.a[index], best.b[index]) != (0, 0)).collect();
    if places.len() > MOST_SHRUNK {
        return best;
    }
    let formats = scheme.formats();
    let Some(model) = scheme.model() else { return best };
    let compact = Model { a: formats.a, b: formats.b, scale: None, ..model.clone() };
    let small = Case {
        a: places.iter().map(|&place| best.a[place]).collect(),
        b: places.iter().map(|&place| best.b[place]).collect(),
        c: best.c,
        scale_a: vec![],
        scale_b: vec![],
    };
    let spread = |small: &Case| {
        let mut whole = best.clone();
        for (index, &place) in places.iter().enumerate() {
            (whole.a[place], whole.b[place]) = (small.a[index], small.b[index]);
        }
        Case { c: small.c, ..whole }
    };
    spread(&shrink(&compact, &small, |small| differ(&spread(small))))
}

/// Leaves out two products at a time that nearly cancel: without one of them the sum would be large, and nothing small would
/// show any more.
fn without_cancelling_pairs(scheme: &Scheme, best: &mut Case, differ: &mut impl FnMut(&Case) -> bool) {
    let formats = scheme.formats();
    // about where the leading bit of a product is, and its sign
    let size = |case: &Case, index: usize| {
        let (a, b) = (case.a[index], case.b[index]);
        let is_negative = (a & formats.a.sign_bit() != 0) != (b & formats.b.sign_bit() != 0);
        ((a, b) != (0, 0)).then(|| (leading(&formats.a, a) + leading(&formats.b, b), is_negative))
    };
    let k = best.a.len();
    for one in 0..k {
        for other in one + 1..k {
            let (Some((high, sign)), Some((low, opposite))) = (size(best, one), size(best, other)) else {
                continue;
            };
            if sign == opposite || high.abs_diff(low) > 1 {
                continue;
            }
            let mut next = best.clone();
            for index in [one, other] {
                (next.a[index], next.b[index]) = (0, 0);
            }
            if differ(&next) {
                *best = next;
            }
        }
    }
}

/// Elements up to which each is made simple.
const MOST_SHRUNK: usize = 12;
