//! One block: its warps, its shared memory, its barriers.

use std::collections::BTreeMap;

use super::fault::Fault;
use super::running::Running;
use super::shared::Shared;
use super::warp::{State, Warp};
use crate::error::Error;
use crate::lanes::LANES;
use crate::program::{Logic, Op};

pub(crate) struct Block<'l> {
    pub(crate) launch: &'l Running<'l>,
    pub(crate) index: [u32; 3],
    /// From 1, in the order of launch.
    pub(crate) number: u32,
    pub(crate) shared: Shared,
    /// Warps that arrived at a barrier without waiting, and how many threads it waits for.
    arrived: BTreeMap<u32, (Vec<usize>, u32)>,
}

/// Barriers of a block.
const BARRIERS: u32 = 16;

impl<'l> Block<'l> {
    pub(crate) fn new(launch: &'l Running<'l>) -> Block<'l> {
        let shared = Shared::new(launch.shared_bytes, launch.filling);
        Block { launch, index: [0; 3], number: 0, shared, arrived: BTreeMap::new() }
    }

    /// Runs one block; the line of a read of something that nobody wrote, if there was one.
    pub(crate) fn run(&mut self, number: u64, warps: &mut [Warp]) -> Result<Option<u32>, Error> {
        let [x, y, _] = self.launch.grid.map(u64::from);
        self.index = [(number % x) as u32, (number / x % y) as u32, (number / x / y) as u32];
        // beyond what a mark can hold, blocks are not told apart
        self.number = u32::try_from(number + 1).unwrap_or(u32::MAX).min((1 << 28) - 2);
        self.shared.reset();
        self.arrived.clear();
        for (index, warp) in warps.iter_mut().enumerate() {
            warp.start(self, index);
        }
        loop {
            let mut ran = false;
            for index in 0..warps.len() {
                if warps[index].state == State::Ready {
                    warps[index].run(self)?;
                    ran = true;
                    if let State::Waiting { id, count, at } = warps[index].state {
                        self.release(id, count, at, warps)?;
                    }
                }
            }
            if warps.iter().all(|warp| warp.state == State::Done) {
                return Ok(warps.iter().find_map(|warp| warp.unwritten));
            }
            if !ran {
                return Err(self.stuck(warps));
            }
        }
    }

    /// A warp that arrives and goes on.
    pub(crate) fn arrive(&mut self, id: u32, count: u32, warp: usize) -> Result<(), String> {
        if id >= BARRIERS {
            return Err(format!("there is no barrier {id}: a block has {BARRIERS}"));
        }
        let entry = self.arrived.entry(id).or_insert((vec![], count));
        entry.0.push(warp);
        Ok(())
    }

    /// Lets the warps of a barrier go on if all have come.
    fn release(&mut self, id: u32, count: u32, at: usize, warps: &mut [Warp]) -> Result<(), Error> {
        let line = self.launch.kernel.steps[at].line;
        let error = |what: String, warp: &Warp| warp.error(self, line, Fault::new(0, what));
        let waiting: Vec<usize> = (0..warps.len())
            .filter(|warp| matches!(warps[*warp].state, State::Waiting { id: other, .. } if other == id))
            .collect();
        if id >= BARRIERS {
            return Err(error(
                format!("there is no barrier {id}: a block has {BARRIERS}"),
                &warps[waiting[0]],
            ));
        }
        if count > 0 && (!(count as usize).is_multiple_of(LANES) || count as usize > warps.len() * LANES) {
            let most = warps.len() * LANES;
            let what = format!("a barrier waits for a multiple of 32 threads up to {most}, not for {count}");
            return Err(error(what, &warps[waiting[0]]));
        }
        let expected = if count > 0 { count as usize / LANES } else { warps.len() };
        let arrived = self.arrived.get(&id).map_or(0, |(warps, _)| warps.len());
        if waiting.len() + arrived < expected {
            return Ok(());
        }
        self.arrived.remove(&id);
        self.shared.barrier();
        self.reduce(&waiting, warps);
        for warp in waiting {
            warps[warp].state = State::Ready;
        }
        Ok(())
    }

    /// The result of `bar.red`.
    fn reduce(&self, waiting: &[usize], warps: &mut [Warp]) {
        let reduction = |warp: &Warp| match warp.state {
            State::Waiting { at, .. } => match &self.launch.kernel.steps[at].op {
                Op::Barrier { reduce: Some(reduce), .. } => Some(reduce.clone()),
                _ => None,
            },
            _ => None,
        };
        let mut all: Vec<(u32, u32)> = vec![];
        for warp in waiting {
            if let Some(reduce) = reduction(&warps[*warp]) {
                let bits = warps[*warp].registers.condition(reduce.a) & warps[*warp].lanes;
                all.push((bits, warps[*warp].lanes));
            }
        }
        for warp in waiting {
            let Some(reduce) = reduction(&warps[*warp]) else { continue };
            let value = match reduce.f {
                None => all.iter().map(|(bits, _)| bits.count_ones()).sum(),
                Some(Logic::And) => u32::from(all.iter().all(|(bits, lanes)| bits == lanes)),
                Some(_) => u32::from(all.iter().any(|(bits, _)| *bits != 0)),
            };
            let warp = &mut warps[*warp];
            let mask = warp.lanes;
            warp.registers.set_any(reduce.d, mask, &[value.into(); LANES]);
            if let Some(p) = reduce.p {
                warp.registers.set_predicate(p, mask, if value != 0 { u32::MAX } else { 0 });
            }
        }
    }

    /// Nobody can go on: a barrier waits for warps that do not come.
    fn stuck(&self, warps: &[Warp]) -> Error {
        let waiting = warps.iter().find_map(|warp| match warp.state {
            State::Waiting { at, id, .. } => Some((warp, at, id)),
            _ => None,
        });
        let Some((warp, at, id)) = waiting else { return Error::Stopped };
        let missing =
            warps.iter().find(|other| !matches!(other.state, State::Waiting { id: at, .. } if at == id));
        let (who, lane) = match missing {
            None => ("other threads, which do not come".to_owned(), warp),
            Some(other) => {
                let number = other.number;
                let does = match other.state {
                    State::Waiting { at, .. } => {
                        format!("waits at line {}", self.launch.kernel.steps[at].line)
                    }
                    _ => "has ended".to_owned(),
                };
                (format!("warp {number}, which {does}"), other)
            }
        };
        let line = self.launch.kernel.steps[at].line;
        let what = format!("the barrier is not reached by all threads: it waits for {who}");
        lane.error(self, line, Fault::new(0, what))
    }
}
