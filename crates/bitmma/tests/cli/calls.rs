//! `bitmma call`, `bitmma plan`, `bitmma verify-calls`.

use std::path::{Path, PathBuf};

use assert_cmd::Command;
use serde_json::Value;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn bitmma(arguments: &[&str]) -> (i32, String, String) {
    let mut command = Command::cargo_bin("bitmma").expect("the command is built");
    let done = command.current_dir(root()).args(arguments).output().expect("it runs");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("text");
    (done.status.code().unwrap_or(-1), text(done.stdout), text(done.stderr))
}

struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Folder {
        Folder(tempfile::tempdir().expect("a folder"))
    }

    fn path(&self, name: &str) -> String {
        self.0.path().join(name).display().to_string()
    }

    /// An `.npy` of codes.
    fn npy(&self, name: &str, (rows, columns): (usize, usize), kind: &str, bytes: &[u8]) -> String {
        let mut file = b"\x93NUMPY\x01\x00".to_vec();
        let header =
            format!("{{'descr': '{kind}', 'fortran_order': False, 'shape': ({rows}, {columns}), }}\n");
        file.extend_from_slice(&(header.len() as u16).to_le_bytes());
        file.extend_from_slice(header.as_bytes());
        file.extend_from_slice(bytes);
        let path = self.path(name);
        std::fs::write(&path, file).expect("written");
        path
    }

    /// A and B of 16×512 E4M3 codes near one, with signs.
    fn operands(&self) -> (String, String) {
        let codes = |seed: u32| -> Vec<u8> {
            let mut state = seed;
            let mut next = || {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                (state >> 24) as u8
            };
            (0..16 * 512).map(|_| (0x28 + next() % 0x20) | (next() & 0x80)).collect()
        };
        (self.npy("a.npy", (16, 512), "|u1", &codes(1)), self.npy("b.npy", (16, 512), "|u1", &codes(2)))
    }
}

#[test]
fn recorded_calls_and_fixtures_agree() {
    let (code, text, error) =
        bitmma(&["verify-calls", "recordings/calls", "recordings/calls/planner/plans.csv"]);
    assert_eq!(code, 0, "{text}{error}");
    assert!(text.contains("2161 agree (846680 values, 0 differ), 1667 rejected as the rules say"), "{text}");
    assert!(
        text.contains("2230 plans agree, 568 declined by both, 248 declined here for empty parts, 0 differ"),
        "{text}"
    );
}

#[test]
fn a_difference_names_the_rule_and_exits_with_1() {
    let folder = Folder::new();
    let index = std::fs::read_to_string(root().join("recordings/calls/index.json")).expect("the index");
    let mut index: Value = serde_json::from_str(&index).expect("JSON");
    let cases = index["cases"].as_array().expect("cases");
    // pairwise splits, said to be serial
    let mut split: Vec<Value> =
        cases.iter().filter(|case| case["plan"]["order"] == "pairwise").cloned().collect();
    split.iter_mut().for_each(|case| case["plan"]["order"] = "serial".into());
    index["cases"] = split.into();
    index["arrays"] = std::fs::canonicalize(root().join("recordings/calls/calls.npz"))
        .expect("there")
        .display()
        .to_string()
        .into();
    let path = folder.path("index.json");
    std::fs::write(&path, index.to_string()).expect("written");
    let (code, text, _) = bitmma(&["verify-calls", &path]);
    assert_eq!(code, 1, "{text}");
    assert!(text.contains("rule 16 decides it: with a pairwise merge it would agree"), "{text}");
    std::fs::write(&path, "{}").expect("written");
    let (code, _, error) = bitmma(&["verify-calls", &path]);
    assert_eq!(code, 2);
    assert!(error.contains("missing field"), "{error}");
}

#[test]
fn a_call_runs_explains_and_compares() {
    let folder = Folder::new();
    let (a, b) = folder.operands();
    let out = folder.path("d.npy");
    let call = [
        "call",
        "h100-pcie",
        "scaled_mm",
        "--a",
        &a,
        "--b",
        &b,
        "--bt",
        "--scale-a",
        "0.5",
        "--scale-b",
        "0.25",
    ];
    let (code, text, error) = bitmma(&[&call[..], &["--fast", "--out-type", "f32", "--out", &out]].concat());
    assert_eq!((code, text.as_str()), (2, ""));
    assert!(error.contains("declined: 16×16×512 is not in the decisions of NVIDIA H100 PCIe"), "{error}");
    assert!(!Path::new(&out).exists());

    let more = ["--fast", "--out-type", "f32", "--out", &out, "--assume", "unsplit", "--explain", "0,1"];
    let (code, text, error) = bitmma(&[&call[..], &more, &["--compare-with", "rtx4060", "--json"]].concat());
    assert_eq!(code, 1, "{error}"); // H100 and RTX 4060 differ
    let json: Value = serde_json::from_str(&text).expect("JSON");
    assert!(json["assumed"][0].as_str().is_some_and(|text| text.contains("K is not split")));
    assert_eq!(json["evidence"], "derived");
    let comparison = &json["comparisons"][0];
    assert!(comparison["differing"].as_u64().is_some_and(|count| count > 100), "{comparison}");
    assert_eq!(comparison["causes"][0]["exchanged"], "instruction");
    assert_eq!(comparison["causes"][0]["differing"], comparison["differing"]);
    assert!(json["explanation"].as_array().is_some_and(|lines| lines.len() >= 3));
    assert!(Path::new(&out).exists());

    // what the library rejects, and what contradicts itself
    let (code, _, error) =
        bitmma(&[&call[..], &["--type-a", "e5m2", "--out-type", "f32", "--out", &out]].concat());
    assert_eq!(code, 2);
    assert!(error.contains("E5M2 times E5M2 is not supported (rule 27)"), "{error}");
    let (code, _, error) =
        bitmma(&[&call[..], &["--assume", "luck", "--out-type", "f32", "--out", &out]].concat());
    assert_eq!(code, 2);
    assert!(error.contains("luck"), "{error}");
}

