//! Which accesses are ordered before which: vector clocks of the warps of a block.
//!
//! A warp stamps its accesses with a time, which grows whenever others learn what it did: at a barrier, a release, a fence. A warp
//! knows of every other one up to which time its accesses are ordered before what it does next. Two accesses of which at least
//! one writes, and neither is ordered before the other, race. Lanes of one warp count as ordered.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use super::flags::Flags;
use crate::program::Order;

/// A warp of a launch: its block, and its number there.
pub(super) type Agent = (u32, u8);

/// Times up to which warps are known.
pub(super) type Known = BTreeMap<Agent, u32>;

/// Kinds of accesses.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Read,
    Write,
    /// A strong write or an atomic operation: they race with weak accesses only.
    Strong,
    /// The same with the scope of its block: for other blocks it is as good as weak.
    StrongInBlock,
}

/// Kinds of accesses.
pub(super) const KINDS: usize = 4;

/// Who accesses.
#[derive(Clone, Copy)]
pub(super) struct By<'c> {
    pub(super) warp: u8,
    /// The stamp of what it does now.
    pub(super) now: u32,
    /// Everything up to then is ordered before it.
    base: u32,
    pub(super) clocks: &'c Clocks,
}

impl By<'_> {
    /// Whether everything that the block did at a time is ordered before what anyone does now.
    #[inline(always)]
    pub(super) fn is_old(self, time: u32) -> bool {
        time <= self.base
    }
}

/// The clocks of the warps of a block.
#[derive(Default)]
pub(crate) struct Clocks {
    /// The number of the block.
    pub(super) block: u32,
    /// The last time that was given out.
    time: u32,
    /// Everything up to then is ordered before everything that comes now.
    base: u32,
    warps: Vec<Clock>,
    /// Warps that have ended.
    ended: Vec<usize>,
    /// What warps left at named barriers that they did not wait for.
    arrived: HashMap<u32, Vec<Known>>,
    /// What was released to warps of this block, by address.
    flags: HashMap<u64, Known>,
    /// Whether a warp has multiplied from shared memory.
    multiplies: bool,
}

#[derive(Clone, Default)]
struct Clock {
    /// The stamp of what it does now.
    own: u32,
    /// Of the others of the block.
    known: Vec<u32>,
    /// Of those of other blocks.
    foreign: Option<Arc<Known>>,
    /// Groups of asynchronous products of each warpgroup that were waited for.
    products: [u32; GROUPS],
    committed: u32,
    /// What the last fence lets a strong write release, and whether to its block alone.
    fenced: Option<(Known, bool)>,
    /// What strong reads have read that a fence acquires.
    read: Option<Known>,
}

/// Warpgroups of a block, at most.
pub(super) const GROUPS: usize = 8;

/// Takes the later times of two.
pub(super) fn join(to: &mut Known, from: &Known) {
    for (agent, time) in from {
        let known = to.entry(*agent).or_default();
        *known = (*known).max(*time);
    }
}

impl Clocks {
    /// For the next block.
    pub(super) fn start(&mut self, block: u32, warps: usize) {
        self.block = block;
        (self.time, self.base, self.multiplies) = (1, 0, false);
        self.warps.resize(warps, Clock::default());
        for clock in &mut self.warps {
            clock.own = 1;
            clock.known.clear();
            clock.known.resize(warps, 0);
            clock.products = [0; GROUPS];
            clock.committed = 0;
            (clock.foreign, clock.fenced, clock.read) = (None, None, None);
        }
        self.ended.clear();
        self.arrived.clear();
        self.flags.clear();
    }

