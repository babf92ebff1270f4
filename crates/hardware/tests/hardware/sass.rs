//! Every kernel assembles, and its one matrix instruction is the one that the catalogue names, with no
//! arithmetic beside it: PTX that the compiler expands is never taken for native.

use std::collections::{BTreeSet, HashMap};
use std::process::Command;

use crate::common::tools::{all, cuda_tool, run};
use bitmma_engine::Architecture;
use bitmma_engine::catalogue::lookup::Found;
use bitmma_engine::catalogue::{Family, Instruction, of};
use bitmma_hardware::cuda::{Majors, ptx};

/// The forms of a row that are tried: every M; all N, or the first, the last and one or two between.
fn forms(row: &'static Instruction) -> Vec<Found> {
    let sizes: Vec<usize> = row.n.sizes().collect();
    let wanted = |n: &usize| all() || [8, 24, 64, 256].contains(n) || !row.n.is_range();
    row.m
        .sizes()
        .flat_map(|m| sizes.iter().filter(|n| wanted(n)).map(move |n| Found { instruction: row, m, n: *n }))
        .collect()
}

/// What PTX does not have: with M = 128 and no scale factors, N goes in steps of 16.
fn exists(found: &Found) -> bool {
    let row = found.instruction;
    row.family != Family::Tcgen05 || row.scale.is_some() || found.m == 64 || found.n.is_multiple_of(16)
}

struct Assembled {
    found: Found,
    kernel: ptx::Kernel,
}

fn kernels(architecture: Architecture) -> Vec<Assembled> {
    let mut kernels = vec![];
    for row in
        of(architecture).filter(|row| !row.d.is_integer() && (row.is_native() || row.family.is_sparse()))
    {
        for found in forms(row) {
            match ptx::kernel(&found, Majors::ROW_COL) {
                Ok(kernel) => kernels.push(Assembled { found, kernel }),
                Err(error) => assert!(!exists(&found), "{}: {error}", found.name()),
            }
        }
    }
    kernels
}

/// Mnemonics of each function of a cubin.
fn disassemble(nvdisasm: &std::path::Path, cubin: &std::path::Path) -> HashMap<String, Vec<String>> {
    let text = run(Command::new(nvdisasm).arg("-c").arg(cubin));
    let mut functions: HashMap<String, Vec<String>> = HashMap::new();
    let mut current = String::new();
    for line in text.lines() {
        if let Some((_, name)) = line.split_once(".section\t.text.") {
            current = name.split(',').next().unwrap_or(name).to_owned();
        }
        let Some((_, code)) = line.trim().strip_prefix("/*").and_then(|rest| rest.split_once("*/")) else {
            continue;
        };
        let code = code.trim();
        if code.is_empty() || code.starts_with("/*") {
            continue;
        }
        let code = if code.starts_with('@') {
            code.split_once(' ').map_or("", |(_, rest)| rest.trim())
        } else {
            code
        };
        functions.entry(current.clone()).or_default().push(code.trim_end_matches(';').trim().to_owned());
    }
    functions
}

fn mnemonic(code: &str) -> &str {
    code.split_whitespace().next().unwrap_or("")
}

fn is_matrix(mnemonic: &str) -> bool {
    let stem = mnemonic.split('.').next().unwrap_or("");
    stem.ends_with("MMA") && stem != "HFMMA"
}

/// Arithmetic that only a compiler would add. HFMA2 on zeros is its way of loading a constant.
fn is_arithmetic(code: &str) -> bool {
    const STEMS: [&str; 14] = [
        "FADD", "FMUL", "FFMA", "HADD2", "HMUL2", "HFMA2", "DADD", "DMUL", "DFMA", "F2F", "F2FP", "MUFU",
        "FSEL", "I2F",
    ];
    let stem = mnemonic(code).split('.').next().unwrap_or("");
    STEMS.contains(&stem) && !(stem == "HFMA2" && code.contains("RZ, RZ,"))
}

/// The SASS name of the row, with this M and N.
fn named(found: &Found) -> String {
    let row = found.instruction;
    let sass = row.sass().expect("a native row has a SASS name");
    let fill = |text: String, range: String, size: usize| match range.starts_with('{') {
        true => text.replace(&range, &size.to_string()),
        false => text,
    };
    fill(fill(sass, row.m.to_string(), found.m), row.n.to_string(), found.n)
}

fn check(architecture: Architecture) {
    let volta = architecture == Architecture::Volta;
    let Some(ptxas) = cuda_tool(if volta { "ptxas-volta" } else { "ptxas" }) else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let kernels = kernels(architecture);
    let target = format!("-arch={}", architecture.target());
    let disassembler = if volta { "nvdisasm-volta" } else { "nvdisasm" };
    let nvdisasm = cuda_tool(disassembler);
    let mut functions = HashMap::new();
    // those of one PTX version together: a version that is too low for one of them shows
    let versions: BTreeSet<(u32, u32)> = kernels.iter().map(|one| one.kernel.version).collect();
    for version in versions {
        let of_version = kernels.iter().map(|one| &one.kernel).filter(|kernel| kernel.version == version);
        let (source, cubin) = (folder.path().join("kernels.ptx"), folder.path().join("kernels.cubin"));
        std::fs::write(&source, ptx::module(architecture, of_version)).expect("written");
        run(Command::new(&ptxas).arg(&target).arg("-O3").arg(&source).arg("-o").arg(&cubin));
        if let Some(nvdisasm) = &nvdisasm {
            functions.extend(disassemble(nvdisasm, &cubin));
        }
    }
    if nvdisasm.is_none() {
        return;
    }
    let mut wrong = vec![];
    for Assembled { found, kernel } in &kernels {
        let code = &functions[&kernel.name];
        let matrix: Vec<&str> =
            code.iter().map(|code| mnemonic(code)).filter(|name| is_matrix(name)).collect();
        let arithmetic: Vec<&String> = code.iter().filter(|code| is_arithmetic(code)).collect();
        let steps = matrix.iter().enumerate().all(|(index, name)| name.ends_with(&format!(".STEP{index}")));
        let expected = named(found);
        // the catalogue names what descriptors leave of tcgen05's names: UTCOMMA.4X is its UTCOMMA
        let ending = if found.instruction.family == Family::Tcgen05 { ".4X" } else { ".STEP" };
        let plain = |name: &str| name.split(ending).next().unwrap_or(name).to_owned();
        let agrees = matrix.iter().all(|name| plain(name) == expected)
            && (matrix.len() == 1 || steps && !matrix.is_empty());
        if !agrees || !arithmetic.is_empty() {
            wrong.push(format!("{}: {expected} expected, found {matrix:?} {arithmetic:?}", found.name()));
        }
    }
    assert!(wrong.is_empty(), "{architecture}: {} of {}:\n{}", wrong.len(), kernels.len(), wrong.join("\n"));
    let sparse = kernels.iter().filter(|one| one.found.instruction.family.is_sparse()).count();
    println!("{architecture}: {} kernels, {sparse} of them sparse", kernels.len());
}

#[test]
fn volta() {
    check(Architecture::Volta);
}

#[test]
fn turing() {
    check(Architecture::Turing);
}

#[test]
fn ampere() {
    check(Architecture::Ampere);
}

#[test]
fn ada() {
    check(Architecture::Ada);
}

#[test]
fn hopper() {
    check(Architecture::Hopper);
}

#[test]
fn blackwell() {
    check(Architecture::Blackwell);
}

#[test]
fn rtx_blackwell() {
    check(Architecture::RtxBlackwell);
}
