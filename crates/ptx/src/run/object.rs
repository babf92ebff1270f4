//! What threads do with barrier objects: they arrive, copies complete bytes, and those that wait learn what was done before.

use super::address::in_shared;
use super::block::Block;
use super::clocks::Kind;
use super::fault::{Fault, Race};
use super::objects::{Barrier, Brought, MOST, Piece};
use super::reach::Reached;
use super::shared::Shared;
use super::warp::Warp;
use crate::lanes::{LANES, each};
use crate::program::{Action, Object, Phase, Scope};

/// What becomes of an object.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Uses {
    Starts,
    Ends,
    /// By arrivals and bytes.
    Changes,
    Asks,
}

impl Reached<'_> {
    /// Notes that a warp, or what it has started, uses the object there, and gives its address. An error if there is none, or if its start
    /// or its end is not ordered before or after.
    pub(super) fn object(&mut self, uses: Uses, warp: usize) -> Result<usize, Race> {
        let Reached { shared, objects, clocks, at, .. } = self;
        let at = shared.checked(*at, 8, "finds an mbarrier object of")?;
        match (uses, objects.get(at)) {
            (Uses::Starts, Ok(_)) => {
                return Err(format!(
                    "initializes the mbarrier object at {at:#x} of shared memory a second time: mbarrier.inval must come first"
                )
                .into());
            }
            (Uses::Starts, Err(_)) | (_, Ok(_)) => {}
            (_, Err(what)) => return Err(what.into()),
        }
        shared.guard(at, false);
        // starting and ending it are writes, everything else is as an atomic operation
        let by = clocks.by(warp);
        let kind = if uses == Uses::Changes { Kind::Strong } else { Kind::Write };
        let noted = match uses {
            Uses::Asks => shared.note_read(at, 8, (true, true), by),
            _ => shared.note_write(at, 8, (kind, false), by, |_| false),
        };
        // its start is seen after a barrier of the cluster that comes after its fence, also one that orders nothing else
        let published = objects.get(at).ok().and_then(|one| one.published);
        let is_seen = published.is_some_and(|arrivals| clocks.has_met_after(warp, arrivals));
        if !(matches!(uses, Uses::Changes | Uses::Asks) && is_seen) {
            noted?;
        }
        if uses != Uses::Ends {
            shared.guard(at, true);
        }
        Ok(at)
    }
}

impl Warp {
    /// An operation of each lane on an object, from the lowest on.
    pub(super) fn object(&mut self, object: &Object, mask: u32, block: &mut Block<'_>) -> Result<(), Fault> {
        if let Action::Pending { d, state } = object.action {
            let value = self.registers.wide(state).map(|state| state as u32);
            self.registers.set_word(d, mask, &value);
            return Ok(());
        }
        let addresses = self.registers.addresses(object.address);
        let (mut holds, mut seen) = (0, vec![]);
        for lane in each(mask) {
            let (at, is_complete) = self.object_of_lane(object, (in_shared(addresses[lane]), lane), block)?;
            holds |= u32::from(is_complete) << lane;
            seen.push(at);
        }
        if let Action::Test { d, .. } = object.action {
            for at in seen {
                if let Ok(barrier) = block.objects.get(at) {
                    barrier.asked(block.clocks.by(self.number));
                }
            }
            self.registers.set_predicate(d, mask, holds);
            self.spin.has_asked(holds);
        }
        Ok(())
    }

