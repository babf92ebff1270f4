//! One block: its warps, its shared memory, its barriers.

use std::collections::BTreeMap;

use super::clocks::Clocks;
use super::cluster::rank_bits;
use super::fault::Fault;
use super::objects::Objects;
use super::running::Running;
use super::shared::Shared;
use super::tcgen05::TensorMemory;
use super::undefined::Bytes;
use super::warp::{State, Warp};
use crate::decode::decoder::SHARED_WINDOW;
use crate::error::Error;
use crate::lanes::LANES;
use crate::matrix::WARPGROUP;
use crate::program::Reduction;
use crate::program::{Logic, Op};

pub(crate) struct Block<'l> {
    pub(crate) launch: &'l Running<'l>,
    pub(crate) index: [u32; 3],
    /// The number of its cluster, and its own there.
    pub(super) cluster: u64,
    pub(super) rank: usize,
    /// The other blocks of the cluster, by rank, while this one runs.
    pub(super) peers: Vec<Option<Box<Block<'l>>>>,
    pub(super) has_ended: bool,
    /// Pieces of its shared memory that copies to other blocks may still read.
    pub(super) lent: usize,
    /// Warps of other blocks that have accessed its shared memory, and when each did last.
    pub(super) visits: BTreeMap<u8, u32>,
    /// Where its shared memory begins, as a generic address that no other block of the cluster has.
    pub(super) base: u64,
    pub(crate) shared: Shared,
    /// Of the cluster, while the block runs.
    pub(super) clocks: Clocks,
    pub(super) objects: Objects,
    pub(super) tensor: TensorMemory,
    /// What is undefined of it, where that is followed.
    pub(crate) undefined: Bytes,
    barriers: [Barrier; BARRIERS as usize],
    /// Warps that waited at barriers that are complete.
    released: Vec<Vec<usize>>,
    /// How many warps have not ended.
    running: usize,
}

/// A barrier: the warps that have come since it was complete last.
#[derive(Default)]
struct Barrier {
    /// Threads that it waits for; all of the block without.
    count: Option<u32>,
    /// Those that went on, and those that wait.
    arrived: Vec<usize>,
    waiting: Vec<usize>,
}

/// Why a block stopped.
pub(crate) enum Pause {
    /// `unwritten`: whether it read memory that nobody wrote.
    Ended { unwritten: bool },
    /// A warp waits for a value in memory; `changes`: whether memory changed meanwhile; `alone`: whether no other block can change what
    /// the warps wait for.
    Spins { changes: bool, alone: bool },
    /// No warp can go on; `ran`: whether one did before.
    Waits { ran: bool },
}

/// Barriers of a block.
const BARRIERS: u32 = 16;

/// What stands for the barrier of the cluster among them.
pub(super) const CLUSTER: u32 = BARRIERS;

