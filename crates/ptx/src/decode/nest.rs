//! Multiplications of matrices next to each other that are one larger product.
//!
//! A compiler unrolls a tile of a product into instructions for every pair of a fragment of A and one of B, and often several of
//! them along K. The engine multiplies the whole in a fraction of the time: it packs each fragment once, and fills its vectors.

use std::sync::Arc;

use crate::flow::Flow;
use crate::program::{Fragments, Mma, Nest, Op, Slot, Step};

/// Instructions of a nest, at most.
const MOST: usize = 256;

/// Finds nests among the steps.
pub(super) fn find(steps: &mut [Step], flow: &Flow) {
    let mut at = 0;
    while at < steps.len() {
        let run = run(&steps[at..], |step| flow.block(at + step) == flow.block(at));
        // all of them, or those before the first that goes on along K, which the next turn takes
        let nest = nest(&run).map(|nest| (run.len(), nest)).or_else(|| {
            let first = &run[..before_second(&run)];
            nest(first).map(|nest| (first.len(), nest))
        });
        let taken = nest.as_ref().map_or(1, |(taken, _)| *taken);
        if let Some((taken, nest)) = nest.filter(|(taken, _)| *taken > 1) {
            let members: Vec<Box<Mma>> = run[..taken].iter().map(|mma| Box::new((*mma).clone())).collect();
            let mut nest = Some(Box::new(nest));
            for (step, mma) in steps[at..at + taken].iter_mut().zip(members) {
                step.op = match nest.take() {
                    Some(nest) => Op::Nest(mma, nest),
                    None => Op::OfNest(mma),
                };
            }
        }
        at += taken;
    }
}

/// The longest run of instructions from the first on that may be computed as one: what they read is not written by others before
/// them, unless one adds to the D of an earlier one in place.
fn run(steps: &[Step], together: impl Fn(usize) -> bool) -> Vec<&Mma> {
    let mut run: Vec<&Mma> = Vec::new();
    for (index, step) in steps.iter().enumerate().take(MOST) {
        let Step { op: Op::Mma(next), guard: None, .. } = step else { break };
        let alike = run.first().is_none_or(|first| Arc::ptr_eq(&first.multiplier, &next.multiplier));
        let written = |slot: &Slot| run.iter().any(|before| before.d.contains(slot));
        let goes_on = next.c == next.d && run.iter().any(|before| before.d == next.d);
        let apart = next.a.iter().chain(&next.b).all(|slot| !written(slot))
            && (goes_on || next.c.iter().chain(&next.d).all(|slot| !written(slot)));
        if !together(index) || !alike || !apart {
            break;
        }
        run.push(next);
    }
    run
}

/// How many instructions come before the first that adds to the D of another.
fn before_second(run: &[&Mma]) -> usize {
    (0..run.len()).find(|&at| run[..at].iter().any(|before| before.d == run[at].d)).unwrap_or(run.len())
}

/// The larger product that instructions are, if they are one.
fn nest(run: &[&Mma]) -> Option<Nest> {
    let first = run.first()?;
    let mut tiles: Vec<(&Mma, Fragments, Fragments)> = Vec::new();
    for mma in run {
        let tile = match tiles.iter().position(|(tile, ..)| tile.d == mma.d) {
            Some(index) => &mut tiles[index],
            None => {
                tiles.push((mma, Vec::new(), Vec::new()));
                tiles.last_mut()?
            }
        };
        tile.1.push(mma.a.clone());
        tile.2.push(mma.b.clone());
    }
    let (mut a, mut b): (Vec<Fragments>, Vec<Fragments>) = (Vec::new(), Vec::new());
    for (_, of_a, of_b) in &tiles {
        for (all, one) in [(&mut a, of_a), (&mut b, of_b)] {
            if !all.contains(one) {
                all.push(one.clone());
            }
        }
    }
    let along = a[0].len();
    if a.len() * b.len() != tiles.len() || a.iter().chain(&b).any(|fragments| fragments.len() != along) {
        return None;
    }
    let of = |a: &Fragments, b: &Fragments| {
        let (mma, ..) = tiles.iter().find(|(_, of_a, of_b)| of_a == a && of_b == b)?;
        Some([mma.c.clone(), mma.d.clone()])
    };
    let places = a.iter().flat_map(|a| b.iter().map(move |b| of(a, b)));
    let places = places.collect::<Option<Vec<_>>>()?;
    Some(Nest { multiplier: first.multiplier.clone(), a, b, tiles: places })
}
