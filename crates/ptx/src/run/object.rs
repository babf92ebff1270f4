//! Barrier objects in shared memory: threads arrive, copies complete bytes, and waiting threads learn what was done before.

use std::collections::BTreeMap;

use super::block::Block;
use super::clocks::{Kind, Left};
use super::fault::{Fault, Race};
use super::shared::Shared;
use super::warp::Warp;
use crate::decode::SHARED_WINDOW;
use crate::instruction::bulk::{Action, Object, Phase};
use crate::lanes::{LANES, each};

/// A barrier object (PTX ISA, "Contents of the mbarrier object").
#[derive(Default)]
pub(super) struct Barrier {
    /// Arrivals that each phase waits for, and those that this one still does.
    expected: u32,
    pending: u32,
    /// Bytes that copies are yet to complete; they may come before they are expected.
    bytes: i64,
    /// Phases that are complete.
    phases: u64,
    /// What those that arrived in this phase did before.
    gathered: Left,
    /// The same of the phase before, which those that wait learn.
    released: Left,
    /// What copies of this phase bring, and those of complete phases, which no thread has waited for: it is not there before.
    started: Vec<Piece>,
    arrived: Vec<Piece>,
    /// Warps that have not seen that the phase before, which waited for copies, was not complete. Each sees it once: on a GPU the bytes
    /// may come as late.
    unseen: u32,
}

/// 16 bytes that a copy brings.
pub(super) struct Piece {
    pub(super) at: usize,
    pub(super) value: [u8; 16],
}

/// Arrivals that an object can wait for.
const MOST: u32 = (1 << 20) - 1;

/// The objects of a block, by their addresses.
#[derive(Default)]
pub(super) struct Objects(BTreeMap<usize, Barrier>);

impl Objects {
    pub(super) fn reset(&mut self) {
        self.0.clear();
    }

    pub(super) fn get(&mut self, at: usize) -> Result<&mut Barrier, String> {
        self.0.get_mut(&at).ok_or_else(|| {
            format!("there is no mbarrier object at {at:#x} of shared memory: it was not initialized")
        })
    }

    /// What an object waits for.
    pub(super) fn waits_for(&self, at: usize) -> Option<String> {
        let Barrier { expected, pending, bytes, phases, .. } = self.0.get(&at)?;
        let arrivals = (*pending > 0).then(|| format!("{pending} of {expected} arrivals"));
        let awaited = (*bytes > 0).then(|| format!("{bytes} bytes"));
        let missing: Vec<String> = [arrivals, awaited].into_iter().flatten().collect();
        let missing = match missing.is_empty() {
            true => String::new(),
            false => format!(": {} are missing", missing.join(" and ")),
        };
        let surplus = match *bytes < 0 {
            true => format!("; {} bytes came that nobody expects", -bytes),
            false => String::new(),
        };
        Some(format!("phase {phases} of the mbarrier object at {at:#x} is not complete{missing}{surplus}"))
    }
}

impl Barrier {
    fn arrive(&mut self, count: u32, left: &Left) -> Result<(), String> {
        if count == 0 || count > self.pending {
            return Err(format!(
                "{count} more arrivals at an mbarrier object that waits for {} of {}",
                self.pending, self.expected
            ));
        }
        self.gathered.join(left);
        self.pending -= count;
        self.complete();
        Ok(())
    }

    /// A copy brings pieces; what its thread did before is done before.
    pub(super) fn bring(&mut self, pieces: Vec<Piece>, left: &Left) {
        self.bytes -= 16 * pieces.len() as i64;
        self.started.extend(pieces);
        self.gathered.join(left);
        self.complete();
    }

    fn complete(&mut self) {
        if self.pending == 0 && self.bytes == 0 {
            self.phases += 1;
            self.pending = self.expected;
            self.released = std::mem::take(&mut self.gathered);
            self.unseen = if self.started.is_empty() { 0 } else { u32::MAX };
            self.arrived.append(&mut self.started);
        }
    }

    /// The state of this phase, as an arrival returns it.
    fn state(&self) -> u64 {
        self.phases << 32 | u64::from(self.pending)
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
            let fault = |what: String| Fault::new(lane, what);
            let address = addresses[lane];
            let address = if address >= SHARED_WINDOW { address - SHARED_WINDOW } else { address };
            let at = block.shared.checked(address, 8, "finds an mbarrier object of").map_err(fault)?;
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
                let barrier = Barrier { expected, pending: expected, ..Barrier::default() };
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
