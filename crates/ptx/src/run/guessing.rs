//! How a warp comes to loads that may be first guesses, and to writes of what they read.

use std::collections::btree_map::Entry;

use super::block::Block;
use super::guesses::Place;
use super::reach::Reached;
use super::warp::Warp;
use crate::lanes::LANES;
use crate::program::Region;

/// What lanes read: by elements, the bytes of each, and how many there are.
type Values<'v> = (&'v mut [[u64; LANES]; 8], u8, usize);

/// The bytes of its place that an access has.
fn bytes_of(at: u64, (_, first): Place, size: u8) -> u16 {
    (((1u32 << size) - 1) << (at - first)) as u16
}

impl Warp {
    /// Notes what a lane has read at an address by a load that may be a guess; if the run guesses wrong, another value takes its place.
    #[cold]
    pub(super) fn guess(
        &mut self,
        lane: usize,
        (space, at): (Region, u64),
        (values, bytes, elements): Values<'_>,
        block: &mut Block<'_>,
    ) {
        let (launch, size) = (block.launch, bytes * elements as u8);
        let Some((now, at_place)) = self.around((space, at), size, block) else { return };
        let Some(Ok(mut guesses)) = launch.global.guesses.as_ref().map(|guesses| guesses.lock()) else {
            return;
        };
        let own = bytes_of(at_place, now.0, size);
        let Some(other) = guesses.reads(now, own, block.clocks.by(self.number)) else { return };
        let step = self.groups.at;
        if let Entry::Vacant(first) = guesses.races.entry(step) {
            let race = if space == Region::Shared {
                let Ok(Reached { shared, clocks, at, .. }) = block.reach(self.number, at) else { return };
                shared.race_of_guess((at as usize, size.into()), other.1, clocks.by(self.number))
            } else {
                let Some((memory, offset)) = launch.global.region(at) else { return };
                launch.global.race_of_guess(memory, (offset, size), other, block.clocks.by(self.number))
            };
            first.insert((self.line(launch.kernel), self.thread(block, lane), race));
        }
        let Some(wrong) = launch.wrong else { return };
        let load = (step, self.guessed);
        if let Some(held) = guesses.wrong(wrong, load, (now, own), block.clocks.by(self.number)) {
            let held = held >> (8 * (at_place - now.0.1));
            let keep = u64::MAX >> (64 - 8 * u32::from(bytes));
            for (index, value) in values[..elements].iter_mut().enumerate() {
                value[lane] = (held >> (8 * usize::from(bytes) * index)) as u64 & keep;
            }
            // a turn that fails for that reason does not wait for others
            self.spin.changes = true;
        }
    }

    /// The place that has an access of up to 16 bytes, what it holds, and the access's address there; none if races there are no errors.
    pub(super) fn around(
        &self,
        (space, at): (Region, u64),
        size: u8,
        block: &mut Block<'_>,
    ) -> Option<((Place, u128), u64)> {
        let global = &block.launch.global;
        if size > 16 || space == Region::Local {
            return None; // no compare-and-swap is as wide
        }
        if space == Region::Shared {
            let Reached { shared, clocks, at, base, .. } = block.reach(self.number, at).ok()?;
            let offset = shared.checked(at, size.into(), "reads").ok()?;
            let held = u128::from_le_bytes(shared.array(offset & !15));
            return Some((((clocks.cluster, base + (at & !15)), held), base + at));
        }
        let found = global.checked(at, size.into(), "reads").ok();
        let (memory, offset) = found.filter(|_| global.looks && global.reports)?;
        Some((((0, at - offset % 16), memory.around(offset)), at))
    }

    /// Notes that a lane has written at an address, around which memory was as `before`; `follows`: a guess that comes later may miss it.
    #[cold]
    pub(super) fn meets_guesses(
        &self,
        (place, size): ((Region, u64), u8),
        ((key, before), at): ((Place, u128), u64),
        follows: bool,
        block: &mut Block<'_>,
    ) {
        let Some(((_, left), _)) = self.around(place, size, block) else { return };
        if let Some(Ok(mut guesses)) = block.launch.global.guesses.as_ref().map(|guesses| guesses.lock()) {
            let bytes = bytes_of(at, key, size);
            guesses.writes((key, before, left), (bytes, follows), block.clocks.by(self.number));
        }
    }
}
