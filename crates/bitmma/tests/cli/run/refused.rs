//! What `bitmma run` refuses: one message with the numbers in it, exit code 2, nothing written.

use super::files::Bench;
use super::files::{bytes, matrix, npy, npy_with, placed, safetensors, safetensors_with};
use super::vectors::{HOPPER_F16, check, operands};
use super::{F16, hopper};

#[test]
fn another_type_is_refused() {
    let bench = hopper();
    let run = |a: &str, wanted: &[&str]| {
        bench.fails(&format!("hopper {F16} -a {a} -b b.npy -o d.npy"), wanted);
    };
    let file = |name: &str, dtype: &str, width: usize| {
        bench.put(name, &safetensors(&[("x", dtype, &[16, 16], vec![0; 256 * width])]));
    };
    let takes = "f16 is read from F16 or from U16 codes";
    for (dtype, width) in [
        ("BF16", 2),
        ("F32", 4),
        ("F64", 8),
        ("I16", 2),
        ("U8", 1),
        ("U32", 4),
        ("BOOL", 1),
        ("F8_E4M3", 1),
        ("C64", 8),
    ] {
        file("x.safetensors", dtype, width);
        run("x.safetensors", &[&format!("--a: x.safetensors:x holds {dtype}, 16×16; {takes}")]);
    }
    let takes = "f16 is read from float16 or from uint16 codes";
    for (name, words, width) in [
        ("<f4", "float32 ('<f4')", 4),
        (">f8", "float64 ('>f8')", 8),
        ("<i2", "int16 ('<i2')", 2),
        ("|u1", "uint8 ('|u1')", 1),
        ("<u4", "uint32 ('<u4')", 4),
        ("|b1", "bool ('|b1')", 1),
        ("<c8", "complex64 ('<c8')", 8),
        ("<U2", "'<U2'", 8),
    ] {
        bench.put("x.npy", &npy(name, false, "(16, 16)", &vec![0; 256 * width]));
        run("x.npy", &[&format!("--a: x.npy holds {words}, 16×16; {takes}")]);
    }
    // ml_dtypes' types do not survive numpy.save, and what NumPy has a float for would not have been one of them
    for (name, width) in [("<V2", 2), ("|V2", 2), ("|V1", 1)] {
        bench.put("x.npy", &npy(name, false, "(16, 16)", &vec![0; 256 * width]));
        run("x.npy", &[&format!("'{name}'"), "save array.view(numpy.uint16)", "safetensors"]);
    }
    bench.put("x.npy", &npy("<f1", false, "(16, 16)", &[0; 256]));
    run("x.npy", &["'<f1'", "save array.view(numpy.uint16)"]);
    bench.put(
        "x.npy",
        &npy_with("{'descr': [('v', '<f2')], 'fortran_order': False, 'shape': (16, 16), }", &[0; 512]),
    );
    run("x.npy", &["x.npy holds records, 16×16"]);
    bench.put("x.npy", &npy("|O", false, "(16, 16)", b"pickled"));
    run("x.npy", &["'|O'"]);

    // OCP is not FNUZ, E4M3 is not E5M2, an FP32 word is not FP64
    let bench = Bench::new();
    bench
        .put("ocp.safetensors", &safetensors(&[("x", "F8_E5M2", &[16, 32], vec![0; 512])]))
        .put("b.npy", &matrix("|u1", (32, 16), &[0; 512]));
    bench.fails(
        "cdna3 v_mfma_f32_16x16x32_bf8_fp8 -a ocp.safetensors -b b.npy -o d.npy",
        &["holds F8_E5M2, 16×32; e5m2fnuz is read from F8_E5M2FNUZ or from U8 codes"],
    );
}

/// What ml_dtypes' arrays become in .npy files is read where the instruction says what they are.
#[test]
fn void_types_are_codes_where_the_instruction_fixes_the_format() {
    let bench = Bench::new();
    let codes: Vec<u8> = (0..512u32).map(|index| (index % 120) as u8).collect();
    for (name, file) in [("u.npy", "|u1"), ("v.npy", "|V1"), ("f.npy", "<f1")] {
        bench.put(name, &npy(file, false, "(16, 32)", &codes));
    }
    bench.put("b.npy", &matrix("|u1", (32, 8), &[0x38; 256]));
    let unit = "ada mma.m16n8k32.f32.e4m3.e4m3.f32";
    for name in ["u", "v", "f"] {
        bench.runs(&format!("{unit} -a {name}.npy -b b.npy -o d-{name}.npy"));
    }
    let read = |name: &str| std::fs::read(bench.path(&format!("d-{name}.npy"))).unwrap();
    assert_eq!(read("u"), read("v"));
    assert_eq!(read("u"), read("f"));
}

