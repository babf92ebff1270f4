//! `replay`.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use super::{bitmma, command};

const HEADER: &str = "arch,instruction,a,b,c,scale_a,scale_b,d\n";
/// Equation 1 as a recording: Turing answers -0.5 where Volta answers 0.
const TURING: &str = "turing,mma.m16n8k8.f32.f16.f16.f32,f000 b800 b400 b000 0000 0000 0000 0000,\
                      6400 3c00 3c00 3c00 0000 0000 0000 0000,4b000000,,,bf000000\n";
const VOLTA: &str =
    "volta,mma.m8n8k4.f32.f16.f16.f32,f000 b800 b400 b000,6400 3c00 3c00 3c00,4b000000,,,00000000\n";
/// A NaN whose code AMD does not specify, with a code of its own.
const NAN: &str =
    "cdna3,v_mfma_f32_32x32x4_2b_f16,7e00 0000 0000 0000,3c00 0000 0000 0000,00000000,,,ffc00000\n";

fn file(folder: &tempfile::TempDir, text: &str) -> PathBuf {
    let path = folder.path().join("one.csv");
    std::fs::write(&path, text).unwrap();
    path
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

#[test]
fn recordings_agree() {
    let recordings = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../recordings");
    let names = ["hardware/v100.csv", "hardware/ada.csv", "vectors/volta.csv", "vectors/cdna3.csv"];
    let paths = names.map(|name| recordings.join(name));
    let mut arguments = vec!["replay"];
    arguments.extend(paths.iter().map(|path| text(path)));
    let ended = bitmma(&arguments);
    assert!(ended.fine().contains(": 0 mismatches"), "{}", ended.out);
}

#[test]
fn a_mismatch_is_shown_in_full() {
    let folder = tempfile::tempdir().unwrap();
    let path =
        file(&folder, &format!("# a remark\n{HEADER}{VOLTA}{}", TURING.replace("bf000000", "bf400000")));
    let ended = bitmma(&["replay", text(&path)]);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    for part in [
        "2 dot products of 2 instructions: 1 mismatch;",
        "one.csv, line 4",
        "turing mma.m16n8k8.f32.f16.f16.f32",
        "-0.75  0xbf400000  f32",
        "-0.5  0xbf000000  f32",
    ] {
        assert!(ended.out.contains(part), "{part} in {}", ended.out);
    }
    // the command it offers gives the same answer
    let line = ended.out.lines().find(|line| line.starts_with("bitmma explain ")).unwrap();
    let output = std::process::Command::new("sh")
        .args(["-c", &line.replacen("bitmma", text(assert_cmd::cargo::cargo_bin!("bitmma")), 1)])
        .output()
        .unwrap();
    assert!(String::from_utf8_lossy(&output.stdout).contains("\nd = -0.5  0xbf000000  f32\n"), "{output:?}");

    let json = command(&["replay", "--json", text(&path)]).output().unwrap();
    assert_eq!(json.status.code(), Some(1));
    let json: serde_json::Value = serde_json::from_slice(&json.stdout).unwrap();
    assert_eq!((&json["dot_products"], &json["mismatches"]), (&2.into(), &1.into()));
    assert_eq!(json["instructions"][1]["first"]["line"], 4);
    assert_eq!(json["instructions"][1]["first"]["actual"]["code"], "0xbf000000");
}

#[test]
fn nan_codes_matter_only_on_demand() {
    let folder = tempfile::tempdir().unwrap();
    let path = file(&folder, &format!("{HEADER}{NAN}"));
    bitmma(&["replay", text(&path)]).fine();
    assert_eq!(bitmma(&["replay", "--strict-nan", text(&path)]).code, Some(1));
    let path = file(&folder, &format!("{HEADER}{}", NAN.replace("ffc00000", "nan")));
    bitmma(&["replay", "--strict-nan", text(&path)]).fine();
}

/// Semantics, rule 11, as a recording.
#[test]
fn revisions_differ() {
    let folder = tempfile::tempdir().unwrap();
    let zeros = " 00".repeat(30);
    let line = format!("cdna3,v_mfma_f32_16x16x32_fp8_fp8,5a 08{zeros},40 40{zeros},4bfffffc,,,4c000000\n");
    let path = file(&folder, &format!("{HEADER}{line}"));
    bitmma(&["replay", text(&path)]).fine();
    let ended = bitmma(&["replay", "--revision", "paper", text(&path)]);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(ended.out.contains("--revision paper"), "{}", ended.out);
}

#[test]
fn another_model_in_its_place() {
    let folder = tempfile::tempdir().unwrap();
    let path = file(&folder, &format!("{HEADER}{VOLTA}"));
    let toml = bitmma(&["show", "volta", "mma.m8n8k4.f32.f16.f16.f32", "--toml"]).fine().to_owned();
    let model = folder.path().join("model.toml");
    std::fs::write(&model, toml.replace("F = 23", "F = 24")).unwrap();
    let ended = bitmma(&["replay", "--model", text(&model), text(&path)]);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(ended.out.contains("bitmma explain --model"), "{}", ended.out);
    std::fs::write(&model, toml.replace("A = \"f16\"", "A = \"bf16\"")).unwrap();
    bitmma(&["replay", "--model", text(&model), text(&path)]).refused();
}

#[test]
fn the_standard_input() {
    let mut child = command(&["replay", "-"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(format!("{HEADER}{TURING}").as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
}

/// A recording may end after any byte: whatever is left of it either reads as fewer whole lines or is an
/// error that names file and line.
#[test]
fn a_recording_cut_in_the_middle() {
    let whole = format!("{HEADER}{TURING}{VOLTA}");
    let folder = tempfile::tempdir().unwrap();
    let ends = [HEADER.len() + TURING.len(), whole.len()];
    let head = [HEADER.len() - 1, HEADER.len()];
    for cut in (1..whole.len()).step_by(7).chain(whole.len() - 12..whole.len()) {
        let path = file(&folder, &whole[..cut]);
        let ended = bitmma(&["replay", text(&path)]);
        if ends.contains(&cut) || ends.contains(&(cut + 1)) {
            ended.fine();
        } else if head.contains(&cut) {
            assert!(ended.refused().contains("one.csv: 0 dot products"), "{ended:?}");
        } else {
            let message = ended.refused();
            assert!(message.contains("one.csv: line "), "{cut}: {message}");
        }
    }
}

#[test]
fn an_empty_recording_among_others_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = file(&folder, &format!("{HEADER}{TURING}"));
    let empty = folder.path().join("empty.csv");
    std::fs::write(&empty, format!("# a recorder that died\n{HEADER}")).unwrap();
    for files in [[&path, &empty], [&empty, &path]] {
        let ended = bitmma(&["replay", text(files[0]), text(files[1])]);
        assert!(ended.refused().contains("empty.csv: 0 dot products"), "{ended:?}");
        assert!(!ended.err.contains("one.csv"), "{ended:?}");
    }
}

#[test]
fn what_does_not_read_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let missing = folder.path().join("missing.csv");
    assert!(bitmma(&["replay", text(&missing)]).refused().contains("missing.csv"));
    let cases = [
        (VOLTA.replace("m8n8k4", "m8n8k5"), "has no instruction"),
        (VOLTA.replace("volta", "vlta"), "did you mean volta?"),
        (VOLTA.replace("f000 ", ""), "3 codes; 4 were expected"),
        (VOLTA.replace("f000", "xyz0"), "'xyz0'"),
        (VOLTA.replace("4b000000", "4b00000"), "8 hex digits"),
        (VOLTA.replace(",,,", ",,"), "7 fields; 8 were expected"),
        (VOLTA.replace(",,,", ",7f,7f,"), "takes none"),
    ];
    for (line, part) in cases {
        let path = file(&folder, &format!("{HEADER}{TURING}{line}"));
        let ended = bitmma(&["replay", text(&path)]);
        assert!(ended.refused().contains(part), "{part}: {ended:?}");
        assert!(ended.err.contains("one.csv: line 3: "), "{ended:?}");
    }
    let path = file(&folder, "something else\n");
    assert!(bitmma(&["replay", text(&path)]).refused().contains("the header is"));
    std::fs::write(&path, [0xff, 0xfe, 0x00]).unwrap();
    bitmma(&["replay", text(&path)]).refused();
    bitmma(&["replay"]).refused();
}

/// An instruction of a processor, a unit whose model the head gives, and one of which nothing is known.
#[test]
fn units_outside_the_catalogue() {
    let folder = tempfile::tempdir().unwrap();
    let bfdot = "cpu,bfdot,3f80 3f80,3f80 3f80,00000000,,,40000000\n"; // 1 + 1
    let path = file(&folder, &format!("{HEADER}{bfdot}"));
    assert!(bitmma(&["replay", text(&path)]).fine().contains("1 dot product of 1 instruction: 0 mismatches"));
    let path = file(&folder, &format!("{HEADER}{}", bfdot.replace("40000000", "40000001")));
    let ended = bitmma(&["replay", text(&path)]);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(ended.out.contains("cpu bfdot") && !ended.out.contains("bitmma explain"), "{}", ended.out);

    let toml = folder.path().join("mine.toml");
    std::fs::write(&toml, "model = 'E-FDPA'\nA = 'f16'\nB = 'f16'\nC = 'f32'\nrho = 'RO-FP32'\nL_max = 4\n")
        .unwrap();
    let recording = folder.path().join("mine.csv");
    let unit = format!("model:{}@2x2x4", toml.display());
    bitmma(&["record", &unit, "--out", text(&recording), "--samples", "20", "--directed", "20"]).fine();
    assert!(bitmma(&["replay", text(&recording)]).fine().contains(": 0 mismatches"));
    let written = std::fs::read_to_string(&recording).unwrap();
    let bare: String =
        written.lines().filter(|line| !line.starts_with('#')).map(|line| format!("{line}\n")).collect();
    let path = file(&folder, &bare);
    let ended = bitmma(&["replay", text(&path)]);
    assert_eq!(ended.code, Some(2), "{ended:?}");
    for part in ["line 2: unknown architecture", "takes its model from --model", "# model of "] {
        assert!(ended.err.contains(part), "{part} in {}", ended.err);
    }
    let path_of_cpu = file(&folder, &format!("{HEADER}{}", bfdot.replace("bfdot", "bfdo")));
    let ended = bitmma(&["replay", text(&path_of_cpu)]);
    assert_eq!(ended.code, Some(2), "{ended:?}");
    for part in [
        "line 2: cpu has no instruction 'bfdo'; did you mean bfdot?; there are fma.f32, ",
        "# model of cpu/bfdo: ",
    ] {
        assert!(ended.err.contains(part), "{part} in {}", ended.err);
    }
    let path = file(&folder, &bare);
    assert!(bitmma(&["replay", "--model", text(&toml), text(&path)]).fine().contains(": 0 mismatches"));
    let path = file(&folder, &format!("# model of unit/mine: model = 'X'\n{bare}"));
    assert!(bitmma(&["replay", text(&path)]).err.contains("line 1: unit/mine: "));
}
