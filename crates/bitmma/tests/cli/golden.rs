//! `bitmma golden`: four spellings of the same cases, and their answers.

use std::process::{Command, Output};

fn golden(arguments: &[&str]) -> Output {
    Command::new(assert_cmd::cargo::cargo_bin!("bitmma")).arg("golden").args(arguments).output().unwrap()
}

fn text(arguments: &[&str]) -> String {
    let output = golden(arguments);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

const F16: [&str; 2] = ["h100", "mma.m16n8k16.f32.f16.f16.f32"];
const FP4: [&str; 2] = ["rtx-blackwell", "mma.m16n8k64.kind::mxf4nvf4.block16.f32.e2m1.e2m1.f32.ue4m3"];

/// A recording's line as the word that hex writes: the first field lowest, each code in its own bits.
fn word(line: &str, bits: [u32; 6]) -> String {
    let fields: Vec<&str> = line.split(',').collect();
    let mut low_first = Vec::new();
    // a, b, scale_a, scale_b, c, d
    for (column, bits) in [2, 3, 5, 6, 4, 7].into_iter().zip(bits) {
        for code in fields[column].split_whitespace() {
            let code = u64::from_str_radix(code, 16).unwrap();
            low_first.extend((0..bits).map(|bit| code >> bit & 1));
        }
    }
    let digit = |bits: &[u64]| bits.iter().rev().fold(0, |digit, bit| digit << 1 | bit);
    low_first.chunks(4).rev().map(|bits| char::from_digit(digit(bits) as u32, 16).unwrap()).collect()
}

#[test]
fn words_are_those_of_the_recording() {
    for (unit, bits) in [(F16, [16, 16, 0, 0, 32, 32]), (FP4, [4, 4, 8, 8, 32, 32])] {
        let with =
            |format| text(&[&unit[..], &["--cases", "60", "--seed", "7", "--format", format]].concat());
        let (csv, hex, svh) = (with("csv"), with("hex"), with("svh"));
        let lines: Vec<&str> = csv.lines().filter(|line| !line.starts_with('#')).skip(1).collect();
        let words: Vec<&str> = hex.lines().filter(|line| !line.starts_with("//")).collect();
        assert_eq!((lines.len(), words.len()), (60, 60));
        for (line, found) in lines.iter().zip(&words) {
            assert_eq!(*found, word(line, bits), "{line}");
            assert!(svh.contains(&format!("'h{found}")), "{line}");
        }
        assert!(svh.contains("localparam int GOLDEN_CASES = 60;") && svh.ends_with("endpackage\n"));
        assert_eq!(with("hex"), hex, "the same options give the same file");
    }
    let hex = text(&[F16[0], F16[1], "--cases", "1"]);
    assert!(
        hex.contains(
            "// 576 bits: [255:0] a (16 codes of 16), [511:256] b (16 codes of 16), [543:512] c, [575:544] d"
        ),
        "{hex}"
    );
}

/// Both paths of the replay agree, and a model's file goes with its recording.
#[test]
fn recordings_replay() {
    let folder = tempfile::tempdir().unwrap();
    let model = concat!(env!("CARGO_MANIFEST_DIR"), "/../c/sv/example/tfdpa.toml");
    for (at, unit) in
        [&F16[..], &FP4[..], &["mi300x", "v_mfma_f32_32x32x8_f16"], &["--model", model]].iter().enumerate()
    {
        let file = folder.path().join(format!("{at}.csv"));
        let path = file.to_str().unwrap();
        let said = text(&[unit, &["--cases", "3000", "--format", "csv", "-o", path][..]].concat());
        assert!(said.contains("1500 directed cases and 1500 random ones of "), "{said}");
        let replay =
            Command::new(assert_cmd::cargo::cargo_bin!("bitmma")).args(["replay", path]).output().unwrap();
        assert_eq!(replay.status.code(), Some(0), "{replay:?}");
        assert!(String::from_utf8_lossy(&replay.stdout).contains("3000"), "{replay:?}");
    }
}

#[test]
fn wrong_wishes_are_refused() {
    for (arguments, words) in [
        (&["--cases", "0"][..], "'0' for '--cases <N>': must be an integer from 1 to 10000000"),
        (&["--cases", "10000001"], "'10000001' for '--cases <N>'"),
        (&["--format", "npz"], "--format npz needs --out FILE"),
        (&["--format", "vcd"], "vcd"),
        (&["-o", "/no/such/folder/x"], "/no/such/folder"),
    ] {
        let output = golden(&[&F16[..], arguments].concat());
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        assert!(String::from_utf8_lossy(&output.stderr).contains(words), "{output:?}");
        assert!(output.stdout.is_empty());
    }
}

#[test]
fn one_case_is_not_several() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("one.csv");
    let said = text(&[&F16[..], &["--cases", "1", "--format", "csv", "-o", path.to_str().unwrap()]].concat());
    assert!(said.starts_with("1 directed case and 0 random ones of "), "{said}");
    assert!(std::fs::read_to_string(path).unwrap().contains("1 directed case,"));
}
