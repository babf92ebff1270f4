//! `bitmma gemm` and `bitmma bench`: what they compute, print and refuse.
//!
//! The numbers are small integers, so that every product and sum is exact in every order and plain
//! integers say what D is; what rounds, and in which order, is tested in the engine.

mod recorded;

use crate::run::files::{Bench, bytes, matrix, npy, safetensors, words};
use assert_cmd::Command;
use serde_json::Value;

const F16: &str = "hopper wgmma.m64nNk16.f32.f16.f16";
const FP8: &str = "hopper wgmma.m64nNk32.f32.e4m3.e4m3";
const MX: &str = "rtx-blackwell mma.m16n8k32.kind::mxf8f6f4.block32.f32.e4m3.e4m3.f32.ue8m0";

/// Code, standard output, standard error.
fn bitmma(bench: &Bench, arguments: &str) -> (Option<i32>, String, String) {
    let output = Command::new(assert_cmd::cargo::cargo_bin!("bitmma"))
        .args(arguments.split_whitespace())
        .current_dir(bench.folder())
        .output()
        .unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

fn fine(bench: &Bench, arguments: &str) -> String {
    let (code, out, err) = bitmma(bench, arguments);
    assert_eq!(code, Some(0), "{arguments}: {err}");
    assert_eq!(err, "", "{arguments}"); // no bar where there is no terminal
    out
}

fn refused(bench: &Bench, arguments: &str, wanted: &[&str]) {
    let before = bench.names();
    let (code, out, err) = bitmma(bench, arguments);
    assert_eq!(code, Some(2), "{arguments}: {out}{err}");
    if arguments.split(' ').any(|word| word == "--json") {
        let page: Value = serde_json::from_str(&out).unwrap();
        let message = page["error"]["message"].as_str().unwrap();
        assert!(err.contains(message), "{arguments}: {message} is not in: {err}");
    } else {
        assert_eq!(out, "", "{arguments}");
    }
    for text in wanted {
        assert!(err.contains(text), "{arguments}: '{text}' is not in: {err}");
    }
    assert!(!err.contains("panicked"), "{err}");
    assert_eq!(before, bench.names(), "{arguments}");
}

/// Small integers.
fn integers(count: usize, seed: i64) -> Vec<i64> {
    (0..count as i64).map(|index| (index * 37 + seed * 11) % 7 - 3).collect()
}

/// The code of an integer of magnitude below 2^11 in a format of these widths.
fn code(value: i64, exponent_bits: u32, fraction_bits: u32) -> u64 {
    if value == 0 {
        return 0;
    }
    let exponent = value.unsigned_abs().ilog2();
    let field = u64::from(exponent) + (1 << (exponent_bits - 1)) - 1;
    let magnitude = value.unsigned_abs();
    let fraction = if exponent <= fraction_bits {
        magnitude << (fraction_bits - exponent)
    } else {
        magnitude >> (exponent - fraction_bits)
    };
    let sign = u64::from(value < 0) << (exponent_bits + fraction_bits);
    sign | field << fraction_bits | fraction & ((1 << fraction_bits) - 1)
}

fn codes(values: &[i64], exponent_bits: u32, fraction_bits: u32) -> Vec<u64> {
    values.iter().map(|&value| code(value, exponent_bits, fraction_bits)).collect()
}

fn f32_codes(values: impl IntoIterator<Item = i64>) -> Vec<u64> {
    values.into_iter().map(|value| code(value, 8, 23)).collect()
}

/// A·B of integers.
fn product(a: &[i64], b: &[i64], (m, n, k): (usize, usize, usize)) -> Vec<i64> {
    (0..m * n)
        .map(|index| (0..k).map(|along| a[index / n * k + along] * b[along * n + index % n]).sum())
        .collect()
}

const SHAPE: (usize, usize, usize) = (5, 7, 41);

/// A 5×41, B 41×7, C 5×7 in FP16, FP8 and FP32, and what they are.
fn inputs() -> (Bench, [Vec<i64>; 3]) {
    let bench = Bench::new();
    let (m, n, k) = SHAPE;
    let (a, b, c) = (integers(m * k, 1), integers(k * n, 2), integers(m * n, 3));
    bench
        .put("a.npy", &matrix("<f2", (m, k), &codes(&a, 5, 10)))
        .put("b.npy", &matrix("<f2", (k, n), &codes(&b, 5, 10)))
        .put("c.npy", &matrix("<f4", (m, n), &codes(&c, 8, 23)))
        .put("a8.npy", &matrix("|u1", (m, k), &codes(&a, 4, 3)))
        .put("sa.npy", &matrix("|u1", (m, 2), &vec![128; m * 2]))
        .put("sb.npy", &matrix("|u1", (2, n), &vec![126; 2 * n]));
    let transposed: Vec<i64> = (0..n * k).map(|index| b[index % k * n + index / k]).collect();
    let b8 = bytes(&codes(&transposed, 4, 3), 1, false);
    bench.put("b8.safetensors", &safetensors(&[("w", "F8_E4M3", &[n, k], b8)]));
    (bench, [a, b, c])
}

#[test]
fn ragged_shapes_and_what_is_said_of_them() {
    let (bench, [a, b, c]) = inputs();
    let out = fine(&bench, &format!("gemm {F16} -a a.npy -b b.npy -c c.npy -o d.npy"));
    let (first, second) = out.split_once('\n').unwrap();
    assert_eq!(
        first,
        "hopper wgmma.m64n{8..256}k16.f32.f16.f16 (T-FDPA): 5×41 f16 · 41×7 f16 + 5×7 f32 = 5×7 f32 in d.npy; K padded to 48"
    );
    assert!(second.starts_with("1435 products in 0."), "{second}");
    assert!(second.ends_with("products/s, kernel path\n"), "{second}");
    let ab = product(&a, &b, SHAPE);
    let sums: Vec<i64> = ab.iter().zip(&c).map(|(ab, c)| ab + c).collect();
    assert_eq!(bench.npy("d.npy", "<f4", &[5, 7]), f32_codes(sums.clone()));

    let out = fine(
        &bench,
        &format!("gemm {F16} -a a.npy -b b.npy -c c.npy -o d.npy --split-k 2 --promote-every 32 --threads 2"),
    );
    assert!(out.contains("; K padded to 48, K in 2 parts, promoted every 32\n"), "{out}");
    assert_eq!(bench.npy("d.npy", "<f4", &[5, 7]), f32_codes(sums.clone()));

    // 41 elements are three steps of 16, or one of 64
    let many = "-a a.npy -b b.npy -c c.npy -o d.npy --split-k 1000000";
    let out = fine(&bench, &format!("gemm {F16} {many}"));
    assert!(out.contains("; K padded to 48, K in 3 parts, a step each, not 1000000\n"), "{out}");
    assert_eq!(bench.npy("d.npy", "<f4", &[5, 7]), f32_codes(sums));
    let (_, toml, _) = bitmma(&bench, "show hopper wgmma.m64nNk16.f32.f16.f16 --toml");
    bench.put("model.toml", toml.as_bytes());
    let one = format!("gemm --model model.toml --k-step 64 {many}");
    assert!(fine(&bench, &one).contains(", K in 1 part, a step each, not 1000000\n"));
    let json: Value = serde_json::from_str(&fine(&bench, &format!("{one} --json"))).unwrap();
    assert_eq!(json["split_k"], 1);

    let out = fine(
        &bench,
        &format!("gemm {F16} -a a.npy -b b.npy -c c.npy -o d.npy --alpha 2 --beta -0x1p1 --output-type f16"),
    );
    assert!(
        out.contains("= 5×7 f16 in d.npy; K padded to 48, alpha 2, beta -2, D converted by RNE"),
        "{out}"
    );
    let scaled: Vec<i64> = ab.iter().zip(&c).map(|(ab, c)| 2 * ab - 2 * c).collect();
    assert_eq!(bench.npy("d.npy", "<f2", &[5, 7]), codes(&scaled, 5, 10));

    let out = fine(&bench, &format!("gemm {F16} -a a.npy -b b.npy -o d.npy --revision paper"));
    assert!(out.contains("(T-FDPA, revision paper): 5×41 f16 · 41×7 f16 + 0 = 5×7 f32"), "{out}");
    assert_eq!(bench.npy("d.npy", "<f4", &[5, 7]), f32_codes(ab));
}

#[test]
fn narrow_output_and_transposed_weights() {
    let (bench, [a, b, _]) = inputs();
    fine(
        &bench,
        &format!(
            "gemm {FP8} -a a8.npy -b b8.safetensors:w --bt --promote-every 32 --output-type e4m3 --saturate -o d.safetensors"
        ),
    );
    let file = std::fs::read(bench.path("d.safetensors")).unwrap();
    let length = words(&file[..8], 8)[0] as usize;
    let header: Value = serde_json::from_slice(&file[8..8 + length]).unwrap();
    assert_eq!(header["d"]["dtype"], "F8_E4M3");
    assert_eq!(header["d"]["shape"], serde_json::json!([5, 7]));
    let said = &header["__metadata__"];
    assert_eq!(said["instruction"], "wgmma.m64n{8..256}k32.f32.e4m3.e4m3");
    assert_eq!(said["promote_every"], "32");
    assert_eq!(said["saturate"], "true");
    let ab = product(&a, &b, SHAPE);
    for (ab, d) in ab.iter().zip(&file[8 + length..]) {
        if ab.unsigned_abs() < 16 {
            assert_eq!(u64::from(*d), code(*ab, 4, 3));
        }
    }
}

/// FP6 and FP4 are written in the types that safetensors has for them, packed, and read back as operands.
/// Scales that are powers of two, so that integers still say what D is.
#[test]
fn fp32_scales_of_blocks() {
    let (bench, [a, b, c]) = inputs();
    let (m, n, k) = SHAPE;
    let powers = |rows: usize, columns: usize, seed: i64| -> Vec<i64> {
        integers(rows * columns, seed).iter().map(|value| 1 << (value + 3)).collect()
    };
    // blocks of 32 of K: two; of 2 rows of A: three; of 3 columns of B: three, B and its scales transposed in the file
    let (of_a, of_b) = (powers(3, 2, 4), powers(2, 3, 5));
    let turned: Vec<i64> = (0..6).map(|index| of_b[index % 2 * 3 + index / 2]).collect();
    bench
        .put("ka.npy", &matrix("<f4", (3, 2), &codes(&of_a, 8, 23)))
        .put("kb.npy", &matrix("<f4", (3, 2), &codes(&turned, 8, 23)));
    let fp8 = "-a a8.npy -b b8.safetensors --bt -c c.npy -o d.npy";
    let scaled = "--scale-a ka.npy --scale-b kb.npy --scale-blocks 2x32,3x32";
    let out = fine(&bench, &format!("gemm {FP8} {fp8} {scaled}"));
    assert!(out.contains("; K padded to 64, scale_blocks 2x32,3x32\n"), "{out}");
    let at = |row: usize, column: usize, along: usize| {
        a[row * k + along]
            * b[along * n + column]
            * of_a[row / 2 * 2 + along / 32]
            * of_b[along / 32 * 3 + column / 3]
    };
    let sums =
        (0..m * n).map(|index| (0..k).map(|along| at(index / n, index % n, along)).sum::<i64>() + c[index]);
    assert_eq!(bench.npy("d.npy", "<f4", &[5, 7]), f32_codes(sums));

    // a scale for each row and each column
    let (of_a, of_b) = (powers(m, 1, 6), powers(n, 1, 7));
    bench.put("ra.npy", &matrix("<f4", (m, 1), &codes(&of_a, 8, 23)));
    bench.put("rb.npy", &matrix("<f4", (n, 1), &codes(&of_b, 8, 23)));
    let rows = "--scale-a ra.npy --scale-b rb.npy --scale-blocks row";
    let json = fine(&bench, &format!("gemm {FP8} {fp8} {rows} --promote-every 32 --json"));
    let json: Value = serde_json::from_str(&json).unwrap();
    assert_eq!((&json["scale_blocks"], &json["promote_every"]), (&"row".into(), &32.into()));
    let ab = product(&a, &b, SHAPE);
    let sums = (0..m * n).map(|index| ab[index] * of_a[index / n] * of_b[index % n] + c[index]);
    assert_eq!(bench.npy("d.npy", "<f4", &[5, 7]), f32_codes(sums));

    let with = |more: &str| format!("gemm {FP8} {} {more}", fp8.replace("d.npy", "e.npy"));
    refused(&bench, &with("--scale-a ka.npy --scale-blocks 2x32,3x32"), &["--scale-b"]);
    refused(&bench, &with("--scale-a ka.npy --scale-b kb.npy"), &["takes no scale factors"]);
    refused(
        &bench,
        &with("--scale-a sa.npy --scale-b kb.npy --scale-blocks 2x32,3x32"),
        &["--scale-a", "uint8", "float32"],
    );
    refused(
        &bench,
        &with("--scale-a ka.npy --scale-b kb.npy --scale-blocks 1x32,3x32"),
        &["scale A is 3×2", "takes 5×2"],
    );
    refused(&bench, &with("--scale-a ka.npy --scale-b kb.npy --scale-blocks 2x32"), &["1x128,128x128"]);
    refused(
        &bench,
        &with(&format!("{scaled} --promote-every 64")),
        &["--promote-every is 64", "every 32 elements"],
    );
    refused(&bench, &with(&format!("{scaled} --split-k 2")), &["--split-k is 2", "--scale-blocks along K"]);
    let mx = "-a a8.npy -b b8.safetensors --bt -o e.npy --scale-a ka.npy --scale-b kb.npy --scale-blocks 2x32,3x32";
    refused(&bench, &format!("gemm {MX} {mx}"), &["takes ue8m0 factors of its own"]);
}

/// The instruction that follows from chip and types, a plan, and a library's call.
#[test]
fn without_an_instruction() {
    let (bench, [a, b, c]) = inputs();
    let ab = product(&a, &b, SHAPE);
    let sums: Vec<i64> = ab.iter().zip(&c).map(|(ab, c)| ab + c).collect();
    let out = fine(&bench, "gemm --like h100 -a a.npy -b b.npy -c c.npy -o d.npy --promote-every 32");
    assert!(out.starts_with("hopper wgmma.m64n{8..256}k16.f32.f16.f16 (T-FDPA): 5×41 f16"), "{out}");
    assert_eq!(bench.npy("d.npy", "<f4", &[5, 7]), f32_codes(sums));
    // A's file holds codes
    let fp8 = "-a a8.npy -b b8.safetensors --bt -o d.npy";
    let out = fine(&bench, &format!("gemm --like h100 {fp8} --type e4m3"));
    assert!(out.starts_with("hopper wgmma.m64n{8..256}k32.f32.e4m3.e4m3"), "{out}");
    assert_eq!(bench.npy("d.npy", "<f4", &[5, 7]), f32_codes(ab.clone()));

    // a plan, and the same as a library's call
    let (code, plan, error) = bitmma(
        &bench,
        "plan rtx4060 --m 5 --n 7 --k 41 --type e4m3 --fast --out-type f32 --parts 2 --merge pairwise",
    );
    assert_eq!(code, Some(0), "{error}");
    bench.put("plan.toml", plan.as_bytes());
    let out = fine(&bench, &format!("gemm --plan plan.toml {fp8}"));
    assert!(out.starts_with("plan: 5×41 e4m3 · 41×7 e4m3 = 5×7 f32 in d.npy\nplan: mma.m16n8k32"), "{out}");
    assert_eq!(bench.npy("d.npy", "<f4", &[5, 7]), f32_codes(ab.clone()));
    let call = format!("gemm --like rtx4060 --type e4m3 --fast --parts 2 --merge pairwise {fp8} --json");
    let json: Value = serde_json::from_str(&fine(&bench, &call)).unwrap();
    assert_eq!((&json["evidence"], &json["plan"]["deal"]["parts"]), (&"recorded".into(), &2.into()));
    assert_eq!(bench.npy("d.npy", "<f4", &[5, 7]), f32_codes(ab));

    let fp8 = fp8.replace("d.npy", "e.npy");
    refused(&bench, &format!("gemm {fp8}"), &["ARCH", "INSTRUCTION"]);
    refused(&bench, &format!("gemm --like h100 {fp8}"), &["--a: a8.npy holds codes", "--type"]);
    for (kind, bytes, named) in [("<i2", 2, "int16 ('<i2')"), ("|b1", 1, "bool ('|b1')")] {
        bench.put("i8.npy", &matrix(kind, (5, 41), &vec![1; 205 * bytes]));
        let wrong = format!(
            "--a: i8.npy holds {named}; float16, float32, float64, int8, int32 or unsigned codes are read"
        );
        refused(&bench, &format!("gemm --like h100 {fp8}").replace("a8.npy", "i8.npy"), &[&wrong]);
    }
    refused(&bench, &format!("gemm --like a100 {fp8} --type e4m3"), &["--like", "ampere", "e4m3"]);
    refused(&bench, &format!("gemm --like h900 {fp8} --type e4m3"), &["h900"]);
    refused(
        &bench,
        &format!("gemm --like h100 {fp8} --type e4m3 --fast"),
        &["--fast is for a library's call"],
    );
    refused(&bench, &format!("gemm {FP8} {fp8} --type e4m3"), &["are for --like and --plan"]);
    refused(&bench, &format!("gemm {FP8} {fp8} --plan plan.toml"), &["leave out ARCH and INSTRUCTION"]);
    refused(
        &bench,
        &format!("gemm --plan plan.toml {fp8} --promote-every 128"),
        &["--promote-every is given; a plan decides that"],
    );
    // nothing is dropped silently
    for option in ["--fast", "--revision paper", "--model model.toml"] {
        let word = option.split(' ').next().unwrap();
        refused(&bench, &format!("gemm --plan plan.toml {fp8} {option}"), &[word, "a plan decides that"]);
    }
    refused(
        &bench,
        &format!("gemm --plan plan.toml {fp8} --type e5m2"),
        &["--type is e5m2; the plan's is e4m3"],
    );
    for option in ["--k-step 64", "--workspace 1", "--assume version"] {
        let word = option.split(' ').next().unwrap();
        let line = format!("gemm --plan plan.toml {fp8} {option}");
        refused(&bench, &line, &["cannot be used with", word, "--plan <FILE>"]);
    }
    let line = format!("gemm --like h100 {fp8} --type e4m3 --k-step 64");
    refused(&bench, &line, &["cannot be used with", "--k-step <N>"]);
    let line = format!("gemm --like rtx4060 --type e4m3 --fast --parts 2 {fp8} --revision paper");
    refused(&bench, &line, &["--revision is given; a plan decides that"]);
    let nan = format!("gemm {FP8} {fp8} --output-type e2m1 --nan 7").replace("e.npy", "e.safetensors");
    refused(&bench, &nan, &["--nan: '7' is not in e2m1; the nearest is 6 (0x7): write that\n"]);
    refused(&bench, &format!("gemm --plan none.toml {fp8}"), &["--plan", "none.toml"]);
    refused(&bench, &format!("gemm --plan plan.toml {fp8}").replace("--bt ", ""), &["say --b-transposed"]);
    refused(
        &bench,
        &format!("gemm --like h100-pcie/cublaslt-12.8.3.14 {fp8} --type e4m3"),
        &["declined: 5×7×41 is not in"],
    );
    refused(&bench, &format!("gemm --like h100 {fp8} --type e4m3 --table t.csv"), &["t.csv"]);
}

#[test]
fn outputs_narrower_than_a_byte() {
    let (bench, _) = inputs();
    // 2×4 of FP16: rows of powers of two; the identity of 4 by 4
    let numbers = [1, 2, -1, 4, 0, -2, 3, 1];
    bench.put("n.npy", &matrix("<f2", (2, 4), &codes(&numbers, 5, 10)));
    let mut identity = [0; 16];
    (0..4).for_each(|index| identity[5 * index] = 1);
    bench.put("i.npy", &matrix("<f2", (4, 4), &codes(&identity, 5, 10)));
    // columns: --output-type, safetensors type, exponent and fraction bits, bytes of 8 elements, A and B of an instruction
    for (name, dtype, (exponent, fraction), size) in
        [("e3m2", "F6_E3M2", (3, 2), 6), ("e2m3", "F6_E2M3", (2, 3), 6), ("e2m1", "F4", (2, 1), 4)]
    {
        fine(&bench, &format!("gemm {F16} -a n.npy -b i.npy --output-type {name} -o {name}.safetensors"));
        let file = std::fs::read(bench.path(&format!("{name}.safetensors"))).unwrap();
        let length = words(&file[..8], 8)[0] as usize;
        let header: Value = serde_json::from_slice(&file[8..8 + length]).unwrap();
        assert_eq!(
            (&header["d"]["dtype"], &header["d"]["shape"]),
            (&dtype.into(), &serde_json::json!([2, 4]))
        );
        // first element in the lowest bits, without gaps
        let bits = 1 + exponent + fraction;
        let packed = &file[8 + length..];
        assert_eq!(packed.len(), size, "{name}");
        let all = packed.iter().rev().fold(0u64, |all, byte| all << 8 | u64::from(*byte));
        for (index, number) in numbers.iter().enumerate() {
            let found = all >> (bits * index as u32) & ((1 << bits) - 1);
            assert_eq!(found, code(*number, exponent, fraction), "{name} {index}");
        }
        // what was written is an operand: times the identity it is the numbers again
        let instruction = format!("blackwell tcgen05.mma.m64n8k32.kind::f8f6f4.f32.{name}.e4m3");
        let mut ones = [0; 16];
        (0..4).for_each(|index| ones[5 * index] = 0x38); // one, in E4M3
        bench.put("o.npy", &matrix("|u1", (4, 4), &ones));
        fine(&bench, &format!("gemm {instruction} -a {name}.safetensors -b o.npy -o back.npy"));
        assert_eq!(bench.npy("back.npy", "<f4", &[2, 4]), codes(&numbers, 8, 23), "{name}");
    }
    // 5×7 elements of 4 or 6 bits end within a byte: refused before anything is computed
    let odd = format!("gemm {F16} -a a.npy -b b.npy -o odd.safetensors --output-type");
    refused(&bench, &format!("{odd} e2m1"), &["D is 5×7 of e2m1", "a multiple of 2 elements of 4 bits"]);
    refused(&bench, &format!("{odd} e3m2"), &["D is 5×7 of e3m2", "a multiple of 4 elements of 6 bits"]);
    assert!(!bench.path("odd.safetensors").exists());
}

#[test]
fn block_scales_with_a_ragged_k() {
    let (bench, [a, b, _]) = inputs();
    let run = "-a a8.npy -b b8.safetensors --b-transposed";
    bench.put("sbt.npy", &matrix("|u1", (7, 2), &[126; 14]));
    fine(&bench, &format!("gemm {MX} {run} --scale-a sa.npy --scale-b sbt.npy -o d.npy"));
    // factors 2 and 1/2
    assert_eq!(bench.npy("d.npy", "<f4", &[5, 7]), f32_codes(product(&a, &b, SHAPE)));
    refused(
        &bench,
        &format!("gemm {MX} {run} --scale-a sb.npy --scale-b sbt.npy -o e.npy"),
        &["scale A is 2×7", "takes 5×2"],
    );
    refused(&bench, &format!("gemm {MX} {run} --scale-a sa.npy -o e.npy"), &["--scale-b is missing"]);
}

#[test]
fn models_and_json() {
    let (bench, [a, b, c]) = inputs();
    let (_, toml, _) = bitmma(&bench, "show hopper wgmma.m64nNk16.f32.f16.f16 --toml");
    bench.put("model.toml", toml.as_bytes());
    let operands = "-a a.npy -b b.npy -c c.npy -o d.npy --json";
    let json: Value =
        serde_json::from_str(&fine(&bench, &format!("gemm --model model.toml --k-step 32 {operands}")))
            .unwrap();
    for (key, value) in [
        ("architecture", Value::Null),
        ("model_file", "model.toml".into()),
        ("schema", 1.into()),
        ("target", "model.toml".into()),
        ("k_step", 32.into()),
        ("padded_k", 64.into()),
        ("split_k", Value::Null),
        ("alpha", 1.0.into()),
        ("path", "kernel".into()),
        ("products", (5 * 7 * 41).into()),
        ("m", 5.into()),
        ("n", 7.into()),
        ("k", 41.into()),
    ] {
        assert_eq!(json[key], value, "{key} in {json}");
    }
    assert_eq!(json["model"]["family"], "T-FDPA");
    assert_eq!(json["d"], serde_json::json!({ "file": "d.npy", "format": "f32", "shape": [5, 7] }));
    assert!(json["products_per_second"].as_f64().unwrap() > 0.0);
    let sums = product(&a, &b, SHAPE).into_iter().zip(&c).map(|(ab, c)| ab + c);
    assert_eq!(bench.npy("d.npy", "<f4", &[5, 7]), f32_codes(sums));

    let json: Value =
        serde_json::from_str(&fine(&bench, &format!("gemm --model model.toml {operands}"))).unwrap();
    assert_eq!(json["k_step"], 16);
    refused(
        &bench,
        &format!("gemm --model model.toml --k-step 0 {operands}"),
        &["'0' for '--k-step <N>': must be an integer from 1"],
    );
    // K is padded to a step: 10^12 elements ended the process
    for step in ["1048577", "1e12", "18446744073709551615"] {
        refused(
            &bench,
            &format!("gemm --model model.toml --k-step {step} {operands}"),
            &[&format!("'{step}' for '--k-step <N>': must be an integer from 1 to 1048576")],
        );
    }
    refused(&bench, &format!("gemm --model model.toml --k-step 17 {operands}"), &["step is 17"]);
    refused(&bench, &format!("gemm {F16} --k-step 32 {operands}"), &["cannot be used with '--k-step <N>'"]);
}

/// A batch of 2^40 products without an element: no loop goes over them.
#[test]
fn a_huge_batch_of_nothing_ends_at_once() {
    let bench = Bench::new();
    bench.put("a.npy", &npy("<f2", false, "(1099511627776, 0, 5)", &[]));
    bench.put("b.npy", &npy("<f2", false, "(1099511627776, 5, 0)", &[]));
    let start = std::time::Instant::now();
    let said = fine(&bench, &format!("gemm {F16} -a a.npy -b b.npy -o d.npy --split-k 1e12"));
    assert!(said.contains("1099511627776×0×5 f16 · 1099511627776×5×0 f16"), "{said}");
    assert!(bench.npy("d.npy", "<f4", &[1 << 40, 0, 0]).is_empty());
    bench.put("a.npy", &npy("<f2", false, "(0, 4611686018427387904)", &[]));
    bench.put("b.npy", &npy("<f2", false, "(4611686018427387904, 0)", &[]));
    fine(&bench, &format!("gemm {F16} -a a.npy -b b.npy -o d.npy --promote-every 16"));
    assert!(start.elapsed() < std::time::Duration::from_secs(30), "{:?}", start.elapsed());
}

#[test]
fn no_elements_and_no_products() {
    let bench = Bench::new();
    bench
        .put("a.npy", &matrix("<f2", (2, 0), &[]))
        .put("b.npy", &matrix("<f2", (0, 3), &[]))
        .put("c.npy", &matrix("<f4", (2, 3), &[1, 2, 3, 4, 5, 6]))
        .put("none.npy", &matrix("<f2", (0, 2), &[]));
    let out = fine(&bench, &format!("gemm {F16} -a a.npy -b b.npy -c c.npy -o d.npy"));
    assert!(out.contains("0 products in"), "{out}");
    assert_eq!(bench.npy("d.npy", "<f4", &[2, 3]), [1, 2, 3, 4, 5, 6]);
    fine(&bench, &format!("gemm {F16} -a none.npy -b a.npy -o d.npy"));
    assert_eq!(bench.npy("d.npy", "<f4", &[0, 0]), [0u64; 0]);
}

#[test]
fn what_gemm_refuses() {
    let (bench, _) = inputs();
    let f16 = format!("gemm {F16} -a a.npy -b b.npy -o");
    refused(
        &bench,
        &format!("{f16} e.npy --promote-every 24"),
        &["--promote-every is 24", "takes 16 elements"],
    );
    refused(&bench, &format!("{f16} e.npy --alpha x"), &["--alpha: 'x' is not a number"]);
    refused(&bench, &format!("{f16} e.npy --beta 1e60"), &["--beta: '1e60' is beyond the numbers of f32"]);
    refused(&bench, &format!("{f16} e.npy --saturate"), &["--output-type"]);
    refused(&bench, &format!("{f16} e.npy --output-type e4m3"), &["D is e4m3, which .npy has no type for"]);
    refused(&bench, &format!("{f16} no/e.npy"), &["there is no directory no"]);
    refused(&bench, &format!("{f16} e.txt"), &["must end in .npy or .safetensors"]);
    refused(&bench, &format!("gemm {F16} -a a.npy -b a.npy -o e.npy"), &["B is 5×41", "takes 41×41"]);
    refused(
        &bench,
        &format!("gemm {F16} -a b.npy -b b.npy -o e.npy"),
        &["if B's file is N×K, say --b-transposed"],
    );
    refused(&bench, &format!("gemm {F16} -a a8.npy -b b.npy -o e.npy"), &["--a: a8.npy holds"]);
    refused(&bench, &format!("{f16} e.npy --scale-a sa.npy"), &["takes no scale factors"]);
}

/// A folder that takes no files is known before anything is read.
#[cfg(target_os = "linux")]
#[test]
fn an_output_that_cannot_be_made() {
    let bench = Bench::new();
    refused(&bench, &format!("gemm {F16} -a none.npy -b none.npy -o /proc/d.npy"), &["--out: /proc/d.npy: "]);
}

#[test]
fn bench_measures() {
    let bench = Bench::new();
    let instruction = "--arch h100 --instruction wgmma.m64nNk16.f32.f16.f16 --size 48";
    let json: Value =
        serde_json::from_str(&fine(&bench, &format!("bench {instruction} --threads 2 --json"))).unwrap();
    assert_eq!((&json["size"], &json["threads"]), (&48.into(), &2.into()));
    let row = &json["rows"][0];
    assert_eq!(row["model"]["family"], "T-FDPA");
    assert_eq!(row["path"], "kernel");
    let compared = cfg!(feature = "native");
    assert_eq!(row["native"] == "SGEMM", compared, "{row}");
    for threads in ["one", "all"] {
        let number = |key: &str| row[threads][key].as_f64().unwrap();
        assert!(number("products_per_second") > 0.0, "{row}");
        if !compared {
            assert_eq!(row[threads].as_object().unwrap().len(), 1, "{row}");
            continue;
        }
        let ratio = number("products_per_second") / number("native_products_per_second");
        assert!((ratio / number("ratio") - 1.0).abs() < 1e-9 && ratio > 0.0, "{row}");
    }
    let (code, out, err) = bitmma(&bench, &format!("bench {instruction} --threads 1"));
    assert_eq!(code, Some(0), "{err}");
    assert!(out.starts_with("architecture") && out.contains("\nhopper "), "{out}");
    assert_eq!(out.contains("\nnative SGEMM at 48: "), compared, "{out}");
    assert_eq!(err.contains("needs a build with --features native"), !compared, "{err}");

    let portable: Value = serde_json::from_str(&fine(
        &bench,
        &format!("bench {instruction} --level portable --threads 1 --json"),
    ))
    .unwrap();
    assert_eq!(portable["level"], "portable");
    assert_ne!(json["level"], Value::Null);
    refused(&bench, "bench --level sse", &["sse", "portable, neon, avx2, avx512"]);

    refused(&bench, "bench --arch turing", &["none of the usual instructions is turing's"]);
    refused(&bench, "bench --instruction x", &["--arch"]);
    refused(&bench, "bench --arch h100 --instruction x", &["x"]);
    refused(&bench, "bench --size 0", &["0"]);
}
