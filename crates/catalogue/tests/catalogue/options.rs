//! Options that a name carries: each is applied, or changes nothing and a remark says so, or is refused by name.

use bitmma_catalogue::{Architecture, Found, LookupError, Options, find, find_with_options};

use crate::common;

/// What becomes of an option.
enum Outcome {
    /// It chooses the instruction of this name.
    Chooses(&'static str),
    /// The accumulator is promoted every so many elements of K.
    Promotes(usize),
    /// It changes nothing; a remark begins with it.
    Nothing(&'static str),
    /// It changes no arithmetic, and nothing is said: layouts, where operands lie, options that are off.
    Silent,
    /// It is refused with this option and reason.
    Refused(&'static str, &'static str),
    /// The whole is known and is not an instruction, for this reason.
    Known(&'static str),
}

use Outcome::*;

// columns: architecture, a name with the option, what becomes of it. One row at least for every option of every spelling that
// is taken
#[rustfmt::skip]
const OPTIONS: &[(&str, &str, Outcome)] = &[
    // tl.dot: input, other, acc, input_precision, allow_tf32, max_num_imprecise_acc, out_dtype
    ("h100", "tl.dot(fp8e4nv, fp8e4nv, max_num_imprecise_acc=128)", Promotes(128)),
    ("h100", "tl.dot(fp8e4nv, fp8e5, max_num_imprecise_acc=32)", Promotes(32)),
    ("h100", "tl.dot(fp8e4nv, fp8e4nv, max_num_imprecise_acc=0)", Promotes(32)),
    ("h100", "tl.dot(fp8e4nv, fp8e4nv, max_num_imprecise_acc=100)", Promotes(128)),
    ("h100", "tl.dot(fp8e4nv, fp8e4nv, None, None, None, 64)", Promotes(64)),
    ("h100", "tl.dot(fp8e4nv, fp8e4nv, max_num_imprecise_acc=None)", Silent),
    ("h100", "tl.dot(fp8e4nv, fp8e4nv, max_num_imprecise_acc=96)", Refused("max_num_imprecise_acc=96", "depends on the kernel's block of K")),
    ("h100", "tl.dot(fp8e4nv, fp8e4nv, max_num_imprecise_acc=1000000)", Refused("max_num_imprecise_acc=1000000", "is more than the kernel's block of K")),
    ("h100", "tl.dot(fp8e4nv, fp8e4nv, max_num_imprecise_acc=99999999999999999999)", Refused("max_num_imprecise_acc=99999999999999999999", "is not a number of elements")),
    ("h100", "tl.dot(fp8e4nv, fp8e4nv, max_num_imprecise_acc=18446744073709551615)", Refused("max_num_imprecise_acc=18446744073709551615", "is more than")),
    ("h100", "tl.dot(fp8e4nv, fp8e4nv, max_num_imprecise_acc=-1)", Refused("max_num_imprecise_acc=-1", "is not a number of elements")),
    ("h100", "tl.dot(fp16, fp16, max_num_imprecise_acc=64)", Nothing("max_num_imprecise_acc=64 has no effect: ")),
    ("h100", "tl.dot(fp8e4nv, fp8e4nv, max_num_imprecise_acc=64, out_dtype=tl.float16)", Nothing("max_num_imprecise_acc=64 has no effect: ")),
    ("ada", "tl.dot(fp8e4nv, fp8e4nv, max_num_imprecise_acc=64)", Nothing("max_num_imprecise_acc=64 has no effect: ")),
    ("ampere", "tl.dot(fp32, fp32, input_precision=\"tf32\")", Chooses("mma.m16n8k8.f32.tf32.tf32.f32")),
    ("ampere", "tl.dot(fp32, fp32, input_precision='TF32')", Chooses("mma.m16n8k8.f32.tf32.tf32.f32")),
    ("ampere", "tl.dot(fp32, fp32, input_precision=\"ieee\")", Known("CUDA cores")),
    ("ampere", "tl.dot(fp32, fp32, input_precision=\"tf32x3\")", Known("a sum of several products")),
    ("ampere", "tl.dot(fp32, fp32, input_precision=\"bf16x3\")", Known("a sum of several products")),
    ("ampere", "tl.dot(fp32, fp32, input_precision=\"bf16x6\")", Known("a sum of several products")),
    ("ampere", "tl.dot(fp32, fp32, input_precision=\"banana\")", Refused("input_precision=banana", "is not an input precision of Triton on ampere; it has tf32, ieee, tf32x3, bf16x3, bf16x6")),
    ("ampere", "tl.dot(fp16, fp16, input_precision=\"ieee\")", Nothing("input_precision=ieee has no effect: ")),
    ("cdna2", "tl.dot(fp32, fp32, input_precision=\"tf32\")", Refused("input_precision=tf32", "it has ieee")),
    ("ampere", "tl.dot(fp32, fp32, allow_tf32=True)", Chooses("mma.m16n8k8.f32.tf32.tf32.f32")),
    ("ampere", "tl.dot(fp32, fp32, allow_tf32=False)", Known("CUDA cores")),
    ("ampere", "tl.dot(fp32, fp32, allow_tf32=1)", Refused("allow_tf32=1", "is neither True nor False")),
    ("ampere", "tl.dot(fp32, fp32, allow_tf32=True, input_precision='ieee')", Refused("allow_tf32=True", "are one option")),
    ("ampere", "tl.dot(bf16, bf16, allow_tf32=False)", Nothing("allow_tf32=False has no effect: ")),
    ("ampere", "tl.dot(fp16, fp16, out_dtype=tl.float16)", Chooses("mma.m16n8k16.f16.f16.f16.f16")),
    ("ampere", "tl.dot(fp16, fp16, out_dtype=float32)", Chooses("mma.m16n8k16.f32.f16.f16.f32")),
    ("ampere", "tl.dot(bf16, bf16, out_dtype=tl.float16)", Nothing("out_dtype=tl.float16 has no effect: Triton's product of bf16 is f32")),
    ("ampere", "tl.dot(fp16, fp16, out_dtype=tl.bfloat16)", Refused("out_dtype=tl.bfloat16", "is an error in Triton")),
    ("ampere", "tl.dot(fp16, fp16, out_dtype=banana)", Refused("out_dtype=banana", "is not a type that bitmma knows")),
    ("ampere", "tl.dot(fp16, fp16, out_dtype=fp64)", Refused("out_dtype=fp64", "is not a type of a product of f16")),
    ("ampere", "tl.dot(fp16, fp16, out_dtype=e4m3)", Refused("out_dtype=e4m3", "is not a type of Triton's products")),
    ("ampere", "tl.dot(fp16, fp16, c)", Silent),
    ("ampere", "tl.dot(fp16, fp16, acc=acc)", Silent),
    ("ampere", "tl.dot(fp16, fp16, fp32)", Silent),
    ("ampere", "tl.dot(fp16, fp16, acc=fp16)", Refused("acc=fp16", "is not out_dtype, f32")),
    ("ampere", "tl.dot(fp16, fp16, acc=fp16, out_dtype=fp16)", Chooses("mma.m16n8k16.f16.f16.f16.f16")),
    ("ampere", "tl.dot(fp16, bf16)", Refused("other=bf16", "is not f16")),
    ("ampere", "tl.dot(fp16, fp16, banana=1)", Refused("banana=1", "is not an argument of tl.dot; it has input, other, acc")),
    ("ampere", "tl.dot(fp16, fp16, acc=a, acc=b)", Refused("acc=b", "gives acc a second time")),
    ("ampere", "tl.dot(fp16, fp16, None, None, None, None, None, None)", Refused("None", "is not an argument of tl.dot")),
    ("ampere", "tl.dot(fp16, fp16", Refused("fp16, fp16", "does not end in ')'")),
    // tl.dot_scaled: lhs, lhs_scale, lhs_format, rhs, rhs_scale, rhs_format, acc, fast_math, lhs_k_pack, rhs_k_pack, out_dtype
    ("rtx-blackwell", "tl.dot_scaled(a, sa, \"e4m3\", b, sb, \"e5m2\")", Chooses("mma.m16n8k32.kind::mxf8f6f4.block32.f32.e4m3.e5m2.f32.ue8m0")),
    ("rtx-blackwell", "tl.dot_scaled(a, sa, lhs_format='e4m3', rhs=b, rhs_scale=sb, rhs_format='e4m3')", Chooses("mma.m16n8k32.kind::mxf8f6f4.block32.f32.e4m3.e4m3.f32.ue8m0")),
    ("rtx-blackwell", "tl.dot_scaled(a, fp8e4nv, \"e2m1\", b, fp8e4nv, \"e2m1\")", Chooses("mma.m16n8k64.kind::mxf4nvf4.block16.f32.e2m1.e2m1.f32.ue4m3")),
    ("rtx-blackwell", "tl.dot_scaled(a, fp8e4nv, \"e2m1\", b, e8m0, \"e2m1\")", Refused("rhs_scale=e8m0", "both scales have one type")),
    ("rtx-blackwell", "tl.dot_scaled(a, sa, \"e4m3\", b, sb, \"e5m2\", fast_math=True)", Nothing("fast_math=True has no effect: ")),
    ("rtx-blackwell", "tl.dot_scaled(a, sa, \"e4m3\", b, sb, \"e5m2\", lhs_k_pack=False)", Nothing("lhs_k_pack=False has no effect: ")),
    ("rtx-blackwell", "tl.dot_scaled(a, sa, \"e4m3\", b, sb, \"e5m2\", rhs_k_pack=True)", Nothing("rhs_k_pack=True has no effect: ")),
    ("rtx-blackwell", "tl.dot_scaled(a, sa, \"e4m3\", b, sb, \"bf16\")", Refused("rhs_format=bf16", "tl.dot of that type")),
    ("rtx-blackwell", "tl.dot_scaled(a, sa, \"banana\", b, sb, \"e5m2\")", Refused("lhs_format=banana", "is not a type")),
    ("rtx-blackwell", "tl.dot_scaled(a, sa, \"e4m3\", b, sb, \"e5m2\", max_num_imprecise_acc=1)", Refused("max_num_imprecise_acc=1", "is not an argument of tl.dot_scaled")),
    // CuTe atoms: parts of the name, and template arguments
    ("hopper", "SM90_64x64x16_F32F16F16_SS", Silent),
    ("hopper", "SM90_64x64x16_F32F16F16_SS<GMMA::Major::K, GMMA::Major::MN>", Silent),
    ("hopper", "SM90_64x64x16_F32F16F16_SS<Major::K, Major::K, GMMA::ScaleIn::One, GMMA::ScaleIn::One>", Silent),
    ("hopper", "SM90_64x64x16_F32F16F16_SS<Major::K, Major::K, GMMA::ScaleIn::Neg, GMMA::ScaleIn::One>", Refused("GMMA::ScaleIn::Neg", "negates an operand")),
    ("hopper", "SM90_64x64x16_F32F16F16_SS<GMMA::ScaleOut::Zero>", Refused("GMMA::ScaleOut::Zero", "leaves out C")),
    ("hopper", "SM90_64x64x16_F32F16F16_SS<128>", Refused("128", "does not know")),
    ("hopper", "SM90_64x64x16_F32F16F16_SS<half_t>", Refused("f16", "does not know")),
    ("hopper", "SM90_64x64x16_F32F16F16_SS_SATURATE", Refused("SATURATE", "is a part of an atom's name")),
    ("hopper", "SM90_64x64x16_F32F16F16_SS_BANANA", Refused("BANANA", "is a part of an atom's name")),
    ("ampere", "SM80_16x8x16_F32F16F16F32_TN_SATURATE", Refused("SATURATE", "is a part of an atom's name")),
    ("ampere", "SM80_16x8x32_S32S8S8S32_TN_SATURATE", Chooses("mma.m16n8k32.satfinite.s32.s8.s8.s32")),
    ("ampere", "SM80_16x8x128_S32U1U1S32_TN_XORPOPC", Known("counts the bits of A and B that differ")),
    ("ampere", "SM61_DP4A", Known("runs on the CUDA cores")),
    ("blackwell", "SM100_MMA_F16BF16_SS<half_t, half_t, float, 128, 256, UMMA::Major::K, UMMA::Major::K>", Chooses("tcgen05.mma.m128n256k16.kind::f16.f32.f16.f16")),
    ("blackwell", "SM100_MMA_F16BF16_SS<half_t, half_t, float, 64, 64, UMMA::Major::K, UMMA::Major::K, UMMA::ScaleIn::Neg>", Refused("UMMA::ScaleIn::Neg", "negates")),
    ("blackwell", "SM100_MMA_F16BF16_SS<half_t, half_t, float, 64, 64, UMMA::Saturate::True>", Refused("UMMA::Saturate::True", "Saturate")),
    ("blackwell", "SM100_MMA_F16BF16_SS<half_t, half_t, float, 64, 64, 7>", Refused("7", "does not know")),
    ("blackwell", "SM100_MMA_MXF4_SS<float_e2m1_t, float_e2m1_t, float, float_ue4m3_t, 128, 128, 16>", Chooses("tcgen05.mma.m128n128k64.kind::mxf4nvf4.block16.f32.e2m1.e2m1.ue4m3")),
    ("blackwell", "SM100_MMA_F16BF16_2x1SM_SS", Known("pair of CTAs")),
    ("blackwell", "SM100_MMA_F16BF16_WS_SS", Known("a .ws form")),
    ("hopper", "SM90_64x64x16_F32F16F16_SS_SCALED", Known("scales D")),
    ("rtx-blackwell", "SM120_16x8x64_TN_VS<float_e2m1_t, float_e2m1_t, float, float_ue4m3_t, 16>", Chooses("mma.m16n8k64.kind::mxf4nvf4.block16.f32.e2m1.e2m1.f32.ue4m3")),
    // operations of CuTe's Python language: types, shape, cta_group, where operands lie
    ("ampere", "warp.MmaF16BF16Op(Float16, Float32, (16, 8, 16))", Chooses("mma.m16n8k16.f32.f16.f16.f32")),
    ("ampere", "warp.MmaF16BF16Op(cutlass.BFloat16, cutlass.Float32, (16, 8, 8))", Chooses("mma.m16n8k8.f32.bf16.bf16.f32")),
    ("hopper", "warpgroup.MmaF16BF16Op(Float16, Float32, (64, 128, 16), OperandSource.SMEM, OperandMajorMode.K, OperandMajorMode.MN)", Chooses("wgmma.m64n128k16.f32.f16.f16")),
    ("hopper", "warpgroup.MmaF8Op(Float8E4M3FN, Float8E5M2, Float32, (64, 64, 32))", Chooses("wgmma.m64n64k32.f32.e4m3.e5m2")),
    ("hopper", "warpgroup.MmaF16BF16Op(Float16, Float32, (64, 128, 32))", Refused("K = 32", "is not the instruction's K")),
    ("hopper", "warpgroup.MmaF16BF16Op(Float16, Float32, (64, 128))", Refused("[64, 128]", "is not a shape")),
    ("blackwell", "tcgen05.MmaF16BF16Op(Float16, Float32, (128, 256, 16), CtaGroup.ONE)", Chooses("tcgen05.mma.m128n256k16.kind::f16.f32.f16.f16")),
    ("blackwell", "tcgen05.MmaF16BF16Op(Float16, Float32, (128, 256, 16), CtaGroup.TWO)", Refused("CtaGroup.TWO", "pair of CTAs")),
    ("blackwell", "tcgen05.MmaF16BF16Op(Float16, Float32, Float32, Float32)", Refused("f32", "does not know")),
    ("ampere", "warp.MmaF16BF16Op(Float16, banana)", Refused("banana", "does not know")),
    // WMMA of CUDA C++, rocWMMA, CUTLASS' arch::Mma: role, shape, type, layout, saturation, operator
    ("ampere", "wmma::fragment<wmma::matrix_a, 8, 8, 4, double, wmma::row_major>", Chooses("wmma.m8n8k4.f64.f64.f64.f64")),
    ("ampere", "wmma::fragment<wmma::matrix_b, 8, 8, 4, double, wmma::col_major>", Chooses("wmma.m8n8k4.f64.f64.f64.f64")),
    ("ampere", "wmma::fragment<wmma::matrix_a, 8, 8, 4, double, banana>", Refused("banana", "does not know")),
    ("ampere", "wmma::fragment<wmma::matrix_a, 16, 16, 16, int8_t, wmma::row_major>", Chooses("wmma.m16n16k16.s32.s8.s8.s32")),
    ("ampere", "wmma::fragment<wmma::matrix_a, 16, 16, 16, int16_t, wmma::row_major>", Refused("int16_t", "is an integer that no matrix unit")),
    ("ampere", "wmma::fragment<wmma::matrix_a, 8, 8, 4, double, wmma::row_major, 9>", Refused("9", "does not know")),
    ("ampere", "wmma::fragment<wmma::matrix_a, 8, 8, 4, double, float>", Refused("f32", "does not know")),
    ("ampere", "cutlass::arch::Mma<gemm::GemmShape<16, 8, 32>, 32, int8_t, layout::RowMajor, int8_t, layout::ColumnMajor, int, layout::RowMajor, OpMultiplyAddSaturate>", Chooses("mma.m16n8k32.satfinite.s32.s8.s8.s32")),
    ("ampere", "cutlass::arch::Mma<gemm::GemmShape<16, 8, 32>, 32, int8_t, layout::RowMajor, int8_t, layout::ColumnMajor, int, layout::RowMajor, OpMultiplyAdd>", Chooses("mma.m16n8k32.s32.s8.s8.s32")),
    ("cdna2", "rocwmma::fragment<matrix_a, 32, 32, 16, float16_t, row_major>", Nothing("a fragment of K = 16: ")),
    ("cdna2", "rocwmma::fragment<matrix_a, 32, 32, 8, float16_t, row_major, banana>", Refused("banana", "does not know")),
    ("ampere", "cutlass::arch::Mma<gemm::GemmShape<16, 8, 16>, 32, half_t, layout::RowMajor, half_t, layout::ColumnMajor, float, layout::RowMajor, OpMultiplyAdd>", Chooses("mma.m16n8k16.f32.f16.f16.f32")),
    ("ampere", "cutlass::arch::Mma<gemm::GemmShape<16, 8, 16>, 32, half_t, layout::RowMajor, half_t, layout::ColumnMajor, float, layout::RowMajor, OpMultiplyAddSaturate>", Refused("OpMultiplyAddSaturate", "saturates the result")),
    ("ampere", "cutlass::arch::Mma<gemm::GemmShape<16, 8, 8>, 32, float, layout::RowMajor, float, layout::ColumnMajor, float, layout::RowMajor, arch::OpMultiplyAddFastF32>", Refused("arch::OpMultiplyAddFastF32", "is another operation")),
    // PTX, SASS, AMD's assembler and intrinsics
    ("ampere", "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", Silent),
    ("volta", "mma.sync.aligned.m8n8k4.col.row.f32.f16.f16.f32", Silent),
    ("ampere", "wmma.mma.sync.aligned.row.col.m16n16k16.f16.f16.satfinite", Known("saturates its result")),
    ("ampere", "mma.sync.aligned.m16n8k16.row.col.satfinite.f32.f16.f16.f32", Known("saturates its result")),
    ("ampere", "HMMA.16816.F32.SAT", Known("saturates its result")),
    ("ampere", "mma.sync.aligned.m16n8k32.row.col.satfinite.s32.s8.s8.s32", Silent),
    ("ampere", "mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.xor.popc", Known("counts the bits of A and B that differ")),
    ("turing", "BMMA.88128.XOR.POPC", Known("counts the bits of A and B that differ")),
    ("ampere", "dp4a.s32.u32", Known("is an integer dot product of one thread")),
    ("ampere", "tl.dot(int8, int8, out_dtype=float32)", Nothing("out_dtype=float32 has no effect")),
    ("ampere", "tl.dot(uint8, uint8)", Known("names a type that no matrix unit multiplies in Triton")),
    ("hopper", "tl.dot(int8, int8, max_num_imprecise_acc=64)", Nothing("max_num_imprecise_acc=64 has no effect")),
    ("blackwell", "tcgen05.mma.cta_group::2.kind::f16", Known("pair of CTAs")),
    ("blackwell", "tcgen05.mma.cta_group::1.kind::f16.ashift", Known("shifts the rows of A")),
    ("blackwell", "tcgen05.mma.cta_group::1.kind::f16.collector::a::fill", Known("collector")),
    ("blackwell", "tcgen05.mma.ws.cta_group::1.kind::f16", Known("a .ws form")),
    ("blackwell", "tcgen05.mma.sp.cta_group::1.kind::f16", Known("a sparse tcgen05.mma")),
    ("rtx-blackwell", "mma.sync.aligned.m16n8k64.row.col.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3", Chooses("mma.m16n8k64.kind::mxf4nvf4.block16.f32.e2m1.e2m1.f32.ue4m3")),
    ("ampere", "mma.sync.aligned.m8n8k4.row.col.rz.f64.f64.f64.f64", Chooses("mma.m8n8k4.rz.f64.f64.f64.f64")),
    ("cdna2", "v_mfma_f32_32x32x8f16 a[0:15], v[0:1], v[2:3], a[0:15] cbsz:1 abid:2", Known("cbsz")),
    ("cdna2", "v_mfma_f32_32x32x8f16 a[0:15], v[0:1], v[2:3], a[0:15] blgp:1", Known("blgp")),
    ("cdna3", "v_mfma_f64_16x16x4_f64 a[0:7], v[0:1], v[2:3], a[0:7] neg:[1,0,0]", Known("neg")),
    ("hopper", "mma.sp.m16n8k32.f32.f16.f16.f32.select13", Silent),
    ("hopper", "mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32", Chooses("mma.sp.m16n8k32.f32.f16.f16.f32")),
];

fn read(architecture: &str, name: &str) -> Result<(Found, Options), LookupError> {
    find_with_options(architecture.parse().unwrap(), name)
}

#[test]
fn every_option_is_applied_or_refused_by_name() {
    let mut wrong = vec![];
    for (architecture, name, outcome) in OPTIONS {
        let result = read(architecture, name);
        let is_right = match (outcome, &result) {
            (Chooses(instruction), Ok((found, options))) => {
                found.name() == *instruction && *options == Options::default()
            }
            (Promotes(every), Ok((_, options))) => {
                let said =
                    options.remarks.iter().any(|remark| remark.contains(&format!("promotion every {every}")));
                options.promote_every == Some(*every) && said
            }
            (Nothing(begins), Ok((_, options))) => {
                options.promote_every.is_none()
                    && options.remarks.len() == 1
                    && options.remarks[0].starts_with(begins)
            }
            (Nothing(_), Err(_)) => false,
            (Silent, Ok((_, options))) => *options == Options::default(),
            (Refused(option, why), Err(LookupError::Option { given, option: found, why: reason })) => {
                given == name && found == option && reason.contains(why)
            }
            (Known(about), Err(LookupError::NotAnInstruction { about: found, .. })) => found.contains(about),
            _ => false,
        };
        if !is_right {
            wrong.push(format!("{architecture} {name}: {result:?}"));
        }
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), OPTIONS.len(), wrong.join("\n"));
}

/// Where one instruction is asked for, promotion is refused by name: no caller of [`find`] drops it.
#[test]
fn find_refuses_what_is_not_part_of_an_instruction() {
    let name = "tl.dot(fp8e4nv, fp8e4nv, max_num_imprecise_acc=128)";
    let error = find(Architecture::Hopper, name).unwrap_err().to_string();
    assert!(
        error.starts_with(&format!("'{name}': max_num_imprecise_acc is promotion every 128 elements of K")),
        "{error}"
    );
    assert!(find(Architecture::Ada, name).is_ok()); // where Triton ignores it
}

/// An argument or part that nobody knows is refused, in every name of the table that has a place for one.
#[test]
fn nothing_unknown_is_dropped() {
    let mut tried = 0;
    for record in common::records("software_names.csv").iter().filter(|record| record["on"] != "format") {
        let (architecture, name) = (&record["on"], &record["name"]);
        let mut changed = vec![format!("{name}.banana"), format!("{name}_BANANA"), format!("{name} banana")];
        for (end, more) in [(')', ", banana=1)"), ('>', ", banana>")] {
            changed.extend(name.strip_suffix(end).map(|rest| format!("{rest}{more}")));
        }
        for changed in changed {
            tried += 1;
            match read(architecture, &changed) {
                Err(LookupError::Ambiguous { candidates, .. }) => {
                    panic!("{architecture} {changed}: {candidates:?}")
                }
                Ok((found, _)) => panic!("{architecture} {changed} is {}", found.name()),
                Err(_) => {}
            }
        }
    }
    assert!(tried > 1000, "{tried}");
}
