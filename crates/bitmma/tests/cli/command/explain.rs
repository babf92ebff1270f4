//! `explain`: the steps a reader sees.

use super::{EQUATION_1, Ended, F16, bitmma};

fn explain(architecture: &str, instruction: &str, rest: &[&str]) -> Ended {
    bitmma(&[&["explain", architecture, instruction][..], rest].concat())
}

/// Equation 1 on Hopper: F = 25 keeps 2^-2 and drops 2^-3, as the paper says.
#[test]
fn one_sees_which_bit_fell_off() {
    let ended = explain("hopper", F16, &EQUATION_1);
    let text = ended.fine();
    let row = |name: &str| text.lines().find(|line| line.starts_with(name)).unwrap();
    assert!(text.contains("e_max = 23; cut (RZ) to 25 bits below it"), "{text}");
    assert!(row("a2*b2").contains("-0.0000000000000000000000001|"), "{text}");
    assert!(row("a3*b3").contains("-0.0000000000000000000000000|1"), "{text}");
    assert!(row("a3*b3").ends_with("0   -0.125"), "{text}");
    assert!(row("sum").ends_with("-0.75"), "{text}");
    assert!(text.contains("12 zero terms, exponent e_zero = -133"), "{text}");
    assert!(
        text.contains("\nd = -0.75  0xbf400000  f32\n\nin the browser: bitmma explore 'u=hopper mma"),
        "{text}"
    );
    let paper = explain("hopper", F16, &[&EQUATION_1[..], &["--revision", "paper"]].concat());
    assert!(paper.fine().contains("12 zero terms, no exponent"), "{}", paper.out);
}

/// What lies far below is counted, not drawn; no line is wider than a page.
#[test]
fn wide_gaps_are_abbreviated() {
    let ended = explain("volta", "mma.m8n8k4.f32.f16.f16.f32", &["-a", "1", "-b", "1", "-c", "0x1p-140"]);
    assert!(ended.fine().contains("|… 117 bits below"), "{}", ended.out);
    let inputs = [
        (F16, "hopper", "0x1p-24 60000 0x1.554p3", "0x1p-24 60000 -0x1.554p3", "0x1p-149"),
        ("v_mfma_f32_16x16x16_bf16", "cdna3", "0x1.54p100 -0x1p-120", "0x1.54p20 0x1.54p-9", "-0x1p-149"),
        ("v_mfma_f32_16x16x4f32", "cdna2", "0x1.555556p9 3", "0x1.555556p-30 0x1p-149", "0x1.555556p-1"),
        ("v_mfma_f32_32x32x8f16", "cdna2", "0x1.554p3 0x1p-24", "0x1.554p3 0x1.554p3", "0x1.555556p9"),
        ("v_mfma_f32_32x32x8f16", "cdna1", "0x1.554p3 0x1p-24", "0x1.554p3 0x1.554p3", "0x1.555556p90"),
        ("mma.m8n8k4.f64.f64.f64.f64", "hopper", "0x1p-1074 3", "0x1p-1074 -7", "0x1.5555555555555p1023"),
    ];
    for (instruction, architecture, a, b, c) in inputs {
        let ended = explain(architecture, instruction, &["-a", a, "-b", b, "-c", c]);
        for line in ended.fine().lines().filter(|line| !line.starts_with("in the browser: ")) {
            assert!(line.chars().count() <= 112, "{} columns: {line}", line.chars().count());
        }
    }
}

/// Operations chained along K have a section each; those that only add zeros say so.
#[test]
fn chained_operations() {
    let ended = explain("ampere", F16, &EQUATION_1);
    assert!(ended.fine().contains("T-FDPA 1 of 2: elements 0..7"), "{}", ended.out);
    assert!(ended.out.contains("every product is zero, and the accumulator stays as it is"), "{}", ended.out);
    let composed =
        explain("hopper", "mma.m16n8k32.f32.e4m3.e4m3.f32", &["-a", "1 2 3", "-b", "1 2 3", "-c", "5"]);
    assert!(composed.fine().contains("elements 0..1, 4..5, …, 28..29"), "{}", composed.out);
    assert!(composed.out.contains("add C"), "{}", composed.out);
}

