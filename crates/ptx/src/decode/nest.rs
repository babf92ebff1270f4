//! Multiplications of matrices next to each other that are one larger product, and the registers that they add to.
//!
//! A compiler unrolls a tile of a product into instructions for every pair of a fragment of A and one of B, and often several of
//! them along K. The engine multiplies the whole in a fraction of the time: it packs each fragment once, and fills its vectors.

use std::collections::HashMap;
use std::sync::Arc;

use crate::flow::Flow;
use crate::program::{
    AccumulatorSet, Accumulators, Fragments, Mma, Nest, Op, Slot, Step, WgmmaA, accumulator_bit,
    is_told_apart,
};

/// Instructions of a nest, at most.
const MOST: usize = 256;

/// Finds nests among the steps, and what they and the multiplications of warpgroups add to.
pub(super) fn find(steps: &mut [Step], flow: &Flow) -> Vec<Accumulators> {
    let mut all = Numbered::default();
    let mut at = 0;
    while at < steps.len() {
        if let Op::Wgmma(wgmma) = &mut steps[at].op {
            let d = vec![wgmma.d.clone()];
            let multiplier = wgmma.multiplier.clone();
            let own = Accumulators { longest: multiplier.own.k, multiplier, tiles: [1; 2], d };
            wgmma.number = all.number(own);
        }
        let run = run(&steps[at..], |step| flow.block(at + step) == flow.block(at));
        // all of them, or those before the first that goes on along K, which the next turn takes
        let first = before_second(&run);
        let found = [run.len(), first].into_iter().find_map(|count| Some((count, nest(&run[..count])?)));
        let nests = match found {
            Some(found) => vec![found],
            None => {
                run[..first].iter().filter_map(|one| Some((1, nest(std::slice::from_ref(one))?))).collect()
            }
        };
        let members: Vec<Mma> = run.into_iter().cloned().collect();
        let mut members = members.into_iter();
        let before = at;
        for (count, (mut nest, accumulators)) in nests {
            nest.d = all.number(accumulators);
            let mut nest = Some(Box::new(nest));
            for (step, mma) in steps[at..at + count].iter_mut().zip(members.by_ref().map(Box::new)) {
                step.op = match nest.take() {
                    Some(nest) => Op::Nest(mma, nest),
                    None => Op::OfNest(mma),
                };
            }
            at += count;
        }
        at = at.max(before + 1);
    }
    all.accumulators
}

/// Accumulators, each once.
#[derive(Default)]
struct Numbered {
    accumulators: Vec<Accumulators>,
    /// By the address of the multiplier, tiles and registers.
    numbers: HashMap<(usize, [usize; 2], Fragments), usize>,
}

impl Numbered {
    fn number(&mut self, own: Accumulators) -> usize {
        let key = (Arc::as_ptr(&own.multiplier).addr(), own.tiles, own.d.clone());
        let next = self.accumulators.len();
        let number = *self.numbers.entry(key).or_insert(next);
        match self.accumulators.get_mut(number) {
            Some(known) => known.longest = known.longest.max(own.longest),
            None => self.accumulators.push(own),
        }
        number
    }
}

/// Notes for each step which accumulators it touches otherwise than by adding to them; `touched` has the registers of each.
pub(super) fn settle(steps: &mut [Step], all: &[Accumulators], touched: &[Vec<Slot>]) {
    let mut of: HashMap<Slot, AccumulatorSet> = HashMap::new();
    for (number, accumulators) in all.iter().enumerate() {
        for slot in accumulators.d.iter().flatten() {
            *of.entry(*slot).or_default() |= accumulator_bit(number);
        }
    }
    let set = |slots: &mut dyn Iterator<Item = &Slot>| {
        slots.fold(0, |set, slot| set | of.get(slot).copied().unwrap_or_default())
    };
    for at in 0..steps.len() {
        let members = steps[at + 1..].iter().take_while(|step| matches!(step.op, Op::OfNest(_))).count();
        let whole = set(&mut touched[at..=at + members].iter().flatten());
        // what it does not only add to: what it reads, and what is not told apart
        let (own, reads) = match &mut steps[at].op {
            Op::OfNest(_) => {
                steps[at].settles = 0;
                continue;
            }
            Op::Nest(_, nest) => {
                let operands = nest.a.iter().chain(&nest.b).flatten().chain(nest.c.iter().flatten());
                (nest.d, set(&mut operands.flatten()))
            }
            Op::Wgmma(wgmma) => {
                let a: &[Slot] = match &wgmma.a {
                    WgmmaA::Registers(a) => a,
                    WgmmaA::Descriptor(_) => &[],
                };
                let metadata = wgmma.sparse.map(|(metadata, _)| Slot::Word(metadata, 32));
                let reads = set(&mut a.iter().chain(&metadata));
                wgmma.reads = reads;
                (wgmma.number, reads)
            }
            _ => {
                steps[at].settles = set(&mut touched.get(at).into_iter().flatten());
                continue;
            }
        };
        let bit = accumulator_bit(own);
        steps[at].settles = if is_told_apart(own) { whole & !bit | reads } else { whole };
    }
}

/// The longest run of instructions from the first on that may be computed as one: what they read is not written by others before
/// them, unless one adds to the D of an earlier one in place.
fn run(steps: &[Step], together: impl Fn(usize) -> bool) -> Vec<&Mma> {
    let mut run: Vec<&Mma> = Vec::new();
    for (index, step) in steps.iter().enumerate().take(MOST) {
        let Step { op: Op::Mma(next), guard: None, .. } = step else { break };
        if next.sparse.is_some() || next.factors.is_some() || next.multiplier.quarters.is_some() {
            break;
        }
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

/// The larger product that instructions are, if they are one, and what it adds to.
fn nest(run: &[&Mma]) -> Option<(Nest, Accumulators)> {
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
        Some((mma.c.clone(), mma.d.clone()))
    };
    let places = a.iter().flat_map(|a| b.iter().map(move |b| of(a, b)));
    let (c, d): (Vec<_>, Vec<_>) = places.collect::<Option<Vec<_>>>()?.into_iter().unzip();
    let multiplier = first.multiplier.clone();
    let longest = along * multiplier.own.k;
    let accumulators = Accumulators { multiplier, tiles: [a.len(), b.len()], d, longest };
    let c = (c != accumulators.d).then_some(c);
    Some((Nest { a, b, c, d: 0 }, accumulators))
}
