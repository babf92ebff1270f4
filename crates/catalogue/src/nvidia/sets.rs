//! Sets that rows share: architectures, formats, scale factors.

use bitmma_formats::{BF16, BlockScale, E2M1, E2M3, E3M2, E4M3, E5M2, F16, Format, TF32, UE4M3, UE8M0};

use crate::architecture::Architecture::{self, Ada, Ampere, Blackwell, Hopper, RtxBlackwell, Turing, Volta};

pub(super) const FROM_VOLTA: &[Architecture] = &[Volta, Turing, Ampere, Ada, Hopper, Blackwell, RtxBlackwell];
pub(super) const FROM_TURING: &[Architecture] = FROM_VOLTA.split_at(1).1;
pub(super) const FROM_AMPERE: &[Architecture] = FROM_VOLTA.split_at(2).1;

// Sets of formats for A and B; every A goes with every B.
pub(super) const ONLY_TF32: &[Format] = &[TF32];
pub(super) const ONLY_BF16: &[Format] = &[BF16];
pub(super) const ONLY_FP16: &[Format] = &[F16];
pub(super) const FP16_BF16: &[Format] = &[F16, BF16];
pub(super) const FP8: &[Format] = &[E4M3, E5M2];
pub(super) const FP8_6_4: &[Format] = &[E4M3, E5M2, E2M3, E3M2, E2M1];
pub(super) const FP4: &[Format] = &[E2M1];

// Scale factors.
pub(super) const E8_32: Option<BlockScale> = Some(BlockScale { format: UE8M0, size: 32 });
pub(super) const E8_16: Option<BlockScale> = Some(BlockScale { format: UE8M0, size: 16 });
pub(super) const E4M3_16: Option<BlockScale> = Some(BlockScale { format: UE4M3, size: 16 });

/// Every A with every B.
pub(super) fn pairs(inputs: &'static [Format]) -> impl Iterator<Item = (Format, Format)> {
    inputs.iter().flat_map(move |a| inputs.iter().map(move |b| (*a, *b)))
}
