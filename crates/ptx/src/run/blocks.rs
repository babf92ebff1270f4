//! The blocks that one thread of this machine runs.

use std::collections::VecDeque;

use super::block::{Block, Pause};
use super::running::Running;
use super::warp::Warp;
use crate::error::Error;
use crate::lanes::LANES;

/// A block that has not ended.
struct Live<'l> {
    number: u64,
    /// How often it was found to wait for itself alone since it last changed anything.
    in_vain: usize,
    block: Block<'l>,
    warps: Vec<Warp>,
}

/// Blocks that wait for others at once, at most.
const MOST_WAITING: usize = 4096;

/// Times that blocks are asked whether they still wait while nothing changes, before that is an error.
const MOST_LOOKS: usize = 100_000;

/// The same of a block that waits for what no other block does.
const MOST_LOOKS_ALONE: usize = 1000;

/// Runs blocks until no more `start`; the instructions of their threads. A block runs until it ends, or waits for a value that
/// another thread writes: then the next one starts, or, if all have, goes on.
pub(super) fn run_all(
    running: &Running<'_>,
    start: &dyn Fn() -> Option<u64>,
    end: &dyn Fn(bool),
    fail: &dyn Fn(u64, Error),
) -> u64 {
    let mut executed = 0;
    let (mut waiting, mut ended): (VecDeque<Live<'_>>, Vec<Live<'_>>) = (VecDeque::new(), vec![]);
    // looks at blocks that wait since memory has changed, and whether the oldest of them are due
    let (mut looks, mut is_due) = (0, false);
    loop {
        let next = if is_due || waiting.len() >= MOST_WAITING { None } else { start() };
        let mut live = match (next, waiting.pop_front()) {
            (Some(number), old) => {
                old.into_iter().for_each(|old| waiting.push_front(old));
                let mut live = ended.pop().unwrap_or_else(|| Live::new(running));
                (live.number, live.in_vain) = (number, 0);
                live.block.start(number, &mut live.warps);
                live
            }
            (None, Some(old)) => old,
            (None, None) if is_due => {
                is_due = false;
                continue;
            }
            (None, None) => break,
        };
        match live.block.run(&mut live.warps) {
            Ok(Pause::Ended { unwritten }) => {
                end(unwritten);
                ended.push(live);
                (looks, is_due) = (0, !waiting.is_empty());
            }
            Ok(Pause::Spins { changes, alone }) => {
                looks = if changes { 0 } else { looks + 1 };
                live.in_vain = if alone && !changes { live.in_vain + 1 } else { 0 };
                let is_over = live.in_vain > MOST_LOOKS_ALONE || looks > MOST_LOOKS.max(100 * waiting.len());
                if is_over || running.look().is_err() {
                    fail(live.number, live.block.waits_in_vain(&live.warps));
                    ended.push(live);
                    break;
                }
                waiting.push_back(live);
                is_due = false;
            }
            Err(error) => {
                fail(live.number, error);
                ended.push(live);
                break;
            }
        }
    }
    for live in waiting.iter().chain(&ended) {
        executed += live.warps.iter().map(|warp| warp.executed).sum::<u64>();
    }
    executed
}

impl<'l> Live<'l> {
    fn new(running: &'l Running<'l>) -> Live<'l> {
        let count = running.threads().div_ceil(LANES);
        let warps = (0..count).map(|_| Warp::new(running.kernel)).collect();
        Live { number: 0, in_vain: 0, block: Block::new(running), warps }
    }
}
