//! Compilers, and programs that are compiled and run.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The folder of this crate.
pub(crate) fn folder() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../c")) // the command's tests include this file
}

/// The recordings of GPUs and vectors of the project; the C library has no instructions of processors.
pub(crate) fn recordings() -> Vec<PathBuf> {
    let mut files = Vec::new();
    for group in ["hardware", "vectors"] {
        let group = folder().join("../../recordings").join(group);
        let entries = group.read_dir().expect("the recordings are there");
        files.extend(entries.map(|entry| entry.expect("an entry").path()));
    }
    files.retain(|file| file.extension().is_some_and(|extension| extension == "csv"));
    files.retain(|file| !file.ends_with("xeon-amx.csv"));
    files.sort();
    files
}

/// Whether all of the tests run, not slices of them.
pub(crate) fn all() -> bool {
    std::env::var_os("BITMMA_TESTS").is_some_and(|value| value == "all")
}

/// The library that Cargo built for this test, beside the test itself: `libbitmma_c.a` or `.so`.
pub(crate) fn library(extension: &str) -> PathBuf {
    let test = std::env::current_exe().expect("the test has a path");
    let library = test.with_file_name(format!("libbitmma_c.{extension}"));
    assert!(library.exists(), "{} is not there", library.display());
    library
}

/// Whether a tool runs; says that the test is skipped if it does not.
pub(crate) fn has(tool: &str) -> bool {
    let runs = Command::new(tool).arg("--version").output().is_ok_and(|output| output.status.success());
    if !runs {
        eprintln!("skipped: {tool} is not here");
    }
    runs
}

/// Runs a command that must succeed.
pub(crate) fn run(command: &mut Command) -> Output {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{command:?}: {}\n{out}\n{err}", output.status);
    output
}

/// What a run wrote to its standard output.
pub(crate) fn out(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Compiles `tests/programs/NAME` with the static library; `None` without a compiler.
pub(crate) fn compile(into: &Path, name: &str, flags: &[&str]) -> Option<PathBuf> {
    compile_file(into, &folder().join("tests/programs").join(name), flags)
}

/// Compiles any file of C or C++.
pub(crate) fn compile_file(into: &Path, source: &Path, flags: &[&str]) -> Option<PathBuf> {
    let cpp = source.extension().is_some_and(|extension| extension == "cpp");
    let (compiler, standard) = if cpp { ("g++", "-std=c++20") } else { ("gcc", "-std=c11") };
    if !has(compiler) {
        return None;
    }
    let program = into.join(source.file_stem().expect("a name"));
    let mut command = Command::new(compiler);
    command.args([standard, "-Wall", "-Wextra", "-Werror", "-g", "-O1"]).args(flags);
    command.arg("-I").arg(folder().join("include")).arg("-o").arg(&program).arg(source);
    run(command.arg(library("a")).args(["-lm", "-lpthread", "-ldl"]));
    Some(program)
}