    /// Where the object is in its block, and whether a phase is complete.
    fn object_of_lane(
        &mut self,
        object: &Object,
        (at, lane): (u64, usize),
        block: &mut Block<'_>,
    ) -> Result<(usize, bool), Fault> {
        let fault = |what: String| Fault::new(lane, what);
        let race = |race: Race| Fault::new(lane, race);
        let word = |word| self.registers.word(word)[lane];
        let mut reached = block.reach(self.number, at).map_err(fault)?;
        let can_be_other =
            matches!(object.action, Action::Arrive { .. } | Action::Expect(_) | Action::Complete(_));
        if reached.is_other && !can_be_other {
            return Err(fault(
                "an mbarrier object of another block of the cluster: only arrive, expect_tx and complete_tx reach it"
                    .to_owned(),
            ));
        }
        let uses = match object.action {
            Action::Initialize(_) => Uses::Starts,
            Action::Invalidate => Uses::Ends,
            Action::Test { .. } => Uses::Asks,
            _ => Uses::Changes,
        };
        let at = reached.object(uses, self.number).map_err(race)?;
        let Reached { shared, objects, clocks, .. } = reached;
        let by = clocks.by(self.number);
        match object.action {
            Action::Initialize(count) => {
                let expected = word(count);
                if expected == 0 || expected > MOST {
                    return Err(fault(format!(
                        "an mbarrier object waits for 1 to {MOST} arrivals, not for {expected}"
                    )));
                }
                let barrier = Barrier::new(expected, by.warp);
                objects.0.insert(at, barrier);
            }
            Action::Invalidate => {
                if let Some(rank) = objects.get(at).map_err(fault)?.sender() {
                    let what = format!(
                        "ends an mbarrier object while what block {rank} of the cluster sends to it was not waited for: a wait for its phase must come first"
                    );
                    return Err(fault(what));
                }
                objects.0.remove(&at);
            }
            Action::Arrive { state, count, expects, drops, relaxed } => {
                let (count, expects) = (count.map_or(1, word), expects.map_or(0, word));
                let left = match relaxed {
                    true => clocks.leave_relaxed(self.number),
                    false => clocks.leave(self.number),
                };
                let barrier = objects.get(at).map_err(fault)?;
                let old = barrier.state();
                barrier.expect(expects.into()).map_err(fault)?;
                if drops {
                    barrier.expected = barrier.expected.saturating_sub(count);
                }
                barrier.arrive(count, &left).map_err(fault)?;
                self.registers.set_any(state, 1 << lane, &[old; LANES]);
                self.spin.changes = true;
            }
            Action::Expect(bytes) => {
                let barrier = objects.get(at).map_err(fault)?;
                barrier.expect(word(bytes).into()).map_err(fault)?;
            }
            Action::Complete(bytes) => {
                let barrier = objects.get(at).map_err(fault)?;
                barrier.expect(-i64::from(word(bytes))).map_err(fault)?;
                barrier.complete();
                self.spin.changes = true;
            }
            Action::ArriveWithCopies { counts } => {
                // the copies of the warp are there when it arrives
                self.copies.commit();
                self.copies.wait(0, shared, by)?;
                let left = clocks.leave(self.number);
                let barrier = objects.get(at).map_err(fault)?;
                if counts {
                    barrier.pending += 1;
                }
                barrier.arrive(1, &left).map_err(fault)?;
                self.spin.changes = true;
            }
            Action::Test { phase, relaxed, .. } => {
                let barrier = objects.get(at).map_err(fault)?;
                let is_complete = match phase {
                    Phase::Parity(parity) => {
                        barrier.phases & 1 != u64::from(self.registers.word(parity)[lane] & 1)
                    }
                    Phase::State(state) => barrier.phases != self.registers.wide(state)[lane] >> 32,
                };
                let is_complete = is_complete && barrier.is_seen(by);
                self.waits_at = (!is_complete).then_some(at);
                if is_complete {
                    barrier.see(by);
                    match relaxed {
                        true => self.relaxed.push(at),
                        false => self.acquire_object(at, lane, block)?,
                    }
                }
                return Ok((at, is_complete));
            }
            Action::Pending { .. } => {}
        }
        Ok((at, false))
    }

    /// `fence`, `membar`: what was found complete before is acquired.
    pub(super) fn fence(&mut self, scope: Scope, mask: u32, block: &mut Block<'_>) -> Result<(), Fault> {
        for at in std::mem::take(&mut self.relaxed) {
            self.acquire_object(at, mask.trailing_zeros() as usize, block)?;
        }
        block.clocks.fence(self.number, scope);
        Ok(())
    }

    /// Learns what was done before a phase was complete. What copies have brought is there for those that wait for it: the first of
    /// them puts it, and the others learn of that.
    fn acquire_object(&mut self, at: usize, lane: usize, block: &mut Block<'_>) -> Result<(), Fault> {
        let Ok(barrier) = block.objects.get(at) else { return Ok(()) };
        let released = barrier.released.clone();
        let Brought { pieces, sources, shared, .. } = std::mem::take(&mut barrier.arrived);
        block.clocks.take(self.number, &released);
        if pieces.is_empty() {
            return Ok(());
        }
        let by = block.clocks.by(self.number);
        for Piece { at, bytes, value, padding, is_there } in pieces {
            let same = |shared: &Shared| shared.bytes(at, bytes) == &value[..bytes] && padding == 0;
            let kind = if is_there { Kind::Strong } else { Kind::Write };
            block.shared.land(at, bytes + padding, kind, by, same).map_err(|race| Fault::new(lane, race))?;
            if is_there {
                block.shared.reduced(at, bytes);
            } else {
                block.shared.put_bytes(at, &value[..bytes]);
            }
            if padding > 0 {
                block.shared.undefine(at + bytes, padding);
                if block.launch.undefined.is_some() {
                    block.undefined.put(at + bytes, padding, u64::MAX, 0);
                }
            }
        }
        for (rank, at) in shared {
            let source = match block.peers.get_mut(rank) {
                Some(Some(other)) => {
                    other.lent -= 1;
                    other.visits.insert(by.warp, by.now);
                    &mut other.shared
                }
                _ => {
                    block.lent -= 1;
                    &mut block.shared
                }
            };
            source.end_reads(at, 16);
            source.note_read(at, 16, (false, true), by).map_err(|race| Fault::new(lane, race))?;
        }
        // they have read their sources now at the latest
        self.end_copies(&sources, lane, block)?;
        let left = block.clocks.leave(self.number);
        if let Ok(barrier) = block.objects.get(at) {
            barrier.released.join(&left);
        }
        Ok(())
    }
}
