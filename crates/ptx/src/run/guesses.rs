//! First guesses of compare-and-swap loops: what they could have read instead, and whether that matters.
//!
//! A plain load that other threads' atomic operations meet may read what was there before these, or after them. A launch notes such
//! loads, and the values that their places had. Then it runs again with other ones of these values in their stead: if it leaves the
//! same bits each time, the guesses decide nothing; else the first that does races.

use std::collections::{BTreeMap, HashMap};
use std::hash::{DefaultHasher, Hash, Hasher};

use super::address::resolve;
use super::block::Block;
use super::clocks::Agent;
use super::fault::Race;
use super::global::Place as Access;
use super::reach::Reached;
use super::warp::Warp;
use crate::lanes::{LANES, WideLanes};
use crate::program::Region;

/// A place in memory: the cluster whose shared memory it is (0 for global memory), the address, and the bytes.
pub(super) type Place = (u32, u64, u8);

/// Places that are followed; of more, one in two, in four and so on.
const MOST_PLACES: usize = 1 << 16;

/// Values of a place that are kept.
const MOST_VALUES: usize = 16;

/// Epochs of a place.
const MOST_EPOCHS: u32 = 64;

/// Loads of a warp that are wrong in the first two runs, without exception.
const ALL_WRONG: u32 = 16;

/// Runs with wrong guesses.
pub(super) const ROUNDS: u32 = 5;

/// What loads read that may be first guesses.
#[derive(Default)]
pub(super) struct Guesses {
    /// Places whose hash ends with fewer zeros are not followed.
    zeros: u32,
    /// Of each place the epochs before: each ends where a load reads that comes after all that was written in it.
    before: HashMap<Place, u32>,
    epochs: HashMap<(Place, u32), Epoch>,
    /// By the step of a load, its first race.
    pub(super) races: BTreeMap<usize, (Access, Race)>,
}

/// What a place has held since a load last came after all that was written there.
#[derive(Default)]
struct Epoch {
    first: u128,
    /// With who wrote them.
    values: Vec<(u128, Agent)>,
    /// How many there were.
    count: usize,
    /// The last loads of some warps: their steps, and who reads.
    loads: Vec<(Agent, usize, Access)>,
    has_raced: bool,
}

/// How a run guesses wrong.
#[derive(Clone, Copy)]
pub(super) struct Wrong<'g> {
    /// What the first run has seen.
    pub(super) seen: &'g Guesses,
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
    /// By lane, the place that it reads, and the race there. They are found before the load counts as strong, which orders it.
    pub(super) places: Vec<Option<(Place, Option<Race>)>>,
}

fn hashed(value: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

impl Guesses {
    /// The epoch of a place, if it is followed.
    fn epoch(&mut self, place: Place) -> Option<(u32, &mut Epoch)> {
        if hashed(place).trailing_zeros() < self.zeros {
            return None;
        }
        if self.epochs.len() >= MOST_PLACES && !self.before.contains_key(&place) {
            self.zeros += 1;
            let zeros = self.zeros;
            let is_kept = |place: &Place| hashed(place).trailing_zeros() >= zeros;
            self.before.retain(|place, _| is_kept(place));
            self.epochs.retain(|(place, _), _| is_kept(place));
            if !is_kept(&place) {
                return None;
            }
        }
        let number = *self.before.entry(place).or_default();
        Some((number, self.epochs.entry((place, number)).or_default()))
    }

    /// A load reads a value; `race`: with a write that is not ordered before it. What it reads instead if it is to guess wrong.
    pub(super) fn reads(
        &mut self,
        (guess, access): (&Guess, Access),
        (place, value): (Place, u128),
        race: Option<Race>,
        wrong: Option<Wrong<'_>>,
    ) -> Option<u128> {
        let is_late = race.is_some();
        if let Some(race) = race {
            self.races.entry(guess.at).or_insert((access, race));
        }
        let (mut number, mut epoch) = self.epoch(place)?;
        if !is_late && epoch.count > 0 {
            // it comes after all that was written
            if epoch.has_raced && number < MOST_EPOCHS {
                *self.before.entry(place).or_default() += 1;
                (number, epoch) = self.epoch(place)?;
            } else {
                (epoch.values, epoch.count) = (vec![], 0);
            }
        }
        if epoch.count == 0 {
            epoch.first = value;
        }
        epoch.loads.retain(|(by, ..)| *by != guess.by);
        if epoch.loads.len() == MOST_VALUES {
            epoch.loads.remove(0);
        }
        epoch.loads.push((guess.by, guess.at, access));
        epoch.has_raced |= is_late;
        let Wrong { seen, round, only } = wrong?;
        let any = hashed((place, guess.at, guess.turn, guess.by, round)) as usize;
        // now and then it is right, as a loop may guess anew in each turn; in two rounds none of the first is
        let is_right = any.is_multiple_of(4) && (round > 1 || guess.turn > ALL_WRONG);
        let is_due = !is_right && only.is_none_or(|only| only == guess.at);
        let other = seen.epochs.get(&(place, number)).filter(|other| other.has_raced && is_due)?;
        let first = is_late.then_some(other.first);
        let foreign = other.values.iter().filter(|(_, by)| *by != guess.by).map(|(value, _)| *value);
        let all: Vec<u128> = first.into_iter().chain(foreign).filter(|other| *other != value).collect();
        match round {
            0 => all.first().copied(),
            1 => all.last().copied(),
            _ => all.get(any / 4 % all.len().max(1)).copied(),
        }
    }

    /// An atomic operation writes a value; `race`: the one of a warp's load that is not ordered before it.
    pub(super) fn writes(
        &mut self,
        by: Agent,
        (place, old, new): (Place, u128, u128),
        race: Option<(Agent, Race)>,
    ) {
        let Some((_, epoch)) = self.epoch(place) else { return };
        if epoch.count == 0 {
            epoch.first = old;
        }
        if epoch.values.len() < MOST_VALUES {
            epoch.values.push((new, by));
        } else {
            epoch.values[MOST_VALUES / 2 + epoch.count % (MOST_VALUES / 2)] = (new, by);
        }
        epoch.count += 1;
        let Some((reader, race)) = race else { return };
        if let Some((_, load, access)) = epoch.loads.iter().find(|(by, ..)| *by == reader).copied() {
            epoch.has_raced = true;
            self.races.entry(load).or_insert((access, race));
        }
    }
}

/// What lanes read: by elements, the bytes of each, and how many there are.
type Values<'v> = (&'v mut [[u64; LANES]; 8], u8, usize);

