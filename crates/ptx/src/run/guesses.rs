//! First guesses of compare-and-swap loops: what they could have read instead, and whether that matters.
//!
//! A plain load that comes after other threads' atomic operations or strong stores, with nothing that orders them, may read what was
//! there before these, back to the last write that is ordered before it or is its own warp's. A launch notes such loads, and what
//! their places held. Then it runs again, with earlier values in their stead: so the atomic operations that change something come in the
//! same order, and if it leaves the same bits each time, the guesses decide nothing; else the first that does races. As the first
//! threads in this order find nothing before them, all of it is done once more in other orders, in which each guess comes after what
//! the others do meanwhile.

use std::collections::{BTreeMap, HashMap};
use std::hash::{DefaultHasher, Hash, Hasher};

use super::clocks::{Agent, By};
use super::fault::Race;
use crate::error::Thread;

/// Sixteen bytes of memory: the cluster whose shared memory has them (0 for global memory), and the address of the first.
pub(super) type Place = (u32, u64);

/// Places that are followed; of more, one in two, in four and so on.
const MOST_PLACES: usize = 1 << 15;

/// Writes of a place that are kept.
const MOST_WRITES: usize = 48;

/// Warps of which it is known when they wrote what is not kept.
const MOST_DROPPED: usize = 128;

/// Loads of a warp that are wrong in the first two runs, without exception.
const ALL_WRONG: u32 = 16;

/// Loads of a warp that may be wrong.
const MOST_WRONG: u32 = 256;

/// What loads read that may be first guesses.
#[derive(Default)]
pub(super) struct Guesses {
    /// Places whose hash ends with fewer zeros are not followed.
    zeros: u32,
    places: HashMap<Place, History>,
    /// Whether a place that one warp's guess has read was written by another.
    pub(super) have_met: bool,
    /// Loads so far.
    pub(super) loads: u64,
    /// By the step of a load its line, a thread, and its first race.
    pub(super) races: BTreeMap<usize, (u32, Thread, Race)>,
}

/// What a place held.
#[derive(Default)]
struct History {
    /// Before the first write that is kept.
    first: u128,
    /// Writes in their order: of many the last ones, and of the earlier one in two, in four and so on, by the hashes of their indices.
    writes: Vec<Write>,
    /// Zeros with which the hashes of earlier ones end, at least.
    level: u32,
    /// Of writes that are not kept, by warps and the bytes that they had: the earliest time, which of all the last one was, and what it left.
    dropped: BTreeMap<(Agent, u16), (u32, u64, u128)>,
    /// Writes so far.
    count: u64,
    /// The first warp that guesses, and whether there are more.
    guess: Option<(Agent, bool)>,
}

/// An atomic operation on some bytes of a place, or a store.
struct Write {
    /// Which of all.
    index: u64,
    /// What the place holds then.
    left: u128,
    bytes: u16,
    by: Agent,
    time: u32,
}

impl History {
    /// What a warp may find in some bytes: what the last write left that is ordered before it, or is its own, and what those since did.
    fn may_be(&self, bytes: u16, by: By<'_>) -> impl Iterator<Item = u128> {
        let knows = |agent: Agent, time: u32| by.clocks.knows_agent(by.warp, agent, time);
        let writes = move || self.writes.iter().filter(move |write| write.bytes & bytes != 0);
        let kept = writes().rev().find(|write| knows(write.by, write.time));
        let kept = kept.map_or((0, self.first), |write| (write.index + 1, write.left));
        let dropped =
            self.dropped.iter().filter(|((agent, of), (time, ..))| of & bytes != 0 && knows(*agent, *time));
        let dropped = dropped.map(|(_, (_, index, left))| (index + 1, *left));
        let (since, last) = dropped.fold(kept, |last, other| if other.0 > last.0 { other } else { last });
        let others = writes().filter(move |write| write.index >= since);
        std::iter::once(last).chain(others.map(|write| write.left))
    }

