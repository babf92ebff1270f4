//! Barrier objects of a block.

use std::collections::BTreeMap;

use super::clocks::{By, Left};
use super::cluster::Warps;
use super::flight::Key;

/// A barrier object (PTX ISA, "Contents of the mbarrier object").
#[derive(Default)]
pub(super) struct Barrier {
    /// The warp that has started it, and, where `fence.mbarrier_init` has come since, how often it had arrived at the barrier of the
    /// cluster before that.
    started_by: u8,
    pub(super) published: Option<u32>,
    /// Arrivals that each phase waits for, and those that this one still does.
    pub(super) expected: u32,
    pub(super) pending: u32,
    /// Bytes that copies are yet to complete; they may come before they are expected.
    pub(super) bytes: i64,
    /// Phases that are complete.
    pub(super) phases: u64,
    /// What those that arrived in this phase did before.
    gathered: Left,
    /// The same of the phase before, which those that wait learn.
    pub(super) released: Left,
    /// What copies of this phase bring, and those of complete phases, which no thread has waited for: it is not there before.
    started: Brought,
    pub(super) arrived: Brought,
    /// Whether a product arrives in this phase.
    has_products: bool,
    /// Warps that have not seen that the phase before, which waited for copies or products, was not complete. Each sees it once: on a
    /// GPU they may come as late.
    unseen: Warps,
    /// Those that have seen that it is complete, and when: who learns of that sees it at once.
    seen: Vec<(u8, u32)>,
}

/// What copies bring, and what of global memory they read.
#[derive(Default)]
pub(super) struct Brought {
    pub(super) pieces: Vec<Piece>,
    pub(super) sources: Vec<Key>,
    /// 16 bytes of shared memory each that they read, with the block of the cluster.
    pub(super) shared: Vec<(usize, usize)>,
    /// The other block of the cluster that some come from.
    pub(super) from_other: Option<usize>,
}

/// 16 bytes or fewer that a copy brings.
#[derive(Default)]
pub(super) struct Piece {
    pub(super) at: usize,
    pub(super) bytes: usize,
    pub(super) value: [u8; 16],
    /// How many bytes behind them the copy leaves undefined.
    pub(super) padding: usize,
    /// Whether they are there already: the result of `red.async`.
    pub(super) is_there: bool,
}

/// Arrivals, and bytes, that an object can wait for.
pub(super) const MOST: u32 = (1 << 20) - 1;

/// The objects of a block, by their addresses.
#[derive(Default)]
pub(super) struct Objects(pub(super) BTreeMap<usize, Barrier>);

impl Objects {
    pub(super) fn reset(&mut self) {
        self.0.clear();
    }

    pub(super) fn get(&mut self, at: usize) -> Result<&mut Barrier, String> {
        self.0.get_mut(&at).ok_or_else(|| {
            format!("there is no mbarrier object at {at:#x} of shared memory: it was not initialized")
        })
    }

    /// A warp has made the start of its objects seen by who meets at a later barrier of the cluster.
    pub(super) fn publish(&mut self, warp: u8, arrivals: u32) {
        for one in self.0.values_mut().filter(|one| one.started_by == warp) {
            one.published.get_or_insert(arrivals);
        }
    }

    /// A block of the cluster that copies to this one what no thread has waited for.
    pub(super) fn brought_by_others(&self) -> Option<usize> {
        self.0.values().find_map(Barrier::sender)
    }

    /// What an object waits for.
    pub(super) fn waits_for(&self, at: usize) -> Option<String> {
        let Barrier { expected, pending, bytes, phases, .. } = self.0.get(&at)?;
        let arrivals = (*pending > 0).then(|| format!("{pending} of {expected} arrivals"));
        let awaited = (*bytes > 0).then(|| format!("{bytes} bytes"));
        let missing: Vec<String> = [arrivals, awaited].into_iter().flatten().collect();
        let missing = match missing.is_empty() {
            true => String::new(),
            false => format!(": {} are missing", missing.join(" and ")),
        };
        let surplus = match *bytes < 0 {
            true => format!("; {} bytes came that nobody expects", -bytes),
            false => String::new(),
        };
        Some(format!("phase {phases} of the mbarrier object at {at:#x} is not complete{missing}{surplus}"))
    }
}

impl Brought {
    fn append(&mut self, other: &mut Brought) {
        self.pieces.append(&mut other.pieces);
        self.sources.append(&mut other.sources);
        self.shared.append(&mut other.shared);
        self.from_other = self.from_other.or(other.from_other.take());
    }
}

impl Barrier {
    /// A block of the cluster that sends what no thread has waited for.
    pub(super) fn sender(&self) -> Option<usize> {
        self.started.from_other.or(self.arrived.from_other)
    }

    pub(super) fn new(expected: u32, started_by: u8) -> Barrier {
        Barrier { expected, pending: expected, started_by, ..Barrier::default() }
    }

    pub(super) fn arrive(&mut self, count: u32, left: &Left) -> Result<(), String> {
        if count == 0 || count > self.pending {
            return Err(format!(
                "{count} more arrivals at an mbarrier object that waits for {} of {}",
                self.pending, self.expected
            ));
        }
        self.gathered.join(left);
        self.pending -= count;
        self.complete();
        Ok(())
    }

    /// Products arrive.
    pub(super) fn arrive_late(&mut self, left: &Left) -> Result<(), String> {
        self.has_products = true;
        self.arrive(1, left)
    }

    /// Expects more bytes, or fewer.
    pub(super) fn expect(&mut self, bytes: i64) -> Result<(), String> {
        self.bytes += bytes;
        match self.bytes.unsigned_abs() > MOST.into() {
            true => Err(format!(
                "an mbarrier object counts at most {MOST} bytes that are expected or have come, not {}",
                self.bytes.unsigned_abs()
            )),
            false => Ok(()),
        }
    }

    /// A copy brings pieces; what its thread did before is done before.
    pub(super) fn bring(&mut self, mut brought: Brought, left: &Left) -> Result<(), String> {
        self.expect(-brought.pieces.iter().map(|piece| piece.bytes as i64).sum::<i64>())?;
        self.started.append(&mut brought);
        self.gathered.join(left);
        self.complete();
        Ok(())
    }

    /// Whether a warp sees that the phase before is complete, which it is.
    pub(super) fn is_seen(&self, by: By<'_>) -> bool {
        let knows = |(warp, time): &(u8, u32)| by.clocks.knows(by.warp, *warp, *time);
        self.unseen & 1 << by.warp == 0 || self.seen.iter().any(knows)
    }

    /// A warp has seen that.
    pub(super) fn see(&mut self, by: By<'_>) {
        if self.unseen != 0 {
            self.seen.push((by.warp, by.now));
        }
    }

    /// A warp has asked.
    pub(super) fn asked(&mut self, by: By<'_>) {
        self.unseen &= !(1 << by.warp);
    }

    pub(super) fn complete(&mut self) {
        if self.pending == 0 && self.bytes == 0 {
            self.phases += 1;
            self.pending = self.expected;
            self.released = std::mem::take(&mut self.gathered);
            let is_late = std::mem::take(&mut self.has_products) || !self.started.pieces.is_empty();
            self.unseen = if is_late { Warps::MAX } else { 0 };
            self.seen.clear();
            self.arrived.append(&mut self.started);
        }
    }

    /// The state of this phase, as an arrival returns it.
    pub(super) fn state(&self) -> u64 {
        self.phases << 32 | u64::from(self.pending)
    }
}
