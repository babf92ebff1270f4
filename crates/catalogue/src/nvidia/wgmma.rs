//! `wgmma.mma_async`: Hopper.

use bitmma_formats::{F16, F32, Format};

use super::{FP8, Form, ONLY_BF16, ONLY_FP16, ONLY_TF32, pairs};
use crate::architecture::Architecture::Hopper;
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

/// Every row.
pub(super) fn rows() -> Vec<Instruction> {
    ROWS.iter()
        .flat_map(|(k, inputs, d)| pairs(inputs).map(move |inputs| (*k, inputs, *d)))
        .map(|(k, inputs, d)| Form { n: N, ..Form::plain(Family::Wgmma, [64, 8, k], inputs, d, d) })
        .map(|form| form.native(Hopper))
        .collect()
}
