//! Which accesses are ordered before which: vector clocks of the warps of a block, or cluster of blocks.
//!
//! A warp stamps its accesses with a time, which grows whenever others learn what it did: at a barrier, a release, a fence. A warp
//! knows of every other one up to which time its accesses are ordered before what it does next. Two accesses of which at least
//! one writes, and neither is ordered before the other, race. Lanes of one warp count as ordered.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use super::cluster::Warps;
use super::flags::Flags;
use crate::program::{Order, Scope};

/// A warp of a launch: its cluster, and its number there.
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
    /// The same with the scope of its cluster: for blocks of others it is as good as weak.
    StrongInCluster,
    /// The same with the scope of its block.
    StrongInBlock,
    /// A strong read: it races with weak writes only.
    StrongRead,
    /// The same with the scope of its cluster.
    StrongReadInCluster,
    /// The same with the scope of its block.
    StrongReadInBlock,
}

/// Kinds of accesses.
pub(super) const KINDS: usize = 8;

impl Kind {
    pub(super) fn reads(self) -> bool {
        use Kind::{Read, StrongRead, StrongReadInBlock, StrongReadInCluster};
        matches!(self, Read | StrongRead | StrongReadInCluster | StrongReadInBlock)
    }

    /// A strong write of a scope.
    pub(super) fn strong_write(scope: Scope) -> Kind {
        [Kind::StrongInBlock, Kind::StrongInCluster, Kind::Strong][scope as usize]
    }

    /// A strong read of a scope.
    pub(super) fn strong_read(scope: Scope) -> Kind {
        [Kind::StrongReadInBlock, Kind::StrongReadInCluster, Kind::StrongRead][scope as usize]
    }

    /// The scope of a strong access.
    pub(super) fn scope(self) -> Option<Scope> {
        match self {
            Kind::Read | Kind::Write => None,
            Kind::Strong | Kind::StrongRead => Some(Scope::All),
            Kind::StrongInCluster | Kind::StrongReadInCluster => Some(Scope::Cluster),
            Kind::StrongInBlock | Kind::StrongReadInBlock => Some(Scope::Block),
        }
    }
}

/// Who accesses.
#[derive(Clone, Copy)]
pub(super) struct By<'c> {
    pub(super) warp: u8,
    /// The stamp of what it does now.
    pub(super) now: u32,
    /// Everything up to then is ordered before it.
    base: u32,
    /// Whether the scope of the access is its block, of several of a cluster.
    pub(super) in_block: bool,
    pub(super) clocks: &'c Clocks,
}

impl By<'_> {
    /// The same by an access that is ordered so.
    #[inline(always)]
    pub(super) fn within(self, order: Option<Order>) -> Self {
        let in_block = order.is_some_and(|order| order.scope == Scope::Block) && self.clocks.has_others();
        By { in_block, ..self }
    }

    /// The least scope that has the warp and another one.
    #[inline(always)]
    pub(super) fn least_scope(self, (cluster, other): Agent) -> Scope {
        let block = |warp: u8| usize::from(warp) / self.clocks.stride;
        match () {
            () if cluster != self.clocks.cluster => Scope::All,
            () if block(other) != block(self.warp) => Scope::Cluster,
            () => Scope::Block,
        }
    }

    /// Bits of the warps of other blocks of the cluster.
    pub(super) fn others(self) -> Warps {
        let first = usize::from(self.warp) / self.clocks.stride * self.clocks.stride;
        (0..self.clocks.stride).fold(Warps::MAX, |others, warp| others & !(1 << (first + warp)))
    }

    /// Whether everything that the block did at a time is ordered before what anyone does now.
    #[inline(always)]
    pub(super) fn is_old(self, time: u32) -> bool {
        time <= self.base
    }
}

/// The clocks of the warps of a cluster. A warp is given by its number in the block that runs.
#[derive(Default)]
pub(crate) struct Clocks {
    /// The number of the cluster.
    pub(super) cluster: u32,
    /// The number of the first warp of the block that runs, and how many numbers each block has.
    first: usize,
    pub(super) stride: usize,
    /// Warps of each block.
    count: usize,
    /// The barrier of the cluster.
    pub(super) meeting: Meeting,
    /// The last time that was given out.
    time: u32,
    /// Everything up to then is ordered before everything that comes now.
    base: u32,
    warps: Vec<Clock>,
    /// Of each warp, up to when bulk copies and products see what it wrote: what comes before a `fence.proxy.async` of any warp.
    fenced_for_async: Vec<u32>,
    /// Warps that have ended.
    ended: Vec<usize>,
    /// What warps left at named barriers that they did not wait for, by the first warp of the block, and barrier.
    arrived: HashMap<(usize, u32), Vec<Left>>,
    /// What was released to warps of the cluster, by address.
    flags: HashMap<u64, Released>,
}

