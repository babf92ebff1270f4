//! Memory of the commands that make cases: what the cases need, at any K.
#![cfg(target_os = "linux")]

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const MODEL: &str =
    "model = 'T-FDPA'\nA = 'f16'\nB = 'f16'\nC = 'f32'\nrho = 'RZ-FP32'\nL_max = 16\nF = 25\n";
/// Megabytes. All directed cases at K = 8192, written out, take 4000.
const MOST: u64 = 300;

/// The largest resident size of the command in megabytes, and whether it ended by itself: it is killed as soon as a file
/// beneath `folder` has `enough` bytes.
fn peak(arguments: &[&str], folder: &std::path::Path, enough: u64) -> (u64, Option<i32>) {
    let mut child = Command::new(assert_cmd::cargo::cargo_bin!("bitmma"))
        .args(arguments)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let status = format!("/proc/{}/status", child.id());
    let (start, mut peak) = (Instant::now(), 0);
    let code = loop {
        let text = std::fs::read_to_string(&status).unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let size = line.and_then(|line| line.trim().strip_suffix(" kB")?.parse::<u64>().ok());
        peak = peak.max(size.unwrap_or(0) / 1024);
        if let Some(ended) = child.try_wait().unwrap() {
            break ended.code();
        }
        let files = std::fs::read_dir(folder).unwrap();
        let length = files.map(|file| file.unwrap().metadata().map_or(0, |known| known.len())).max();
        if peak > MOST || length.unwrap_or(0) >= enough {
            child.kill().unwrap();
            child.wait().unwrap();
            break None;
        }
        assert!(start.elapsed() < Duration::from_secs(300), "{arguments:?} takes for ever");
        std::thread::sleep(Duration::from_millis(2));
    };
    (peak, code)
}

#[test]
fn ten_cases_of_8192_elements_take_little() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let (model, state) = (path("model.toml"), path("state"));
    std::fs::write(&model, MODEL).unwrap();
    let unit = format!("model:{model}@1x1x8192");
    std::fs::create_dir(&state).unwrap();
    let state_folder = std::path::Path::new(&state);
    let check = |arguments: &[&str], folder: &std::path::Path, enough: u64| {
        let (peak, code) = peak(arguments, folder, enough);
        println!("{}: {peak} MB", arguments[0]);
        assert!(peak < MOST, "{}: {peak} MB", arguments[0]);
        assert!(code == Some(0) || (code.is_none() && enough < u64::MAX), "{}: {code:?}", arguments[0]);
    };
    for format in ["hex", "npz"] {
        let out = path("golden");
        let arguments =
            ["golden", "--model", &model, "-k", "8192", "--cases", "10", "--format", format, "-o", &out];
        check(&arguments, folder.path(), u64::MAX);
    }
    check(&["record", &unit, "--samples", "5", "--directed", "5"], folder.path(), u64::MAX);
    // the first block of a campaign, the first questions of order of a probe: the rest takes the same
    check(&["verify", &unit, "--tests", "10", "--state", &state], state_folder, 800);
    let out = path("probe");
    std::fs::create_dir(&out).unwrap();
    check(&["probe", &unit, "--tests", "10", "--out", &out], std::path::Path::new(&out), 30_000_000);
}

/// A recording longer than the memory it may take: lines go to the disk.
#[test]
fn long_files_are_written_as_they_are_made() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("long.csv").display().to_string();
    let unit = "sim:hopper/mma.m16n8k16.f32.f16.f16.f32";
    let arguments = ["record", unit, "--samples", "300000", "--directed", "0", "--out", &out];
    let (peak, code) = peak(&arguments, folder.path(), u64::MAX);
    assert_eq!(code, Some(0));
    let length = std::fs::metadata(&out).unwrap().len() / 1_000_000;
    println!("{length} MB written, {peak} MB of memory");
    assert!(peak < 150 && length > 60, "{length} MB written, {peak} MB of memory");
}
