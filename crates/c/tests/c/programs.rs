//! Programs in C and C++, compiled with the static library and run, also under sanitizers and Valgrind.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::tools::{all, compile, has, out, recordings, run};

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().expect("a folder")
}

/// Recordings and vectors, all or the shortest ones.
fn slice(all: bool) -> Vec<PathBuf> {
    let mut files = recordings();
    if !all {
        files.retain(|file| file.metadata().is_ok_and(|data| data.len() < 128 << 10));
    }
    files
}

fn replay(program: &Path, files: &[PathBuf]) -> String {
    out(&run(Command::new(program).args(files)))
}

#[test]
fn every_recording_and_vector_replays() {
    let folder = folder();
    let Some(program) = compile(folder.path(), "replay.c", &[]) else { return };
    let text = replay(&program, &slice(true));
    assert_eq!(text, "74073 dot products, each alone and in an instruction: 0 differ\n");
}

/// The replay can fail: a changed answer is found, by both ways.
#[test]
fn a_wrong_recording_is_found() {
    let folder = folder();
    let Some(program) = compile(folder.path(), "replay.c", &[]) else { return };
    let file = recordings().into_iter().find(|file| file.ends_with("hardware/v100.csv")).expect("V100");
    let text = std::fs::read_to_string(file).expect("the recording");
    let text = text.trim_end();
    let (start, last) = text.split_at(text.len() - 1);
    let wrong = folder.path().join("wrong.csv");
    std::fs::write(&wrong, format!("{start}{}\n", if last == "0" { "1" } else { "0" })).expect("written");
    let output = Command::new(&program).arg(&wrong).output().expect("it runs");
    assert_eq!(output.status.code(), Some(1));
    let text = out(&output);
    assert!(text.contains("bitmma_dot: ") && text.contains("bitmma_multiply: "), "{text}");
    assert!(text.ends_with("400 dot products, each alone and in an instruction: 2 differ\n"), "{text}");
}

#[test]
fn every_function_answers_and_refuses() {
    let folder = folder();
    for name in ["calls.c", "kernels.c", "wrapper.cpp"] {
        let Some(program) = compile(folder.path(), name, &[]) else { return };
        let output = run(&mut Command::new(&program));
        assert!(out(&output).contains(", 0 failed"), "{}", out(&output));
    }
}

/// After a product on several threads, products in forked processes.
#[test]
#[cfg(unix)]
fn a_forked_process_computes() {
    let folder = folder();
    let Some(program) = compile(folder.path(), "fork.c", &["-D_POSIX_C_SOURCE=200809L"]) else { return };
    let text = out(&run(Command::new(&program).env("RAYON_NUM_THREADS", "3")));
    assert_eq!(text, "all children computed\n");
}

/// Both sanitizers stop a program at the first finding.
#[test]
fn sanitizers_find_nothing() {
    let folder = folder();
    let flags = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-fno-omit-frame-pointer"];
    for name in ["calls.c", "kernels.c", "replay.c"] {
        let Some(program) = compile(folder.path(), name, &flags) else { return };
        match name {
            "replay.c" => _ = replay(&program, &slice(all())),
            _ => _ = run(&mut Command::new(&program)),
        }
    }
}

#[test]
fn valgrind_finds_nothing() {
    if !has("valgrind") {
        return;
    }
    let folder = folder();
    for name in ["calls.c", "kernels.c", "replay.c"] {
        let Some(program) = compile(folder.path(), name, &[]) else { return };
        let mut command = Command::new("valgrind");
        command.args([
            "--quiet",
            "--error-exitcode=9",
            if name == "kernels.c" { "--leak-check=no" } else { "--leak-check=full" }, // the sanitizer looks for its leaks
            "--errors-for-leak-kinds=definite",
        ]);
        command.arg(&program);
        if name == "replay.c" {
            command
                .arg(recordings().into_iter().find(|file| file.ends_with("vectors/volta.csv")).expect("it"));
        }
        run(&mut command);
    }
}

/// Random calls, most of them wrong, under the sanitizers; Valgrind sees some of them, too.
#[test]
fn random_calls_end_in_an_error_or_a_right_answer() {
    let folder = folder();
    let calls = if all() { "1000000" } else { "20000" };
    let flags = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"];
    let Some(program) = compile(folder.path(), "fuzz.c", &flags) else { return };
    let text = out(&run(Command::new(&program).arg(calls)));
    let (right, wrong) = text.split_once(" right answers, ").expect("both");
    let count = |text: &str| text.split(' ').filter_map(|word| word.parse::<u32>().ok()).next_back();
    let (right, wrong) = (count(right).expect("a count"), count(wrong).expect("a count"));
    assert!(text.starts_with(calls) && right > wrong / 2 && wrong > right / 4, "{text}");
    if has("valgrind") {
        let Some(program) = compile(folder.path(), "fuzz.c", &[]) else { return };
        run(Command::new("valgrind").args(["--quiet", "--error-exitcode=9"]).arg(program).args(["500", "3"]));
    }
}

/// What a call costs, beside the same call from Rust: `cargo test --release --workspace --test c cost -- --ignored --nocapture`.
#[test]
#[ignore = "a measurement"]
#[allow(clippy::print_stdout)] // it is there to print
fn cost() {
    let folder = folder();
    let Some(program) = compile(folder.path(), "cost.c", &["-D_POSIX_C_SOURCE=199309L"]) else { return };
    print!("C: {}", out(&run(&mut Command::new(program))));
    crate::rust::cost();
}