/// What was released at an address.
#[derive(Default)]
struct Released {
    /// To all blocks of the cluster.
    to_cluster: Option<Arc<Known>>,
    /// To a block, by its first warp.
    to_block: BTreeMap<usize, Arc<Known>>,
}

/// The barrier of a cluster.
#[derive(Default)]
pub(super) struct Meeting {
    /// How often it is complete.
    pub(super) phases: u32,
    /// The warps that have arrived.
    pub(super) arrived: Warps,
    /// What they did before, and what those of the phase before did.
    gathered: Left,
    released: Left,
}

#[derive(Clone, Default)]
struct Clock {
    /// The stamp of what it does now.
    own: u32,
    /// Of the others of the cluster.
    known: Vec<u32>,
    passed: Passed,
    /// At the barrier of the cluster.
    arrivals: u32,
    committed: u32,
    /// What the last fence lets a strong write release to its block.
    fenced: Option<Arc<Known>>,
}

/// What a warp knows that a barrier passes on to all that meet there.
#[derive(Clone, Default)]
struct Passed {
    /// Times of warps of other blocks.
    foreign: Option<Arc<Known>>,
    /// What fences let a strong write release to other blocks of the cluster, and to all. After a barrier that of any warp does, as
    /// on a GPU: `__threadfence(); __syncthreads(); if (thread == 0) atomicAdd(…)` releases what all threads wrote.
    fenced: [Option<Arc<Known>>; 2],
    /// What strong reads have read that a fence of at least that scope acquires: after a barrier one of any warp does.
    read: [Option<Arc<Known>>; 3],
    /// Barriers of the cluster that are over: the first shows that all of its blocks have started.
    met: u32,
    /// Groups of asynchronous products of each warpgroup that were waited for.
    products: [u32; GROUPS],
}

/// What a warp leaves for those that learn of what it did before.
#[derive(Clone, Default)]
pub(super) struct Left {
    known: Arc<Known>,
    passed: Passed,
}

impl Left {
    pub(super) fn join(&mut self, other: &Left) {
        join(&mut self.known, &other.known);
        self.passed.join(&other.passed);
    }

    /// The same, and that asynchronous operations of a warpgroup are over up to one.
    pub(super) fn with_products(mut self, (group, number): (usize, u32)) -> Left {
        let known = &mut self.passed.products[group];
        *known = (*known).max(number);
        self
    }
}

impl Passed {
    fn join(&mut self, other: &Passed) {
        join_any(&mut self.foreign, other.foreign.as_ref());
        for (own, other) in self.fenced.iter_mut().zip(&other.fenced) {
            join_any(own, other.as_ref());
        }
        for (own, other) in self.read.iter_mut().zip(&other.read) {
            join_any(own, other.as_ref());
        }
        self.met = self.met.max(other.met);
        self.products = std::array::from_fn(|group| self.products[group].max(other.products[group]));
    }
}

/// Warpgroups of a cluster, at most.
pub(super) const GROUPS: usize = super::cluster::MOST_WARPS / crate::matrix::WARPGROUP;

/// Takes the later times of two.
pub(super) fn join(to: &mut Arc<Known>, from: &Arc<Known>) {
    if Arc::ptr_eq(to, from) {
        return;
    }
    let to = Arc::make_mut(to);
    for (agent, time) in from.iter() {
        let known = to.entry(*agent).or_default();
        *known = (*known).max(*time);
    }
}

fn join_any(to: &mut Option<Arc<Known>>, from: Option<&Arc<Known>>) {
    match (to, from) {
        (Some(to), Some(from)) => join(to, from),
        (to, Some(from)) => *to = Some(from.clone()),
        _ => {}
    }
}

impl Clocks {
    /// For the next cluster, of some blocks of some warps, each with `stride` numbers.
    pub(super) fn start(&mut self, cluster: u32, blocks: usize, (count, stride): (usize, usize)) {
        let warps = blocks * stride;
        (self.cluster, self.first, self.stride, self.count) = (cluster, 0, stride, count);
        self.meeting = Meeting::default();
        (self.time, self.base) = (1, 0);
        self.warps.resize(warps, Clock::default());
        for clock in &mut self.warps {
            clock.own = 1;
            clock.known.clear();
            clock.known.resize(warps, 0);
            (clock.committed, clock.arrivals) = (0, 0);
            (clock.passed, clock.fenced) = (Passed::default(), None);
        }
        self.fenced_for_async.clear();
        self.fenced_for_async.resize(warps, 0);
        self.ended.clear();
        self.arrived.clear();
        self.flags.clear();
    }