#[test]
fn codes_that_do_not_fit_are_refused() {
    let bench = Bench::new();
    let mut a = vec![0; 16 * 32];
    a[5 * 32 + 7] = 0x40;
    bench
        .put("a.npy", &matrix("|u1", (16, 32), &a))
        .put("b.npy", &matrix("|u1", (32, 8), &[0x3f; 256]))
        .put("sa.npy", &matrix("|u1", (16, 1), &[127; 16]))
        .put("sb.npy", &matrix("|u1", (1, 8), &[127; 8]));
    let fp6 = "mma.m16n8k32.kind::mxf8f6f4.block32.f32.e3m2.e2m3.f32.ue8m0";
    let rest = "-b b.npy --scale-a sa.npy --scale-b sb.npy -o d.npy";
    bench.fails(
        &format!("rtx-blackwell {fp6} -a a.npy {rest}"),
        &["--a: a.npy[5, 7] is 0x40; e3m2 codes have 6 bits, so 0x3f is the largest"],
    );
    // the index is the file's, whatever its order, and transposed
    bench.put("a.npy", &matrix("|u1", (16, 32), &[0; 512]));
    bench.put(
        "b.npy",
        &npy("|u1", true, "(8, 32)", &bytes(&placed(32, 8, &[(9, vec![0, 0, 0xff])], true), 1, false)),
    );
    bench.fails(
        &format!("rtx-blackwell {fp6} -a a.npy --b-transposed {rest}"),
        &["--b: b.npy[2, 9] is 0xff; e2m3 codes have 6 bits"],
    );
}

#[test]
fn wrong_shapes_are_refused() {
    let bench = hopper();
    let run =
        |wanted: &[&str]| bench.fails(&format!("hopper {F16} -a a.npy -b b.npy -c c.npy -o d.npy"), wanted);
    let expected = "a matrix has two dimensions, several matrices of one shape have three";
    for (shape, count, wanted) in [
        ("(16, 8)", 128, "A is 16×8, mma.m16n8k16.f32.f16.f16.f32 takes 16×16"),
        ("(32, 16)", 512, "A is 32×16"),
        ("(2, 16, 16)", 512, "A is 2×16×16, "),
        ("(0, 16)", 0, "A is 0×16, "),
        ("(256,)", 256, "a.npy has shape (256); "),
        ("()", 1, "a.npy has shape (); "),
        ("(1, 1, 16, 16)", 256, "a.npy has shape 1×1×16×16; "),
    ] {
        bench.put("a.npy", &npy("<f2", false, shape, &vec![0; 2 * count]));
        run(&[wanted]);
        if wanted.contains("has shape") {
            run(&[expected]);
        }
    }
    bench.put("a.npy", &matrix("<f2", (16, 16), &[0; 256])).put("c.npy", &matrix("<f4", (8, 16), &[0; 128]));
    run(&["C is 8×16, mma.m16n8k16.f32.f16.f16.f32 takes 16×8"]);
    bench.put("b.npy", &matrix("<f2", (8, 16), &[0; 128]));
    run(&["B is 8×16, mma.m16n8k16.f32.f16.f16.f32 takes 16×8 (if B's file is N×K, say --b-transposed)"]);
}

