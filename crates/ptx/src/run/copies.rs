//! Asynchronous copies into shared memory.

use std::collections::VecDeque;

use super::clocks::{By, Kind};
use super::fault::Fault;
use super::flight::Key;
use super::shared::Shared;
use crate::lanes::{LANES, each};

/// Copies of a warp that nobody has waited for. Their sources are read when they start; they are written when they are
/// waited for, which is the latest: a read before that is an error.
#[derive(Default)]
pub(crate) struct Copies {
    all: VecDeque<Copy>,
    /// How many of them each group has, from the first on; those behind the last group are open.
    groups: VecDeque<usize>,
    open: usize,
}

/// Those of the lanes of one instruction.
pub(super) struct Copy {
    pub(super) mask: u32,
    /// Of each lane: 4, 8 or 16.
    pub(super) bytes: usize,
    pub(super) to: [usize; LANES],
    /// 16 bytes, from the lowest on.
    pub(super) values: [u128; LANES],
}

impl Copies {
    /// For the next block.
    pub(crate) fn reset(&mut self) {
        self.all.clear();
        self.groups.clear();
        self.open = 0;
    }

    pub(super) fn start(&mut self, copy: Copy) {
        self.all.push_back(copy);
        self.open += 1;
    }

    pub(crate) fn commit(&mut self) {
        self.groups.push_back(std::mem::take(&mut self.open));
    }

    /// Until at most that many groups are left.
    pub(super) fn wait(&mut self, left: usize, shared: &mut Shared, by: By<'_>) -> Result<(), Fault> {
        while self.groups.len() > left {
            let count = self.groups.pop_front().unwrap_or(0);
            for copy in self.all.range(..count) {
                for lane in each(copy.mask) {
                    let (to, value) = (copy.to[lane], copy.values[lane]);
                    let same = |shared: &Shared| match copy.bytes {
                        16 => shared.array(to) == value.to_le_bytes(),
                        bytes => shared.get(to, bytes as u8) == value as u64,
                    };
                    let landed = shared.land(to, copy.bytes, Kind::Write, by, same);
                    landed.map_err(|race| Fault::new(lane, race))?;
                    match copy.bytes {
                        16 => shared.put_array(to, value.to_le_bytes()),
                        bytes => shared.put(to, bytes as u8, value as u64),
                    }
                }
            }
            self.all.drain(..count);
        }
        Ok(())
    }

    /// Groups without copies need no wait.
    pub(crate) fn landed(&mut self) {
        while self.groups.front() == Some(&0) && self.groups.len() > 64 {
            self.groups.pop_front();
        }
    }
}

/// Copies of a warp from shared memory that nobody has waited for.
#[derive(Default)]
pub(crate) struct BulkGroups {
    pub(super) groups: VecDeque<BulkGroup>,
    pub(super) open: BulkGroup,
}

/// Those of a group.
#[derive(Default)]
pub(super) struct BulkGroup {
    /// Where they may still read, and in which line each copy is.
    pub(super) reads: Vec<(usize, usize, u32)>,
    /// What they may still write of global memory.
    pub(super) writes: Vec<Key>,
}

impl BulkGroups {
    pub(super) fn reset(&mut self) {
        self.groups.clear();
        self.open = BulkGroup::default();
    }

    /// Where copies may still read.
    pub(super) fn reads(&self) -> impl Iterator<Item = (usize, usize, u32)> {
        self.groups.iter().chain([&self.open]).flat_map(|group| &group.reads).copied()
    }
}
