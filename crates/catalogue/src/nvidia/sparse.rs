//! `mma.sp` and `wgmma.mma_async.sp`, as the hardware has them: A is 2:4 sparse. Nobody has published how they sum. An
//! H100 was asked: each sums the products of the elements stored as the dense instruction of half the K does. The
//! rows of other architectures have no model.

use bitmma_formats::{BlockScale, F16, F32, Format};

use super::form::Form;
use super::parameters;
use super::sets::{
    E4M3_16, E8_16, E8_32, FP4, FP8, FP8_6_4, FROM_AMPERE, ONLY_BF16, ONLY_FP16, ONLY_TF32, pairs,
};
use super::wgmma;
use crate::architecture::Architecture::{self, Ada, Hopper, RtxBlackwell};
use crate::evidence::Evidence;
use crate::instruction::{Family, Instruction};

const NOT_PROBED: &str = "nobody has published how it sums; `bitmma probe` asks a GPU";

const FP8_UNITS: &[Architecture] = &[Ada, RtxBlackwell];
const RTX: &[Architecture] = &[RtxBlackwell];

/// K, formats of A and B, C and D, scale factors, kind, architectures; M is 16, N is 8.
type Row = (usize, &'static [Format], Format, Option<BlockScale>, &'static str, &'static [Architecture]);

// columns: K, A and B, C and D, scale type and block, kind, architectures
#[rustfmt::skip]
const ROWS: [Row; 17] = [
    ( 16, ONLY_FP16, F16, None,    "",               FROM_AMPERE),
    ( 16, ONLY_FP16, F32, None,    "",               FROM_AMPERE),
    ( 16, ONLY_BF16, F32, None,    "",               FROM_AMPERE),
    ( 32, ONLY_FP16, F16, None,    "",               FROM_AMPERE),
    ( 32, ONLY_FP16, F32, None,    "",               FROM_AMPERE),
    ( 32, ONLY_BF16, F32, None,    "",               FROM_AMPERE),
    (  8, ONLY_TF32, F32, None,    "",               FROM_AMPERE),
    ( 16, ONLY_TF32, F32, None,    "",               FROM_AMPERE),
    ( 64, FP8,       F16, None,    "",               RTX),
    ( 64, FP8,       F32, None,    "",               FP8_UNITS),
    ( 64, FP8_6_4,   F16, None,    "kind::f8f6f4",   RTX),
    ( 64, FP8_6_4,   F32, None,    "kind::f8f6f4",   RTX),
    ( 64, FP8_6_4,   F32, E8_32,   "kind::mxf8f6f4", RTX),
    (128, FP4,       F32, E8_32,   "kind::mxf4nvf4", RTX),
    (128, FP4,       F32, E8_32,   "kind::mxf4",     RTX),
    (128, FP4,       F32, E8_16,   "kind::mxf4nvf4", RTX),
    (128, FP4,       F32, E4M3_16, "kind::mxf4nvf4", RTX),
];

fn row(form: &Form, on: Architecture) -> Instruction {
    let identity = form.identity(on, Some(form.sass(on)));
    if on != Hopper {
        return Instruction::without_model(identity, form.shape(), NOT_PROBED);
    }
    let dense = form.dense();
    let evidence =
        Evidence::Inferred { why: "sums the elements stored as the dense instruction of half the K does" };
    Instruction::with_model(identity, form.shape(), evidence, |revision| {
        parameters::model(on, dense.shape(), dense.modifier, revision)
    })
    .sums_as(&dense.name())
}

/// Every row.
pub(super) fn rows() -> Vec<Instruction> {
    let warp = ROWS.iter().flat_map(|(k, inputs, d, scale, kind, on)| {
        pairs(inputs).flat_map(move |inputs| {
            let plain = Form::plain(Family::MmaSp, [16, 8, *k], inputs, *d, *d);
            let form = Form { kind, scale: *scale, ..plain };
            on.iter().map(move |on| row(&form, *on))
        })
    });
    let group = wgmma::forms(Family::WgmmaSp, 2).map(|form| row(&form, Hopper));
    warp.chain(group).collect()
}