impl<'l> Block<'l> {
    pub(crate) fn new(launch: &'l Running<'l>) -> Block<'l> {
        let shared = Shared::new(launch.shared_bytes);
        let barriers = Default::default();
        let followed = if launch.undefined.is_some() { launch.shared_bytes } else { 0 };
        let undefined = Bytes::undefined(followed as usize);
        let clocks = Clocks::default();
        let objects = Objects::default();
        Block {
            launch,
            index: [0; 3],
            cluster: 0,
            rank: 0,
            peers: vec![],
            has_ended: false,
            lent: 0,
            visits: BTreeMap::new(),
            base: SHARED_WINDOW,
            shared,
            clocks,
            objects,
            tensor: TensorMemory::default(),
            undefined,
            barriers,
            released: vec![],
            running: 0,
        }
    }

    /// Starts one block of a cluster.
    pub(crate) fn start(&mut self, (cluster, rank): (u64, usize), warps: &mut [Warp]) {
        self.index = self.launch.clusters.index(cluster, rank);
        (self.cluster, self.rank, self.has_ended, self.lent) = (cluster, rank, false, 0);
        self.base = SHARED_WINDOW | rank_bits(rank);
        self.visits.clear();
        self.shared.reset();
        self.undefined.reset();
        self.objects.reset();
        self.tensor.reset(self.launch.undefined.is_some());
        self.barriers = Default::default();
        self.released.clear();
        self.running = warps.len();
        for (index, warp) in warps.iter_mut().enumerate() {
            warp.start(self, index);
        }
    }

    /// Runs the block until it has ended, or waits for others.
    pub(crate) fn run(&mut self, warps: &mut [Warp]) -> Result<Pause, Error> {
        let mut has_run = false;
        loop {
            let (mut ran, mut spins) = (false, false);
            self.wake(warps);
            for index in 0..warps.len() {
                let index = self.launch.turn_of(index, warps.len());
                if warps[index].state == State::Ready {
                    warps[index].run(self)?;
                    ran = true;
                    spins |= warps[index].spin.has_stopped();
                    match warps[index].state {
                        State::InWarpgroup { at } => self.warpgroup(index / WARPGROUP, at, warps)?,
                        State::Done => {
                            if let Some((at, _, line)) = warps[index].bulks.reads().next() {
                                let what = format!(
                                    "the block ends while this copy may still read shared memory at {at:#x}: cp.async.bulk.wait_group.read is missing"
                                );
                                return Err(warps[index].error(self, line, Fault::new(0, what)));
                            }
                            self.ended(index);
                        }
                        _ => {}
                    }
                    self.release(warps);
                }
            }
            if warps.iter().all(|warp| warp.state == State::Done) {
                if self.tensor.left() > 0 {
                    let what = format!(
                        "ends with {} columns of tensor memory that were not freed",
                        self.tensor.left()
                    );
                    return Err(warps[0].error(self, warps[0].line(self.launch.kernel), Fault::new(0, what)));
                }
                if let Some(what) = self.visitor() {
                    return Err(warps[0].error(self, warps[0].line(self.launch.kernel), Fault::new(0, what)));
                }
                self.has_ended = true;
                let unwritten = self.shared.unwritten.is_some() || warps.iter().any(|warp| warp.unwritten);
                return Ok(Pause::Ended { unwritten });
            }
            // those that spin may wait for what comes after a product
            has_run |= ran;
            if ran && !spins {
                continue;
            }
            if !warps.iter().any(|warp| matches!(warp.state, State::Multiplying { .. })) {
                if !spins {
                    return Ok(Pause::Waits { ran: has_run });
                }
                let changes = warps.iter_mut().fold(false, |all, warp| all | warp.spin.has_changed());
                let mut ready = warps.iter().filter(|warp| warp.state == State::Ready);
                let alone = ready.all(|warp| warp.waits_at.is_some() && warp.spin.waits_for_objects());
                return Ok(Pause::Spins { changes, alone });
            }
            Warp::add_products(self.launch.kernel, warps).map_err(|(warp, fault)| {
                warps[warp].error(self, warps[warp].line(self.launch.kernel), fault)
            })?;
        }
    }

    /// Lets warps go on for which all others of the cluster have come.
    fn wake(&mut self, warps: &mut [Warp]) {
        let phases = self.clocks.meeting.phases;
        for warp in warps.iter_mut().filter(|warp| warp.meets.is_some_and(|phase| phase < phases)) {
            if let State::Waiting { at, id: CLUSTER } = warp.state {
                if let Op::ClusterBarrier { orders: true, .. } = self.launch.kernel.steps[at].op {
                    self.clocks.leave_meeting(warp.number);
                }
                (warp.state, warp.meets) = (State::Ready, None);
            }
        }
    }

    /// A warp comes to the barrier of the cluster: arrives, or is to wait there.
    pub(crate) fn meet(&mut self, warp: &mut Warp, arrive: bool, orders: bool) -> Result<(), &'static str> {
        match (arrive, warp.meets) {
            (true, Some(_)) => Err(
                "arrives a second time at the barrier of the cluster: barrier.cluster.wait must come first",
            ),
            (false, None) => Err("waits at the barrier of the cluster, and has not arrived there before"),
            (true, None) => {
                warp.meets = Some(self.clocks.meeting.phases);
                self.clocks.arrive_in_cluster(warp.number, orders);
                Ok(())
            }
            (false, Some(_)) => Ok(()),
        }
    }

    /// The error of a block that waits for what nobody does.
    pub(super) fn waits_in_vain(&self, warps: &[Warp]) -> Error {
        let Some(warp) = warps.iter().find(|warp| warp.state == State::Ready) else {
            return self.stuck(warps);
        };
        let missing = warps.iter().find_map(|warp| Some((warp, self.objects.waits_for(warp.waits_at?)?)));
        if let Some((warp, what)) = missing.filter(|(warp, _)| warp.state == State::Ready) {
            return warp.error(self, warp.line(self.launch.kernel), Fault::new(0, what));
        }
        let what = "the loop waits for a value that no other thread writes";
        warp.error(self, warp.line(self.launch.kernel), Fault::new(0, what))
    }

    /// Multiplies if all warps of a warpgroup have come.
    fn warpgroup(&mut self, group: usize, at: usize, warps: &mut [Warp]) -> Result<(), Error> {
        let kernel = self.launch.kernel;
        let Op::Wgmma(operation) = &kernel.steps[at].op else { return Ok(()) };
        let first = group * WARPGROUP;
        let Some(members) = warps.get_mut(first..first + WARPGROUP) else {
            let what = "the last warps of the block are no warpgroup of four";
            return Err(warps[first].error(self, operation.line, Fault::new(0, what)));
        };
        if members.iter().all(|warp| warp.state == State::InWarpgroup { at }) {
            Warp::wgmma(members, operation, self)
                .map_err(|(warp, fault)| members[warp].error(self, operation.line, fault))?;
        }
        Ok(())
    }

    /// A warp comes to a barrier: it waits there, or `goes_on`.
    pub(crate) fn arrive(
        &mut self,
        id: u32,
        count: Option<u32>,
        warp: usize,
        goes_on: bool,
    ) -> Result<(), String> {
        if id >= BARRIERS {
            return Err(format!("there is no barrier {id}: a block has {BARRIERS}"));
        }
        let most = self.launch.threads().next_multiple_of(LANES);
        if let Some(count) = count
            && (count == 0 || !(count as usize).is_multiple_of(LANES) || count as usize > most)
        {
            return Err(format!(
                "a barrier waits for a multiple of 32 threads up to {most}, not for {count}"
            ));
        }
        let barrier = &mut self.barriers[id as usize];
        let is_first = barrier.arrived.is_empty() && barrier.waiting.is_empty();
        if !is_first && barrier.count != count {
            let said = |count: Option<u32>| count.map_or("all".to_owned(), |count| count.to_string());
            return Err(format!(
                "barrier {id} waits for {} threads here, and for {} where another warp reached it",
                said(count),
                said(barrier.count)
            ));
        }
        barrier.count = count;
        if goes_on {
            barrier.arrived.push(warp);
            self.clocks.arrive(id, warp);
        } else {
            barrier.waiting.push(warp);
        }
        self.complete(id as usize);
        Ok(())
    }

    /// Completes a barrier if all have come. Without a count it waits for the warps that have not ended.
    fn complete(&mut self, id: usize) {
        let barrier = &mut self.barriers[id];
        let expected = barrier.count.map_or(self.running, |count| count as usize / LANES);
        let come = barrier.arrived.len() + barrier.waiting.len();
        if come == 0 || come < expected {
            return;
        }
        barrier.arrived.clear();
        let waiting = std::mem::take(&mut barrier.waiting);
        self.clocks.meet(id as u32, &waiting, barrier.count.is_none());
        self.released.push(waiting);
    }

    /// A warp has ended: barriers need not wait for it.
    fn ended(&mut self, warp: usize) {
        self.running -= 1;
        self.clocks.end(warp);
        (0..BARRIERS as usize).for_each(|id| self.complete(id));
    }

    /// Lets the warps of completed barriers go on.
    fn release(&mut self, warps: &mut [Warp]) {
        for waiting in std::mem::take(&mut self.released) {
            self.reduce(&waiting, warps);
            for warp in waiting {
                warps[warp].state = State::Ready;
            }
        }
    }

    /// The result of `bar.red`.
    fn reduce(&self, waiting: &[usize], warps: &mut [Warp]) {
        let steps = &self.launch.kernel.steps;
        // warps, their reductions, and the lanes at each
        let mut places = vec![];
        for warp in waiting {
            for (at, lanes) in &warps[*warp].at_barrier {
                if let Op::Barrier { reduce: Some(reduce), .. } = &steps[*at].op {
                    places.push((*warp, &**reduce, *lanes));
                }
            }
        }
        let bits = |(warp, reduce, lanes): &(usize, &Reduction, u32)| {
            (warps[*warp].registers.condition(reduce.a) & lanes, *lanes)
        };
        let all: Vec<(u32, u32)> = places.iter().map(bits).collect();
        for (warp, reduce, lanes) in places {
            let value = match reduce.f {
                None => all.iter().map(|(bits, _)| bits.count_ones()).sum(),
                Some(Logic::And) => u32::from(all.iter().all(|(bits, lanes)| bits == lanes)),
                Some(_) => u32::from(all.iter().any(|(bits, _)| *bits != 0)),
            };
            let registers = &mut warps[warp].registers;
            registers.set_any(reduce.d, lanes, &[value.into(); LANES]);
            if let Some(p) = reduce.p {
                registers.set_predicate(p, lanes, if value != 0 { u32::MAX } else { 0 });
            }
        }
    }

    /// Nobody can go on: a barrier, or a warpgroup, waits for warps that do not come.
    pub(super) fn stuck(&self, warps: &[Warp]) -> Error {
        let line = |at: usize| self.launch.kernel.steps[at].line;
        let waits = |warp: &Warp| match warp.state {
            State::Waiting { at, .. } | State::InWarpgroup { at } => Some(at),
            _ => None,
        };
        let is_own = |warp: &&Warp| !matches!(warp.state, State::Waiting { id: CLUSTER, .. });
        let own = warps.iter().filter(is_own).find_map(|warp| Some((warp, waits(warp)?)));
        let Some((warp, at)) = own else { return Error::Stopped };
        let (what, missing) = match warp.state {
            State::Waiting { id, .. } => {
                let counts = self.barriers[id as usize].count.is_some();
                let elsewhere = |other: &&Warp| match other.state {
                    State::Waiting { id: at, .. } => at != id,
                    // those that have ended are waited for where the barrier counts threads
                    State::Done => counts,
                    _ => true,
                };
                ("the barrier is not reached by all threads", warps.iter().find(elsewhere))
            }
            _ => (
                "wgmma is not reached by all warps of the warpgroup",
                warps.iter().find(|other| {
                    other.number / WARPGROUP == warp.number / WARPGROUP && other.state != warp.state
                }),
            ),
        };
        let (who, lane) = match missing {
            None => ("other threads, which do not come".to_owned(), warp),
            Some(other) => {
                let does = match waits(other) {
                    Some(at) => format!("waits at line {}", line(at)),
                    None => "has ended".to_owned(),
                };
                (format!("warp {}, which {does}", other.number), other)
            }
        };
        lane.error(self, line(at), Fault::new(0, format!("{what}: it waits for {who}")))
    }
}
