//! Arm's BFDOT and BFMMLA under QEMU and over the protocol, an implementation that nobody here wrote, held
//! against the models of the catalogue (FPCR.EBF = 0), codes of NaN and signs of zero included.
//!
//! It takes a cross compiler and the emulator: `BITMMA_AARCH64_CC`
//! (aarch64-linux-gnu-gcc if not set) and `BITMMA_QEMU` (qemu-aarch64). Where one is missing the test is
//! skipped and says so.

use std::path::Path;
use std::process::Command;

use bitmma_engine::catalogue::processor;
use bitmma_engine::{Error, MmaUnit};
use bitmma_hardware::process::{Limits, Process};
use bitmma_verify::campaign::{self, Block, Identity, Plan, Shard, Summary, Verdict};

/// A program of the environment's, or this one.
fn tool(variable: &str, otherwise: &str) -> String {
    std::env::var(variable).unwrap_or(otherwise.to_owned())
}

#[test]
fn bfdot_and_bfmmla_under_an_emulator() {
    let (compiler, emulator) =
        (tool("BITMMA_AARCH64_CC", "aarch64-linux-gnu-gcc"), tool("BITMMA_QEMU", "qemu-aarch64"));
    for program in [&compiler, &emulator] {
        if Command::new(program).arg("--version").output().is_err() {
            println!("skipped: no {program} (BITMMA_AARCH64_CC, BITMMA_QEMU)");
            return;
        }
    }
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("arm").display().to_string();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/peers/arm.c");
    let status = Command::new(&compiler)
        .args(["-O2", "-static", "-march=armv8.6-a+bf16", "-o", &program])
        .arg(source)
        .status()
        .unwrap();
    assert!(status.success());
    let all = std::env::var("BITMMA_TESTS").is_ok_and(|value| value == "all");
    let budget = if all { 10_000_000 } else { 500_000 };
    for name in ["bfdot", "bfmmla"] {
        let words = [&emulator, "-cpu", "max", &program, name].map(str::to_owned);
        let unit = Process::start(&words, Limits::default()).unwrap();
        let row = processor(name).unwrap();
        assert_eq!((unit.signature().m, unit.signature().n, unit.signature().k), row.shape);
        let plan = Plan::new(unit.signature(), budget, 0xa4).unwrap();
        let mut blocks = std::collections::BTreeMap::new();
        let each = |block: Block| {
            blocks.insert(block.block, block);
            Ok::<(), Error>(())
        };
        campaign::run(&plan, &unit, &row.model, true, 0..plan.blocks(), each).unwrap();
        let summary = Summary::of(&Identity::of(&plan, &row.model, true), &blocks, Shard::WHOLE);
        let first: Vec<String> = summary.kept.iter().map(|kept| kept.line(&row.model.d)).collect();
        assert_eq!(
            summary.verdict,
            Verdict::Agrees,
            "{name}: {:?}\n{}",
            summary.mismatches,
            first.join("\n")
        );
        println!("{name}: {} dot products agree", summary.dot_products);
    }
}
