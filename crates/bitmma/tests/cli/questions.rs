//! Questions, what a person types first, and what the output must say: no question takes a second try.

use std::path::Path;
use std::process::Command;

use crate::run::files::matrix;

/// A question, the first guess, and texts that the output has, in this order.
type Question = (&'static str, &'static str, &'static [&'static str]);

// columns: question, command, what the output says
#[rustfmt::skip]
const QUESTIONS: &[Question] = &[
    // the six of the issue
    ("How many bits does wgmma e4m3 keep?", "show h100 wgmma e4m3", &["13 bits below the largest exponent"]),
    ("Is tcgen05 FP16 the same as wgmma FP16?", "diff h100 'wgmma f16 f32' b200 'tcgen05 f16 f32'", &["same model: the same bits for every input"]),
    ("Do an A100 and an H100 give the same bits for BF16?", "diff a100 h100 --type bf16", &["they differ", "N(0,1)", "parameter", "ampere", "d =", "hopper", "d ="]),
    ("Why do these D.npy of two GPUs differ?", "explain h100 wgmma f16 f32 -a A.npy -b B.npy --element 0,1 -d D2.npy", &["D[0,1]", "error", "D2.npy differs", "A100", "They part at step", "error so far"]),
    ("100 NVFP4 test vectors", "golden b200 nvfp4 --count 100", &["tcgen05.mma.m128n8k64.kind::mxf4nvf4.block16", "K = 64"]),
    ("The instructions of the H100", "list h100", &["wgmma.m64n{8..256}k16.f32.f16.f16"]),
    // docs/from-your-code.md
    ("What is this CUTLASS atom?", "show h100 SM90_64x128x16_F32F16F16_SS", &["hopper wgmma.m64n{8..256}k16.f32.f16.f16", "25 bits below"]),
    ("Why does this atom return -0.5?", "explain a100 SM80_16x8x16_F32F16F16F32_TN -a '-8192 -0.5 -0.25 -0.125' -b '1024 1 1 1' -c 0x1p23", &["d = -0.5"]),
    ("What does tl.dot of FP8 lose?", "explain h100 'tl.dot(fp8e4nv, fp8e4nv)' -a '448 0.5 0.25' -b '448 1 1' -c -0x1.88p17", &["d = 0"]),
    ("Which instruction is a WMMA fragment?", "show a100 'wmma::fragment<wmma::matrix_a, 16, 16, 16, __nv_bfloat16, wmma::row_major>'", &["ampere wmma.m16n16k16.f32.bf16.bf16.f32"]),
    ("What is this HIP builtin?", "explain mi250x __builtin_amdgcn_mfma_f32_32x32x8f16 -a '-8192 -0.5 -0.25 -0.125' -b '1024 1 1 1' -c 0x1p23", &["cdna2 v_mfma_f32_32x32x8f16", "d = 0"]),
    ("What is this ROCDL intrinsic?", "show mi300x rocdl.mfma.f32.16x16x16f16", &["cdna3 v_mfma_f32_16x16x16_f16"]),
    ("What is rocWMMA's FP8?", "show mi300x 'rocwmma::fragment<matrix_a, 32, 32, 16, float8_fnuz_t, row_major>'", &["v_mfma_f32_32x32x16_fp8_fp8"]),
    ("What of the H200 takes torch's FP8?", "list h200 torch.float8_e4m3fn", &["wgmma.m64n{8..256}k32.f32.e4m3.e4m3"]),
    ("Which instruction does the B200 have for FP16?", "show b200 tcgen05 f16 f32", &["tcgen05.mma.m{64|128}n{8..256}k16.kind::f16.f32.f16.f16"]),
    // threads of vLLM, PyTorch, CUTLASS and Triton
    ("vLLM: does the L40S have FP8 with FP16 accumulation?", "list l40s fp8 f16", &["e4m3"]),
    ("vLLM: which chips run NVFP4?", "list nvfp4", &["blackwell", "rtx-blackwell"]),
    ("vLLM: what does MXFP4 on the RTX 5090 keep?", "show 5090 mxfp4 kind::mxf4", &["precision"]),
    ("vLLM: is MI300X's FP8 OCP's or FNUZ?", "list mi300x fp8", &["v_mfma_f32_16x16x32_bf8_bf8"]),
    ("vLLM: MXFP8 on the B200", "show b200 mxfp8 e4m3", &["block32", "ue8m0"]),
    ("PyTorch: what does the A100 do for BF16?", "show a100 bf16", &["mma.m16n8k16.f32.bf16.bf16.f32", "sums of 8"]),
    ("PyTorch: how wide is TF32 on the A100?", "show a100 tf32", &["mma.m16n8k8.f32.tf32.tf32.f32", "precision"]),
    ("PyTorch: how does the V100 sum FP16?", "show v100 hmma f16 f32", &["sums of 4"]),
    ("PyTorch: FP64 on the A100", "show a100 fp64", &["m8n8k4"]),
    ("PyTorch: does CDNA2 flush BF16 subnormals?", "show mi250x bf16 32x32x8", &["subnormal"]),
    ("CUTLASS: sparse FP8 of Hopper", "show h100 sparse wgmma e4m3", &["wgmma.sp", "13 bits"]),
    ("CUTLASS: m16n8k16 with half accumulators", "show a100 m16n8k16 f16 f16", &["mma.m16n8k16.f16.f16.f16.f16"]),
    ("CUTLASS: HMMA.16816.F32", "show a100 HMMA.16816.F32", &["mma.m16n8k16.f32.f16.f16.f32"]),
    ("CUTLASS: tcgen05 with kind::f8f6f4", "list b200 kind::f8f6f4", &["kind::f8f6f4.f32.e4m3.e4m3"]),
    ("CUTLASS: do FP16 and BF16 accumulate alike on Ada and Ampere?", "diff a100 'm16n8k16 bf16' 4090 'm16n8k16 bf16'", &["ampere", "ada"]),
    ("PyTorch: is TF32 of the A100 that of the H100?", "diff a100 h100 --type tf32", &["ampere", "hopper"]),
    ("vLLM: is FP8 of the B200 that of the H100?", "diff h100 b200 --type e4m3", &["they differ", "F"]),
    ("vLLM: does the RTX 5090 give the L40S' bits for FP8?", "diff l40s 5090 --type e4m3", &["ada", "rtx-blackwell"]),
    ("Triton: is MFMA's FP16 the same on MI250X and MI300X?", "diff mi250x mi300x --type f16", &["they differ"]),
    ("Triton: what is wgmma e5m2?", "show h100 wgmma e5m2 f32", &["wgmma.m64n{8..256}k32.f32.e5m2.e5m2"]),
    ("Triton: dot of bf16 on the MI300X", "show mi300x 'tl.dot(bf16, bf16)'", &["v_mfma_f32_"]),
    ("Triton: what is the composed part of FP8 on Ada?", "list ada composed", &["composed"]),
    ("Triton: which MFMA is 16x16x32 FP8?", "show mi300x 16x16x32 e4m3fnuz", &["v_mfma_f32_16x16x32_fp8_fp8"]),
    // of files: who computed a tensor
    ("PyTorch: which GPU made this D?", "which -a A.npy -b B.npy -d D.npy", &["H100", "256 of 256", "one chain along K"]),
    ("vLLM: this D of another GPU is not ours; whose is it?", "which -a A.npy -b B.npy -d D2.npy", &["A100", "256 of 256"]),
    ("DeepGEMM: is this D promoted every 64?", "which -a X.npy -b W.npy --bt -d Y.npy --type e4m3", &["H100", "moved to an FP32 sum every 64"]),
    ("Triton: nothing of ours gives this D; what is nearest?", "which -a A.npy -b B.npy -d D3.npy", &["none of them computes D", "255 of 256 elements agree", "D[0, 3]"]),
    ("vLLM: is MXFP8 of the B200 that of the RTX 5090?", "diff b200 mxfp8 e4m3 5090 mxfp8 e4m3", &["block32", "rtx-blackwell"]),
    ("vLLM: is NVFP4 of the B200 that of the RTX 5090?", "diff b200 5090 --type nvfp4", &["same model: the same bits for every input", "block16"]),
    ("CUTLASS: do these two plans give the same bits?", "diff one.toml other.toml", &["they differ", "promote.every", "part 0"]),
];

