//! NVIDIA's assembler and disassembler, and what they make of a text.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use super::listing::{Function, functions};

pub(crate) struct Tools {
    pub(super) ptxas: PathBuf,
    pub(super) nvdisasm: PathBuf,
}

/// Folders that may hold the tools: cargo's target folder where `crates/hardware/tests/cuda-tools` puts them, the path, a
/// toolkit, Triton's wheel.
fn folders() -> Vec<PathBuf> {
    let mut folders = vec![];
    if let Some(target) = Path::new(env!("CARGO_TARGET_TMPDIR")).parent() {
        folders.push(target.join("cuda-tools"));
    }
    if let Some(path) = std::env::var_os("PATH") {
        folders.extend(std::env::split_paths(&path));
    }
    if let Some(home) = std::env::var_os("CUDA_HOME") {
        folders.push(PathBuf::from(home).join("bin"));
    }
    let script = "import importlib.util as u; print(u.find_spec('triton').submodule_search_locations[0])";
    if let Ok(output) = Command::new("python3").args(["-c", script]).output()
        && output.status.success()
    {
        let package = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        folders.push(PathBuf::from(package).join("backends/nvidia/bin"));
    }
    folders
}

impl Tools {
    /// The tools for a target, or `None` with a line that says what was skipped. `BITMMA_PTXAS` and `BITMMA_NVDISASM` name others.
    pub(crate) fn find(target: &str) -> Option<Tools> {
        let folders = folders();
        let first = |names: &[&str]| {
            names
                .iter()
                .find_map(|name| folders.iter().map(|folder| folder.join(name)).find(|tool| tool.is_file()))
        };
        // Triton's wheel has a second ptxas, for newer targets
        let names: &[&str] = if target == "sm_80" { &["ptxas"] } else { &["ptxas-blackwell", "ptxas"] };
        let named = |variable: &str| std::env::var_os(variable).map(PathBuf::from);
        let ptxas = named("BITMMA_PTXAS").or_else(|| first(names));
        let nvdisasm = named("BITMMA_NVDISASM").or_else(|| first(&["nvdisasm"]));
        match (ptxas, nvdisasm) {
            (Some(ptxas), Some(nvdisasm)) => Some(Tools { ptxas, nvdisasm }),
            _ => {
                println!(
                    "skipped: {target}, no ptxas and nvdisasm; `crates/hardware/tests/cuda-tools` fetches them, \
                     `pip install triton` brings them"
                );
                None
            }
        }
    }
}

impl Tools {
    /// The same for bitmma.
    pub(crate) fn asked(&self) -> bitmma_ptx::Tools {
        bitmma_ptx::Tools {
            assemblers: vec![self.ptxas.clone()],
            disassemblers: vec![self.nvdisasm.clone()],
            ..bitmma_ptx::Tools::default()
        }
    }
}

/// A text, compiled.
pub(super) struct Compiled {
    pub(super) functions: HashMap<String, Function>,
    /// Sections of constants by name, as in `.nv.constant3`.
    sections: HashMap<String, Vec<u8>>,
}

impl Compiled {
    fn of(cubin: &[u8], listing: &str) -> Result<Compiled, String> {
        Ok(Compiled { functions: functions(listing), sections: sections(cubin).ok_or("not an ELF file")? })
    }

    /// The constants that an entry sees, without those of the launch.
    pub(super) fn constants(&self, entry: &str) -> Vec<(usize, Vec<u8>)> {
        let of = |bank: usize| {
            let names = [format!(".nv.constant{bank}"), format!(".nv.constant{bank}.{entry}")];
            let data = names.iter().find_map(|name| self.sections.get(name))?;
            Some((bank, data.clone()))
        };
        (1..8).filter_map(of).collect()
    }
}

