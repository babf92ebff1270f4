//! Instructions that were recorded on a real GPU.

use bitmma_formats::F64;

use crate::architecture::Architecture::{self, Ada, Ampere, Blackwell, Cdna3, Hopper, Volta};
use crate::evidence::Evidence;
use crate::instruction::{Family, Instruction};

/// Where the results of NVIDIA's chips come from.
const MATLAB: &str = "validation data of MATLAB-tensor-core, Khattak and Mikaitis";
/// Where the results of the RTX 4060 come from.
const MMAEMU: &str = "tests of mmaemu, Ding";
/// Where the results of Ada's FP8 instructions come from.
const MATLAB_AND_MMAEMU: &str =
    "validation data of MATLAB-tensor-core, Khattak and Mikaitis; RTX 4060: tests of mmaemu, Ding";
/// Where the results of the H100 SXM and of the H200 come from.
const OURS: &str = "this project, a million dot products";
/// Where the results of Hopper's instructions come from that others have asked, too.
const MATLAB_AND_OURS: &str = "validation data of MATLAB-tensor-core, Khattak and Mikaitis; H100 SXM and H200: this project, a million dot products";
/// Where the results of the MI300X come from; they are cited, the project does not hold them.
const MI300X: &str = "749 FP8 dot products, not kept here; one pair of them is in docs/semantics.md, rule 11";

/// Instructions that were recorded on a real GPU: architecture, name, chips, source. All that the project asked of an
/// H100 SXM and an H200 are recorded, too, by a rule.
///
/// `wgmma` was recorded at N = 8; its rows cover every N.
#[rustfmt::skip]
pub const RECORDED: &[(Architecture, &str, &[&str], &str)] = &[
    (Volta, "mma.m8n8k4.f16.f16.f16.f16", &["V100"], MATLAB),
    (Volta, "mma.m8n8k4.f32.f16.f16.f32", &["V100"], MATLAB),
    (Ampere, "mma.m16n8k4.f32.tf32.tf32.f32", &["A100", "A2"], MATLAB),
    (Ampere, "mma.m16n8k8.f16.f16.f16.f16", &["A100", "A2"], MATLAB),
    (Ampere, "mma.m16n8k8.f32.bf16.bf16.f32", &["A100", "A2"], MATLAB),
    (Ampere, "mma.m16n8k8.f32.f16.f16.f32", &["A100", "A2"], MATLAB),
    (Ada, "mma.m16n8k16.f32.e4m3.e4m3.f32", &["RTX 4060"], MMAEMU),
    (Ada, "mma.m16n8k16.f32.e4m3.e5m2.f32", &["RTX 4060"], MMAEMU),
    (Ada, "mma.m16n8k16.f32.e5m2.e4m3.f32", &["RTX 4060"], MMAEMU),
    (Ada, "mma.m16n8k16.f32.e5m2.e5m2.f32", &["RTX 4060"], MMAEMU),
    (Ada, "mma.m16n8k32.f16.e4m3.e4m3.f16", &["an Ada card"], MATLAB),
    (Ada, "mma.m16n8k32.f16.e5m2.e5m2.f16", &["an Ada card"], MATLAB),
    (Ada, "mma.m16n8k32.f32.e4m3.e4m3.f32", &["an Ada card", "L40S", "RTX 4060"], MATLAB_AND_MMAEMU),
    (Ada, "mma.m16n8k32.f32.e4m3.e5m2.f32", &["RTX 4060"], MMAEMU),
    (Ada, "mma.m16n8k32.f32.e5m2.e4m3.f32", &["RTX 4060"], MMAEMU),
    (Ada, "mma.m16n8k32.f32.e5m2.e5m2.f32", &["an Ada card", "L40S", "RTX 4060"], MATLAB_AND_MMAEMU),
    (Ada, "mma.m16n8k4.f32.tf32.tf32.f32", &["an Ada card", "L40S"], MATLAB),
    (Ada, "mma.m16n8k8.f16.f16.f16.f16", &["an Ada card", "L40S"], MATLAB),
    (Ada, "mma.m16n8k8.f32.bf16.bf16.f32", &["an Ada card", "L40S"], MATLAB),
    (Ada, "mma.m16n8k8.f32.f16.f16.f32", &["an Ada card", "L40S"], MATLAB),
    (Hopper, "mma.m16n8k16.f16.f16.f16.f16", &["H100", "H200", "H100 SXM"], MATLAB_AND_OURS),
    (Hopper, "mma.m16n8k16.f32.bf16.bf16.f32", &["H100", "H200", "H100 SXM"], MATLAB_AND_OURS),
    (Hopper, "mma.m16n8k16.f32.f16.f16.f32", &["H100", "H200", "H100 SXM"], MATLAB_AND_OURS),
    (Hopper, "mma.m16n8k32.f16.e4m3.e4m3.f16", &["H100", "H200", "H100 SXM"], MATLAB_AND_OURS),
    (Hopper, "mma.m16n8k32.f16.e5m2.e5m2.f16", &["H100", "H200", "H100 SXM"], MATLAB_AND_OURS),
    (Hopper, "mma.m16n8k4.f32.tf32.tf32.f32", &["H100", "H200", "H100 SXM"], MATLAB_AND_OURS),
    (Hopper, "wgmma.m64n8k32.f32.e4m3.e4m3", &["H100", "H200", "H100 SXM"], MATLAB_AND_OURS),
    (Hopper, "wgmma.m64n8k32.f32.e5m2.e5m2", &["H100", "H200", "H100 SXM"], MATLAB_AND_OURS),
    (Blackwell, "mma.m16n8k16.f16.f16.f16.f16", &["B200"], MATLAB),
    (Blackwell, "mma.m16n8k16.f32.bf16.bf16.f32", &["B200"], MATLAB),
    (Blackwell, "mma.m16n8k16.f32.f16.f16.f32", &["B200"], MATLAB),
    (Blackwell, "mma.m16n8k32.f16.e4m3.e4m3.f16", &["B200"], MATLAB),
    (Blackwell, "mma.m16n8k32.f16.e5m2.e5m2.f16", &["B200"], MATLAB),
    (Blackwell, "mma.m16n8k32.f32.e4m3.e4m3.f32", &["B200"], MATLAB),
    (Blackwell, "mma.m16n8k32.f32.e5m2.e5m2.f32", &["B200"], MATLAB),
    (Blackwell, "mma.m16n8k4.f32.tf32.tf32.f32", &["B200"], MATLAB),
    (Cdna3, "v_mfma_f32_16x16x32_fp8_fp8", &["MI300X"], MI300X),
];

/// Whether the project has asked an H100 SXM and an H200: every floating-point instruction of Hopper but `wmma` of other formats
/// than FP64, which the compiler composes and for which the project has no GPU kernel.
fn asked(row: &Instruction) -> bool {
    row.architecture == Hopper && !row.d.is_integer() && (row.a == F64 || row.family != Family::Wmma)
}

/// The recording of a row, if there is one.
pub(crate) fn recorded(row: &Instruction) -> Option<Evidence> {
    let listed = RECORDED.iter().find(|(on, name, ..)| *on == row.architecture && row.is_named(name));
    match listed {
        Some((_, _, on, source)) => Some(Evidence::Recorded { on, source }),
        None => asked(row).then_some(Evidence::Recorded { on: &["H100 SXM", "H200"], source: OURS }),
    }
}