    /// Notes a write.
    fn push(&mut self, write: Write) {
        let newer = self.writes.len() / 2;
        if self.writes.len() >= MOST_WRITES && self.dropped.len() < MOST_DROPPED {
            let recent = self.writes[newer].index;
            while self.writes.len() > MOST_WRITES * 3 / 4 {
                let level = self.level;
                self.writes.retain(|write| {
                    let keeps = write.index >= recent || hashed(write.index).trailing_zeros() >= level;
                    if !keeps {
                        // they come in their order, but for those that were kept longer
                        let new = (write.time, write.index, write.left);
                        let dropped = self.dropped.entry((write.by, write.bytes)).or_insert(new);
                        dropped.0 = write.time.min(dropped.0);
                        if write.index > dropped.1 {
                            (dropped.1, dropped.2) = (write.index, write.left);
                        }
                    }
                    keeps
                });
                self.level += u32::from(self.writes.len() > MOST_WRITES * 3 / 4);
            }
        } else if self.writes.len() >= MOST_WRITES {
            self.first = self.writes.drain(..newer).next_back().map_or(self.first, |write| write.left);
            self.dropped.clear();
        }
        self.writes.push(write);
        self.count += 1;
    }
}

/// How a run guesses wrong.
#[derive(Clone, Copy)]
pub(super) struct Wrong {
    pub(super) round: u32,
    /// The step of the one load that does; all do if there is none.
    pub(super) only: Option<usize>,
}

fn hashed(value: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

fn agent(by: By<'_>) -> Agent {
    (by.clocks.cluster, by.warp)
}

impl Guesses {
    /// The history of a place, if it is followed; `now`: it is from now on, and holds this.
    fn history(&mut self, place: Place, now: Option<u128>) -> Option<&mut History> {
        if !self.places.contains_key(&place) {
            let (first, own) = (now?, hashed(place).trailing_zeros());
            if own >= self.zeros && self.places.len() >= MOST_PLACES {
                self.zeros += 1;
                let zeros = self.zeros;
                self.places.retain(|place, _| hashed(place).trailing_zeros() >= zeros);
            }
            if own < self.zeros {
                return None;
            }
            self.places.insert(place, History { first, ..History::default() });
        }
        self.places.get_mut(&place)
    }

    /// A load reads some bytes of a place, which holds this. The last warp that wrote them, if its write is not ordered before it.
    pub(super) fn reads(&mut self, (place, now): (Place, u128), bytes: u16, by: By<'_>) -> Option<Agent> {
        let have_met = self.have_met;
        let history = self.history(place, Some(now))?;
        let agent = agent(by);
        history.guess =
            Some(history.guess.map_or((agent, false), |(first, more)| (first, more || first != agent)));
        let is_unknown = |write: &&Write| !by.clocks.knows_agent(by.warp, write.by, write.time);
        let mut writes = history.writes.iter().rev().filter(|write| write.bytes & bytes != 0);
        let found = writes.next().filter(is_unknown).map(|write| write.by);
        // in another order it could come after the own one
        let meets = found.is_some() || !have_met && writes.any(|write| is_unknown(&write));
        self.loads += 1;
        self.have_met |= meets;
        found
    }

    /// What a place holds for a load that races, if it is to guess wrong: `at`, its step, `turn`, the warp's so many such load.
    pub(super) fn wrong(
        &mut self,
        Wrong { round, only }: Wrong,
        (at, turn): (usize, u32),
        ((place, now), bytes): ((Place, u128), u16),
        by: By<'_>,
    ) -> Option<u128> {
        let any = hashed((place, at, turn, agent(by), round)) as usize;
        // now and then it is right, as a loop may guess anew in each turn; in the first two rounds none of the first is
        let is_right = any.is_multiple_of(4) && (round > 1 || turn > ALL_WRONG) || turn > MOST_WRONG;
        if is_right || only.is_some_and(|only| only != at) {
            return None;
        }
        let keep =
            (0..16).filter(|byte| bytes >> byte & 1 != 0).fold(0, |keep, byte| keep | 0xff << (8 * byte));
        let held = self.history(place, None)?.may_be(bytes, by);
        let all: Vec<u128> = held.filter(|held| (held ^ now) & keep != 0).collect();
        match round {
            0 => all.first().copied(),
            1 => all.last().copied(),
            _ => all.get(any / 4 % all.len().max(1)).copied(),
        }
    }

    /// A write of some bytes of a place, which held `before` and holds this. What was not followed before is from then on if `follows`.
    pub(super) fn writes(
        &mut self,
        (place, before, left): (Place, u128, u128),
        (bytes, follows): (u16, bool),
        by: By<'_>,
    ) {
        let Some(history) = self.history(place, follows.then_some(before)) else { return };
        let agent = agent(by);
        history.push(Write { index: history.count, left, bytes, by: agent, time: by.now });
        let meets = history.guess.is_some_and(|(first, more)| more || first != agent);
        self.have_met |= meets;
    }
}