/// The files that questions name: D of an H100, D2 of an A100, D3 with one bit changed; FP8 promoted every 64; two plans.
fn files() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let put = |name: &str, bytes: &[u8]| std::fs::write(folder.path().join(name), bytes).unwrap();
    let run = |line: &str| {
        let ended = command(line, folder.path());
        assert!(ended.status.success(), "{line}: {}", String::from_utf8_lossy(&ended.stderr));
    };
    let mut state = 44_u64;
    // numbers of 1/4 to 4, in formats of 16 bits and of 8
    let mut codes = |count: usize, (one, step): (u64, u64), sign: u64| -> Vec<u64> {
        let code = |_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let number = state >> 33;
            (one - 2 * step + number % (4 * step)) | if number & (1 << 20) == 0 { 0 } else { sign }
        };
        (0..count).map(code).collect()
    };
    let (half, byte) = ((0x3c00, 0x400), (0x38, 8));
    put("A.npy", &matrix("<f2", (16, 96), &codes(16 * 96, half, 0x8000)));
    put("B.npy", &matrix("<f2", (96, 16), &codes(96 * 16, half, 0x8000)));
    put("X.npy", &matrix("|u1", (16, 256), &codes(16 * 256, byte, 0x80)));
    put("W.npy", &matrix("|u1", (16, 256), &codes(16 * 256, byte, 0x80)));
    run("gemm h100 wgmma f16 f32 -a A.npy -b B.npy -o D.npy");
    run("gemm a100 m16n8k16 f16 f32 -a A.npy -b B.npy -o D2.npy");
    run("gemm h100 wgmma e4m3 f32 -a X.npy -b W.npy --bt --promote-every 64 -o Y.npy");
    let mut d = std::fs::read(folder.path().join("D.npy")).unwrap();
    let place = d.len() - 4 * 256 + 4 * 3;
    d[place] ^= 1;
    put("D3.npy", &d);
    let plan = |every: usize| {
        format!(
            "format = \"bitmma-plan/1\"\narch = \"hopper\"\ninstruction = \"wgmma.m64n256k32.f32.e4m3.e4m3\"\n\
             evidence = \"derived\"\nsource = \"\"\n[promote]\nevery = {every}\n"
        )
    };
    put("one.toml", plan(128).as_bytes());
    put("other.toml", plan(0).as_bytes());
    folder
}

