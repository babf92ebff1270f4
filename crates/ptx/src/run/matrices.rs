//! Asynchronous copies, and matrices of 8×8 elements between registers and shared memory.

use super::block::Block;
use super::copies::Copy;
use super::fault::Fault;
use super::warp::Warp;
use crate::lanes::{LANES, each};
use crate::program::{Address, Op, Slot};

impl Warp {
    pub(super) fn copy(&mut self, op: &Op, mask: u32, block: &mut Block<'_>) -> Result<(), Fault> {
        let Op::CopyAsync { bytes, to, from, size, ignore } = op else { return Ok(()) };
        let (to, from) = (self.registers.addresses(*to), self.registers.addresses(*from));
        let ignored = ignore.map_or(0, |ignore| self.registers.condition(ignore));
        for lane in each(mask) {
            let fault = |what: String| Fault::new(lane, what);
            let at = block.shared.checked(to[lane], (*bytes).into(), "copies").map_err(fault)?;
            let mut count = size.map_or((*bytes).into(), |size| self.registers.word(size)[lane]);
            if ignored >> lane & 1 == 1 {
                count = 0;
            }
            if count > u32::from(*bytes) {
                return Err(fault(format!("a copy of {bytes} bytes cannot read {count}")));
            }
            let mut value = [0; 16];
            if count > 0 {
                let global = &block.launch.global;
                let (memory, offset) =
                    match global.checked(from[lane], u64::from(count).next_power_of_two(), "reads") {
                        Ok(found) => found,
                        Err(what) => return Err(fault(what)),
                    };
                if !from[lane].is_multiple_of((*bytes).into()) {
                    return Err(fault(format!(
                        "copies from byte {offset} of {}, which is not a multiple of {bytes}",
                        memory.name
                    )));
                }
                for index in 0..count as usize {
                    let offset = offset + index as u64;
                    if global.watched && index % 4 == 0 {
                        let touched = if count as usize - index >= 4 { 4 } else { 1 };
                        memory.note_read(offset, touched, block.number).map_err(fault)?;
                    }
                    value[index] = memory.load(offset, 1) as u8;
                }
            }
            block.shared.note_copy(at, (*bytes).into());
            self.copies.open.push(Copy { to: at, bytes: (*bytes).into(), value, lane });
        }
        Ok(())
    }

    /// Addresses of the rows of matrices: those of the lanes 8·i to 8·i + 7 are matrix i's.
    fn rows(
        &self,
        address: Address,
        count: usize,
        block: &mut Block<'_>,
        write: Option<&[[u16; 8]]>,
    ) -> Result<Vec<usize>, Fault> {
        let addresses = self.registers.addresses(address);
        let mut rows = Vec::with_capacity(8 * count);
        for lane in 0..8 * count {
            let fault = |what: String| Fault::new(lane, what);
            let at = addresses[lane];
            // a generic address of shared memory is one too
            let at = if at >= crate::decode::SHARED_WINDOW { at - crate::decode::SHARED_WINDOW } else { at };
            let verb = if write.is_some() { "writes" } else { "reads" };
            let at = block.shared.checked(at, 16, verb).map_err(fault)?;
            let warp = self.number as u8;
            match write {
                // several warps may store the same
                Some(contents) => {
                    let same = |shared: &super::shared::Shared| {
                        let codes = contents[lane].iter().enumerate();
                        codes
                            .map(|(at, code)| (at, u64::from(*code)))
                            .all(|(k, code)| shared.get(at + 2 * k, 2) == code)
                    };
                    block.shared.note_write(at, 16, warp, same).map_err(fault)?;
                }
                None => block.shared.note_read(at, 16, warp).map_err(fault)?,
            }
            rows.push(at);
        }
        Ok(rows)
    }

    /// Row and column of the elements of a register of 8×8 matrices.
    fn places(lane: usize, transposed: bool) -> [(usize, usize); 2] {
        let (row, column) = (lane / 4, lane % 4 * 2);
        match transposed {
            false => [(row, column), (row, column + 1)],
            true => [(column, row), (column + 1, row)],
        }
    }

    pub(super) fn load_matrix(
        &mut self,
        transposed: bool,
        address: Address,
        d: &[Slot],
        mask: u32,
        block: &mut Block<'_>,
    ) -> Result<(), Fault> {
        self.check_whole(mask)?;
        let rows = self.rows(address, d.len(), block, None)?;
        for (matrix, slot) in d.iter().enumerate() {
            let mut value = [0; LANES];
            for lane in 0..LANES {
                let [low, high] = Warp::places(lane, transposed)
                    .map(|(row, column)| block.shared.get(rows[8 * matrix + row] + 2 * column, 2));
                value[lane] = low | high << 16;
            }
            self.registers.set_any(*slot, mask, &value);
        }
        Ok(())
    }

    pub(super) fn store_matrix(
        &mut self,
        transposed: bool,
        address: Address,
        a: &[Slot],
        mask: u32,
        block: &mut Block<'_>,
    ) -> Result<(), Fault> {
        self.check_whole(mask)?;
        let mut contents = vec![[0; 8]; 8 * a.len()];
        for (matrix, slot) in a.iter().enumerate() {
            let value = self.registers.any(*slot);
            for lane in 0..LANES {
                for (index, (row, column)) in Warp::places(lane, transposed).into_iter().enumerate() {
                    contents[8 * matrix + row][column] = (value[lane] >> (16 * index)) as u16;
                }
            }
        }
        let rows = self.rows(address, a.len(), block, Some(&contents))?;
        for (at, codes) in rows.into_iter().zip(contents) {
            for (column, code) in codes.into_iter().enumerate() {
                block.shared.put(at + 2 * column, 2, code.into());
            }
        }
        Ok(())
    }
}