/// Operations in a row that add zeros only are one paragraph, unless their accumulators differ.
#[test]
fn idle_operations_are_joined() {
    let folder = tempfile::tempdir().unwrap();
    let model = folder.path().join("model.toml");
    let toml = "model = \"T-FDPA\"\nA = \"f16\"\nB = \"f16\"\nC = \"f32\"\nrho = \"RZ-FP32\"\nL_max = 4\nF = 23\n\
                \n[lowering]\norder = { interleaved = { run = 2, period = 64 } }\nchains = { count = 2, merge = \"RNE-FP32\" }\n";
    std::fs::write(&model, toml).unwrap();
    let ended = bitmma(&["explain", "--model", model.to_str().unwrap(), "-a", "1", "-b", "3", "-c", "2"]);
    let idle: Vec<&str> = ended.fine().lines().filter(|line| line.contains(" of 32: ")).skip(1).collect();
    let wanted = [
        "T-FDPA 2 to 16 of 32: elements 2..31, accumulator 5 (0x40a00000)",
        "T-FDPA 17 to 32 of 32: elements 32..63, accumulator 0 (0x00000000)",
    ];
    assert_eq!(idle, wanted, "{}", ended.out);
}

#[test]
fn special_values_name_who_brought_them() {
    let ended = explain("ampere", F16, &["-a", "inf 1", "-b", "0 nan"]);
    assert!(ended.fine().contains("a0*b0 = inf * 0\n  a1*b1 = 1 * nan"), "{}", ended.out);
    assert!(ended.out.contains("\nd = nan  0x7fffffff  f32\n"), "{}", ended.out);
}

