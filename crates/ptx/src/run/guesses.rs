//! First guesses of compare-and-swap loops: what they could have read instead, and whether that matters.
//!
//! A plain load that comes after other threads' atomic operations, with nothing that orders them, may read what was there before these.
//! A launch notes such loads, and the values that their places had. Then it runs again, with earlier ones of these values in their
//! stead: so the atomic operations that change something come in the same order, and if it leaves the same bits each time, the guesses
//! decide nothing; else the first that does races. As the first threads in this order find nothing before them, all of it is done
//! once more in the opposite order.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, HashMap};
use std::hash::{DefaultHasher, Hash, Hasher};

use super::block::Block;
use super::clocks::{Agent, By};
use super::fault::Race;
use super::global::Place as Access;
use super::reach::Reached;
use super::warp::Warp;
use crate::lanes::LANES;
use crate::program::Region;

/// A place in memory: the cluster whose shared memory it is (0 for global memory), the address, and the bytes.
pub(super) type Place = (u32, u64, u8);

/// Places that are followed; of more, one in two, in four and so on.
const MOST_PLACES: usize = 1 << 16;

/// Values of a place that are kept.
const MOST_VALUES: usize = 16;

/// Loads of a warp that are wrong in the first two runs, without exception.
const ALL_WRONG: u32 = 16;

/// Loads of a warp that may be wrong.
const MOST_WRONG: u32 = 256;

/// Runs with wrong guesses.
pub(super) const ROUNDS: u32 = 3;

/// What loads read that may be first guesses.
#[derive(Default)]
pub(super) struct Guesses {
    /// Places whose hash ends with fewer zeros are not followed.
    zeros: u32,
    places: HashMap<Place, History>,
    /// By the step of a load, its first race.
    pub(super) races: BTreeMap<usize, (Access, Race)>,
}

/// What a place has held since a load last came after all that was written there.
#[derive(Default)]
struct History {
    first: Option<u128>,
    /// What was written since, by whom, and when; of more than are kept, the first and the last.
    writes: Vec<(u128, Agent, u32)>,
}

/// How a run guesses wrong.
#[derive(Clone, Copy)]
pub(super) struct Wrong {
    pub(super) round: u32,
    /// The step of the one load that does; all do if there is none.
    pub(super) only: Option<usize>,
}

/// A load that may be a guess.
pub(super) struct Guess {
    /// Its step.
    pub(super) at: usize,
    pub(super) by: Agent,
    /// How often the warp has come to such loads.
    pub(super) turn: u32,
}

fn hashed(value: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

impl Guesses {
    /// The history of a place, if it is followed.
    fn history(&mut self, place: Place) -> Option<&mut History> {
        if hashed(place).trailing_zeros() < self.zeros {
            return None;
        }
        if self.places.len() >= MOST_PLACES && !self.places.contains_key(&place) {
            self.zeros += 1;
            let zeros = self.zeros;
            self.places.retain(|place, _| hashed(place).trailing_zeros() >= zeros);
            if hashed(place).trailing_zeros() < zeros {
                return None;
            }
        }
        Some(self.places.entry(place).or_default())
    }

    /// A load reads a value. The first warp whose write of the place is not ordered before it; there is none after a load that comes after all.
    fn reads(&mut self, (place, value): (Place, u128), by: By<'_>) -> Option<Agent> {
        let history = self.history(place)?;
        let late = |(_, agent, time): &&(u128, Agent, u32)| !by.clocks.knows_agent(by.warp, *agent, *time);
        let found = history.writes.iter().find(late).map(|(_, agent, _)| *agent);
        if found.is_none() {
            *history = History { first: Some(value), writes: vec![] };
        }
        found
    }

    /// What a load that races reads instead of a value, if it is to guess wrong.
    fn wrong(&mut self, guess: &Guess, (place, value): (Place, u128), wrong: Wrong) -> Option<u128> {
        let Wrong { round, only } = wrong;
        let any = hashed((place, guess.at, guess.turn, guess.by, round)) as usize;
        // now and then it is right, as a loop may guess anew in each turn; in two rounds none of the first is
        let is_right =
            any.is_multiple_of(4) && (round == 2 || guess.turn > ALL_WRONG) || guess.turn > MOST_WRONG;
        if is_right || only.is_some_and(|only| only != guess.at) {
            return None;
        }
        let history = self.history(place)?;
        let all = history.first.into_iter().chain(history.writes.iter().map(|(value, ..)| *value));
        let all: Vec<u128> = all.filter(|other| *other != value).collect();
        match round {
            0 => all.first().copied(),
            1 => all.last().copied(),
            _ => all.get(any / 4 % all.len().max(1)).copied(),
        }
    }

    /// An atomic operation changes a value.
    fn writes(&mut self, place: Place, (old, new): (u128, u128), by: By<'_>) {
        let Some(history) = self.history(place) else { return };
        match history.writes.len() {
            0 => history.first = Some(old),
            MOST_VALUES => _ = history.writes.remove(MOST_VALUES / 2),
            _ => {}
        }
        history.writes.push((new, (by.clocks.cluster, by.warp), by.now));
    }
}

/// What lanes read: by elements, the bytes of each, and how many there are.
type Values<'v> = (&'v mut [[u64; LANES]; 8], u8, usize);

