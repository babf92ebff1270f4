//! Every example that a command's help prints is run at 80, 100 and 160 columns, or is named here with the reason why not.
//!
//! `BITMMA_SNAPSHOTS=write` renews the files in `snapshots/help/`; look at the difference before you commit it.

use std::collections::HashSet;
use std::path::Path;

use super::layout::{commands, fits, help, is_kept};
use super::{end, shell};
use crate::run::files::{bytes, matrix, safetensors};

/// Beginnings of examples that are not run, and why.
#[rustfmt::skip]
const NOT_RUN: &[(&str, &str)] = &[
    ("bitmma list --json", "pipes into another program"),
    ("bitmma plan h100-pcie", "needs a table of cuBLASLt's decisions that is not in the repository"),
    ("bitmma verify-calls mine", "needs recordings that are not in the repository"),
    ("bitmma diff a100", "ends with 1: they differ; tests/cli/questions.rs runs it"),
    ("bitmma diff one-plan", "ends with 1: they differ; tests/cli/questions.rs runs it"),
    ("bitmma function --check", "needs results of a GPU"),
    ("my-kernel", "needs a program that is not in the repository"),
    ("bitmma record", "needs another machine"),
    ("bitmma verify ", "takes as long as it is told to and prints how fast it was; tests/cli/verify.rs runs it"),
    ("bitmma probe sim:mi300x", "prints what the first example does, of a unit that takes longer"),
    ("bitmma probe model:", "prints JSON"),
    ("bitmma analyze risks", "takes minutes; a snapshot of one instruction is in `layout`"),
    ("bitmma analyze bias", "prints JSON"),
    ("bitmma analyze bounds", "takes minutes, and writes a folder"),
    ("bitmma report", "takes minutes, and writes a folder; tests/cli/report.rs runs it"),
    ("bitmma bench", "prints how fast this machine is"),
    ("bitmma explore", "serves until Ctrl-C; crates/web/tests and web/test run it"),
    ("bitmma generate", "writes files; tests of the documents run it"),
];

/// Commands that print how long they took: their lines must fit, but are not kept.
const TIMED: [&str; 4] = ["gemm", "replay", "verify-calls", "which"];

/// Commands that print a file: the same at every width.
const FILES: [&str; 1] = ["plan"];

/// The examples of a help, each as one line.
fn examples(help: &str) -> Vec<String> {
    let mut found: Vec<String> = vec![];
    let mut is_open = false;
    for line in help.lines() {
        let is_first = line.starts_with("  bitmma ") || line.starts_with("  my-kernel ");
        if is_first && !is_open {
            found.push(line.trim().to_owned());
        } else if is_open {
            let last = found.last_mut().unwrap();
            *last = format!("{} {}", last.trim_end_matches('\\').trim_end(), line.trim());
        } else {
            continue;
        }
        is_open = line.ends_with('\\');
    }
    found
}

/// Small numbers of E4M3, BF16 or FP16 around 1, with signs.
fn codes(count: usize, one: u64, sign: u64) -> Vec<u64> {
    (0..count as u64)
        .map(|index| (one + index * 5 % 7) | if index * 11 % 3 == 0 { sign } else { 0 })
        .collect()
}

