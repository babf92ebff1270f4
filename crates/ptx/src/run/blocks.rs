//! The clusters of blocks that one thread of this machine runs; most have one block.

use std::collections::VecDeque;

use super::block::{Block, CLUSTER, Pause};
use super::clocks::Clocks;
use super::running::Running;
use super::warp::{State, Warp};
use crate::error::Error;

/// A cluster that has not ended.
struct Live<'l> {
    number: u64,
    /// How often it was found to wait for itself alone since it last changed anything.
    in_vain: usize,
    /// Its blocks; none is missing while no block runs.
    blocks: Vec<Option<Box<Block<'l>>>>,
    /// Of each block.
    warps: Vec<Vec<Warp>>,
    clocks: Clocks,
}

/// Clusters that wait for others at once, at most.
const MOST_WAITING: usize = 4096;

/// Times that clusters are asked whether they still wait while nothing changes, before that is an error.
const MOST_LOOKS: usize = 100_000;

/// The same of a cluster that waits for what no other does.
const MOST_LOOKS_ALONE: usize = 1000;

/// Times that the blocks of a cluster run one after the other before other clusters do.
const MOST_ROUNDS: u32 = 1000;

/// Runs clusters until no more `start`; the instructions of their threads. One runs until it ends, or waits for a value that
/// another thread writes: then the next one starts, or, if all have, goes on.
pub(super) fn run_all(
    running: &Running<'_>,
    start: &dyn Fn() -> Option<u64>,
    end: &dyn Fn(bool),
    fail: &dyn Fn(u64, Error),
) -> u64 {
    let mut executed = 0;
    let (mut waiting, mut ended): (VecDeque<Live<'_>>, Vec<Live<'_>>) = (VecDeque::new(), vec![]);
    // looks at clusters that wait since memory has changed, and whether the oldest of them are due
    let (mut looks, mut is_due) = (0, false);
    loop {
        let next = if is_due || waiting.len() >= MOST_WAITING { None } else { start() };
        let mut live = match (next, waiting.pop_front()) {
            (Some(number), old) => {
                old.into_iter().for_each(|old| waiting.push_front(old));
                let mut live = ended.pop().unwrap_or_else(|| Live::new(running));
                live.start(running, number);
                live
            }
            (None, Some(old)) => old,
            (None, None) if is_due => {
                is_due = false;
                continue;
            }
            (None, None) => break,
        };
        match live.run(running) {
            Ok(Pause::Ended { unwritten }) => {
                end(unwritten);
                ended.push(live);
                (looks, is_due) = (0, !waiting.is_empty());
            }
            Ok(Pause::Spins { changes, alone }) => {
                looks = if changes { 0 } else { looks + 1 };
                let is_alone = alone || running.clusters.counts() == [1; 3];
                live.in_vain = if is_alone && !changes { live.in_vain + 1 } else { 0 };
                let is_over = live.in_vain > MOST_LOOKS_ALONE || looks > MOST_LOOKS.max(100 * waiting.len());
                if is_over || running.look().is_err() {
                    fail(live.number, live.waits_in_vain(running));
                    ended.push(live);
                    break;
                }
                waiting.push_back(live);
                is_due = false;
            }
            Ok(Pause::Waits { .. }) => {
                fail(live.number, live.stuck(running));
                ended.push(live);
                break;
            }
            Err(error) => {
                fail(live.number, error);
                ended.push(live);
                break;
            }
        }
    }
    for live in waiting.iter().chain(&ended) {
        executed += live.warps.iter().flatten().map(|warp| warp.executed).sum::<u64>();
    }
    executed
}