    /// A warp, as it accesses memory now.
    #[inline(always)]
    pub(super) fn by(&self, warp: usize) -> By<'_> {
        By { warp: warp as u8, now: self.warps[warp].own, base: self.base, clocks: self }
    }

    /// Whether what another warp of the block did at a time is ordered before what this one does now.
    #[inline(always)]
    pub(super) fn knows(&self, warp: u8, other: u8, time: u32) -> bool {
        time <= self.base || warp == other || self.warps[usize::from(warp)].known[usize::from(other)] >= time
    }

    /// The same for a warp of any block.
    #[inline(always)]
    pub(super) fn knows_agent(&self, warp: u8, (block, other): Agent, time: u32) -> bool {
        if block == self.block {
            return self.knows(warp, other, time);
        }
        let foreign = self.warps[usize::from(warp)].foreign.as_ref();
        foreign.is_some_and(|known| known.get(&(block, other)).is_some_and(|known| *known >= time))
    }

    /// A later stamp for what a warp does from now on.
    fn advance(&mut self, warp: usize) {
        self.time = self.time.saturating_add(1);
        self.warps[warp].own = self.time;
    }

    /// All that is ordered before what a warp does next, its own accesses included.
    fn all_known(&self, warp: usize) -> Known {
        let clock = &self.warps[warp];
        let mut known = clock.foreign.as_deref().cloned().unwrap_or_default();
        for (other, time) in clock.known.iter().enumerate() {
            let time = if other == warp { clock.own } else { (*time).max(self.base) };
            known.insert((self.block, other as u8), time);
        }
        known
    }

    fn learn(&mut self, warp: usize, news: &Known) {
        let block = self.block;
        let clock = &mut self.warps[warp];
        for ((_, other), time) in news.iter().filter(|((of, _), _)| *of == block) {
            let known = &mut clock.known[usize::from(*other)];
            *known = (*known).max(*time);
        }
        if news.keys().any(|(of, _)| *of != block) {
            let foreign = Arc::make_mut(clock.foreign.get_or_insert_default());
            for (agent, time) in news.iter().filter(|((of, _), _)| *of != block) {
                let known = foreign.entry(*agent).or_default();
                *known = (*known).max(*time);
            }
        }
    }

    /// A warp arrives at a barrier and goes on: those that wait there learn what it did before.
    pub(super) fn arrive(&mut self, barrier: u32, warp: usize) {
        let known = self.all_known(warp);
        self.arrived.entry(barrier).or_default().push(known);
        self.advance(warp);
    }

    pub(super) fn end(&mut self, warp: usize) {
        self.ended.push(warp);
    }

    /// Warps that waited at a barrier go on; `is_of_all`: those that have ended count as having come.
    pub(super) fn meet(&mut self, barrier: u32, waiting: &[usize], is_of_all: bool) {
        let ended: &[usize] = if is_of_all { &self.ended } else { &[] };
        let arrived = self.arrived.remove(&barrier).unwrap_or_default();
        let is_everyone = waiting.len() + ended.len() == self.warps.len();
        if is_everyone {
            // nobody is left who does not know all of it
            self.base = self.time;
        } else {
            let mut known = vec![0; self.warps.len()];
            for warp in waiting.iter().chain(ended) {
                for (known, time) in known.iter_mut().zip(&self.warps[*warp].known) {
                    *known = (*known).max(*time);
                }
                known[*warp] = known[*warp].max(self.warps[*warp].own);
            }
            for warp in waiting {
                self.warps[*warp].known.copy_from_slice(&known);
            }
        }
        let foreign: Vec<_> =
            waiting.iter().chain(ended).filter_map(|warp| self.warps[*warp].foreign.clone()).collect();
        if let Some((first, rest)) = foreign.split_first() {
            let mut all = first.clone();
            for other in rest.iter().filter(|other| !Arc::ptr_eq(other, first)) {
                join(Arc::make_mut(&mut all), other);
            }
            waiting.iter().for_each(|warp| self.warps[*warp].foreign = Some(all.clone()));
        }
        if self.multiplies {
            let mut products = [0; GROUPS];
            for warp in waiting.iter().chain(ended) {
                let own = self.warps[*warp].products;
                products = std::array::from_fn(|group| products[group].max(own[group]));
            }
            waiting.iter().for_each(|warp| self.warps[*warp].products = products);
        }
        self.time = self.time.saturating_add(1);
        waiting.iter().for_each(|warp| self.warps[*warp].own = self.time);
        for known in arrived {
            waiting.iter().for_each(|warp| self.learn(*warp, &known));
        }
    }

    /// `fence`, `membar`
    pub(super) fn fence(&mut self, warp: usize, in_block: bool) {
        if let Some(read) = self.warps[warp].read.take() {
            self.learn(warp, &read);
        }
        self.warps[warp].fenced = Some((self.all_known(warp), in_block));
        self.advance(warp);
    }

    /// A strong write at an address, or with `changes` an atomic operation, which also reads there. What it releases goes to the
    /// block, and to others (`flags`) if its scope is larger.
    pub(super) fn release(
        &mut self,
        (warp, at): (usize, u64),
        order: Order,
        changes: bool,
        flags: Option<&Flags>,
    ) {
        let fenced = self.warps[warp].fenced.as_ref();
        if !order.release && fenced.is_none() {
            // a write that releases nothing ends what an earlier one released; an atomic operation passes it on
            if !changes && !self.flags.is_empty() {
                self.flags.remove(&at);
            }
            if let Some(flags) = flags.filter(|_| !changes) {
                flags.remove(at);
            }
            return;
        }
        let (known, in_block) = match (order.release, fenced) {
            (false, Some((known, in_block))) => (known.clone(), order.in_block || *in_block),
            _ => (self.all_known(warp), order.in_block),
        };
        let own = self.flags.entry(at).or_default();
        match changes {
            true => join(own, &known),
            false => own.clone_from(&known),
        }
        if let Some(flags) = flags.filter(|_| !in_block) {
            flags.release(at, known, changes);
        }
        self.advance(warp);
    }

    /// A strong read at an address. An atomic operation acquires what it reads, as it does on every GPU, where what depends on it
    /// comes after it; another read does with `.acquire`, or at the next fence. Whether something was released there.
    pub(super) fn acquire(
        &mut self,
        (warp, at): (usize, u64),
        order: Order,
        changes: bool,
        flags: Option<&Flags>,
    ) -> bool {
        let mut all: Option<Known> = self.flags.get(&at).cloned();
        if let Some(known) = flags.filter(|_| !order.in_block).and_then(|flags| flags.get(at)) {
            match &mut all {
                Some(all) => join(all, &known),
                None => all = Some(known),
            }
        }
        let Some(known) = all else { return false };
        if order.acquire || changes {
            self.learn(warp, &known);
        } else {
            join(self.warps[warp].read.get_or_insert_default(), &known);
        }
        true
    }

    /// The group of asynchronous products that a warp has not committed yet.
    pub(super) fn open_products(&mut self, warp: usize) -> u32 {
        self.multiplies = true;
        self.warps[warp].committed + 1
    }

    /// `wgmma.commit_group`
    pub(super) fn commit_products(&mut self, warp: usize) {
        self.warps[warp].committed += 1;
    }

    /// `wgmma.wait_group`
    pub(super) fn wait_products(&mut self, warp: usize, left: u32) {
        let clock = &mut self.warps[warp];
        let group = warp / crate::matrix::WARPGROUP;
        clock.products[group] = clock.products[group].max(clock.committed.saturating_sub(left));
    }

    /// Warpgroups of the block, the last of which may lack warps.
    pub(super) fn groups(&self) -> usize {
        self.warps.len().div_ceil(crate::matrix::WARPGROUP)
    }

    /// The groups of products of each warpgroup that are ordered before what a warp does now.
    #[inline(always)]
    pub(super) fn products(&self, warp: u8) -> &[u32; GROUPS] {
        &self.warps[usize::from(warp)].products
    }
}
