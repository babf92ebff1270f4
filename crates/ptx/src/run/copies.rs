//! Asynchronous copies into shared memory.

use std::collections::VecDeque;

use super::shared::Shared;

/// Copies of a warp that nobody has waited for. Their sources are read when they start; they are written when they are
/// waited for, which is the latest: a read before that is an error.
#[derive(Default)]
pub(crate) struct Copies {
    pub(super) open: Vec<Copy>,
    pub(super) groups: VecDeque<Vec<Copy>>,
}

pub(super) struct Copy {
    pub(super) to: usize,
    pub(super) bytes: usize,
    pub(super) value: [u8; 16],
    pub(super) lane: usize,
}

impl Copies {
    pub(crate) fn commit(&mut self) {
        let open = std::mem::take(&mut self.open);
        self.groups.push_back(open);
    }

    /// Until at most that many groups are left.
    pub(crate) fn wait(&mut self, left: usize, shared: &mut Shared, warp: usize) {
        while self.groups.len() > left {
            let Some(group) = self.groups.pop_front() else { break };
            for copy in group {
                let _ = copy.lane;
                // a conflict with another warp shows where that one reads or writes
                let _ = shared.note_write(copy.to, copy.bytes, warp as u8, |_| true);
                for (index, byte) in copy.value[..copy.bytes].iter().enumerate() {
                    shared.put(copy.to + index, 1, (*byte).into());
                }
            }
        }
    }

    /// Groups without copies need no wait.
    pub(crate) fn landed(&mut self, _shared: &mut Shared, _warp: usize) {
        while self.groups.front().is_some_and(Vec::is_empty) && self.groups.len() > 64 {
            self.groups.pop_front();
        }
    }
}
