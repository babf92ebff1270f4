//! Where an address is.

use crate::decode::decoder::{LOCAL_WINDOW, PARAMETER_WINDOW, REGION_BITS, SHARED_WINDOW};
use crate::program::Region;

/// The space of an address of generic memory.
pub(super) fn resolve(region: Region, address: u64) -> (Region, u64) {
    match region {
        Region::Generic => {}
        Region::SharedOfBlock => return (Region::Shared, address),
        _ => return (region, address),
    }
    match address >> REGION_BITS {
        window if window == SHARED_WINDOW >> REGION_BITS => (Region::Shared, address - SHARED_WINDOW),
        window if window == LOCAL_WINDOW >> REGION_BITS => (Region::Local, address - LOCAL_WINDOW),
        window if window == PARAMETER_WINDOW >> REGION_BITS => {
            (Region::Parameter, address - PARAMETER_WINDOW)
        }
        _ => (Region::Global, address),
    }
}

/// The offset in shared memory of an address there, which may be a generic one.
pub(in crate::run) fn in_shared(address: u64) -> u64 {
    address.checked_sub(SHARED_WINDOW).unwrap_or(address)
}
