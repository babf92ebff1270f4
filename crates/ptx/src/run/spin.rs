//! Loops that wait for another thread's write.

use crate::lanes::{LANES, each};

/// Turns that read by strong reads and change memory, before others are due: such a loop may wait, too, as one that counts its looks.
const MOST_BUSY: u32 = 4096;

/// What a warp has done since its last backward branch: turns of a loop that read the same by strong reads and change nothing
/// wait for others.
#[derive(Default)]
pub(crate) struct Spin {
    /// Of the values that strong reads have read.
    hash: u64,
    has_read: bool,
    /// Whether it has read more than barrier objects, in this turn and in the one before.
    looks_outside: [bool; 2],
    /// Whether memory has changed.
    pub(super) changes: bool,
    /// Branches with their lanes, and what was read in the turn before each, since memory changed.
    last: Vec<((usize, u32), u64)>,
    /// Turns that have read and changed memory since others were due.
    busy: u32,
    has_stopped: bool,
    has_changed: bool,
}

impl Spin {
    pub(super) fn has_read(&mut self, values: &[[u64; LANES]], mask: u32) {
        self.has_read = true;
        self.looks_outside[0] = true;
        for lane in each(mask) {
            for value in values {
                self.hash = (self.hash.rotate_left(5) ^ value[lane]).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            }
        }
    }

    /// It has asked a barrier object whether a phase is complete.
    pub(super) fn has_asked(&mut self, holds: u32) {
        self.has_read = true;
        self.hash = (self.hash.rotate_left(5) ^ u64::from(holds)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }

    /// Whether it waits for barrier objects alone, which no other block changes.
    pub(super) fn waits_for_objects(&self) -> bool {
        !self.looks_outside.contains(&true)
    }

    /// At a backward branch of some lanes: whether this turn was as the one before, so that others are due.
    pub(super) fn turns(&mut self, at: (usize, u32)) -> bool {
        if self.changes || !self.has_read {
            self.last.clear();
            self.busy += u32::from(self.has_read);
            if self.busy == MOST_BUSY {
                (self.busy, self.has_stopped) = (0, true);
            }
        } else {
            let last = self.last.iter_mut().find(|(of, _)| *of == at);
            match last {
                Some((_, hash)) => {
                    self.has_stopped = *hash == self.hash;
                    *hash = self.hash;
                }
                None => self.last.push((at, self.hash)),
            }
        }
        self.has_changed |= self.changes;
        self.looks_outside = [false, self.looks_outside[0]];
        (self.hash, self.has_read, self.changes) = (0, false, false);
        self.has_stopped
    }

    /// It lets others go on, of this block and of others, as if it waited for them.
    pub(super) fn gives_way(&mut self) {
        (self.has_stopped, self.has_changed) = (true, true);
    }

    /// Whether the warp stopped for that.
    pub(super) fn has_stopped(&mut self) -> bool {
        std::mem::take(&mut self.has_stopped)
    }

    /// Whether it has changed memory since it was asked last.
    pub(super) fn has_changed(&mut self) -> bool {
        std::mem::take(&mut self.has_changed) | self.changes
    }
}
