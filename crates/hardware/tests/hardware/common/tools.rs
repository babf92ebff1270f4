//! NVIDIA's assembler and disassembler, where `tests/cuda-tools` put them.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Whether the exhaustive tests run.
pub(crate) fn all() -> bool {
    std::env::var("BITMMA_TESTS").is_ok_and(|value| value == "all")
}

/// The tool of that name, or `None` with a line that says what was skipped.
pub(crate) fn cuda_tool(name: &str) -> Option<PathBuf> {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().expect("target/tmp stands in target");
    let tool = target.join("cuda-tools").join(name);
    if tool.is_file() {
        return Some(tool);
    }
    println!("skipped: no {name}; `crates/hardware/tests/cuda-tools` fetches it");
    None
}

/// Runs a command to its end and gives what it printed.
pub(crate) fn run(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(output.status.success(), "{command:?}:\n{}{}", text(&output.stdout), text(&output.stderr));
    text(&output.stdout)
}

/// LLVM's tool of that name, 19 or newer (older ones do not know CDNA3), or `None` with a line that says so.
pub(crate) fn llvm_tool(name: &str) -> Option<PathBuf> {
    let tool = (19..=24)
        .rev()
        .map(|version| PathBuf::from(format!("/usr/bin/{name}-{version}")))
        .find(|tool| tool.is_file());
    if tool.is_none() {
        println!("skipped: no {name} of LLVM 19 or newer; `apt-get install clang-19 lld-19 llvm-19`");
    }
    tool
}
