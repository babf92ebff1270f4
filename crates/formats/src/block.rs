//! Scale factors that several elements share.

use crate::format::Format;

/// One scale factor for every `size` consecutive elements along K (OCP Microscaling Formats 1.0).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct BlockScale {
    /// Format of the scale factors: UE8M0 or UE4M3.
    pub format: Format,
    /// Elements that share one factor (paper: K_block), 16 or 32 on hardware.
    pub size: usize,
}