#[test]
fn a_plan_is_printed_read_back_and_run() {
    let folder = Folder::new();
    let (a, b) = folder.operands();
    let split = ["--type", "e4m3", "--fast", "--out-type", "f32", "--parts", "3", "--merge", "pairwise"];
    let shape = ["plan", "rtx4060", "--m", "16", "--n", "16", "--k", "512"];
    let (code, plan, error) = bitmma(&[&shape[..], &split].concat());
    assert_eq!(code, 0, "{error}");
    assert!(plan.contains("# evidence: recorded"), "{plan}");
    let file = folder.path("plan.toml");
    std::fs::write(&file, &plan).expect("written");
    let (one, two) = (folder.path("1.npy"), folder.path("2.npy"));
    let call = ["call", "rtx4060", "scaled_mm", "--a", &a, "--b", &b, "--bt", "--fast", "--out-type", "f32"];
    let (code, _, error) = bitmma(&[&call[..], &["--plan", &file, "--out", &one]].concat());
    assert_eq!(code, 0, "{error}");
    let (code, _, error) =
        bitmma(&[&call[..], &["--parts", "3", "--merge", "pairwise", "--out", &two]].concat());
    assert_eq!(code, 0, "{error}");
    assert_eq!(std::fs::read(&one).expect("there"), std::fs::read(&two).expect("there"));
    let with = |more: &[&str]| bitmma(&[&call[..], &["--plan", &file, "--out", &one], more].concat());
    let (code, _, error) = with(&["--compare-with", "h100-pcie"]);
    assert!(
        code == 2 && error.contains("so nothing would differ"),
        "a plan is not compared with itself: {error}"
    );
    for option in ["--workspace=1", "--assume=version"] {
        let (code, _, error) = with(&[option]);
        assert!(code == 2 && error.contains("cannot be used with"), "{option}: {error}");
    }
    std::fs::write(&file, plan.replace("parts = 3", "part = 3")).expect("written");
    let (code, _, error) = bitmma(&[&call[..], &["--plan", &file, "--out", &one]].concat());
    assert_eq!(code, 2);
    assert!(error.contains("unknown field `part`"), "{error}");
}

#[test]
fn the_plans_of_examples_run() {
    let folder = Folder::new();
    let (a, b) = folder.operands();
    let ones = |count: usize| 1.0f32.to_le_bytes().repeat(count);
    let scale_a = folder.npy("sa.npy", (16, 4), "<f4", &ones(64));
    let scale_b = folder.npy("sb.npy", (1, 4), "<f4", &ones(4)); // ceil(N/128) × ceil(K/128), transposed as B is
    let out = folder.path("d.npy");
    let call =
        ["call", "h100-sxm", "scaled_mm", "--a", &a, "--b", &b, "--bt", "--out-type", "f32", "--out", &out];
    let scaled =
        ["--plan", "examples/plans/deepgemm-hopper.toml", "--scale-a", &scale_a, "--scale-b", &scale_b];
    let (code, text, error) = bitmma(&[&call[..], &scaled].concat());
    assert_eq!(code, 0, "{error}");
    assert!(text.contains("evidence: derived"), "{text}");
    // without a plan the shapes of the scales decide; whether K is split they do not tell
    let (code, _, error) = bitmma(&[&call[..], &scaled[2..]].concat());
    assert_eq!(code, 2);
    assert!(error.contains("`--assume unsplit`"), "{error}");
    let (code, text, error) = bitmma(&[&call[..], &scaled[2..], &["--assume", "unsplit"]].concat());
    assert_eq!(code, 0, "{error}");
    assert!(
        text.contains("scale_blocks 1x128,128x128") && text.contains("assumed: K is not split"),
        "{text}"
    );
    let (code, _, error) = bitmma(&[&call[..], &["--scale-a", &scale_b, "--scale-b", &scale_b]].concat());
    assert_eq!(code, 2);
    assert!(error.contains("(rule 27)"), "{error}");
    let half = folder.npy("h.npy", (16, 256), "<f2", &0x3c00u16.to_le_bytes().repeat(16 * 256));
    let amd = [
        "call",
        "plan",
        "matmul",
        "--a",
        &half,
        "--b",
        &half,
        "--bt",
        "--type-a",
        "f16",
        "--out-type",
        "f32",
    ];
    let more = ["--plan", "examples/plans/amd-by-hand.toml", "--out", &out, "--explain", "0,0"];
    let (code, text, error) = bitmma(&[&amd[..], &more].concat());
    assert_eq!(code, 0, "{error}");
    assert!(text.contains("D[0, 0] = 256 ("), "{text}");
}