/// The files that the examples of a command name.
pub(super) fn prepare(folder: &Path, command: &str) {
    let put = |name: &str, bytes: &[u8]| std::fs::write(folder.join(name), bytes).unwrap();
    let model = end(&mut super::command(&["show", "hopper", "HMMA.16816.F32", "--toml"]));
    put("mine.toml", model.fine().as_bytes());
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap();
    for linked in ["recordings", "examples"] {
        let _ = std::os::unix::fs::symlink(repository.join(linked), folder.join(linked)); // may be there
    }
    let (m, n, k) = (16, 16, 1920);
    let e4m3 = |count| codes(count, 0x38, 0x80);
    match command {
        "run" => {
            put("x.npy", &matrix("<f2", (64, 16), &codes(64 * 16, 0x3c00, 0x8000)));
            let w = bytes(&codes(8 * 16, 0x3c00, 0x8000), 2, false);
            put("w.safetensors", &safetensors(&[("layer.weight", "F16", &[8, 16], w)]));
        }
        "kernel" => {
            let data = repository.join("crates/ptx/tests/data/ptx/softmax_f32_80.ptx");
            put("softmax.ptx", &std::fs::read(data).unwrap());
            let kernel =
                "template <typename T> __global__ void scale(T* x, T by) { x[threadIdx.x] *= by; }\n";
            put("scale.cu", kernel.as_bytes());
            put("x.npy", &matrix("<f4", (4, 1000), &codes(4000, 0x3f80_0000, 0x8000_0000)));
        }
        "gemm" => {
            let fp8 = |rows: usize| bytes(&e4m3(rows * k), 1, false);
            let ones = |count| bytes(&vec![0x3f80_0000; count], 4, false);
            let x =
                [("x", "F8_E4M3", &[m, k][..], fp8(m)), ("scale", "F32", &[m, k / 128], ones(m * k / 128))];
            put("x.safetensors", &safetensors(&x));
            let scale = ("layer.weight_scale_inv", "F32", &[1, k / 128][..], ones(k / 128));
            let w = [("layer.weight", "F8_E4M3", &[n, k][..], fp8(n)), scale];
            put("w.safetensors", &safetensors(&w));
            let header = "arch,instruction,a,b,c,scale_a,scale_b,d";
            // 1·1 + 1
            let line = "hopper,wgmma.m64n8k32.f32.e4m3.e4m3,38,38,3f800000,,,40000000";
            put("mine.csv", format!("{header}\n{line}\n").as_bytes());
        }
        "call" => {
            put("x.npy", &matrix("|u1", (m, k), &e4m3(m * k)));
            put("w.npy", &matrix("|u1", (n, k), &e4m3(n * k)));
            let bf16 = |name| {
                let codes = bytes(&codes(m * 1024, 0x3f80, 0x8000), 2, false);
                safetensors(&[(name, "BF16", &[m, 1024], codes)])
            };
            put("x.safetensors", &bf16("x"));
            put("w.safetensors", &bf16("w"));
        }
        "explain" | "which" => {
            put("A.npy", &matrix("<f2", (16, 64), &codes(16 * 64, 0x3c00, 0x8000)));
            put("B.npy", &matrix("<f2", (64, 16), &codes(64 * 16, 0x3c00, 0x8000)));
            put("x.npy", &matrix("|u1", (16, 64), &e4m3(16 * 64)));
            put("w.npy", &matrix("|u1", (16, 64), &e4m3(16 * 64)));
            let product = |line: &str| {
                let mut command = super::command(&line.split(' ').collect::<Vec<_>>());
                end(command.current_dir(folder)).fine();
            };
            product("gemm h100 wgmma f16 f32 -a A.npy -b B.npy -o D.npy");
            product("gemm h100 wgmma e4m3 f32 -a x.npy -b w.npy --bt -o y.npy");
        }
        _ => {}
    }
}

/// What a line of a shell prints in a folder, in a terminal of that many columns; it must not be refused.
fn printed(line: &str, folder: &Path, columns: Option<usize>) -> String {
    let mut shell = shell(line, folder);
    shell.env_remove("BITMMA_COLUMNS");
    if let Some(columns) = columns {
        shell.env("BITMMA_COLUMNS", columns.to_string());
    }
    let ended = end(&mut shell);
    // 1: what is compared differs, as the example shows. CUDA C++ needs a compiler, and says so where there is none
    let has_no_compiler =
        line.contains(".cu ") && ended.err.contains("NVRTC, which compiles CUDA C++, was not found");
    assert!(matches!(ended.code, Some(0 | 1)) || has_no_compiler, "{line}: {ended:?}");
    ended.out
}

#[test]
fn every_example_of_every_help_fits() {
    let (mut run, mut left) = (0, HashSet::new());
    for name in commands() {
        let folder = tempfile::tempdir().unwrap();
        prepare(folder.path(), &name);
        let examples = examples(&help(&name, 100));
        assert!(!examples.is_empty(), "{name} has no example");
        for (place, line) in examples.iter().enumerate() {
            if let Some((beginning, _)) = NOT_RUN.iter().find(|(beginning, _)| line.starts_with(beginning)) {
                left.insert(*beginning);
                continue;
            }
            run += 1;
            let whole = printed(line, folder.path(), None);
            if whole.is_empty() {
                continue; // it went into a file
            }
            let is_timed = TIMED.contains(&name.as_str());
            for columns in [80, 100, 160] {
                let text = printed(line, folder.path(), Some(columns));
                if FILES.contains(&name.as_str()) {
                    assert_eq!(text, whole, "{line}");
                    continue;
                }
                let numberless = |text: &str| -> String {
                    text.chars()
                        .map(|letter| if is_timed && letter.is_ascii_digit() { '0' } else { letter })
                        .collect()
                };
                // times have more digits or fewer, and another unit
                let (wide, text) = (numberless(&whole), numberless(&text));
                let words: HashSet<&str> =
                    wide.split_whitespace().filter(|word| !word.starts_with('─')).collect();
                if is_timed {
                    assert!(text.lines().all(|line| line.chars().count() <= columns), "{line}: {text}");
                } else {
                    fits(line, &text, columns, &words);
                    let name = if name.is_empty() { "bitmma" } else { &name };
                    if columns == 80 {
                        is_kept(&format!("help/{name}-{}.txt", place + 1), &text);
                    }
                }
            }
        }
    }
    assert!(run >= 24, "{run}");
    assert_eq!(left.len(), NOT_RUN.len(), "reasons without an example");
}
