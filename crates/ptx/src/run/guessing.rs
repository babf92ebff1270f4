//! How a warp comes to loads that may be first guesses, and to atomic operations that change what they read.

use std::collections::btree_map::Entry;

use super::block::Block;
use super::guesses::{Guess, Place};
use super::reach::Reached;
use super::warp::Warp;
use crate::lanes::LANES;
use crate::program::Region;

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
        let (line, thread) = (self.line(launch.kernel), self.thread(block, lane));
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
            first.insert((line, thread, race));
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
