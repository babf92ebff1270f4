//! Inputs that teach something, one row each. Tests check what each row says.

use serde::Serialize;

/// What the page is filled with, and what to see.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Preset {
    /// A word for links.
    name: &'static str,
    title: &'static str,
    /// What to see, in a sentence or two.
    lesson: &'static str,
    /// Units, and what of them is edited.
    units: &'static [(&'static str, &'static [(&'static str, &'static str)])],
    a: &'static str,
    b: &'static str,
    c: &'static str,
    scale_a: &'static str,
    scale_b: &'static str,
}

const NOTHING: Preset =
    Preset { name: "", title: "", lesson: "", units: &[], a: "", b: "", c: "0", scale_a: "", scale_b: "" };

const ONES: &str = "64 64 64 64 64 64 64 64 64 64 64 64 64 64 64 64";

/// Every preset, in the order of the page.
pub(crate) fn all() -> Vec<Preset> {
    vec![
        Preset {
            name: "equation-1",
            title: "Equation 1 of the paper",
            lesson: "The exact result is -0.875. Each unit keeps another number of bits below the largest term, so each loses other \
                     terms.",
            units: &[
                ("v100 mma m8n8k4 f16 f32", &[]),
                ("h100 mma m16n8k16 f16 f32", &[]),
                ("mi300x v_mfma_f32_16x16x16_f16", &[]),
                ("mi250x v_mfma_f32_16x16x16f16", &[]),
            ],
            a: "-8192 -0.5 -0.25 -0.125",
            b: "1024 1 1 1",
            c: "0x1p23",
            ..NOTHING
        },
        Preset {
            name: "fp8-on-hopper",
            title: "FP8 on Hopper keeps 13 bits",
            lesson: "Hopper cuts each product of FP8 numbers to 13 bits below the largest, so small products vanish beside a large \
                     one. Blackwell keeps 25 bits.",
            units: &[("h100 wgmma e4m3 f32", &[]), ("b200 tcgen05 e4m3 f32", &[])],
            a: "16 1 1 1 1 1 1 1",
            b: "16 0.015625 0.015625 0.015625 0.015625 0.015625 0.015625 0.015625",
            ..NOTHING
        },
        Preset {
            name: "flush-on-mi250x",
            title: "MI250X flushes subnormal numbers",
            lesson: "CDNA2 reads subnormal FP16 numbers as zero: the product is gone before anything is multiplied. Others use it.",
            units: &[
                ("mi250x v_mfma_f32_16x16x16f16", &[]),
                ("mi300x v_mfma_f32_16x16x16_f16", &[]),
                ("h100 mma m16n8k16 f16 f32", &[]),
            ],
            a: "0x1p-15 0x1p-24",
            b: "1024 4096",
            ..NOTHING
        },
        Preset {
            name: "asymmetry-on-mi300x",
            title: "MI300X rounds sums down",
            lesson: "CDNA3 cuts C toward minus infinity, not toward zero: here -0.001 becomes -2^-4. Results are biased downward, and \
                     negating all inputs does not negate the result. Beside it a unit that does not exist, which cuts toward zero.",
            units: &[
                ("mi300x v_mfma_f32_16x16x16_f16", &[]),
                ("mi300x v_mfma_f32_16x16x16_f16", &[("sum_rounding", "RZ")]),
            ],
            a: "1024",
            b: "1024",
            c: "-0.001",
            ..NOTHING
        },
        Preset {
            name: "nvfp4",
            title: "NVFP4 with scale factors",
            lesson: "Every 16 elements share a factor: the products of a group are summed first, then scaled, then aligned with the \
                     other groups.",
            units: &[
                ("b200 tcgen05 nvfp4", &[]),
                ("b200 tcgen05.mma.m128n8k64.kind::mxf4nvf4.block32.f32.e2m1.e2m1.ue8m0", &[]),
            ],
            a: "1.5 6 -3 0.5 4 2 1 0.5 6 6 6 6 1 1 1 1 2 2",
            b: "0.5 6 1 -2 1 1 1 1 6 6 6 6 1 1 1 1 3 -1",
            scale_a: "2 1",
            scale_b: "1 4",
            ..NOTHING
        },
        Preset {
            name: "cancelled-in-tf32",
            title: "A cancelled 1e5² makes no NaN in TF32",
            lesson: "TF32 has the exponents of FP32: both products of 1e10 fit, cancel, and what is small beside them is lost. FP16 \
                     cannot hold 1e5.",
            units: &[("a100 mma m16n8k8 tf32", &[]), ("h100 mma m16n8k16 f16 f32", &[])],
            a: "1e5 1e5 3",
            b: "1e5 -1e5 5",
            ..NOTHING
        },
        Preset {
            name: "fp16-overflow",
            title: "An FP16 accumulator overflows",
            lesson: "64·64 sixteen times is 65536. FP16 ends at 65504, so an FP16 accumulator gives infinity where FP32 is exact.",
            units: &[("h100 mma m16n8k16 f16 f16", &[]), ("h100 mma m16n8k16 f16 f32", &[])],
            a: ONES,
            b: ONES,
            ..NOTHING
        },
        Preset {
            name: "tf32-cut",
            title: "TF32 operands are cut, not rounded",
            lesson: "A TF32 operand is an FP32 word of which the low 13 bits are not read: every operand is cut toward zero. Software \
                     that wants rounding has to round first.",
            units: &[("a100 mma m16n8k8 tf32", &[]), ("mi300x xf32", &[])],
            a: "-0.4193 1.0308 -1.5871 3.1340",
            b: "-0.0762 0.7318 0.7243 -1.6843",
            ..NOTHING
        },
        Preset {
            name: "all-ones",
            title: "A product of all ones",
            lesson: "Both significands are all ones, so the last bit of the product is 2^-20, 21 bits below its first. C takes away the \
                     rest of it, and 32 - 32 beside it decides on which units that bit is cut.",
            units: &[
                ("v100 mma m8n8k4 f16 f32", &[]),
                ("a100 mma m16n8k16 f16 f32", &[]),
                ("h100 mma m16n8k16 f16 f32", &[]),
                ("mi300x v_mfma_f32_16x16x16_f16", &[]),
            ],
            a: "1.9990234375 32 -32",
            b: "1.9990234375 1 1",
            c: "-3.99609375",
            ..NOTHING
        },
    ]
}
