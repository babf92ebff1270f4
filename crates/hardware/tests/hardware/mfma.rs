//! Every `v_mfma_*` of the catalogue assembles, and disassembles to itself, once.

use std::process::Command;

use crate::common::tools::{llvm_tool, run};
use bitmma_engine::Architecture;
use bitmma_engine::catalogue::lookup::Found;
use bitmma_engine::catalogue::of;
use bitmma_hardware::hip::assembly;

fn check(architecture: Architecture) {
    let (Some(clang), Some(objdump)) = (llvm_tool("clang"), llvm_tool("llvm-objdump")) else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let target = architecture.target();
    let mut tried = 0;
    for row in of(architecture) {
        let kernel =
            assembly::kernel(&Found { instruction: row, m: row.m.first, n: row.n.first }).expect("a kernel");
        let (source, object) = (folder.path().join("kernel.s"), folder.path().join("kernel.co"));
        std::fs::write(&source, &kernel.text).expect("written");
        let arch = format!("-mcpu={target}");
        let options = ["-target", "amdgcn-amd-amdhsa", &arch, "-nogpulib"];
        run(Command::new(&clang).args(options).arg(&source).arg("-o").arg(&object));
        let text = run(Command::new(&objdump).args(["-d", &format!("--mcpu={target}")]).arg(&object));
        let matrix: Vec<&str> = text
            .lines()
            .filter_map(|line| line.split_whitespace().next())
            .filter(|word| word.starts_with("v_mfma"))
            .collect();
        // what was written, in LLVM's newest spelling, which the catalogue has as name or alias
        let spellings: Vec<String> = std::iter::once(row.name()).chain(row.aliases()).collect();
        assert_eq!(matrix.len(), 1, "{}: {matrix:?}", row.name());
        assert!(spellings.iter().any(|name| name == matrix[0]), "{}: {matrix:?}", row.name());
        assert!(text.contains("file format elf64-amdgpu"), "{text}");
        tried += 1;
    }
    println!("{architecture}: {tried} kernels");
    assert!(tried > 0);
}

#[test]
fn cdna1() {
    check(Architecture::Cdna1);
}

#[test]
fn cdna2() {
    check(Architecture::Cdna2);
}

#[test]
fn cdna3() {
    check(Architecture::Cdna3);
}
