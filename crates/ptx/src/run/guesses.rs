//! First guesses of compare-and-swap loops: what they could have read instead, and whether that matters.
//!
//! A plain load that comes after other threads' atomic operations, with nothing that orders them, may read what was there before these.
//! A launch notes such loads, and the values that their places had. Then it runs again, with earlier ones of these values in their
//! stead: so the atomic operations that change something come in the same order, and if it leaves the same bits each time, the guesses
//! decide nothing; else the first that does races. As the first threads in this order find nothing before them, all of it is done
//! once more in the opposite order.

use std::collections::{BTreeMap, HashMap};
use std::hash::{DefaultHasher, Hash, Hasher};

use super::clocks::{Agent, By};
use super::fault::Race;
use crate::error::Thread;

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
    /// By the step of a load its line, a thread, and its first race.
    pub(super) races: BTreeMap<usize, (u32, Thread, Race)>,
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
    pub(super) fn reads(&mut self, (place, value): (Place, u128), by: By<'_>) -> Option<Agent> {
        let history = self.history(place)?;
        let late = |(_, agent, time): &&(u128, Agent, u32)| !by.clocks.knows_agent(by.warp, *agent, *time);
        let found = history.writes.iter().find(late).map(|(_, agent, _)| *agent);
        if found.is_none() {
            *history = History { first: Some(value), writes: vec![] };
        }
        found
    }

    /// What a load that races reads instead of a value, if it is to guess wrong.
    pub(super) fn wrong(
        &mut self,
        guess: &Guess,
        (place, value): (Place, u128),
        wrong: Wrong,
    ) -> Option<u128> {
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
    pub(super) fn writes(&mut self, place: Place, (old, new): (u128, u128), by: By<'_>) {
        let Some(history) = self.history(place) else { return };
        match history.writes.len() {
            0 => history.first = Some(old),
            MOST_VALUES => _ = history.writes.remove(MOST_VALUES / 2),
            _ => {}
        }
        history.writes.push((new, (by.clocks.cluster, by.warp), by.now));
    }
}
