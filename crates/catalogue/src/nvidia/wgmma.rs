//! `wgmma.mma_async`: Hopper.

use bitmma_formats::{F16, F32, Format};

use super::form::Form;
use super::sets::{FP8, ONLY_BF16, ONLY_FP16, ONLY_TF32, pairs};
use crate::architecture::Architecture::Hopper;
use crate::evidence::Evidence;
use crate::extent::Extent;
use crate::instruction::{Family, Instruction};

/// N of every row; M is 64.
const N: Extent = Extent::range(8, 256, 8);

// columns: K, A and B, C and D
#[rustfmt::skip]
const ROWS: [(usize, &[Format], Format); 6] = [
    ( 8, ONLY_TF32, F32),
    (16, ONLY_FP16, F16),
    (16, ONLY_FP16, F32),
    (16, ONLY_BF16, F32),
    (32, FP8,       F16),
    (32, FP8,       F32),
];

/// The forms of a family whose A stores one of `density` elements.
pub(super) fn forms(family: Family, density: usize) -> impl Iterator<Item = Form> {
    ROWS.iter().flat_map(move |(k, inputs, d)| {
        pairs(inputs)
            .map(move |inputs| Form { n: N, ..Form::plain(family, [64, 8, density * k], inputs, *d, *d) })
    })
}

/// Every row.
pub(super) fn rows() -> Vec<Instruction> {
    forms(Family::Wgmma, 1).map(|form| form.native(Hopper, Evidence::printed(Hopper))).collect()
}
