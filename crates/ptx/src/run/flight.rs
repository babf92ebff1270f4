//! What bulk copies that nobody has waited for read and write of global memory.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::clocks::{Agent, By};

/// What a copy does with global memory.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Does {
    Reads,
    Writes,
    /// Changes it by atomic operations.
    Combines,
}

/// Bytes that lie together: the first address, and how many.
pub(super) type Range = (u64, u64);

/// The name of a range of a copy: its first address, and a number.
pub(super) type Key = (u64, u32);

/// The copies of all blocks of a launch.
#[derive(Default)]
pub(crate) struct Flights {
    any: AtomicBool,
    all: Mutex<All>,
}

#[derive(Default)]
struct All {
    last: u32,
    /// Bytes of the longest range.
    longest: u64,
    ranges: BTreeMap<Key, Flight>,
}

struct Flight {
    bytes: u64,
    does: Does,
    /// Who has waited for it, and when.
    ended: Option<(Agent, u32)>,
}

impl Flights {
    fn lock(&self) -> MutexGuard<'_, All> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A copy starts; what [`Flights::end`] is to be given.
    pub(super) fn start(&self, ranges: &[Range], does: Does) -> Vec<Key> {
        if ranges.is_empty() {
            return vec![];
        }
        self.any.store(true, Relaxed);
        let mut all = self.lock();
        let mut start = |(at, bytes): &Range| {
            all.last = all.last.wrapping_add(1);
            all.longest = all.longest.max(*bytes);
            let key = (*at, all.last);
            all.ranges.insert(key, Flight { bytes: *bytes, does, ended: None });
            key
        };
        ranges.iter().map(&mut start).collect()
    }

    /// A copy was waited for by a warp: what it wrote. What it read stays here, for those that do not know of that.
    pub(super) fn end(&self, keys: &[Key], by: By<'_>) -> Vec<(Range, Does)> {
        if keys.is_empty() {
            return vec![];
        }
        let mut all = self.lock();
        let mut written = vec![];
        for key in keys {
            match all.ranges.get_mut(key) {
                Some(flight) if flight.does == Does::Reads => {
                    flight.ended = Some(((by.clocks.cluster, by.warp), by.now));
                }
                _ => {
                    written.extend(all.ranges.remove(key).map(|flight| ((key.0, flight.bytes), flight.does)));
                }
            }
        }
        written
    }

    /// A cluster has ended: what it read and waited for.
    pub(super) fn forget(&self, cluster: u32) {
        if self.any() {
            let is_its = |flight: &Flight| flight.ended.is_some_and(|((of, _), _)| of == cluster);
            self.lock().ranges.retain(|_, flight| !is_its(flight));
        }
    }

    /// Whether there may be any.
    #[inline(always)]
    pub(super) fn any(&self) -> bool {
        self.any.load(Relaxed)
    }

    /// What a copy does with some bytes, if it is something that an access of them meets.
    pub(super) fn meets(&self, (at, bytes): Range, meets: &[Does], by: By<'_>) -> Option<Does> {
        let all = self.lock();
        let first = (at.saturating_sub(all.longest), 0);
        let near = all.ranges.range(first..(at + bytes, 0));
        let is_over = |flight: &Flight| {
            flight.ended.is_some_and(|(agent, time)| by.clocks.knows_agent(by.warp, agent, time))
        };
        let mut there = near.filter(|((start, _), flight)| {
            start + flight.bytes > at && meets.contains(&flight.does) && !is_over(flight)
        });
        there.next().map(|(_, flight)| flight.does)
    }
}