/// In JSON every term is there, exactly, and kept + lost is the term.
#[test]
fn json_holds_every_step() {
    let json = explain("hopper", F16, &[&EQUATION_1[..], &["--json"]].concat()).json();
    assert_eq!(json["d"]["code"], "0xbf400000");
    let steps = json["steps"].as_array().unwrap();
    let kinds: Vec<&str> = steps.iter().map(|step| step["step"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["begin", "aligned", "converted"]);
    let terms = steps[1]["terms"].as_array().unwrap();
    assert_eq!(terms.len(), 17);
    assert_eq!(terms[3]["lost"]["value"], -0.125);
    assert_eq!(terms[4]["exponent"], -133);
    let instructions = [
        ("cdna1", "v_mfma_f32_32x32x8f16"),
        ("cdna2", "v_mfma_f32_32x32x8f16"),
        ("cdna3", "v_mfma_f32_16x16x16_f16"),
        ("cdna3", "v_mfma_f32_16x16x32_bf8_bf8"),
        ("hopper", "mma.m8n8k4.f64.f64.f64.f64"),
    ];
    for (architecture, instruction) in instructions {
        explain(architecture, instruction, &["-a", "1 2", "-b", "3 0.5", "--json"]).json();
    }
}

/// The paper's first risk: CDNA2 reads subnormal operands as zero. Both operands are shown as given and as used, with the
/// product that is lost, and no section says only that every product is zero.
#[test]
fn flushed_operands_are_shown() {
    let flushed = ["-a", "0x1p-24", "-b", "1024"];
    let ended = explain("mi250x", "v_mfma_f32_32x32x8f16", &flushed);
    let text = ended.fine();
    assert!(text.contains("flushed: subnormal operands are read as zero"), "{text}");
    let row = |name: &str| {
        text.lines().find(|line| line.starts_with(name)).unwrap_or_else(|| panic!("{name}: {text}"))
    };
    for part in ["5.960464…e-8", "0x0001", "  0  ", "a0*b0", "0.00006103515625"] {
        assert!(row("a0 ").contains(part), "{part}: {text}");
    }
    assert!(row("b0 ").contains("1024"), "{text}");
    assert!(text.contains("every product is zero (1 of them by flushing, above), and"), "{text}");
    let json = explain("mi250x", "v_mfma_f32_32x32x8f16", &[&flushed[..], &["--json"]].concat()).json();
    let step = &json["steps"][0];
    assert_eq!(step["step"], "flushed");
    assert_eq!(step["term"], "a0*b0");
    assert_eq!(step["operands"][0]["name"], "a0");
    assert_eq!(step["operands"][0]["given"]["value"], 2f64.powi(-24));
    assert_eq!(step["operands"][0]["used"]["value"], 0.0);
    assert_eq!(step["operands"][1]["used"]["value"], 1024.0);
    assert_eq!(step["exact"]["value"], 2f64.powi(-14));
    assert_eq!(step["lost"]["value"], 2f64.powi(-14));
    // C is flushed too; and where nothing is, nothing is said
    let c = explain("mi250x", "v_mfma_f32_32x32x8f16", &["-a", "1", "-b", "0", "-c", "0x1p-140"]);
    assert!(
        c.fine().lines().any(|line| line.starts_with("c ") && line.contains("7.174648…e-43")),
        "{}",
        c.out
    );
    let other = explain("mi100", "v_mfma_f32_32x32x8f16", &flushed);
    assert!(!other.fine().contains("flushed"), "{}", other.out);
}

/// A product that is flushed after it was rounded is a loss, not a product that is zero.
#[test]
fn products_that_underflow_are_shown() {
    let ended =
        explain("mi250x", "v_mfma_f32_32x32x8bf16_1k", &["-a", "0x1p-80 0 0 0 1", "-b", "0x1p-80 0 0 0 1"]);
    let first = ended.fine().split("FTZ-AddMul 2 of 2").next().unwrap();
    assert!(!first.contains("every product is zero"), "{first}");
    assert!(
        first.lines().any(|line| line.starts_with("FTZ-Mul") && line.contains("6.842277…e-49")),
        "{first}"
    );
}

/// The low bits of a TF32 word are not read, the result narrowed to FP16 loses bits, and --round says what it rounds.
#[test]
fn other_losses_are_shown() {
    let tf32 = explain("a100", "mma.m16n8k4.f32.tf32.tf32.f32", &["-a", "0x3f800001", "-b", "2"]);
    let row = tf32.fine().lines().find(|line| line.starts_with("a0 ")).unwrap();
    assert!(row.contains("0x3f800001") && row.contains("2.384185…e-7"), "{}", tf32.out);
    let wmma = explain("hopper", "wmma.m16n16k16.f16.f16.f16.f32", &["-a", "1 0x1p-12", "-b", "1 1"]);
    assert!(
        wmma.fine().contains(
            "D changes its format: 1.000244140625 (0x3f800800) f32 → 1 (0x3c00) f16, lost 0.000244140625"
        ),
        "{}",
        wmma.out
    );
    let rounded = explain("hopper", F16, &["-a", "0.1 1", "-b", "1 1", "--round"]);
    assert!(rounded.fine().contains("A[0]: 0.1 is rounded to 0.0999755859375\n"), "{}", rounded.out);
}

/// `max_num_imprecise_acc` is promotion: `show` states it, `dot` and `explain` apply it, `gemm` as well, and all agree; other
/// commands refuse it.
#[test]
fn promotion_in_a_name_is_applied() {
    let name = "tl.dot(fp8e4nv, fp8e4nv, max_num_imprecise_acc=64)";
    let text = bitmma(&["show", "h100", name]);
    assert!(text.fine().contains("every 64 elements of K the accumulator starts from +0"), "{}", text.out);
    assert_eq!(bitmma(&["show", "h100", name, "--json"]).json()["options"]["promote_every"], 64);
    // 13 bits below 2^17 are 16: the products are cut beside C = 2^17, and are not where C is added in FP32
    let inputs = ["-a", "1 0.5", "-b", "1 1", "-c", "0x1p17"];
    let plain = bitmma(&[&["dot", "h100", "tl.dot(fp8e4nv, fp8e4nv)"][..], &inputs].concat());
    let promoted = bitmma(&[&["dot", "h100", name][..], &inputs].concat());
    let ended = explain("h100", name, &inputs);
    assert!(ended.fine().contains("T-FDPA 1 of 2: elements 0..31, accumulator 0 "), "{}", ended.out);
    assert!(ended.out.contains("add C"), "{}", ended.out);
    assert!(ended.out.contains("max_num_imprecise_acc=64: every 64 elements"), "{}", ended.out);
    let json = explain("h100", name, &[&inputs[..], &["--json"]].concat()).json();
    assert_eq!(json["options"]["promote_every"], 64);
    assert_eq!(json["a"].as_array().unwrap().len(), 64);

    // the same by gemm
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, header: &str, codes: &[u8]| {
        let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
        let header = format!("{header:<117}\n");
        bytes.extend((header.len() as u16).to_le_bytes());
        bytes.extend(header.as_bytes());
        bytes.extend(codes);
        let path = folder.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let mut codes = [vec![0x38, 0x30], vec![0; 62]].concat();
    let a = file("a.npy", "{'descr': '|u1', 'fortran_order': False, 'shape': (1, 64), }", &codes);
    codes[1] = 0x38;
    let b = file("b.npy", "{'descr': '|u1', 'fortran_order': False, 'shape': (64, 1), }", &codes);
    let c = file(
        "c.npy",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 1), }",
        &131_072f32.to_le_bytes(),
    );
    let d = folder.path().join("d.npy").to_str().unwrap().to_owned();
    let gemm = |name: &str, more: &[&str]| {
        let files = ["gemm", "h100", name, "-a", &a, "-b", &b, "-c", &c, "-o", &d, "--json"];
        let ended = bitmma(&[&files[..], more].concat());
        (ended, std::fs::read(&d).map(|bytes| bytes[bytes.len() - 4..].to_vec()).unwrap_or_default())
    };
    let code = |bytes: &[u8]| format!("0x{:08x}", u32::from_le_bytes(bytes.try_into().unwrap()));
    let (ended, result) = gemm(name, &[]);
    assert_eq!(ended.json()["promote_every"], 64);
    assert!(ended.err.contains("note: max_num_imprecise_acc=64: every 64 elements"), "{ended:?}");
    assert!(promoted.fine().contains(&code(&result)), "{promoted:?} {}", code(&result));
    let (_, unpromoted) = gemm("tl.dot(fp8e4nv, fp8e4nv)", &[]);
    assert!(plain.fine().contains(&code(&unpromoted)), "{plain:?} {}", code(&unpromoted));
    assert_ne!(result, unpromoted);
    assert_eq!(gemm("tl.dot(fp8e4nv, fp8e4nv)", &["--promote-every", "64"]).1, result);
    assert_eq!(gemm(name, &["--promote-every", "64"]).1, result);
    let refused = gemm(name, &["--promote-every", "128"]).0;
    assert_eq!(refused.code, Some(2), "{refused:?}");
    let why = "--promote-every is 128, and the instruction's name asks for promotion every 64";
    assert!(refused.err.contains(why), "{refused:?}");
    for command in
        [&["run", "h100", name, "-a", &a, "-b", &b, "-o", &d][..], &["golden", "h100", name, "--cases", "1"]]
    {
        let ended = bitmma(command);
        assert_eq!(ended.code, Some(2), "{ended:?}");
    }
    let ended = bitmma(&["run", "h100", name, "-a", &a, "-b", &b, "-o", &d]);
    assert!(
        ended.refused().contains("max_num_imprecise_acc is promotion every 64 elements of K"),
        "{ended:?}"
    );
}
