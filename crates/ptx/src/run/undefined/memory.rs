//! Undefined bytes of shared and local memory.

use super::Origin;

/// For each byte which of its bits are undefined, and where those came from.
#[derive(Default)]
pub(crate) struct Bytes {
    bits: Vec<u8>,
    origins: Vec<Origin>,
}

impl Bytes {
    /// Bytes that nobody wrote.
    pub(crate) fn undefined(count: usize) -> Bytes {
        Bytes { bits: vec![u8::MAX; count], origins: vec![0; count] }
    }

    pub(in crate::run) fn is_empty(&self) -> bool {
        self.bits.is_empty()
    }

    /// All are as if nobody wrote them.
    pub(crate) fn reset(&mut self) {
        self.bits.fill(u8::MAX);
        self.origins.fill(0);
    }

    /// The undefined bits of up to 8 bytes, and where the first of them came from. There is nothing outside: an access of that is an
    /// error of its own.
    pub(in crate::run) fn get(&self, at: usize, count: usize) -> (u64, Origin) {
        let mut value = 0;
        for byte in 0..count {
            value |= u64::from(self.bits(at.wrapping_add(byte))) << (8 * byte);
        }
        (value, if value == 0 { 0 } else { self.origin(at, count) })
    }

    fn bits(&self, at: usize) -> u8 {
        self.bits.get(at).copied().unwrap_or(0)
    }

    /// Where the first undefined of some bytes came from.
    pub(super) fn origin(&self, at: usize, count: usize) -> Origin {
        let first = (0..count).map(|byte| at.wrapping_add(byte)).find(|at| self.bits(*at) != 0);
        first.map_or(0, |at| self.origins[at])
    }

    pub(in crate::run) fn put(&mut self, at: usize, count: usize, bits: u64, origin: Origin) {
        for byte in 0..count {
            let at = at.wrapping_add(byte);
            if let (Some(to), Some(from)) = (self.bits.get_mut(at), self.origins.get_mut(at)) {
                (*to, *from) = (bits.checked_shr(8 * byte as u32).unwrap_or(0) as u8, origin);
            }
        }
    }
}
