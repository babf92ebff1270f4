//! `bitmma verify` and `bitmma serve`: killed and resumed, sharded and merged, over the protocol.
//!
//! 10^6 dot products each time; `BITMMA_TESTS=all` takes 10^9.

use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use serde_json::Value;

const UNIT: &str = "sim:hopper/wgmma.m64n256k16.f32.f16.f16";

fn bitmma(arguments: &[&str]) -> Command {
    let mut command = Command::new(assert_cmd::cargo::cargo_bin!("bitmma"));
    command.args(arguments);
    command
}

fn run(arguments: &[&str]) -> Output {
    bitmma(arguments).output().unwrap()
}

#[track_caller]
fn unit(arguments: &[&str], code: i32) -> Value {
    let output = run(&[arguments, &["--json"]].concat());
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(code), "{error}");
    let json: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{error}"));
    json["targets"][0].clone()
}

#[track_caller]
fn fails(arguments: &[&str], words: &[&str]) {
    let output = run(arguments);
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{error}");
    for word in words {
        assert!(error.contains(word), "'{word}' is not in: {error}");
    }
}

fn text(path: &Path) -> String {
    path.display().to_string()
}

/// Lines of the one file in a folder; 0 if it is not there yet.
fn lines(folder: &Path) -> u64 {
    let file = std::fs::read_dir(folder).ok().and_then(|mut entries| entries.next());
    let text = file.and_then(|entry| std::fs::read(entry.ok()?.path()).ok());
    text.map_or(0, |text| text.iter().filter(|byte| **byte == b'\n').count() as u64)
}

#[test]
fn killed_resumed_sharded_merged_one_digest() {
    let all = std::env::var("BITMMA_TESTS").is_ok_and(|value| value == "all");
    let tests = if all { "1e9" } else { "8e6" };
    let whole = unit(&["verify", UNIT, "--tests", tests], 0);
    let digest = whole["digest"].as_str().unwrap().to_owned();
    println!("{} dot products in {} s, digest {digest}", whole["dot_products"], whole["seconds"]);

    // killed five times
    let folder = tempfile::tempdir().unwrap();
    let state = text(&folder.path().join("killed"));
    let again = ["verify", UNIT, "--tests", tests, "--state", &state, "--resume"];
    let step = whole["of"].as_u64().unwrap() / 8;
    for kill in 1..=5 {
        let mut child = bitmma(&again).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        while lines(Path::new(&state)) < kill * step {
            assert!(child.try_wait().unwrap().is_none(), "it ended before it was killed the {kill}th time");
            std::thread::sleep(Duration::from_millis(2));
        }
        child.kill().unwrap(); // SIGKILL
        child.wait().unwrap();
    }
    let resumed = unit(&again, 0);
    assert_eq!(resumed["digest"].as_str(), Some(&*digest));
    assert_eq!(resumed["dot_products"], whole["dot_products"]);

    // in seven shards
    let state = text(&folder.path().join("shards"));
    for shard in 1..=7 {
        let shard = format!("{shard}/7");
        let part = unit(&["verify", UNIT, "--tests", tests, "--state", &state, "--shard", &shard], 0);
        assert_eq!(part["digest"], Value::Null);
    }
    let mut files: Vec<String> =
        std::fs::read_dir(&state).unwrap().map(|entry| text(&entry.unwrap().path())).collect();
    files.sort();
    files.reverse();
    let files: Vec<&str> = files.iter().map(String::as_str).collect();
    assert_eq!(files.len(), 7);
    let merged = unit(&[&["verify", "--merge"], &files[..]].concat(), 0);
    assert_eq!(merged["digest"].as_str(), Some(&*digest));
    // without the last shard: its blocks are named, and nobody takes that for an agreement
    let of = whole["of"].as_u64().unwrap();
    let missing: Vec<u64> = (6..of).step_by(7).collect();
    let part = unit(&[&["verify", "--merge"], &files[1..]].concat(), 2);
    assert_eq!((&part["verdict"], &part["digest"]), (&Value::from("incomplete"), &Value::Null));
    let ranges: Vec<[u64; 2]> = missing.iter().map(|block| [*block, *block]).collect();
    assert_eq!(part["missing"], serde_json::to_value(ranges).unwrap());
    let part = run(&[&["verify", "--merge"], &files[1..]].concat());
    assert_eq!(part.status.code(), Some(2));
    let said = String::from_utf8_lossy(&part.stdout).into_owned();
    assert!(said.contains("verdict       incomplete: blocks are missing, the others agree"), "{said}");
    let error = String::from_utf8_lossy(&part.stderr).into_owned();
    let words = format!("error: {} of {of} blocks are missing: 6, 13", missing.len());
    assert!(error.contains(&words) && error.ends_with('\n'), "'{words}': {error}");
    // one digit of a count
    let text = std::fs::read_to_string(files[0]).unwrap();
    let changed = text.replacen("\"dot_products\":", "\"dot_products\":1", 1);
    std::fs::write(files[0], changed).unwrap();
    fails(&[&["verify", "--merge"], &files[..]].concat(), &["line 2: its checksum is", "delete the line"]);
    let resume = ["verify", UNIT, "--tests", tests, "--state", &state, "--shard", "7/7", "--resume"];
    fails(&resume, &["line 2: its checksum is"]);
}