#[test]
fn a_file_of_another_kind_is_named_with_what_it_looks_like() {
    let folder = Folder::new();
    let array = folder.npy("x.npy", (2, 2), "<f2", &[0; 8]);
    let empty = folder.path("empty.csv");
    let text = folder.path("t.txt");
    let archive = folder.path("x.npz");
    std::fs::write(&empty, "").expect("written");
    std::fs::write(&text, "hello\n").expect("written");
    std::fs::copy(&array, &archive).expect("copied");
    let plan = ["plan", "rtx4060", "--m", "16", "--n", "16", "--k", "64", "--type", "e4m3", "--table"];
    let rows: [(&[&str], &str, &str, &str); 9] = [
        (&plan, &array, "a .npy array", "a table of decisions"),
        (&plan, &empty, "an empty file", "a table of decisions"),
        (&plan, &archive, "a .npy array", "an .npz archive"),
        (&["verify", "--merge"], &array, "a .npy array", "the state of a campaign"),
        (&["verify", "--merge"], &empty, "an empty file", "the state of a campaign"),
        (&["verify-calls"], &array, "a .npy array", "a recording of calls"),
        (&["verify-calls"], &empty, "an empty file", "a recording of calls"),
        (&["verify-calls"], &text, "text", "a recording of calls"),
        (&["replay"], &array, "a .npy array", "a recording (CSV)"),
    ];
    for (command, file, kind, expected) in rows {
        let (code, out, error) = bitmma(&[command, &[file][..]].concat());
        assert_eq!((code, out.as_str()), (2, ""), "{error}");
        assert!(
            error.contains(file) && error.contains(&format!("it looks like {kind}; {expected}")),
            "{error}"
        );
        assert!(!error.contains("UTF-8"), "{error}");
    }
}

#[test]
fn a_wrong_configuration_names_its_field() {
    let plan = ["plan", "rtx4060", "--m", "16", "--n", "16", "--k", "64", "--type", "e4m3", "--fast"];
    for (config, message) in [
        (r#"{"idd": 3}"#, "unknown field 'idd'; one of id, tile, splitk, reduction, "),
        (r#"{"id": "x"}"#, "id is \"x\"; it is an integer"),
        (r#"{"id": 60, "STAGES_ID": 1.5}"#, "STAGES_ID is 1.5; it is an integer"),
        (r#"{"kernel": 3}"#, "kernel is 3; it is a text"),
        ("7", "it is 7; a JSON object was expected"),
        (r#"{"id": 60, "stages": 15, "splitk": 99999}"#, "SPLITK_NUM is 99999; it is at most 65536"),
    ] {
        let (code, _, error) = bitmma(&[&plan[..], &["--lt-config", config]].concat());
        assert_eq!(code, 2, "{config}");
        assert!(error.contains(message), "{error}");
    }
}

#[test]
fn more_parts_than_were_recorded_are_derived() {
    let plan = |parts: &str| {
        let call = ["plan", "rtx4060", "--m", "16", "--n", "16", "--k", "1920", "--type", "e4m3", "--fast"];
        let (code, text, error) = bitmma(&[&call[..], &["--parts", parts]].concat());
        assert_eq!(code, 0, "{error}");
        text
    };
    assert!(plan("32").contains("# evidence: recorded"));
    assert!(plan("33").contains("# evidence: derived"));
}

#[test]
fn an_element_that_d_does_not_have_is_not_explained() {
    let folder = Folder::new();
    let (a, b) = folder.operands();
    let out = folder.path("d.npy");
    let call =
        ["call", "rtx4060", "matmul", "-a", &a, "-b", &b, "--bt", "--type-a", "e4m3", "--out-type", "f32"];
    let more = ["--assume", "unsplit", "--explain", "99,0", "-o", &out];
    let (code, _, error) = bitmma(&[&call[..], &more].concat());
    assert_eq!(code, 2);
    assert!(error.contains("--explain: D has no element [99, 0]; it is 16×16, counted from 0"), "{error}");
    assert!(!Path::new(&out).exists());
}
