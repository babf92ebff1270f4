//! AMD's own libraries, where this machine has them; no GPU needed. Debian 12 has `libamd-comgr2` and
//! `libamdhip64-5` (ROCm 5.2, which knows CDNA1 and CDNA2).

use std::path::Path;
use std::process::Command;

use crate::common::tools::{llvm_tool, run};
use bitmma_engine::Architecture;
use bitmma_engine::catalogue::lookup::Found;
use bitmma_engine::catalogue::of;
use bitmma_hardware::hip::{self, Error, assembly};

/// The instructions of a code object with their bytes, one a line, without their places.
fn instructions(objdump: &Path, target: &str, object: &Path) -> Vec<String> {
    let text = run(Command::new(objdump).args(["-d", &format!("--mcpu={target}")]).arg(object));
    let lines = text.lines().filter_map(|line| line.split_once(" // "));
    lines
        .map(|(code, comment)| {
            format!("{} {}", code.trim(), comment.split_once(": ").map_or("", |(_, bytes)| bytes))
        })
        .collect()
}

/// Every kernel, assembled by `libamd_comgr` through our own calls, is instruction for instruction and byte
/// for byte what clang makes of it.
#[test]
fn the_real_assembler_makes_what_clang_makes() {
    let (Some(clang), Some(objdump)) = (llvm_tool("clang"), llvm_tool("llvm-objdump")) else { return };
    let folder = tempfile::tempdir().expect("a folder");
    for architecture in [Architecture::Cdna1, Architecture::Cdna2, Architecture::Cdna3] {
        let target = architecture.target();
        let mut tried = 0;
        for row in of(architecture) {
            let found = Found { instruction: row, m: row.m.first, n: row.n.first };
            let kernel = assembly::kernel(&found).expect("a kernel");
            let code = match hip::assemble(architecture, &kernel, None) {
                Ok(code) => code,
                Err(error @ Error::Library { .. }) => {
                    println!("skipped: {error}");
                    return;
                }
                Err(error) if tried == 0 && error.to_string().contains("it does not know") => {
                    println!("skipped: {error}");
                    break;
                }
                Err(error) => panic!("{}: {error}", row.name()),
            };
            let [ours, source, theirs] =
                ["ours.co", "kernel.s", "theirs.co"].map(|name| folder.path().join(name));
            std::fs::write(&ours, code).expect("written");
            std::fs::write(&source, &kernel.text).expect("written");
            let arch = format!("-mcpu={target}");
            let options = ["-target", "amdgcn-amd-amdhsa", &arch, "-nogpulib"];
            run(Command::new(&clang).args(options).arg(&source).arg("-o").arg(&theirs));
            let (ours, theirs) =
                (instructions(&objdump, target, &ours), instructions(&objdump, target, &theirs));
            assert!(ours.iter().any(|code| code.contains("v_mfma")), "{}: {ours:?}", row.name());
            assert_eq!(ours, theirs, "{}", row.name());
            tried += 1;
        }
        println!("{architecture}: {tried} kernels");
    }
}

/// The driver on a machine without a GPU: an error in one line, not a crash; on one with a GPU, a count.
#[test]
fn the_real_driver_says_that_it_has_no_device() {
    match hip::count() {
        Ok(count) => {
            let error = hip::Device::open(count).err().expect("one more than there are").to_string();
            assert_eq!(error, format!("there is no AMD device {count}; the driver counts {count}"));
        }
        Err(error @ Error::Library { .. }) => println!("skipped: {error}"),
        Err(error) => {
            let text = error.of_unit("hip:0/v_mfma_f32_32x32x8f16").to_string();
            assert!(text.contains("unavailable: ") && text.contains("hip"), "{text}");
            assert_eq!(text.lines().count(), 1, "{text}");
            println!("{text}");
        }
    }
}