/// What is merged was asked before: options of another campaign would change nothing.
#[test]
fn a_merge_takes_no_options_of_a_campaign() {
    let options = [
        "--tests=5",
        "--seed=1",
        "--model=m.toml",
        "--against=a100/HMMA",
        "--revision=paper",
        "--strict-nan",
        "--state=s",
        "--shard=1/2",
        "--failures=f.csv",
        "--claims",
        "--start-limit=1",
        "--batch-limit=1",
    ];
    for option in options {
        let name = option.split('=').next().unwrap();
        fails(&["verify", option, "--merge", "none.jsonl"], &["cannot be used with", name]);
    }
}

/// A campaign that differs and has blocks missing differs: the mismatch was met.
#[test]
fn missing_blocks_beside_a_mismatch() {
    let folder = tempfile::tempdir().unwrap();
    let state = text(folder.path());
    let unit_name = "sim:hopper/HMMA.16816.F32";
    let shard = ["--tests", "2e6", "--state", &state, "--shard", "1/2"];
    let arguments = [&["verify", unit_name, "--against", "ampere/HMMA.16816.F32"], &shard[..]].concat();
    assert_eq!(unit(&arguments, 1)["verdict"], "differs");
    let file = text(&std::fs::read_dir(&state).unwrap().next().unwrap().unwrap().path());
    let merged = unit(&["verify", "--merge", &file], 1);
    assert_eq!(merged["verdict"], "differs");
    assert_eq!(merged["missing"][0], serde_json::json!([1, 1]));
    let output = run(&["verify", "--merge", &file]);
    assert!(String::from_utf8_lossy(&output.stderr).contains("blocks are missing: 1, 3"), "{output:?}");
}

/// The blocks of a long campaign are counted, not listed: 10^15 dot products are 2·10^11 blocks.
#[test]
fn a_long_campaign_begins_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let state = text(folder.path());
    let mut child =
        bitmma(&["verify", "sim:hopper/mma.m8n8k4.f64.f64.f64.f64", "--tests", "1e15", "--state", &state])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
    let start = std::time::Instant::now();
    while lines(Path::new(&state)) < 2 && start.elapsed() < Duration::from_secs(60) {
        assert!(child.try_wait().unwrap().is_none(), "it ended");
        std::thread::sleep(Duration::from_millis(5));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(lines(Path::new(&state)) >= 2, "no block was done");
}

/// Our own program as the unit: the same digest as from inside.
#[test]
fn over_the_protocol() {
    let own = assert_cmd::cargo::cargo_bin!("bitmma").display().to_string();
    let inside = unit(&["verify", "sim:cdna2/v_mfma_f32_32x32x8bf16_1k", "--tests", "2e5"], 0);
    let served = format!("exec:'{own}' serve sim:cdna2/v_mfma_f32_32x32x8bf16_1k");
    let outside = unit(&["verify", &served, "--tests", "2e5"], 0);
    assert_eq!(inside["digest"], outside["digest"]);
    assert!(inside["digest"].is_string());
    // scale factors, and a model that is not its own
    let served = format!(
        "exec:'{own}' serve sim:rtx-blackwell/mma.m16n8k64.kind::mxf4nvf4.block16.f32.e2m1.e2m1.f32.ue4m3"
    );
    let scaled = unit(&["verify", &served, "--tests", "1e4"], 0);
    assert_eq!(scaled["verdict"], "agrees", "{scaled}");
    let failures = tempfile::tempdir().unwrap();
    let file = text(&failures.path().join("failing.csv"));
    let other = unit(
        &[
            "verify",
            "sim:hopper/HMMA.16816.F32",
            "--against",
            "ampere/HMMA.16816.F32",
            "--tests",
            "2e4",
            "--failures",
            &file,
        ],
        1,
    );
    assert_eq!(other["verdict"], "differs");
    assert!(other["mismatches"].as_u64().unwrap() > 100);
    // what was written is a recording of Hopper that Hopper agrees with
    let replayed = run(&["replay", &file]);
    assert_eq!(replayed.status.code(), Some(0), "{}", String::from_utf8_lossy(&replayed.stderr));
    let again = unit(&["verify", &format!("recording:{file}"), "--tests", "10"], 2);
    assert_eq!(again["verdict"], "refused");
}

