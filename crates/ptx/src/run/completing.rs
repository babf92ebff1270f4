//! Stores to shared memory that complete at a barrier object, and zeros.

use super::address::in_shared;
use super::block::Block;
use super::clocks::Kind;
use super::fault::Fault;
use super::objects::{Brought, Piece};
use super::warp::Warp;
use crate::lanes::each;
use crate::program::{Address, Op, Slot};

impl Warp {
    /// Bytes that each lane stores, or changes, complete at an object: they are there, and what was done before is done, for those that wait
    /// for it.
    pub(super) fn completes(
        &mut self,
        op: &Op,
        (barrier, bytes): (Address, usize),
        mask: u32,
        block: &mut Block<'_>,
    ) -> Result<(), Fault> {
        let address = match op {
            Op::Atomic(atomic) => atomic.address,
            Op::Store(access) => access.address,
            _ => return Ok(()),
        };
        let addresses = [address, barrier].map(|address| self.registers.addresses(address));
        for lane in each(mask) {
            let fault = |what: String| Fault::new(lane, what);
            let [to, barrier] = addresses.map(|address| in_shared(address[lane]));
            let reached = block.reach(self.number, to).map_err(fault)?;
            let at = reached.shared.checked(reached.at, bytes as u64, "changes").map_err(fault)?;
            reached.shared.will_reduce(at, bytes);
            self.execute(op, 1 << lane, block)?;
            block.reach(self.number, to).map_err(fault)?.shared.reduces(at, bytes);
            let piece = Piece { at, bytes, is_there: true, ..Piece::default() };
            let brought = Brought { pieces: vec![piece], ..Brought::default() };
            self.bring((barrier, to), brought, lane, block)?;
        }
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
                let at = block.checked(first.wrapping_add(step), 8, "writes").map_err(fault)?;
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
