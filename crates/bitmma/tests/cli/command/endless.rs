//! Files that have no end, or no bytes: every command that reads a file names it and ends, in little memory.
#![cfg(target_os = "linux")]

use std::fs::{self, File};
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use tempfile::TempDir;

use super::{Ended, end};

/// Seconds after which a command hangs.
const SECONDS: &str = "30";
/// KiB of address space: a command that reads 10 GB fails.
const MEMORY: &str = "4000000";
/// What such a file is, and what the message says of it.
const KINDS: [(&str, &str); 5] = [
    ("zero", "it is a device"),
    ("random", "it is a device"),
    ("pipe", "it is a named pipe"),
    ("folder", "it is a folder"),
    ("sparse", "it looks like a binary file"),
];
/// Every command with a file that it reads, `%` in its place.
const COMMANDS: [&str; 24] = [
    "function --check %.csv h100",
    "gemm h100 wgmma f16 f32 -a %.npy -b %.npy -o D.npy",
    "gemm h100 wgmma f16 f32 -a %.safetensors -b %.safetensors -o D.npy",
    "gemm h100 wgmma f16 f32 -a %.csv:a -b %.csv:b -o D.npy",
    "gemm --model %.toml -a A.npy -b A.npy -o D.npy",
    "which -a %.npy -b %.npy -d %.npy",
    "which -a %.safetensors -b %.safetensors -d %.safetensors",
    "call h100-pcie matmul -a %.npy -b %.npy -o D.safetensors",
    "call h100-pcie matmul -a A.npy -b A.npy --plan %.toml -o D.safetensors",
    "call h100-pcie matmul -a A.npy -b A.npy --table %.npz -o D.safetensors",
    "replay %.csv",
    "replay --model %.toml %.csv",
    "explain --model %.toml -a 1 -b 1",
    "dot --model %.toml -a 1 -b 1",
    "show --model %.toml",
    "compare --model %.toml -a 1 -b 1 -c 0",
    "diff %.toml %.toml",
    "analyze risks --model %.toml",
    "probe model:%.toml@16x8x16",
    "verify recording:%.csv",
    "verify --merge %.jsonl",
    "kernel show %.ptx",
    "kernel run %.ptx --grid 1,1,1 --block 1,1,1 --target sm_80",
    "verify-calls %.csv",
];

/// A folder with a file of each kind under each extension.
fn folder() -> TempDir {
    let whole = tempfile::tempdir().unwrap();
    let folder = whole.path();
    for extension in ["csv", "npy", "safetensors", "npz", "toml", "ptx", "jsonl"] {
        let path = |kind: &str| folder.join(format!("{kind}.{extension}"));
        symlink("/dev/zero", path("zero")).unwrap();
        symlink("/dev/urandom", path("random")).unwrap();
        assert!(Command::new("mkfifo").arg(path("pipe")).status().unwrap().success());
        fs::create_dir(path("folder")).unwrap();
        File::create(path("sparse")).unwrap().set_len(10_000_000_000).unwrap();
    }
    // 16×16 codes of zero, for operands that are not what a command is tested with
    let header = format!("{:<117}\n", "{'descr': '<u2', 'fortran_order': False, 'shape': (16, 16), }");
    let mut array = b"\x93NUMPY\x01\0".to_vec();
    array.extend((header.len() as u16).to_le_bytes());
    array.extend(header.bytes());
    array.resize(array.len() + 512, 0);
    fs::write(folder.join("A.npy"), array).unwrap();
    whole
}

fn limited(folder: &Path, words: &str) -> Ended {
    let line = format!("ulimit -v {MEMORY}; exec timeout {SECONDS} \"$0\" {words}");
    end(Command::new("sh")
        .args(["-c", &line, assert_cmd::cargo::cargo_bin!("bitmma").to_str().unwrap()])
        .current_dir(folder))
}

#[test]
fn no_command_reads_without_an_end() {
    let folder = folder();
    for command in COMMANDS {
        for (kind, what) in KINDS {
            let ended = limited(folder.path(), &command.replace('%', kind));
            let text = ended.refused();
            // a folder of recorded calls is one of the things that verify-calls reads
            let may_be = command.starts_with("verify-calls") && kind == "folder"
                // zeros are the length of a header, which is empty then
                || kind == "sparse" && text.contains("sparse.safetensors: its header does not read");
            assert!(text.contains(kind) && (text.contains(what) || may_be), "{command} of {kind}: {text}");
        }
    }
    let text = limited(folder.path(), "function --check zero.csv");
    let expected = "zero.csv: it is a device; a table of results (CSV with function, x and y) was expected";
    assert!(text.refused().contains(expected), "{text:?}");
}

#[test]
fn standard_input_without_an_end_is_refused_at_its_first_line() {
    let folder = folder();
    let cases = [
        ("</dev/zero", "it looks like a binary file"),
        ("< <(yes 1,2,3)", "line 1"),
        ("< <(yes | tr -d '\\n')", "the line has more than"),
    ];
    for (source, what) in cases {
        let line = format!("ulimit -v {MEMORY}; exec timeout {SECONDS} \"$0\" replay - {source}");
        let ended = end(Command::new("bash")
            .args(["-c", &line, assert_cmd::cargo::cargo_bin!("bitmma").to_str().unwrap()])
            .current_dir(&folder));
        let text = ended.refused();
        assert!(text.contains("standard input") && text.contains(what), "{source}: {text}");
    }
}

#[test]
fn a_pipe_of_the_shell_is_read() {
    let folder = folder();
    let line = "\"$0\" function --check <(echo function,x,y; echo ex2,0x3f800000,0x40000000)";
    let bash = Command::new("bash")
        .args(["-c", line, assert_cmd::cargo::cargo_bin!("bitmma").to_str().unwrap()])
        .current_dir(&folder)
        .output();
    let Ok(output) = bash else { return };
    assert!(output.status.success(), "{output:?}");
}