#[test]
fn scale_factors_are_checked() {
    let instruction = "mma.m16n8k32.kind::mxf8f6f4.block32.f32.e2m1.e2m1.f32.ue8m0";
    let bench = Bench::new();
    bench
        .put("a.npy", &matrix("|u1", (16, 32), &[1; 512]))
        .put("b.npy", &matrix("|u1", (32, 8), &[1; 256]))
        .put("sa.npy", &matrix("|u1", (16, 1), &[127; 16]))
        .put("sb.npy", &matrix("|u1", (1, 8), &[127; 8]))
        .put("sb2.npy", &matrix("|u1", (2, 8), &[127; 16]))
        .put("sb4.npy", &matrix("|u1", (1, 4), &[127; 4]))
        .put("flat.npy", &npy("|u1", false, "(8,)", &[127; 8]))
        .put("e4m3.safetensors", &safetensors(&[("s", "F8_E4M3", &[1, 8], vec![127; 8])]));
    let run = |flags: &str, wanted: &[&str]| {
        bench.fails(&format!("rtx-blackwell {instruction} -a a.npy -b b.npy -o d.npy {flags}"), wanted);
    };
    let both = |scale_b: &str, wanted: &str| run(&format!("--scale-a sa.npy --scale-b {scale_b}"), &[wanted]);
    both("sb2.npy", "scale B is 2×8, ");
    both("sb4.npy", "scale B is 1×4, ");
    both("sb4.npy", "takes 1×8");
    both("flat.npy", "flat.npy has shape (8); ");
    both(
        "e4m3.safetensors",
        "e4m3.safetensors:s holds F8_E4M3, 1×8; ue8m0 is read from F8_E8M0 or from U8 codes",
    );
    run(
        "--scale-a sa.npy",
        &["--scale-b is missing; ", "takes one ue8m0 factor for every 32 elements of B along K"],
    );
    run("", &["--scale-a is missing; "]);
    let bench = hopper();
    bench.put("s.npy", &matrix("|u1", (1, 8), &[127; 8]));
    bench.fails(
        &format!("hopper {F16} -a a.npy -b b.npy --scale-b s.npy -o d.npy"),
        &["--scale-b is given; hopper mma.m16n8k16.f32.f16.f16.f32 takes no scale factors"],
    );
}

#[test]
fn npy_files_that_lie_are_refused() {
    let bench = hopper();
    let good = std::fs::read(bench.path("a.npy")).unwrap();
    let run = |file: &[u8], wanted: &[&str]| {
        bench.put("x.npy", file);
        bench.fails(
            &format!("hopper {F16} -a x.npy -b b.npy -o d.npy"),
            &[&["--a: x.npy: "], wanted].concat(),
        );
    };
    // cut anywhere, and one byte too long
    for length in [0, 5, 6, 7, 8, 9, 10, 50, 127, 128, 129, good.len() - 1] {
        run(&good[..length], &[]);
    }
    run(&[], &["it looks like an empty file; a .npy array was expected"]);
    run(&good[..5], &[r"no .npy file: it begins with \x93NUMP; \x93NUMPY was expected"]);
    run(&good[..100], &["cut short: a header of 118 bytes; 90 follow its length"]);
    run(&good[..good.len() - 1], &["16×16 of float16 ('<f2') take 512 bytes; 511 follow the header"]);
    run(&[&good[..], &[0]].concat(), &["take 512 bytes; 513 follow the header"]);
    run(b"PK\x03\x04 this is an .npz", &["no .npy file"]);
    let mut other = good.clone();
    other[6] = 9;
    run(&other, &[".npy version 9.0; 1.0, 2.0 and 3.0 are known"]);
    // a header that claims four gigabytes, one of 20,000 bytes, and a great many brackets
    run(b"\x93NUMPY\x02\x00\xff\xff\xff\xff{'descr'", &["a header of 4294967295 bytes; 10000"]);
    run(&npy_with(&" ".repeat(20_000), &[]), &["a header of 2", "10000"]);
    run(&npy_with(&"(".repeat(9_000), &[]), &["recurse"]);
    // dimensions that overflow, also with a zero among them
    let sized = |shape: &str| npy("<f2", false, shape, &[0; 512]);
    for shape in ["(4294967296, 4294967296)", "(9223372036854775807, 3)", "(4294967296, 0, 4294967296)"] {
        run(&sized(shape), &[&format!("multiply to more than 64 bits hold: {shape}\n")]);
    }
    run(&sized("(99999999999999999999, 1)"), &["'shape': "]);
    run(&sized("(9223372036854775807, 2)"), &["take more bytes than there are; 512 follow"]);
    run(
        &sized("(1000000, 1000000)"),
        &["1000000×1000000 of float16 ('<f2') take 2000000000000 bytes; 512 follow"],
    );
    run(&sized("(-16, 16)"), &["-16"]);
    run(&sized("16"), &["shape"]);
    // no dictionary that NumPy would write
    for header in [
        "",
        "{}",
        "[1, 2]",
        "{'descr': '<f2', 'fortran_order': False}",
        "{'descr': '<f2', 'fortran_order': 1, 'shape': (16, 16)}",
        "{'descr': 3, 'fortran_order': False, 'shape': (16, 16)}",
        "{'descr': '<q7', 'fortran_order': False, 'shape': (16, 16)}",
        "{'descr': '', 'fortran_order': False, 'shape': (16, 16)}",
        "{'descr': '<f2', 'descr': '<f2', 'fortran_order': False, 'shape': (16, 16)}",
        "{'descr': '<f2', 'fortran_order': False, 'shape': (16, 16), 'more': 1}",
        "{'descr': '<f2', 'fortran_order': False, 'shape': (16L, 16L)}",
        "{'descr': '<f2', 'fortran_order': False, 'shape': (16, 16",
        "{'descr': '<f2, 'fortran_order': False, 'shape': (16, 16)}",
        "{'descr': '<f2', 'fortran_order': False, 'shape': (16, 16)} + print()",
        "{'descr': '\\x3cf2', 'fortran_order': False, 'shape': (16, 16)}",
        "{'déscr': '<f2', 'fortran_order': False, 'shape': (16, 16)}",
    ] {
        run(&npy_with(header, &[0; 512]), &[]);
    }
    run(&npy_with("\u{fffd}", &[0; 512]), &["the header is not a dictionary"]);
}