fn command(line: &str, folder: &Path) -> std::process::Output {
    let program = assert_cmd::cargo::cargo_bin!("bitmma");
    Command::new(program).args(split(line)).current_dir(folder).output().unwrap()
}

/// Words as a shell would split them: single quotes hold one together.
fn split(line: &str) -> Vec<String> {
    let mut words = vec![];
    for (index, piece) in line.split('\'').enumerate() {
        match index % 2 {
            0 => words.extend(piece.split_whitespace().map(str::to_owned)),
            _ => words.push(piece.to_owned()),
        }
    }
    words
}

#[test]
fn the_first_guess_is_right() {
    assert!(QUESTIONS.len() >= 40);
    let folder = files();
    let mut wrong = vec![];
    for (question, line, says) in QUESTIONS {
        let ended = command(line, folder.path());
        let out = String::from_utf8_lossy(&ended.stdout);
        // a result or a difference, not an error
        if !matches!(ended.status.code(), Some(0 | 1)) {
            wrong.push(format!("{question} `bitmma {line}`: {}", String::from_utf8_lossy(&ended.stderr)));
            continue;
        }
        let mut rest = out.split_whitespace().collect::<Vec<_>>().join(" ");
        for text in *says {
            match rest.split_once(text) {
                Some((_, after)) => rest = after.to_owned(),
                None => wrong.push(format!("{question} `bitmma {line}` does not say '{text}':\n{out}")),
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), QUESTIONS.len(), wrong.join("\n"));
}