impl Warp {
    /// Comes to a load that may be a guess.
    #[cold]
    pub(super) fn comes_to_guess(&mut self, block: &Block<'_>) -> Guess {
        self.guessed += 1;
        let by = (block.clocks.cluster, block.clocks.by(self.number).warp);
        Guess { at: self.groups.at, by, turn: self.guessed }
    }

    /// Notes what a lane has read, which another value takes the place of if the run guesses wrong.
    #[cold]
    pub(super) fn guesses(
        &mut self,
        (guess, lane): (&Guess, usize),
        (space, at): (Region, u64),
        (values, bytes, elements): Values<'_>,
        block: &mut Block<'_>,
    ) {
        let bits = 8 * u32::from(bytes);
        let shift = |index: usize| bits * index as u32;
        let parts = values[..elements].iter().enumerate();
        let value = parts.fold(0, |all, (index, value)| all | u128::from(value[lane]) << shift(index));
        let size = bytes * elements as u8;
        let launch = block.launch;
        let access = (self.line(launch.kernel), self.thread(block, lane), block.clocks.cluster);
        let Some(place) = self.place((space, at), size, block) else { return };
        let Some(Ok(mut guesses)) = launch.global.guesses.as_ref().map(|guesses| guesses.lock()) else {
            return;
        };
        let Some(other) = guesses.reads((place, value), block.clocks.by(self.number)) else { return };
        if let Entry::Vacant(first) = guesses.races.entry(guess.at) {
            let race = if space == Region::Shared {
                let Ok(Reached { shared, clocks, at, .. }) = block.reach(self.number, at) else { return };
                shared.race_of_guess((at as usize, size.into()), other.1, clocks.by(self.number))
            } else {
                let Some((memory, offset)) = launch.global.region(at) else { return };
                launch.global.race_of_guess(memory, (offset, size), other, block.clocks.by(self.number))
            };
            first.insert((access, race));
        }
        if let Some(wrong) = launch.wrong.and_then(|wrong| guesses.wrong(guess, (place, value), wrong)) {
            let keep = u64::MAX >> (64 - bits);
            for (index, value) in values[..elements].iter_mut().enumerate() {
                value[lane] = (wrong >> shift(index)) as u64 & keep;
            }
            // a turn that fails for that reason does not wait for others
            self.spin.changes = true;
        }
    }

    /// The place of an access; none if races there are no errors.
    fn place(&self, (space, at): (Region, u64), size: u8, block: &mut Block<'_>) -> Option<Place> {
        if space == Region::Shared {
            let Reached { clocks, at, base, .. } = block.reach(self.number, at).ok()?;
            return Some((clocks.cluster, base + at, size));
        }
        let global = &block.launch.global;
        (global.looks && global.reports).then_some((0, at, size))
    }

    /// What memory holds that an atomic operation is about to change.
    #[cold]
    pub(super) fn held(&self, (space, at): (Region, u64), size: u8, block: &mut Block<'_>) -> Option<u128> {
        let part = size.min(8);
        let mut value = 0;
        for index in 0..size / part {
            let at = at + u64::from(index * part);
            let one = match space {
                Region::Shared => {
                    let Reached { shared, at, .. } = block.reach(self.number, at).ok()?;
                    let at = shared.checked(at, part.into(), "changes").ok()?;
                    shared.get(at, part)
                }
                _ => {
                    let (memory, at) = block.launch.global.checked(at, part.into(), "changes").ok()?;
                    memory.load(at, part)
                }
            };
            value |= u128::from(one) << (64 * u32::from(index));
        }
        Some(value)
    }

    /// Notes that an atomic operation of a lane has changed what guesses may have read.
    #[cold]
    pub(super) fn meets_guesses(&self, place: (Region, u64), size: u8, old: u128, block: &mut Block<'_>) {
        let Some(new) = self.held(place, size, block).filter(|new| *new != old) else { return };
        let Some(place) = self.place(place, size, block) else { return };
        if let Some(Ok(mut guesses)) = block.launch.global.guesses.as_ref().map(|guesses| guesses.lock()) {
            guesses.writes(place, (old, new), block.clocks.by(self.number));
        }
    }
}
