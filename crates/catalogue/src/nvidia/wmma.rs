//! `wmma.mma`: on every architecture since Volta, composed of `mma.sync` (FP64: see [`super::fp64`]).

use bitmma_arithmetic::{Conversion, FusedSum, Lowering, Model, Operation};
use bitmma_formats::{F16, F32, Format};

use super::form::Form;
use super::mma::quarter;
use super::parameters;
use super::sets::{FROM_AMPERE, FROM_VOLTA, ONLY_BF16, ONLY_FP16, ONLY_TF32, pairs};
use crate::architecture::Architecture::{self, Turing, Volta};
use crate::evidence::Evidence;
use crate::instruction::{Family, Instruction, Shape};
use crate::revision::Revision;

/// Shapes on FP16 and BF16.
const SHAPES: [[usize; 3]; 3] = [[16, 16, 16], [8, 32, 16], [32, 8, 16]];
/// Shapes on TF32.
const TF32_SHAPES: [[usize; 3]; 1] = [[16, 16, 8]];

/// Shapes, formats of A and B, format of C, format of D, architectures.
type Row = (&'static [[usize; 3]], &'static [Format], Format, Format, &'static [Architecture]);

// columns: [M, N, K], A and B, C, D, architectures
#[rustfmt::skip]
const ROWS: [Row; 6] = [
    (&SHAPES,      ONLY_FP16, F16, F16, FROM_VOLTA),
    (&SHAPES,      ONLY_FP16, F32, F16, FROM_VOLTA),
    (&SHAPES,      ONLY_FP16, F16, F32, FROM_VOLTA),
    (&SHAPES,      ONLY_FP16, F32, F32, FROM_VOLTA),
    (&SHAPES,      ONLY_BF16, F32, F32, FROM_AMPERE),
    (&TF32_SHAPES, ONLY_TF32, F32, F32, FROM_AMPERE),
];

/// `ptxas` 12.9.86 for sm_70, every shape, every C and D, every layout: the addresses that A and B are loaded from
/// say which K each HMMA.884 takes.
const FOUR_PASSES: &str = "disassembled: each element of D comes from four HMMA.884, each on the one before, in ascending order of K";
const ONE_PASS: &str = "each element of D comes from one HMMA.16816, as in mma.m16n8k16";
const TWO_PASSES: &str =
    "each element of D comes from two HMMA, the second on the first, taken in ascending order of K";
const NARROWED: &str = "computed with an f32 result, which is then converted to f16 to nearest even";
const WIDENED: &str = "C is converted to f32, then as with an f32 C";

/// M×N×K of the `mma.sync` that an architecture composes it of.
fn part_shape(architecture: Architecture, shape: &Shape) -> [usize; 3] {
    match (shape.k, architecture) {
        (8, _) => [16, 8, 4],
        (_, Volta) => [8, 8, 4],
        (_, Turing) => [16, 8, 8],
        _ => [16, 8, 16],
    }
}

/// The part's model, with no more products in one sum than the part has and with conversions around it.
fn model(architecture: Architecture, shape: &Shape, revision: Revision) -> Model {
    let [_, _, part_k] = part_shape(architecture, shape);
    let inner = if shape.c == F32 || shape.d == F32 { F32 } else { F16 };
    let inner_shape = Shape { c: inner, d: inner, ..*shape };
    let mut model = parameters::model(architecture, inner_shape, "", revision);
    if let Operation::TFdpa(FusedSum { max_length, .. }) = &mut model.operation {
        *max_length = part_k.min(*max_length);
    }
    let lowering = Lowering {
        widen_accumulator: (shape.c != inner).then_some(inner),
        narrow_output: (shape.d != inner).then_some(Conversion::RNE_FP16),
        ..Lowering::NONE
    };
    Model { c: shape.c, d: shape.d, nan_code: parameters::nan_code(shape.d), lowering, ..model }
}

fn instruction(form: &Form, architecture: Architecture) -> Instruction {
    let shape = form.shape();
    let [m, n, k] = part_shape(architecture, &shape);
    let inner = if form.c == form.d { form.d } else { F32 };
    let part = match architecture {
        Volta => quarter((inner, inner)),
        _ => Form::plain(Family::MmaSync, [m, n, k], (form.a, form.b), inner, inner),
    };
    let count = (form.m.first * form.n.first * form.k) / (m * n * k * part.blocks);
    let (why, around) = match (form.c, form.d) {
        (F32, F16) => (NARROWED, "D narrowed to f16 last"),
        (F16, F32) => (WIDENED, "C widened to f32 first"),
        _ if architecture == Volta => (FOUR_PASSES, ""),
        _ if form.k == k => (ONE_PASS, ""),
        _ => (TWO_PASSES, ""),
    };
    let evidence = Evidence::Inferred { why };
    Instruction::with_model(form.identity(architecture, None), shape, evidence, |revision| {
        model(architecture, &shape, revision)
    })
    .composed(count, part.part(architecture), around)
}

/// Every row but those on FP64.
pub(super) fn rows() -> Vec<Instruction> {
    ROWS.iter()
        .flat_map(|(shapes, inputs, c, d, on)| {
            let forms = shapes.iter().flat_map(|shape| pairs(inputs).map(move |inputs| (*shape, inputs)));
            forms.flat_map(move |(shape, inputs)| {
                let form = Form::plain(Family::Wmma, shape, inputs, *c, *d);
                on.iter().map(move |on| instruction(&form, *on))
            })
        })
        .collect()
}
