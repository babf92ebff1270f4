//! The C library beside the command: the same products, the same explanation, and the client of `bitmma serve`.

#[allow(dead_code)] // the tests of the crate `c` use the rest
#[path = "../../../c/tests/c/tools.rs"]
mod tools;

use std::path::Path;
use std::process::Command;

use tools::{all, compile, compile_file, folder, has, library, out, run};

fn bitmma() -> &'static Path {
    assert_cmd::cargo::cargo_bin!("bitmma")
}

/// The codes of a .npy file, without its header.
fn codes(file: &Path) -> Vec<u8> {
    let bytes = std::fs::read(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    let length = usize::from(u16::from_le_bytes([bytes[8], bytes[9]]));
    bytes[10 + length..].to_vec()
}

#[test]
fn products_are_those_of_the_command() {
    let place = tempfile::tempdir().unwrap();
    let Some(program) = compile(place.path(), "gemm.c", &[]) else { return };
    let lines = out(&run(Command::new(program).arg(place.path())));
    let mut products = 0;
    for (at, line) in lines.lines().enumerate() {
        let d = format!("e{at}.npy");
        let mut command = Command::new(bitmma());
        run(command.arg("gemm").args(line.split_whitespace()).args(["-o", &d]).current_dir(place.path()));
        let (ours, theirs) = (codes(&place.path().join(format!("d{at}.npy"))), codes(&place.path().join(&d)));
        assert!(!ours.is_empty() && ours == theirs, "{line}");
        let zeros = ours.iter().filter(|&&byte| byte == 0).count();
        assert!(zeros < ours.len() / 2, "{line}: nearly everything is zero");
        products += 1;
    }
    assert_eq!(products, 7);
}

#[test]
fn the_client_of_the_protocol_page_gets_an_answer() {
    let place = tempfile::tempdir().unwrap();
    let source = folder().join("../../examples/protocol/client.c");
    assert_eq!(std::fs::read_to_string(&source).unwrap().lines().count(), 40);
    let Some(client) = compile_file(place.path(), &source, &["-D_GNU_SOURCE"]) else { return };
    let ask = |unit: &str| Command::new(&client).arg(bitmma()).args(["serve", unit]).output().unwrap();
    let answer = ask("sim:h100/mma.m16n8k16.f32.f16.f16.f32");
    assert_eq!((answer.status.code(), out(&answer).as_str()), (Some(0), "18\n"));
    let other = ask("sim:h100/wgmma.m64n8k16.f32.f16.f16");
    assert_eq!(other.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&other.stderr).starts_with("another unit: "), "{other:?}");
}

#[test]
fn a_simulator_in_cpp_executes_an_mfma() {
    let place = tempfile::tempdir().unwrap();
    let source = folder().join("../../examples/c/mfma.cpp");
    let Some(program) = compile_file(place.path(), &source, &[]) else { return };
    let output = run(&mut Command::new(program));
    assert_eq!(out(&output), "v_mfma_f32_16x16x16_f16: D is right in all 64 lanes\n");
}

/// `VERILATOR` names another than the one on the path.
#[test]
fn a_datapath_in_systemverilog_agrees_and_a_planted_bug_is_explained() {
    let verilator = std::env::var("VERILATOR").unwrap_or("verilator".to_owned());
    if !has(&verilator) || !has("g++") || !has("make") {
        return;
    }
    let place = tempfile::tempdir().unwrap();
    let testbench = |words: &[&str]| {
        let mut command = Command::new(folder().join("sv/example/run"));
        command.arg(place.path()).args(words).env("VERILATOR", &verilator).env("BITMMA_COMMAND", bitmma());
        command.env("BITMMA_INCLUDE", folder().join("include"));
        command.env("BITMMA_LIBRARIES", format!("{} -lpthread -lm -ldl", library("a").display()));
        command.output().unwrap()
    };
    let cases = if all() { "1000000" } else { "100000" };
    let agrees = testbench(&[&format!("+cases={cases}")]);
    let text = out(&agrees);
    assert!(agrees.status.success(), "{agrees:?}");
    assert!(text.contains(&format!("{cases} cases: tfdpa and bitmma agree in every bit")), "{text}");

    let differs = testbench(&["+bug"]);
    let text = out(&differs);
    assert!(!differs.status.success(), "{text}");
    for part in [
        "DIFFERS after ",
        "bitmma explain --model ",
        "T-FDPA: elements 0..3, accumulator ",
        "cut (RZ) to 24 bits below it",
    ] {
        assert!(text.contains(part), "{part} is missing: {text}");
    }
}