impl<'l> Live<'l> {
    fn new(running: &'l Running<'l>) -> Live<'l> {
        let size = running.clusters.size();
        let blocks = (0..size).map(|_| Some(Box::new(Block::new(running)))).collect();
        let warps = || (0..running.clusters.warps).map(|_| Warp::new(running.kernel)).collect();
        let warps = (0..size).map(|_| warps()).collect();
        Live { number: 0, in_vain: 0, blocks, warps, clocks: Clocks::default() }
    }

    fn start(&mut self, running: &Running<'_>, number: u64) {
        (self.number, self.in_vain) = (number, 0);
        // numbers are from 1; beyond what a mark can hold, clusters are not told apart
        let mark = u32::try_from(number + 1).unwrap_or(u32::MAX).min((1 << 27) - 2);
        self.clocks.start(mark, self.blocks.len(), (running.clusters.warps, running.clusters.stride));
        for (rank, (block, warps)) in self.blocks.iter_mut().zip(&mut self.warps).enumerate() {
            block.iter_mut().for_each(|block| block.start((number, rank), warps));
        }
    }

    /// Runs until all blocks have ended, or some wait for another cluster, or none can go on.
    fn run(&mut self, running: &Running<'_>) -> Result<Pause, Error> {
        let size = self.blocks.len();
        let (mut changes, mut unwritten) = (false, false);
        for round in 0.. {
            let (mut goes_on, mut spins, mut alone) = (false, false, true);
            for rank in 0..size {
                let rank = running.turn_of(rank, size);
                match self.run_block(rank)? {
                    Some(Pause::Ended { unwritten: has_read }) => {
                        goes_on = true;
                        unwritten |= has_read;
                    }
                    Some(Pause::Waits { ran }) => goes_on |= ran,
                    Some(Pause::Spins { changes: has_changed, alone: is_alone }) => {
                        goes_on |= has_changed;
                        spins = true;
                        alone &= is_alone;
                    }
                    None => {}
                }
            }
            if self.blocks.iter().flatten().all(|block| block.has_ended) {
                running.global.flights.forget(self.clocks.cluster);
                return Ok(Pause::Ended { unwritten });
            }
            changes |= goes_on;
            // a block alone waits for no other here; what goes on for ever lets other clusters run now and then
            if goes_on && size > 1 && (!spins || round < MOST_ROUNDS) {
                running.look()?;
                continue;
            }
            return Ok(if spins { Pause::Spins { changes, alone } } else { Pause::Waits { ran: false } });
        }
        Ok(Pause::Waits { ran: false })
    }

    /// Runs a block that has not ended, while the others hang at it.
    fn run_block(&mut self, rank: usize) -> Result<Option<Pause>, Error> {
        let Some(mut block) = self.blocks[rank].take_if(|block| !block.has_ended) else { return Ok(None) };
        std::mem::swap(&mut block.peers, &mut self.blocks);
        std::mem::swap(&mut block.clocks, &mut self.clocks);
        block.clocks.enter(rank);
        let pause = block.run(&mut self.warps[rank]);
        std::mem::swap(&mut block.peers, &mut self.blocks);
        std::mem::swap(&mut block.clocks, &mut self.clocks);
        self.blocks[rank] = Some(block);
        pause.map(Some)
    }

    fn all(&self) -> impl Iterator<Item = (&Block<'l>, &Vec<Warp>)> {
        self.blocks.iter().flatten().map(Box::as_ref).zip(&self.warps)
    }

    /// The error of a cluster that waits for what nobody does.
    fn waits_in_vain(&self, running: &Running<'_>) -> Error {
        let spins =
            |(_, warps): &(&Block<'_>, &Vec<Warp>)| warps.iter().any(|warp| warp.state == State::Ready);
        match self.all().find(spins) {
            Some((block, warps)) => self.with_those_at_the_barrier(block.waits_in_vain(warps), running),
            None => self.stuck(running),
        }
    }

    /// The error of a cluster in which nobody can go on.
    fn stuck(&self, running: &Running<'_>) -> Error {
        let is_stuck = |warp: &Warp| match warp.state {
            State::Waiting { id, .. } => id != CLUSTER,
            State::InWarpgroup { .. } => true,
            _ => false,
        };
        match self.all().find(|(_, warps)| warps.iter().any(is_stuck)) {
            Some((block, warps)) => self.with_those_at_the_barrier(block.stuck(warps), running),
            None => Error::Stopped,
        }
    }

    /// An error of a block, with who waits for it at the barrier of the cluster.
    fn with_those_at_the_barrier(&self, error: Error, running: &Running<'_>) -> Error {
        let waits = |warp: &Warp| match warp.state {
            State::Waiting { at, id: CLUSTER } => Some((warp.number, at)),
            _ => None,
        };
        let mut waiting =
            self.all().filter_map(|(block, warps)| Some((block.index, warps.iter().find_map(waits)?)));
        match (error, waiting.next()) {
            (Error::Kernel { line, what, thread }, Some(([x, y, z], (warp, at)))) => {
                let other = running.kernel.steps[at].line;
                let what = format!(
                    "{what}; at the barrier of the cluster, line {other}, warp {warp} of block ({x}, {y}, {z}) waits for this block"
                );
                Error::Kernel { line, what, thread }
            }
            (error, _) => error,
        }
    }
}