    /// A block of the cluster runs.
    pub(super) fn enter(&mut self, rank: usize) {
        self.first = rank * self.stride;
    }

    /// A warp, as it accesses memory now.
    #[inline(always)]
    pub(super) fn by(&self, warp: usize) -> By<'_> {
        let warp = self.first + warp;
        By { warp: warp as u8, now: self.warps[warp].own, base: self.base, in_block: false, clocks: self }
    }

    /// Whether the cluster has several blocks.
    #[inline(always)]
    pub(super) fn has_others(&self) -> bool {
        self.warps.len() > self.stride
    }

    /// Whether a warp knows that a block of the cluster has started: of something that a warp of it did, or by a barrier.
    pub(super) fn has_started(&self, warp: usize, rank: usize) -> bool {
        let warp = self.first + warp;
        let first = rank * self.stride;
        let mut others = first..first + self.stride;
        self.warps[warp].passed.met > 0 || others.any(|other| self.knows(warp as u8, other as u8, 1))
    }

    /// How often a warp has arrived at the barrier of the cluster.
    pub(super) fn arrivals(&self, warp: usize) -> u32 {
        self.warps[self.first + warp].arrivals
    }

    /// Whether a warp knows of more barriers of the cluster than another had arrived at.
    pub(super) fn has_met_after(&self, warp: usize, arrivals: u32) -> bool {
        self.warps[self.first + warp].passed.met > arrivals
    }

    /// Whether what another warp of the block did at a time is ordered before what this one does now.
    #[inline(always)]
    pub(super) fn knows(&self, warp: u8, other: u8, time: u32) -> bool {
        time <= self.base || warp == other || self.warps[usize::from(warp)].known[usize::from(other)] >= time
    }

    /// The same for a warp of any block.
    #[inline(always)]
    pub(super) fn knows_agent(&self, warp: u8, (cluster, other): Agent, time: u32) -> bool {
        if cluster == self.cluster {
            return self.knows(warp, other, time);
        }
        let foreign = self.warps[usize::from(warp)].passed.foreign.as_ref();
        foreign.is_some_and(|known| known.get(&(cluster, other)).is_some_and(|known| *known >= time))
    }

    /// A later stamp for what a warp does from now on.
    fn advance(&mut self, warp: usize) {
        self.time = self.time.saturating_add(1);
        self.warps[warp].own = self.time;
    }

    /// All that is ordered before what a warp does next, its own accesses included.
    fn all_known(&self, warp: usize) -> Known {
        let clock = &self.warps[warp];
        let mut known = clock.passed.foreign.as_deref().cloned().unwrap_or_default();
        for (other, time) in clock.known.iter().enumerate() {
            let time = if other == warp { clock.own } else { (*time).max(self.base) };
            known.insert((self.cluster, other as u8), time);
        }
        known
    }

    fn learn(&mut self, warp: usize, news: &Known) {
        let cluster = self.cluster;
        let clock = &mut self.warps[warp];
        for ((_, other), time) in news.iter().filter(|((of, _), _)| *of == cluster) {
            let known = &mut clock.known[usize::from(*other)];
            *known = (*known).max(*time);
        }
        if news.keys().any(|(of, _)| *of != cluster) {
            let foreign = Arc::make_mut(clock.passed.foreign.get_or_insert_default());
            for (agent, time) in news.iter().filter(|((of, _), _)| *of != cluster) {
                let known = foreign.entry(*agent).or_default();
                *known = (*known).max(*time);
            }
        }
    }

    /// A warp arrives at a barrier and goes on: those that wait there learn what it did before.
    pub(super) fn arrive(&mut self, barrier: u32, warp: usize) {
        let left = self.leave(warp);
        self.arrived.entry((self.first, barrier)).or_default().push(left);
    }

    /// What a warp leaves of what it did; what it does from now on is not in it.
    pub(super) fn leave(&mut self, warp: usize) -> Left {
        let warp = self.first + warp;
        let known = Arc::new(self.all_known(warp));
        self.advance(warp);
        Left { known, passed: self.warps[warp].passed.clone() }
    }

    /// The same of an arrival that releases nothing itself: what its last fence does.
    pub(super) fn leave_relaxed(&self, warp: usize) -> Left {
        let Clock { fenced, passed, .. } = &self.warps[self.first + warp];
        let mut known = fenced.clone();
        join_any(&mut known, passed.fenced[0].as_ref());
        Left { known: known.unwrap_or_default(), passed: Passed::default() }
    }

    /// A warp learns of what others left.
    pub(super) fn take(&mut self, warp: usize, left: &Left) {
        let warp = self.first + warp;
        self.learn(warp, &left.known);
        self.warps[warp].passed.join(&left.passed);
    }

    pub(super) fn end(&mut self, warp: usize) {
        self.ended.push(self.first + warp);
        if self.meeting.arrived != 0 {
            self.complete();
        }
    }

    /// A warp arrives at the barrier of the cluster; what it did before is released if it `orders`.
    pub(super) fn arrive_in_cluster(&mut self, warp: usize, orders: bool) {
        let left = if orders { self.leave(warp) } else { self.leave_relaxed(warp) };
        self.meeting.gathered.join(&left);
        self.meeting.arrived |= 1 << (self.first + warp);
        self.warps[self.first + warp].arrivals += 1;
        self.complete();
    }

    /// A warp waited at the barrier of the cluster.
    pub(super) fn leave_meeting(&mut self, warp: usize) {
        let released = self.meeting.released.clone();
        self.take(warp, &released);
        let (phases, met) = (self.meeting.phases, &mut self.warps[self.first + warp].passed.met);
        *met = phases.max(*met);
    }

    /// Warps of the cluster that neither are at its barrier nor have ended.
    pub(super) fn missing(&self) -> impl Iterator<Item = usize> {
        let is_warp = |warp: &usize| warp % self.stride < self.count;
        let is_missing = |warp: &usize| self.meeting.arrived >> warp & 1 == 0 && !self.ended.contains(warp);
        (0..self.warps.len()).filter(is_warp).filter(is_missing)
    }

    /// Completes the barrier of the cluster if all have come. Those that have ended count as having come.
    fn complete(&mut self) {
        if self.missing().next().is_some() {
            return;
        }
        for warp in self.ended.clone() {
            let left =
                Left { known: Arc::new(self.all_known(warp)), passed: self.warps[warp].passed.clone() };
            self.meeting.gathered.join(&left);
        }
        self.meeting.phases += 1;
        self.meeting.arrived = 0;
        self.meeting.released = std::mem::take(&mut self.meeting.gathered);
    }

    /// Warps that waited at a barrier go on; `is_of_all`: those that have ended count as having come.
    pub(super) fn meet(&mut self, barrier: u32, waiting: &[usize], is_of_all: bool) {
        let (first, behind) = (self.first, self.first + self.stride);
        let waiting: Vec<usize> = waiting.iter().map(|warp| first + warp).collect();
        let is_own = |warp: &usize| (first..behind).contains(warp);
        let ended: Vec<usize> = match is_of_all {
            true => self.ended.iter().copied().filter(is_own).collect(),
            false => vec![],
        };
        let arrived = self.arrived.remove(&(first, barrier)).unwrap_or_default();
        let is_everyone = waiting.len() + ended.len() == self.warps.len();
        if is_everyone {
            // nobody is left who does not know all of it
            self.base = self.time;
        } else {
            let mut known = vec![0; self.warps.len()];
            for warp in waiting.iter().chain(&ended) {
                for (known, time) in known.iter_mut().zip(&self.warps[*warp].known) {
                    *known = (*known).max(*time);
                }
                known[*warp] = known[*warp].max(self.warps[*warp].own);
            }
            for warp in &waiting {
                self.warps[*warp].known.copy_from_slice(&known);
            }
        }
        let mut passed = Passed::default();
        waiting.iter().chain(&ended).for_each(|warp| passed.join(&self.warps[*warp].passed));
        arrived.iter().for_each(|left| passed.join(&left.passed));
        waiting.iter().for_each(|warp| self.warps[*warp].passed.clone_from(&passed));
        self.time = self.time.saturating_add(1);
        waiting.iter().for_each(|warp| self.warps[*warp].own = self.time);
        for left in arrived {
            waiting.iter().for_each(|warp| self.learn(*warp, &left.known));
        }
    }

    /// `fence`, `membar`
    pub(super) fn fence(&mut self, warp: usize, scope: Scope) {
        let warp = self.first + warp;
        for of in 0..=scope as usize {
            if let Some(read) = self.warps[warp].passed.read[of].take() {
                self.learn(warp, &read);
            }
        }
        let known = Some(Arc::new(self.all_known(warp)));
        let clock = &mut self.warps[warp];
        for fenced in &mut clock.passed.fenced[..scope as usize] {
            fenced.clone_from(&known);
        }
        clock.fenced = known;
        self.advance(warp);
    }

    /// `fence.proxy.async` of shared memory
    pub(super) fn fence_for_async(&mut self, warp: usize) {
        let warp = self.first + warp;
        let Clock { own, known, .. } = &self.warps[warp];
        for (other, (fenced, known)) in self.fenced_for_async.iter_mut().zip(known).enumerate() {
            let time = if other == warp { *own } else { (*known).max(self.base) };
            *fenced = (*fenced).max(time);
        }
        self.advance(warp);
    }

    /// Whether bulk copies and products see what a warp wrote at a time.
    pub(super) fn is_fenced_for_async(&self, warp: usize, time: u32) -> bool {
        time <= self.fenced_for_async[warp]
    }

    /// A strong write at an address, or with `changes` an atomic operation, which also reads there. What it releases goes to the
    /// block, to its cluster, and to others (`flags`), as far as its scope goes.
    pub(super) fn release(
        &mut self,
        (warp, at): (usize, u64),
        order: Order,
        changes: bool,
        flags: Option<&Flags>,
    ) {
        let warp = self.first + warp;
        let all = order.release.then(|| Arc::new(self.all_known(warp)));
        let Clock { fenced, passed, .. } = &self.warps[warp];
        let [to_cluster, to_all] = [(Scope::Cluster, &passed.fenced[0]), (Scope::All, &passed.fenced[1])]
            .map(|(scope, fenced)| all.clone().or_else(|| fenced.clone()).filter(|_| scope <= order.scope));
        let mut to_block = all.clone().or_else(|| fenced.clone());
        if all.is_none() {
            join_any(&mut to_block, passed.fenced[0].as_ref());
        }
        // a write that releases nothing ends what an earlier one released; an atomic operation passes it on
        if let Some(flags) = flags {
            match to_all {
                Some(known) => flags.release(at, known, changes),
                None if !changes => flags.remove(at),
                None => {}
            }
        }
        let Some(known) = to_block else {
            if !changes && !self.flags.is_empty() {
                self.flags.remove(&at);
            }
            return;
        };
        let first = self.first;
        let released = self.flags.entry(at).or_default();
        if !changes {
            *released = Released::default();
        }
        join(released.to_block.entry(first).or_default(), &known);
        join_any(&mut released.to_cluster, to_cluster.as_ref());
        self.advance(warp);
    }

    /// A strong read at an address. An atomic operation whose result is used (`observes`) acquires what it reads, as it does on every
    /// GPU, where what depends on it comes after it; another read does with `.acquire`, or at the next fence. Whether something was
    /// released there.
    pub(super) fn acquire(
        &mut self,
        (warp, at): (usize, u64),
        order: Order,
        observes: bool,
        flags: Option<&Flags>,
    ) -> bool {
        let warp = self.first + warp;
        let released = self.flags.get(&at);
        let all = [
            released.and_then(|released| released.to_block.get(&self.first)).cloned(),
            released
                .and_then(|released| released.to_cluster.clone())
                .filter(|_| order.scope >= Scope::Cluster),
            flags.filter(|_| order.scope == Scope::All).and_then(|flags| flags.get(at)),
        ];
        let is_any = all.iter().any(Option::is_some);
        for (scope, known) in all.iter().enumerate() {
            let Some(known) = known else { continue };
            match order.acquire || observes {
                true => self.learn(warp, known),
                false => join_any(&mut self.warps[warp].passed.read[scope], Some(known)),
            }
        }
        is_any
    }

    /// The group of asynchronous products that a warp has not committed yet.
    pub(super) fn open_products(&self, warp: usize) -> u32 {
        self.warps[self.first + warp].committed + 1
    }

    /// `wgmma.commit_group`
    pub(super) fn commit_products(&mut self, warp: usize) {
        self.warps[self.first + warp].committed += 1;
    }

    /// `wgmma.wait_group`
    pub(super) fn wait_products(&mut self, warp: usize, left: u32) {
        let warp = self.first + warp;
        let clock = &mut self.warps[warp];
        let group = warp / crate::matrix::WARPGROUP;
        let products = &mut clock.passed.products;
        products[group] = products[group].max(clock.committed.saturating_sub(left));
    }

    /// Warpgroups of the cluster, the last of which may lack warps.
    pub(super) fn groups(&self) -> usize {
        self.warps.len().div_ceil(crate::matrix::WARPGROUP)
    }

    /// The groups of products of each warpgroup that are ordered before what a warp does now.
    #[inline(always)]
    pub(super) fn products(&self, warp: u8) -> &[u32; GROUPS] {
        &self.warps[usize::from(warp)].passed.products
    }
}
