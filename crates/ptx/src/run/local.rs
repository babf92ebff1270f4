//! Memory of each thread of a warp.

use crate::lanes::LANES;

pub(crate) struct Local {
    /// Of one thread.
    size: usize,
    bytes: Vec<u8>,
    filled: Vec<bool>,
}

impl Local {
    pub(crate) fn new(size: u64) -> Local {
        let size = size as usize;
        Local { size, bytes: vec![0; size * LANES], filled: vec![false; size * LANES] }
    }

    pub(crate) fn checked(&self, address: u64, bytes: u64, verb: &str) -> Result<usize, String> {
        if address.checked_add(bytes).is_none_or(|end| end > self.size as u64) {
            return Err(format!(
                "{verb} {bytes} bytes at {address:#x} of local memory, which has {} bytes",
                self.size
            ));
        }
        if !address.is_multiple_of(bytes) {
            return Err(format!(
                "{verb} {bytes} bytes at {address:#x} of local memory, which is not a multiple of {bytes}"
            ));
        }
        Ok(address as usize)
    }

    /// A value, and whether all of it was written.
    pub(crate) fn get(&self, lane: usize, at: usize, bytes: u8) -> (u64, bool) {
        let start = lane * self.size + at;
        let range = start..start + usize::from(bytes);
        let mut value = [0; 8];
        value[..usize::from(bytes)].copy_from_slice(&self.bytes[range.clone()]);
        (u64::from_le_bytes(value), self.filled[range].iter().all(|filled| *filled))
    }

    pub(crate) fn put(&mut self, lane: usize, at: usize, bytes: u8, value: u64) {
        let start = lane * self.size + at;
        let range = start..start + usize::from(bytes);
        self.bytes[range.clone()].copy_from_slice(&value.to_le_bytes()[..usize::from(bytes)]);
        self.filled[range].fill(true);
    }
}