impl Warp {
    /// Comes to a load that may be a guess.
    #[cold]
    pub(super) fn comes_to_guess(
        &mut self,
        (region, size): (Region, u8),
        (mask, addresses): (u32, &WideLanes),
        block: &mut Block<'_>,
    ) -> Option<Guess> {
        let by = (block.clocks.cluster, block.clocks.by(self.number).warp);
        self.guessed += 1;
        let (at, turn) = (self.groups.at, self.guessed);
        let mut found = |lane: usize| {
            let is_on = mask >> lane & 1 != 0;
            let place = is_on.then(|| resolve(region, addresses[lane]))?;
            let (place, race) = self.place_and_race(place, size, true, block)?;
            Some((place, race.map(|(_, race)| race)))
        };
        Some(Guess { at, by, turn, places: (0..LANES).map(&mut found).collect() })
    }

    /// Notes what a lane has read, which another value takes the place of if the run guesses wrong.
    #[cold]
    pub(super) fn guesses(
        &mut self,
        (guess, lane): (&mut Guess, usize),
        (values, bytes, elements): Values<'_>,
        block: &Block<'_>,
    ) {
        let Some((place, race)) = guess.places[lane].take() else { return };
        let bits = 8 * u32::from(bytes);
        let shift = |index: usize| bits * index as u32;
        let parts = values[..elements].iter().enumerate();
        let value = parts.fold(0, |all, (index, value)| all | u128::from(value[lane]) << shift(index));
        let launch = block.launch;
        let access = (self.line(launch.kernel), self.thread(block, lane), block.clocks.cluster);
        let Some(Ok(mut guesses)) = launch.global.guesses.as_ref().map(|guesses| guesses.lock()) else {
            return;
        };
        if let Some(wrong) = guesses.reads((guess, access), (place, value), race, launch.wrong) {
            let keep = u64::MAX >> (64 - bits);
            for (index, value) in values[..elements].iter_mut().enumerate() {
                value[lane] = (wrong >> shift(index)) as u64 & keep;
            }
            // a turn that fails for that reason does not wait for others
            self.spin.changes = true;
        }
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
        let by = (block.clocks.cluster, block.clocks.by(self.number).warp);
        let Some((key, race)) = self.place_and_race(place, size, false, block) else { return };
        if let Some(Ok(mut guesses)) = block.launch.global.guesses.as_ref().map(|guesses| guesses.lock()) {
            guesses.writes(by, (key, old, new), race);
        }
    }

    /// A place, and the race of a guess there with whose it is; `reads`: this is the guess.
    fn place_and_race(
        &self,
        (space, at): (Region, u64),
        size: u8,
        reads: bool,
        block: &mut Block<'_>,
    ) -> Option<(Place, Option<(Agent, Race)>)> {
        if space == Region::Shared {
            let Reached { shared, clocks, at, base, .. } = block.reach(self.number, at).ok()?;
            let at = shared.checked(at, size.into(), "reads").ok()?;
            let race = shared.meets_guess((at, size.into()), reads, clocks.by(self.number));
            let race = race.map(|(warp, race)| ((clocks.cluster, warp), race));
            return Some(((clocks.cluster, base + at as u64, size), race));
        }
        let (memory, offset) = block.launch.global.region(at)?;
        let by = block.clocks.by(self.number);
        Some(((0, at, size), block.launch.global.meets_guess(memory, reads, (offset, size), by)))
    }
}
