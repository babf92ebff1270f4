//! Compiles an entry and lists its code, each instruction with the number of the PTX instruction that it was compiled from.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use super::elf;
use super::numbered::{Extent, numbered};
use super::tools::{Folder, Running, TIME_LIMIT, Tools, version};
use crate::text::{Function, Module};

/// The code of an entry.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Compiled {
    /// As in `ptxas 12.9.86`.
    pub(super) by: String,
    /// Labels and instructions, one a line; before an instruction its number and a tabulator.
    pub(super) listing: String,
}

/// Compiles entries with the first assembler that takes the text. Else why none did, of each what it said first.
pub(super) fn compile(
    tools: &Tools,
    module: &Module,
    entries: &[&Function],
    target: &str,
) -> Result<Vec<Result<Compiled, String>>, String> {
    let mut said: Vec<(&Path, String)> = vec![];
    let until = Instant::now() + TIME_LIMIT;
    for extent in [Extent::Entry, Extent::Whole] {
        for assembler in &tools.assemblers {
            let by = format!("ptxas {}", version(assembler));
            let asking = Asking { tools, assembler, module, entries, target, extent, until };
            match asking.listings() {
                Ok(listings) => {
                    let one = |listing: Result<String, String>| {
                        let compiled = |listing| Compiled { by: by.clone(), listing };
                        listing.map(compiled).map_err(|why| format!("{by}: {why}"))
                    };
                    return Ok(listings.into_iter().map(one).collect());
                }
                Err(why) => {
                    if !said.iter().any(|(other, _)| other == assembler) {
                        said.push((assembler, format!("{by}: {why}")));
                    }
                }
            }
        }
    }
    let said: Vec<String> = said.into_iter().map(|(_, why)| why).collect();
    Err(if said.is_empty() { "there is no ptxas".to_owned() } else { said.join("; ") })
}

struct Asking<'a> {
    tools: &'a Tools,
    assembler: &'a Path,
    module: &'a Module,
    entries: &'a [&'a Function],
    target: &'a str,
    extent: Extent,
    until: Instant,
}

impl Asking<'_> {
    /// Starts the assembler in a folder, and says where the code will be.
    fn start(&self, folder: &Folder, label: &str, with_numbers: bool) -> Result<(Running, PathBuf), String> {
        let (source, code) = (folder.0.join(format!("{label}.ptx")), folder.0.join(format!("{label}.cubin")));
        let text = numbered(self.module, self.entries, self.extent, with_numbers);
        std::fs::write(&source, text).map_err(|error| error.to_string())?;
        let mut command = Command::new(self.assembler);
        command.arg(format!("-arch={}", self.target)).arg("-lineinfo").args(&self.tools.options);
        command.arg(&source).arg("-o").arg(&code);
        Ok((Running::start(&mut command, &folder.0, label)?, code))
    }

    /// The listing of each entry.
    fn listings(&self) -> Result<Vec<Result<String, String>>, String> {
        let until = self.until;
        let folder = Folder::new().map_err(|error| error.to_string())?;
        let (with, code) = self.start(&folder, "numbered", true)?;
        let (without, plain) = self.start(&folder, "plain", false)?;
        with.end(until)?;
        let (mut why, mut listing) = (String::new(), None);
        // one that is older than the assembler may not know the instructions
        for disassembler in &self.tools.disassemblers {
            let mut command = Command::new(disassembler);
            command.args(["-c", "-g"]).arg(&code);
            match Running::start(&mut command, &folder.0, "listing").and_then(|running| running.end(until)) {
                Ok(text) => {
                    listing = Some(text);
                    break;
                }
                Err(error) => why = format!("nvdisasm: {error}"),
            }
        }
        let listing = listing.ok_or(why)?;
        without.end(until)?;
        let read = |path: &Path| std::fs::read(path).map_err(|error| error.to_string());
        let (code, plain) = (read(&code)?, read(&plain)?);
        let mut sections = reduced(&listing);
        let mut one = |entry: &&Function| -> Result<String, String> {
            let name = format!(".text.{}", entry.name);
            let bytes =
                elf::section(&code, &name).ok_or_else(|| format!("the code has no section {name}"))?;
            if elf::section(&plain, &name) != Some(bytes) {
                return Err("the code changes with the lines that number its instructions".to_owned());
            }
            sections.remove(&name).ok_or_else(|| format!("the listing has no section {name}"))
        };
        Ok(self.entries.iter().map(&mut one).collect())
    }
}

/// The labels and instructions of each section.
fn reduced(listing: &str) -> HashMap<String, String> {
    let mut sections = HashMap::new();
    let mut number = 0u32;
    let mut current: Option<(String, String)> = None;
    for line in listing.lines() {
        let trimmed = line.trim();
        if let Some(rest) =
            trimmed.strip_prefix(".section").filter(|rest| rest.starts_with(char::is_whitespace))
        {
            sections.extend(current.take());
            let name = rest.trim().split(',').next().unwrap_or("");
            current = name.starts_with(".text.").then(|| (name.to_owned(), String::new()));
            number = 0;
            continue;
        }
        let Some((_, code)) = &mut current else { continue };
        if let Some(rest) = trimmed.strip_prefix("//## File ") {
            // of what was inlined the first is the line itself
            if let Some((_, at)) = rest.split_once(", line ") {
                let digits: String = at.chars().take_while(char::is_ascii_digit).collect();
                number = digits.parse().unwrap_or(0);
            }
        } else if let Some((_, text)) = trimmed.strip_prefix("/*").and_then(|rest| rest.split_once("*/")) {
            let text = text.split(';').next().unwrap_or("").trim();
            if !text.is_empty() && !text.starts_with("/*") {
                code.push_str(&format!("{number}\t{text}\n"));
            }
        } else if trimmed.ends_with(':') {
            code.push_str(trimmed);
            code.push('\n');
        }
    }
    sections.extend(current);
    sections
}