#[test]
fn safetensors_files_that_lie_are_refused() {
    let bench = hopper();
    let run = |file: &[u8], wanted: &[&str]| {
        bench.put("x.safetensors", file);
        bench.fails(
            &format!("hopper {F16} -a x.safetensors -b b.npy -o d.npy"),
            &[&["--a: x.safetensors: "], wanted].concat(),
        );
    };
    let good = safetensors(&[("a", "F16", &[16, 16], vec![0; 512])]);
    let header = good.len() - 520;
    for length in [0, 3, 7, 8, 9, 8 + header - 1, 8 + header, good.len() - 1] {
        run(&good[..length], &[]);
    }
    run(&good[..3], &["no .safetensors file: 3 bytes; the length of its header alone takes 8"]);
    run(&good[..50], &["cut short: a header of", &format!("{header} bytes; 42 follow its length")]);
    run(&good[..good.len() - 1], &["its tensors take 512 bytes; 511 follow the header"]);
    run(&[&good[..], &[0]].concat(), &["its tensors take 512 bytes; 513 follow the header"]);
    run(b"\x93NUMPY\x01\x00 rest", &["no .safetensors file, or cut short"]);
    run(&[0xff; 64], &["a header of 18446744073709551615 bytes; 56 follow its length"]);
    run(&safetensors_with("not JSON", &[]), &["its header does not read"]);
    run(&safetensors_with(&"[".repeat(100_000), &[]), &["its header does not read"]);
    run(&safetensors_with("{}", &[]), &["it holds no tensor"]);
    let one = |dtype: &str, shape: &str, from: u64, to: u64| {
        safetensors_with(
            &format!(r#"{{"a":{{"dtype":"{dtype}","shape":{shape},"data_offsets":[{from},{to}]}}}}"#),
            &[0; 512],
        )
    };
    run(
        &one("F16", "[16,17]", 0, 512),
        &["tensor 'a' (F16, 16×17) takes 544 bytes; its offsets 0 to 512 hold 512"],
    );
    run(&one("F16", "[16,16]", 0, 1 << 40), &["takes 512 bytes; its offsets 0 to 1099511627776"]);
    run(&one("F16", "[549755813888,1]", 0, 1 << 40), &["its tensors take 1099511627776 bytes; 512 follow"]);
    run(&one("F16", "[16,16]", 8, 520), &["lies at bytes 8 to 520; the tensor before it ends at 0"]);
    run(&one("F16", "[16,16]", 512, 0), &["512 to 0"]);
    run(&one("F16", "[4294967296,4294967296,4]", 0, 512), &["more elements than memory could hold"]);
    run(&one("F4", "[3,3]", 0, 5), &["tensor 'a' (F4, 3×3)"]);
    run(&one("F16", "[-16,16]", 0, 512), &["tensor 'a': "]);
    run(&one("F128", "[16,16]", 0, 512), &["tensor 'a': ", "F128"]);
    // zero elements of enormous dimensions are no matrix for anything, and no overflow
    run_zero(&bench);
}

fn run_zero(bench: &Bench) {
    let header = r#"{"a":{"dtype":"F16","shape":[0,9223372036854775807,4],"data_offsets":[0,0]}}"#;
    bench.put("x.safetensors", &safetensors_with(header, &[]));
    for flag in ["--json", "--b-transposed"] {
        bench.fails(
            &format!("hopper {F16} -a x.safetensors -b x.safetensors {flag} -o d.npy"),
            &["A is 0×9223372036854775807×4, "],
        );
    }
}

#[test]
fn tensors_are_chosen_by_name() {
    let bench = hopper();
    let [a, _, _] = operands(&HOPPER_F16, (16, 8, 16));
    let file = safetensors(&[
        ("model.layers.0:weight", "F16", &[16, 16], bytes(&a, 2, false)),
        ("bias", "F32", &[16], vec![0; 64]),
    ]);
    bench.put("x.safetensors", &file).put("X.SafeTensors", &file);
    let run =
        |a: &str, wanted: &[&str]| bench.fails(&format!("hopper {F16} -a {a} -b b.npy -o d.npy"), wanted);
    run(
        "x.safetensors",
        &[
            "x.safetensors: it holds 2 tensors; choose one as x.safetensors:NAME",
            "  bias: F32, (16)\n  model.layers.0:weight: F16, 16×16",
        ],
    );
    run("x.safetensors:weight", &["it has no tensor 'weight'; it holds\n  bias: F32"]);
    run("x.safetensors:bias", &["x.safetensors:bias holds F32, (16); f16 is read from F16"]);
    run("x.safetensors:", &["a tensor's name must follow the colon"]);
    run("a.npy:x", &["a .npy file holds one array, which has no name"]);
    run("a.csv", &["a recording needs a column: FILE.csv:a"]);
    run("a.csv:", &["a column's name must follow the colon"]);
    run("a.txt", &["the name must end in .npy or .safetensors"]);
    run(".npy", &["the name must end in .npy or .safetensors"]);
    for name in ["x.safetensors:model.layers.0:weight", "X.SafeTensors:model.layers.0:weight"] {
        bench.runs(&format!("hopper {F16} -a {name} -b b.npy -c c.npy -o d.npy"));
        check(&bench.npy("d.npy", "<f4", &[16, 8]), &HOPPER_F16, 8);
    }
    // a long list is cut
    let many: Vec<String> = (0..40).map(|index| format!("t{index:02}")).collect();
    let tensors: Vec<(&str, &str, &[usize], Vec<u8>)> =
        many.iter().map(|name| (name.as_str(), "U8", &[1usize][..], vec![0])).collect();
    bench.put("many.safetensors", &safetensors(&tensors));
    run("many.safetensors", &["it holds 40 tensors", "  t11: U8, (1)\n  and 28 more"]);
}

#[test]
fn nothing_is_written_where_it_cannot_be() {
    let bench = hopper();
    let run = |out: &str, wanted: &[&str]| {
        bench.fails(&format!("hopper {F16} -a a.npy -b b.npy -o {out}"), &[&["--out: "], wanted].concat());
    };
    run("d.csv", &["d.csv: the name must end in .npy or .safetensors"]);
    run("d", &["the name must end in"]);
    run("nowhere/d.npy", &["nowhere/d.npy: there is no directory nowhere"]);
    std::fs::create_dir(bench.path("folder.npy")).unwrap();
    run("folder.npy", &["folder.npy: it is a directory"]);
    // the name is looked at before the inputs are: it is the cheaper mistake
    bench.fails(&format!("hopper {F16} -a missing.npy -b b.npy -o d.csv"), &["d.csv"]);
    // .npy has no bfloat16
    let model = "model = \"FMA\"\nA = \"bf16\"\nB = \"bf16\"\nC = \"bf16\"\nrho = \"RNE-BF16\"\n";
    bench.put("bf16.toml", model.as_bytes()).put("one.npy", &matrix("<u2", (1, 1), &[0x3f80]));
    let start = "--model bf16.toml -a one.npy -b one.npy -o";
    bench.fails(&format!("{start} d.npy"), &["D is bf16, which .npy has no type for; write a .safetensors"]);
    bench.runs(&format!("{start} d.safetensors"));
    let file = std::fs::read(bench.path("d.safetensors")).unwrap();
    assert_eq!(file[file.len() - 2..], [0x80, 0x3f]);
    // an existing file stays as it is when the inputs are wrong, and is replaced when they are not
    bench.put("d.npy", b"old");
    bench.fails(&format!("hopper {F16} -a b.npy -b b.npy -o d.npy"), &["A is 16×8"]);
    assert_eq!(std::fs::read(bench.path("d.npy")).unwrap(), b"old");
    bench.runs(&format!("hopper {F16} -a a.npy -b b.npy -o d.npy"));
    bench.npy("d.npy", "<f4", &[16, 8]);
}

#[cfg(target_os = "linux")]
#[test]
fn a_folder_where_nobody_may_write() {
    hopper().fails(
        &format!("hopper {F16} -a a.npy -b b.npy -o /proc/d.npy"),
        &["--out: /proc/d.npy: no file can be made in /proc: No such file or directory (os error 2)\n"],
    );
}

#[cfg(target_os = "linux")]
#[test]
fn a_name_that_is_not_utf8_is_named_with_its_option() {
    use std::ffi::{OsStr, OsString};
    use std::os::unix::ffi::OsStrExt;

    let bad = OsStr::from_bytes(b"bad\xff.npy").to_owned();
    let line = |words: &[&OsStr]| {
        let mut command = std::process::Command::new(assert_cmd::cargo::cargo_bin!("bitmma"));
        let output = command.args(words).output().unwrap();
        assert_eq!(output.status.code(), Some(2));
        String::from_utf8(output.stderr).unwrap()
    };
    let words: Vec<OsString> = format!("gemm hopper {F16} -o").split(' ').map(OsString::from).collect();
    // D may go anywhere; A may not
    let mut words: Vec<&OsStr> = words.iter().map(OsString::as_os_str).collect();
    words.extend([&bad, OsStr::new("-a"), &bad, OsStr::new("-b"), OsStr::new("b.npy")]);
    assert_eq!(line(&words), "error: -a: 'bad\u{fffd}.npy' is not UTF-8; names must be\n");
    let unit = [OsStr::new("verify"), &bad];
    assert_eq!(line(&unit), "error: 'bad\u{fffd}.npy' is not UTF-8; names must be\n");
}

#[cfg(target_os = "linux")]
#[test]
fn output_that_cannot_be_written_is_an_error() {
    let full = |line: &str| {
        let mut command = std::process::Command::new(assert_cmd::cargo::cargo_bin!("bitmma"));
        let device = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let output = command.args(line.split(' ')).stdout(device).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{line}");
        let error = String::from_utf8(output.stderr).unwrap();
        assert!(error.starts_with("error: the standard output: No space left"), "{line}: {error}");
    };
    for line in ["--help", "--version", "gemm --help", "list", "list --json"] {
        full(line);
    }
}

#[cfg(unix)]
#[test]
fn a_folder_that_may_not_be_written_is_left_alone() {
    use std::os::unix::fs::PermissionsExt;

    let bench = hopper();
    std::fs::create_dir(bench.path("closed")).unwrap();
    let set =
        |mode| std::fs::set_permissions(bench.path("closed"), std::fs::Permissions::from_mode(mode)).unwrap();
    set(0o500);
    if std::fs::write(bench.path("closed/probe"), b"").is_ok() {
        eprintln!("skipped: this user may write anywhere (root)");
        std::fs::remove_file(bench.path("closed/probe")).unwrap();
    } else {
        bench.fails(&format!("hopper {F16} -a a.npy -b b.npy -o closed/d.npy"), &["--out: closed/d.npy: "]);
    }
    set(0o700);
    // a new file may be read by whom any other new file may be
    bench.runs(&format!("hopper {F16} -a a.npy -b b.npy -o d.npy"));
    let mode = |name: &str| std::fs::metadata(bench.path(name)).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode("d.npy"), mode("a.npy"));
}

#[test]
fn inputs_that_cannot_be_opened_are_refused() {
    let bench = hopper();
    let run =
        |a: &str, wanted: &[&str]| bench.fails(&format!("hopper {F16} -a {a} -b b.npy -o d.npy"), wanted);
    run("missing.npy", &["--a: missing.npy: "]);
    run("missing.safetensors", &["--a: missing.safetensors: "]);
    std::fs::create_dir(bench.path("dir.npy")).unwrap();
    std::fs::create_dir(bench.path("dir.safetensors")).unwrap();
    run("dir.npy", &["--a: dir.npy: "]);
    run("dir.safetensors", &["--a: dir.safetensors: "]);
    bench.fails("hopper mma.m16n8k16.f32.f16.f16.f23 -a a.npy -b b.npy -o d.npy", &["did you mean"]);
    bench.fails(
        "hopper foo -a a.npy -b b.npy -o d.npy",
        &["no instruction 'foo'; `bitmma list hopper` lists them"],
    );
    bench.fails(&format!("hoper {F16} -a a.npy -b b.npy -o d.npy"), &["hopper"]);
    bench.fails(&format!("hopper {F16} -a a.npy -b b.npy"), &["--out"]);
    assert!(bench.folder().is_dir());
}
