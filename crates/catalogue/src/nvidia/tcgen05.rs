//! `tcgen05.mma` with `cta_group::1`: Blackwell.

use bitmma_formats::{BlockScale, F16, F32, Format};

use super::form::Form;
use super::sets::{E4M3_16, E8_16, E8_32, FP4, FP8_6_4, FP16_BF16, ONLY_FP16, ONLY_TF32, pairs};
use crate::architecture::Architecture::Blackwell;
use crate::evidence::Evidence;
use crate::extent::Extent;
use crate::instruction::{Family, Instruction};

/// M of the kinds without scale factors.
const M: Extent = Extent::range(64, 128, 64);
/// M of the kinds with scale factors.
const M_SCALED: Extent = Extent::one(128);
/// N of every kind.
const N: Extent = Extent::range(8, 256, 8);

/// Kind, K, formats of A and B (every A goes with every B), format of C and D, scale factors.
type Row = (&'static str, usize, &'static [Format], Format, Option<BlockScale>);

// columns: kind, K, A and B, C and D, scale type and block
#[rustfmt::skip]
const ROWS: [Row; 10] = [
    ("kind::tf32",      8, ONLY_TF32, F32, None),
    ("kind::f16",      16, ONLY_FP16, F16, None),
    ("kind::f16",      16, FP16_BF16, F32, None),
    ("kind::f8f6f4",   32, FP8_6_4,   F32, None),
    ("kind::f8f6f4",   32, FP8_6_4,   F16, None),
    ("kind::mxf8f6f4", 32, FP8_6_4,   F32, E8_32),
    ("kind::mxf4",     64, FP4,       F32, E8_32),
    ("kind::mxf4nvf4", 64, FP4,       F32, E8_32),
    ("kind::mxf4nvf4", 64, FP4,       F32, E8_16),
    ("kind::mxf4nvf4", 64, FP4,       F32, E4M3_16),
];

const MIXED: &str = "F16 with BF16: both have the parameters of their own kind in common";

/// Every row.
pub(super) fn rows() -> Vec<Instruction> {
    ROWS.iter()
        .flat_map(|row| pairs(row.2).map(move |inputs| (row, inputs)))
        .map(|((kind, k, _, d, scale), inputs)| {
            let m = if scale.is_some() { M_SCALED } else { M };
            let form = Form::plain(Family::Tcgen05, [128, 8, *k], inputs, *d, *d);
            let form = Form { m, n: N, kind, scale: *scale, ..form };
            let is_mixed = *kind == "kind::f16" && form.a != form.b;
            form.native(
                Blackwell,
                match is_mixed {
                    true => Evidence::Inferred { why: MIXED },
                    false => Evidence::printed(Blackwell),
                },
            )
        })
        .collect()
}