impl Tools {
    /// Assembles and disassembles a text; the assembler's message if it does not like it. The folder that `BITMMA_SASS_CACHE`
    /// names keeps what the tools gave, for campaigns that are repeated.
    pub(super) fn compile(&self, text: &str, target: &str, options: &[&str]) -> Result<Compiled, String> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let mut hash = DefaultHasher::new();
        (text, target, options, &self.ptxas, &self.nvdisasm).hash(&mut hash);
        let key = format!("{:016x}", hash.finish());
        let cache = std::env::var_os("BITMMA_SASS_CACHE").map(PathBuf::from);
        let kept = cache
            .as_ref()
            .map(|folder| [folder.join(format!("{key}.cubin")), folder.join(format!("{key}.sass"))]);
        if let Some([cubin, listing]) = &kept
            && let (Ok(cubin), Ok(listing)) = (std::fs::read(cubin), std::fs::read_to_string(listing))
        {
            return Compiled::of(&cubin, &listing);
        }
        let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
        let name = format!("sass-{}-{}", std::process::id(), NUMBER.fetch_add(1, Relaxed));
        let [source, cubin] = ["ptx", "cubin"].map(|ending| folder.join(format!("{name}.{ending}")));
        let done = self.run_both(&source, &cubin, text, target, options);
        for file in [source, cubin] {
            std::fs::remove_file(file).ok();
        }
        let (cubin, listing) = done?;
        if let Some([cubin_kept, listing_kept]) = &kept {
            // whole or not at all: others may read it meanwhile
            let write = |file: &Path, bytes: &[u8]| {
                let part = file.with_extension(&name);
                let done = std::fs::write(&part, bytes).and_then(|()| std::fs::rename(&part, file));
                done.map_err(|error| error.to_string())
            };
            write(cubin_kept, &cubin)?;
            write(listing_kept, listing.as_bytes())?;
        }
        Compiled::of(&cubin, &listing)
    }

    /// The code, and its listing.
    fn run_both(
        &self,
        source: &Path,
        cubin: &Path,
        text: &str,
        target: &str,
        options: &[&str],
    ) -> Result<(Vec<u8>, String), String> {
        std::fs::write(source, text).map_err(|error| error.to_string())?;
        let arch = format!("-arch={target}");
        run(Command::new(&self.ptxas).arg(arch).args(options).arg(source).arg("-o").arg(cubin))?;
        let bytes = std::fs::read(cubin).map_err(|error| error.to_string())?;
        // without the analysis of the flow, which takes half of the time and changes nothing
        let listing = run(Command::new(&self.nvdisasm).args(["-c", "-ndf"]).arg(cubin))?;
        // every other line is a code in hexadecimal digits
        let lines: Vec<&str> =
            listing.lines().filter(|line| !line.trim_start().starts_with("/* 0x")).collect();
        Ok((bytes, lines.join("\n")))
    }
}

fn run(command: &mut Command) -> Result<String, String> {
    let output = command.output().map_err(|error| format!("{command:?}: {error}"))?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    match output.status.success() {
        true => Ok(text(&output.stdout)),
        false => Err(format!("{}{}", text(&output.stdout), text(&output.stderr))),
    }
}

/// Sections of constants of an ELF file of 64 bits.
fn sections(bytes: &[u8]) -> Option<HashMap<String, Vec<u8>>> {
    let number = |at: usize, size: usize| -> Option<usize> {
        let mut value = [0; 8];
        value[..size].copy_from_slice(bytes.get(at..at + size)?);
        usize::try_from(u64::from_le_bytes(value)).ok()
    };
    let (table, size, count, names) =
        (number(0x28, 8)?, number(0x3a, 2)?, number(0x3c, 2)?, number(0x3e, 2)?);
    let section = |index: usize| {
        let at = table + index * size;
        Some((number(at, 4)?, number(at + 4, 4)?, number(at + 0x18, 8)?, number(at + 0x20, 8)?))
    };
    let (_, _, names, _) = section(names)?;
    let mut found = HashMap::new();
    for index in 0..count {
        let (name, kind, offset, length) = section(index)?;
        let name: Vec<u8> =
            bytes.get(names + name..)?.iter().copied().take_while(|byte| *byte != 0).collect();
        let name = String::from_utf8_lossy(&name).into_owned();
        // 8: a section without bytes in the file
        if name.starts_with(".nv.constant") && kind != 8 {
            found.insert(name, bytes.get(offset..offset + length)?.to_vec());
        }
    }
    Some(found)
}
