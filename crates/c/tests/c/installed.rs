//! An installed tree, as a program finds it by pkg-config and by CMake.

use std::path::Path;
use std::process::Command;

use crate::tools::{folder, has, library, out, run};

/// The library of this test, installed.
fn installed(into: &Path) {
    let built = library("a");
    let mut command = Command::new(folder().join("install"));
    run(command.arg(into).env("BITMMA_BUILT", built.parent().expect("a folder")));
}

const ANSWER: &str = concat!("bitmma ", env!("CARGO_PKG_VERSION"), ": 16\n");

#[test]
fn a_program_finds_the_library_by_pkg_config() {
    if !cfg!(target_os = "linux") || !has("gcc") || !has("pkg-config") {
        return;
    }
    let prefix = tempfile::tempdir().expect("a folder");
    installed(prefix.path());
    let shared = prefix.path().join(concat!("lib/libbitmma.so.", env!("CARGO_PKG_VERSION")));
    let size = shared.metadata().expect("the library").len();
    assert!(size <= 9_000_000, "{size} bytes, stripped");
    let source = folder().join("tests/programs/installed.c");
    for (name, linking) in [("shared", "--libs"), ("static", "--static --libs")] {
        let program = prefix.path().join(name);
        let flags = run(Command::new("pkg-config")
            .args(linking.split(' '))
            .args(["--cflags", "bitmma"])
            .env("PKG_CONFIG_PATH", prefix.path().join("lib/pkgconfig")));
        if name == "static" {
            std::fs::remove_file(prefix.path().join("lib/libbitmma.so")).expect("the link");
        }
        run(Command::new("gcc").arg("-o").arg(&program).arg(&source).args(out(&flags).split_whitespace()));
        let mut command = Command::new(&program);
        command.env("LD_LIBRARY_PATH", prefix.path().join("lib"));
        assert_eq!(out(&run(&mut command)), ANSWER, "{name}");
    }
    // the shared program asks for the version that it was linked with
    let needed = out(&run(Command::new("readelf").arg("-d").arg(prefix.path().join("shared"))));
    assert!(needed.contains("[libbitmma.so.0.1]"), "{needed}");
}

#[test]
fn a_program_finds_the_library_by_cmake() {
    if !cfg!(target_os = "linux") || !has("gcc") || !has("cmake") {
        return;
    }
    let prefix = tempfile::tempdir().expect("a folder");
    installed(prefix.path());
    let build = prefix.path().join("build");
    let mut configure = Command::new("cmake");
    configure.arg("-S").arg(folder().join("tests/programs/cmake")).arg("-B").arg(&build);
    run(configure.arg(format!("-DCMAKE_PREFIX_PATH={}", prefix.path().display())));
    run(Command::new("cmake").arg("--build").arg(&build));
    for name in ["shared", "static"] {
        assert_eq!(out(&run(&mut Command::new(build.join(name)))), ANSWER, "{name}");
    }
}
