//! Stores to shared memory that complete at a barrier object, and zeros.

use super::address::in_shared;
use super::block::Block;
use super::clocks::Kind;
use super::fault::Fault;
use super::objects::Brought;
use super::reach::Reached;
use super::warp::Warp;
use crate::lanes::each;
use crate::program::{Address, Slot};

impl Warp {
    /// Bytes that each lane has stored complete at an object: what was done before is done for those that wait for it.
    pub(super) fn completes(
        &mut self,
        barrier: Address,
        bytes: u32,
        mask: u32,
        block: &mut Block<'_>,
    ) -> Result<(), Fault> {
        let addresses = self.registers.addresses(barrier);
        for lane in each(mask) {
            let fault = |what: String| Fault::new(lane, what);
            let at = in_shared(addresses[lane]);
            let Reached { shared, objects, clocks, at, .. } = block.reach(self.number, at).map_err(fault)?;
            let at = shared.checked(at, 8, "finds an mbarrier object of").map_err(fault)?;
            let left = clocks.leave(self.number);
            let barrier = objects.get(at).map_err(fault)?;
            barrier.expect(-i64::from(bytes)).map_err(fault)?;
            barrier.bring(Brought::default(), &left).map_err(fault)?;
        }
        self.spin.changes = true;
        Ok(())
    }

    /// Stores zeros.
    pub(super) fn fill(
        &mut self,
        address: Address,
        bytes: Slot,
        mask: u32,
        block: &mut Block<'_>,
    ) -> Result<(), Fault> {
        let addresses = self.registers.addresses(address);
        for lane in each(mask) {
            let fault = |what: String| Fault::new(lane, what);
            let (first, bytes) = (in_shared(addresses[lane]), self.registers.any_lane(bytes, lane));
            if !bytes.is_multiple_of(8) {
                return Err(fault(format!("stores {bytes} bytes of zeros, which is not a multiple of 8")));
            }
            for step in (0..bytes).step_by(8) {
                let at = block.shared.checked(first.wrapping_add(step), 8, "writes").map_err(fault)?;
                let by = block.clocks.by(self.number);
                let same = |shared: &super::shared::Shared| shared.get(at, 8) == 0;
                let noted = block.shared.note_write(at, 8, (Kind::Write, false), by, same);
                noted.map_err(|race| Fault::new(lane, race))?;
                block.shared.put(at, 8, 0);
                if block.launch.undefined.is_some() {
                    block.undefined.put(at, 8, 0, 0);
                }
            }
        }
        self.spin.changes = true;
        Ok(())
    }
}
