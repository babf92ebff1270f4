//! `mma.sync` as the hardware has it, all but FP64.

use bitmma_formats::{BlockScale, F16, F32, Format};

use super::form::Form;
use super::parameters;
use super::sets::{
    E4M3_16, E8_16, E8_32, FP4, FP8, FP8_6_4, FROM_AMPERE, FROM_TURING, ONLY_BF16, ONLY_FP16, ONLY_TF32,
    pairs,
};
use crate::architecture::Architecture::{self, Ada, RtxBlackwell, Turing, Volta};
use crate::evidence::Evidence;
use crate::instruction::{Family, Instruction};

/// [M, N, K], formats of A and B (every A goes with every B), C and D, scale factors, kind, architectures.
type Row = ([usize; 3], &'static [Format], Format, Option<BlockScale>, &'static str, &'static [Architecture]);

const FP8_UNITS: &[Architecture] = &[Ada, RtxBlackwell];
const RTX: &[Architecture] = &[RtxBlackwell];
const F8F6F4: &str = "kind::f8f6f4";
const MXF8F6F4: &str = "kind::mxf8f6f4";
const MXF4: &str = "kind::mxf4";
const MXF4NVF4: &str = "kind::mxf4nvf4";

// columns: [M, N, K], A and B, C and D, scale type and block, kind, architectures
#[rustfmt::skip]
const ROWS: [Row; 19] = [
    ([16, 8,  8], ONLY_FP16, F16, None,    "",       FROM_TURING),
    ([16, 8,  8], ONLY_FP16, F32, None,    "",       FROM_TURING),
    ([16, 8,  8], ONLY_BF16, F32, None,    "",       FROM_AMPERE),
    ([16, 8, 16], ONLY_FP16, F16, None,    "",       FROM_AMPERE),
    ([16, 8, 16], ONLY_FP16, F32, None,    "",       FROM_AMPERE),
    ([16, 8, 16], ONLY_BF16, F32, None,    "",       FROM_AMPERE),
    ([16, 8,  4], ONLY_TF32, F32, None,    "",       FROM_AMPERE),
    ([16, 8,  8], ONLY_TF32, F32, None,    "",       FROM_AMPERE),
    ([16, 8, 16], FP8,       F16, None,    "",       FP8_UNITS),
    ([16, 8, 16], FP8,       F32, None,    "",       FP8_UNITS),
    ([16, 8, 32], FP8,       F16, None,    "",       FP8_UNITS),
    ([16, 8, 32], FP8,       F32, None,    "",       FP8_UNITS),
    ([16, 8, 32], FP8_6_4,   F16, None,    F8F6F4,   RTX),
    ([16, 8, 32], FP8_6_4,   F32, None,    F8F6F4,   RTX),
    ([16, 8, 32], FP8_6_4,   F32, E8_32,   MXF8F6F4, RTX),
    ([16, 8, 64], FP4,       F32, E8_32,   MXF4NVF4, RTX),
    ([16, 8, 64], FP4,       F32, E8_32,   MXF4,     RTX),
    ([16, 8, 64], FP4,       F32, E8_16,   MXF4NVF4, RTX),
    ([16, 8, 64], FP4,       F32, E4M3_16, MXF4NVF4, RTX),
];

/// `m8n8k4` on FP16: four independent products, one for each quarter of the warp; its C and D.
pub(super) const QUARTERS: [(Format, Format); 3] = [(F16, F16), (F16, F32), (F32, F32)];

/// The form of `m8n8k4` on FP16.
pub(super) fn quarter((c, d): (Format, Format)) -> Form {
    Form { blocks: 4, ..Form::plain(Family::MmaSync, [8, 8, 4], (F16, F16), c, d) }
}

/// Volta and Turing have `m8n8k4` on FP16, as HMMA.884 in two or four steps. Both with Volta's
/// parameters, in both revisions: the paper's table has only Turing's other shapes.
fn quarters() -> impl Iterator<Item = Instruction> {
    QUARTERS.into_iter().flat_map(|types| {
        let form = quarter(types);
        let on = |architecture, evidence| {
            let identity = form.identity(architecture, Some(form.sass(architecture)));
            Instruction::with_model(identity, form.shape(), evidence, |revision| {
                parameters::model(Volta, form.shape(), form.modifier, revision)
            })
        };
        let why = "m8n8k4 on Turing computes as on Volta: F = 23, L = 4, e_zero of Volta";
        [
            on(Volta, Evidence::printed(Volta))
                .remarked("disassembled: HMMA.884 in two or four steps, as on Turing"),
            on(Turing, Evidence::Inferred { why }),
        ]
    })
}

/// Every row.
pub(super) fn rows() -> Vec<Instruction> {
    let native = ROWS.iter().flat_map(|(shape, inputs, d, scale, kind, on)| {
        pairs(inputs).flat_map(move |inputs| {
            let form = Form { kind, scale: *scale, ..Form::plain(Family::MmaSync, *shape, inputs, *d, *d) };
            on.iter().map(move |on| form.native(*on, Evidence::printed(*on)))
        })
    });
    quarters().chain(native).collect()
}
