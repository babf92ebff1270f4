//! What threads do with barrier objects: they arrive, copies complete bytes, and those that wait learn what was done before.

use super::access::in_shared;
use super::block::Block;
use super::clocks::Kind;
use super::fault::{Fault, Race};
use super::objects::{Barrier, MOST, Piece};
use super::shared::Shared;
use super::warp::Warp;
use crate::lanes::{LANES, each};
use crate::program::{Action, Object, Phase};

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
            let fault = |what: String| Fault::new(lane, what);
            let at = block
                .shared
                .checked(in_shared(addresses[lane]), 8, "finds an mbarrier object of")
                .map_err(fault)?;
            holds |= u32::from(self.object_of_lane(object, (at, lane), block)?) << lane;
            seen.push(at);
        }
        if let Action::Test { d, .. } = object.action {
            for at in seen {
                if let Ok(barrier) = block.objects.get(at) {
                    barrier.unseen &= !(1 << self.number);
                }
            }
            self.registers.set_predicate(d, mask, holds);
            self.spin.has_read(&[[u64::from(holds); LANES]], 1);
        }
        Ok(())
    }

    fn object_of_lane(
        &mut self,
        object: &Object,
        (at, lane): (usize, usize),
        block: &mut Block<'_>,
    ) -> Result<bool, Fault> {
        let fault = |what: String| Fault::new(lane, what);
        let race = |race: Race| Fault::new(lane, race);
        let word = |word| self.registers.word(word)[lane];
        let by = block.clocks.by(self.number);
        // starting and ending it are writes, everything else is as an atomic operation
        let kind = match object.action {
            Action::Initialize(_) | Action::Invalidate => Kind::Write,
            _ => Kind::Strong,
        };
        match object.action {
            Action::Test { .. } => block.shared.note_read(at, 8, (true, true), by).map_err(race)?,
            _ => block.shared.note_write(at, 8, (kind, false), by, |_| false).map_err(race)?,
        }
        match object.action {
            Action::Initialize(count) => {
                let expected = word(count);
                if expected == 0 || expected > MOST {
                    return Err(fault(format!(
                        "an mbarrier object waits for 1 to {MOST} arrivals, not for {expected}"
                    )));
                }
                let barrier = Barrier::new(expected);
                block.objects.0.insert(at, barrier);
            }
            Action::Invalidate => {
                block.objects.get(at).map_err(fault)?;
                block.objects.0.remove(&at);
            }
            Action::Arrive { state, count, expects, drops } => {
                let (count, expects) = (count.map_or(1, word), expects.map_or(0, word));
                let left = block.clocks.leave(self.number);
                let barrier = block.objects.get(at).map_err(fault)?;
                let old = barrier.state();
                barrier.bytes += i64::from(expects);
                if drops {
                    barrier.expected = barrier.expected.saturating_sub(count);
                }
                barrier.arrive(count, &left).map_err(fault)?;
                self.registers.set_any(state, 1 << lane, &[old; LANES]);
                self.spin.changes = true;
            }
            Action::Expect(bytes) => block.objects.get(at).map_err(fault)?.bytes += i64::from(word(bytes)),
            Action::Complete(bytes) => {
                let bytes = i64::from(word(bytes));
                let barrier = block.objects.get(at).map_err(fault)?;
                barrier.bytes -= bytes;
                barrier.complete();
                self.spin.changes = true;
            }
            Action::ArriveWithCopies { counts } => {
                // the copies of the warp are there when it arrives
                self.copies.commit();
                self.copies.wait(0, &mut block.shared, by)?;
                let left = block.clocks.leave(self.number);
                let barrier = block.objects.get(at).map_err(fault)?;
                if counts {
                    barrier.pending += 1;
                }
                barrier.arrive(1, &left).map_err(fault)?;
                self.spin.changes = true;
            }
            Action::Test { phase, .. } => {
                let barrier = block.objects.get(at).map_err(fault)?;
                let is_complete = match phase {
                    Phase::Parity(parity) => {
                        barrier.phases & 1 != u64::from(self.registers.word(parity)[lane] & 1)
                    }
                    Phase::State(state) => barrier.phases != self.registers.wide(state)[lane] >> 32,
                };
                let own = 1 << self.number;
                let is_complete = is_complete && barrier.unseen & own == 0;
                self.waits_at = (!is_complete).then_some(at);
                if is_complete {
                    let released = barrier.released.clone();
                    let pieces = std::mem::take(&mut barrier.arrived);
                    block.clocks.take(self.number, &released);
                    self.land(at, pieces, lane, block)?;
                }
                return Ok(is_complete);
            }
            Action::Pending { .. } => {}
        }
        Ok(false)
    }

    /// What copies have brought is there for those that wait for it: the first of them puts it, and the others learn of that.
    fn land(
        &mut self,
        at: usize,
        pieces: Vec<Piece>,
        lane: usize,
        block: &mut Block<'_>,
    ) -> Result<(), Fault> {
        if pieces.is_empty() {
            return Ok(());
        }
        let by = block.clocks.by(self.number);
        for Piece { at, value } in pieces {
            let same = |shared: &Shared| shared.array(at) == value;
            block.shared.land(at, 16, by, same).map_err(|race| Fault::new(lane, race))?;
            block.shared.put_array(at, value);
        }
        let left = block.clocks.leave(self.number);
        if let Ok(barrier) = block.objects.get(at) {
            barrier.released.join(&left);
        }
        Ok(())
    }
}
