//! `mma.sync` forms that the assembler takes and the hardware does not have.
//!
//! FP8 on Hopper and Blackwell: the compiler widens A and B to FP16, runs one HMMA over the products
//! with k mod 4 in {0, 1} from an accumulator of zero and a second one over k mod 4 in {2, 3} on top,
//! then adds C. `m8n8k4` on FP16 from Ampere on: the compiler uses no matrix instruction at all; an H100 was asked what
//! it makes of it, the other architectures were not.

use bitmma_arithmetic::{Conversion, Lowering, Model, Operation, Order};
use bitmma_formats::{F16, F32, Format};

use super::form::Form;
use super::mma::{QUARTERS, quarter};
use super::parameters;
use super::sets::{FP8, FROM_AMPERE, pairs};
use crate::architecture::Architecture::{self, Blackwell, Hopper};
use crate::evidence::Evidence;
use crate::instruction::{Family, Instruction};
use crate::revision::Revision;

const WITHOUT_QMMA: &[Architecture] = &[Hopper, Blackwell];
const BLACKWELL: &[Architecture] = &[Blackwell];

// columns: [M, N, K], kind, C and D, architectures; A and B: every FP8 with every FP8
#[rustfmt::skip]
const WIDENED: [([usize; 3], &str, Format, &[Architecture]); 6] = [
    ([16, 8, 16], "",             F16, WITHOUT_QMMA),
    ([16, 8, 16], "",             F32, WITHOUT_QMMA),
    ([16, 8, 32], "",             F16, WITHOUT_QMMA),
    ([16, 8, 32], "",             F32, WITHOUT_QMMA),
    ([16, 8, 32], "kind::f8f6f4", F16, BLACKWELL),
    ([16, 8, 32], "kind::f8f6f4", F32, BLACKWELL),
];

const ADDED_BY_FADD: &str = "A and B widened to f16 first, C added last by FADD";
const ADDED_BY_HADD: &str = "A and B widened to f16 first, C added last by HADD2";
const AS_RECORDED: &str = "as the recorded FP8 forms of m16n8k32: 40,000 results of H100, H200 and B200 agree with this composition";
const HALF_AS_LONG: &str = "as the recorded FP8 forms of m16n8k32, with HMMA.1688 instead of HMMA.16816";
const EXPANDED: &str =
    "the compiler expands it to FMA and conversion instructions in an order nobody has published";

const EXPANDED_AS: Evidence = Evidence::Inferred { why: "an H100 was asked what the compiler makes of it" };

/// The model: T-FDPA on FP16, twice, with what the compiler puts around it.
fn widened(form: &Form, architecture: Architecture, revision: Revision) -> Model {
    let on_fp16 = Form { a: F16, b: F16, ..*form };
    let lowering = Lowering {
        widen_operands: Some(F16),
        order: Order::Interleaved { run: 2, period: 4 },
        add_accumulator_last: Some(if form.d == F16 { Conversion::RNE_FP16 } else { Conversion::RNE_FP32 }),
        ..Lowering::NONE
    };
    let model = parameters::model(architecture, on_fp16.shape(), "", revision);
    Model { a: form.a, b: form.b, lowering, ..model }
}

fn fp8() -> impl Iterator<Item = Instruction> {
    WIDENED.iter().flat_map(|(shape, kind, d, on)| {
        let [m, n, k] = *shape;
        pairs(FP8).flat_map(move |inputs| {
            let form = Form { kind, ..Form::plain(Family::MmaSync, *shape, inputs, *d, *d) };
            let part = Form::plain(Family::MmaSync, [m, n, k / 2], (F16, F16), *d, *d);
            let around = if *d == F16 { ADDED_BY_HADD } else { ADDED_BY_FADD };
            let evidence = Evidence::Inferred { why: if k == 32 { AS_RECORDED } else { HALF_AS_LONG } };
            on.iter().map(move |on| {
                Instruction::with_model(form.identity(*on, None), form.shape(), evidence, |revision| {
                    widened(&form, *on, revision)
                })
                .composed(2, part.part(*on), around)
            })
        })
    })
}

const CHAINED: &str = "A, B and C widened to f32 first, C added last by FADD";
const PAIRED: &str = "A, B and C widened to f32 first, products added in pairs, each pair to C by FADD, D narrowed to f16 last";

/// The model of `m8n8k4` on Hopper, as an H100 computes: with an FP32 result a chain of FMA from zero, and C added last;
/// with an FP16 result two pairs of products, each rounded to FP32 and added to C there.
fn expanded(form: &Form) -> Model {
    let Form { a, b, c, d, .. } = *form;
    let (operation, lowering) = match d == F16 {
        true => (
            Operation::DotAdd { max_length: 2 },
            Lowering { narrow_output: Some(Conversion::RNE_FP16), ..Lowering::NONE },
        ),
        false => {
            (Operation::Fma, Lowering { add_accumulator_last: Some(Conversion::RNE_FP32), ..Lowering::NONE })
        }
    };
    let nan_code = parameters::nan_code(d);
    Model { d, nan_code, lowering, ..Model::new(a, b, c, operation, Conversion::RNE_FP32) }
}

/// `m8n8k4` on FP16; FFMA are counted for a thread, which has eight elements of D.
fn quarters() -> impl Iterator<Item = Instruction> {
    QUARTERS.into_iter().flat_map(|types| {
        let form = quarter(types);
        FROM_AMPERE.iter().map(move |on| {
            let identity = form.identity(*on, None);
            if *on != Hopper {
                return Instruction::without_model(identity, form.shape(), EXPANDED);
            }
            let (count, around) = if form.d == F16 { (16, PAIRED) } else { (32, CHAINED) };
            Instruction::with_model(identity, form.shape(), EXPANDED_AS, |_| expanded(&form))
                .expanded(count, "FFMA", around)
        })
    })
}

/// Every row.
pub(super) fn rows() -> Vec<Instruction> {
    fp8().chain(quarters()).collect()
}
