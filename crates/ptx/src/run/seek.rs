//! The other access of a race, and the order of warps that shows one.

use super::address::resolve;
use super::block::Block;
use super::cluster::in_block;
use super::running::Sought;
use super::warp::Warp;
use crate::decode::decoder::SHARED_WINDOW;
use crate::lanes::{LANES, WideLanes, each};
use crate::program::{Op, Region};

/// Addresses that an instruction reads or writes, the bytes of each, and whether it writes.
type Reached = (Region, WideLanes, u64, bool);

impl Warp {
    /// What an instruction is about to reach.
    fn reached(&self, op: &Op) -> Vec<Reached> {
        let of = |address| self.registers.addresses(address);
        match op {
            Op::Load(access) | Op::Store(access) => {
                let bytes = u64::from(access.bytes) * access.elements.len() as u64;
                vec![(access.region, of(access.address), bytes, matches!(op, Op::Store(_)))]
            }
            Op::Atomic(atomic) => {
                let bytes = u64::from(atomic.kind.bits() / 8) * atomic.b.len() as u64;
                vec![(atomic.region, of(atomic.address), bytes, true)]
            }
            Op::LoadMatrix { address, .. } => vec![(Region::Shared, of(*address), 16, false)],
            Op::StoreMatrix { address, .. } => vec![(Region::Shared, of(*address), 16, true)],
            Op::CopyAsync { bytes, to, from, .. } => {
                let bytes = u64::from(*bytes);
                vec![(Region::Shared, of(*to), bytes, true), (Region::Global, of(*from), bytes, false)]
            }
            Op::Completing { op, .. } => self.reached(op),
            _ => vec![],
        }
    }

    /// Notes the line and thread of an instruction that is about to access what is looked for.
    #[cold]
    pub(super) fn seek(&self, op: &Op, mask: u32, block: &Block<'_>) {
        let Some(Sought { access: sought, found }) = &block.launch.sought else { return };
        if sought.agent != (block.clocks.cluster, block.clocks.by(self.number).warp) {
            return;
        }
        let end = sought.address + sought.bytes;
        for (region, addresses, bytes, writes) in self.reached(op) {
            let lane = each(mask).find(|lane| {
                let at = match resolve(region, addresses[*lane]) {
                    (Region::Shared, at) => SHARED_WINDOW | in_block(at),
                    (_, at) => at,
                };
                at < end && sought.address < at + bytes
            });
            if let Some(lane) = lane
                && writes >= sought.writes
                && let Ok(mut found) = found.lock()
            {
                *found = Some((self.line(block.launch.kernel), self.thread(block, lane)));
            }
        }
    }

    /// Whether the other warps of the block are due before a write, as they are on a GPU, where warps run side by side: what they
    /// read before it should not be what it writes. A first guess that is to come late lets all others go on, also those of other blocks.
    pub(super) fn lets_others(&self, op: &Op, mask: u32, block: &Block<'_>) -> bool {
        let launch = block.launch;
        if !launch.order.is_together || !launch.global.looks {
            return false;
        }
        let (region, address) = match op {
            Op::Load(access) => return access.order.is_some_and(|order| order.guesses),
            _ if launch.threads() <= LANES => return false,
            // those that first guesses meet come when they come: so wrong guesses do not change their order, and the opposite order of
            // warps is another one
            Op::Store(access) if access.order.is_none() || !launch.kernel.guesses => {
                (access.region, access.address)
            }
            Op::Atomic(atomic) if !launch.kernel.guesses => (atomic.region, atomic.address),
            _ => return false,
        };
        if !matches!(region, Region::Global | Region::Generic) {
            return false;
        }
        let lane = mask.trailing_zeros() as usize % LANES;
        let first = self.registers.addresses(address)[lane];
        launch.global.region(first).is_some_and(|(memory, _)| memory.is_watched)
    }
}