#[test]
fn bad_units_are_told_apart() {
    let bad = Path::new(env!("CARGO_MANIFEST_DIR")).join("../hardware/tests/peers/bad.py");
    let against = |mode: &str, code: i32| {
        let specification = format!("exec:python3 '{}' '{mode}'", bad.display());
        let model = tempfile::NamedTempFile::new().unwrap();
        let toml = "model = 'T-FDPA'\nA = 'f16'\nB = 'f16'\nC = 'f32'\nrho = 'RZ-FP32'\nL_max = 8\nF = 24\n";
        std::fs::write(model.path(), toml).unwrap();
        let path = text(model.path());
        unit(&["verify", &specification, "--model", &path, "--tests", "100", "--batch-limit", "1.5"], code)
    };
    for (mode, verdict) in [
        ("hangs", "hung"),
        ("dies", "died"),
        ("short", "answered short"),
        ("long", "answered wrongly"),
        ("refuses", "refused"),
    ] {
        let one = against(mode, 2);
        assert_eq!(one["verdict"], verdict, "{one}");
        assert!(one["fault"].as_str().unwrap().contains(verdict), "{one}");
        assert_eq!(one["dot_products"], 0);
    }
    assert_eq!(against("good", 1)["verdict"], "constant");
}

#[test]
fn what_it_refuses() {
    fails(&["verify", "hopper"], &["unknown unit 'hopper'", "sim:ARCH/INSTRUCTION"]);
    fails(&["verify", "gpu:0"], &["unknown kind of unit 'gpu:'", "exec:COMMAND"]);
    fails(&["verify", "sim:hoper/x"], &["sim:hoper/x: unknown architecture 'hoper'", "hopper"]);
    fails(&["verify", "sim:hopper"], &["'hopper' is not ARCH/INSTRUCTION"]);
    fails(&["verify", "cpu:nothing"], &["cpu:nothing unavailable", "fma.f32"]);
    fails(&["verify", "exec:no-such-program"], &["no-such-program unavailable"]);
    fails(&["verify", "model:x.toml"], &["has no shape", "model:FILE@MxNxK"]);
    fails(&["verify", "model:x.toml@1x1x1"], &["x.toml", "No such file"]);
    fails(&["verify", "recording:x.csv"], &["x.csv", "No such file"]);
    fails(
        &["verify", "sim:hopper/HMMA.16816.F32", "--against", "ampere/HMMA.16816.F16"],
        &["C of hopper", "is f32, of the model f16"],
    );
    fails(
        &["verify", "sim:hopper/HMMA.16816.F32", "--tests", "many"],
        &["must be an integer from 0 to 10^15"],
    );
    fails(&["verify", "sim:hopper/HMMA.16816.F32", "--shard", "8/7"], &["'8/7' is not a shard"]);
    fails(&["verify", "sim:hopper/HMMA.16816.F32", "--resume"], &["--state"]);
    fails(&["verify", "--merge", "nothing.jsonl"], &["nothing.jsonl", "No such file"]);
    fails(&["verify"], &["UNIT"]);
    let recording = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../recordings/hardware/h100.csv");
    fails(&["verify", &format!("recording:{}", recording.display())], &["holds 8 instructions; name one"]);
}

#[cfg(target_os = "linux")]
#[test]
fn the_verdict_is_printed_where_the_failures_cannot_be_written() {
    let mut command = std::process::Command::new(assert_cmd::cargo::cargo_bin!("bitmma"));
    let arguments = ["verify", "sim:hopper/HMMA.16816.F32", "--tests", "0", "--failures", "/dev/full"];
    let output = command.args(arguments).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stdout).contains("verdict       agrees"), "{output:?}");
    assert!(
        String::from_utf8_lossy(&output.stderr).contains("error: /dev/full: No space left"),
        "{output:?}"
    );
}
