//! Compiles an entry and lists its code, each instruction with the number of the PTX instruction that it was compiled from.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use super::elf;
use super::numbered::{Extent, numbered};
use super::tools::{Failure, Folder, Running, Tools, version};
use crate::text::{Function, Module};

/// The code of an entry.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Compiled {
    /// As in `ptxas 12.9.86`.
    pub(super) by: String,
    /// Labels and instructions, one a line; before an instruction its number and a tabulator.
    pub(super) listing: String,
}

/// Bytes of a listing at most for each byte of the file of the code: an instruction of 16 bytes is a line or two.
const LISTED: usize = 64;

/// Bytes of an instruction, since Volta.
const INSTRUCTION: usize = 16;

/// Compiles entries with the first assembler that takes the text, until then at the latest. Else why none did, of each what it said
/// first.
pub(super) fn compile(
    tools: &Tools,
    module: &Module,
    entries: &[&Function],
    target: &str,
    until: Instant,
) -> Result<Vec<Result<Compiled, Failure>>, Failure> {
    let mut said: Vec<(&Path, Failure)> = vec![];
    for extent in [Extent::Entry, Extent::Whole] {
        for assembler in &tools.assemblers {
            let by = format!("ptxas {}", version(assembler, until)).trim_end().to_owned();
            let folder = Folder::new()?;
            let asking =
                Asking { tools, assembler, module, entries, target, extent, until, folder: &folder.0 };
            match asking.listings() {
                Ok(listings) => {
                    let one = |listing: Result<String, Failure>| {
                        let compiled = |listing| Compiled { by: by.clone(), listing };
                        listing.map(compiled).map_err(|failure| failure.of(&by))
                    };
                    return Ok(listings.into_iter().map(one).collect());
                }
                Err(failure) => {
                    if !said.iter().any(|(other, _)| other == assembler) {
                        said.push((assembler, failure.of(&by)));
                    }
                }
            }
        }
    }
    let why: Vec<&str> = said.iter().map(|(_, failure)| failure.why()).collect();
    let why = if why.is_empty() { "there is no ptxas".to_owned() } else { why.join("; ") };
    Err(match said.iter().all(|(_, failure)| matches!(failure, Failure::Text(_))) {
        true => Failure::Text(why),
        false => Failure::Passing(why),
    })
}

struct Asking<'a> {
    tools: &'a Tools,
    assembler: &'a Path,
    module: &'a Module,
    entries: &'a [&'a Function],
    target: &'a str,
    extent: Extent,
    until: Instant,
    folder: &'a Path,
}

impl Asking<'_> {
    /// Starts the assembler, and says where the code will be.
    fn start(&self, label: &str, with_numbers: bool) -> Result<(Running, PathBuf), Failure> {
        let path = |extension: &str| self.folder.join(label).with_extension(extension);
        let (source, code) = (path("ptx"), path("cubin"));
        let text = numbered(self.module, self.entries, self.extent, with_numbers);
        std::fs::write(&source, text).map_err(|error| of_file(&source, &error))?;
        let mut command = Command::new(self.assembler);
        command.arg(format!("-arch={}", self.target)).arg("-lineinfo").args(&self.tools.options);
        command.arg(&source).arg("-o").arg(&code);
        Ok((Running::start(&mut command, 0)?, code))
    }

    /// The listing of each entry.
    fn listings(&self) -> Result<Vec<Result<String, Failure>>, Failure> {
        let (with, code) = self.start("numbered", true)?;
        let (without, plain) = self.start("plain", false)?;
        let read = |path: &Path| std::fs::read(path).map_err(|error| of_file(path, &error));
        // first the one whose lines are those of the text, as an error names one
        without.end(self.until)?;
        with.end(self.until)?;
        let (code_bytes, plain_bytes) = (read(&code)?, read(&plain)?);
        let mut sections = reduced(&self.listing(&code, LISTED * code_bytes.len())?);
        // a tool may end well that had no room for all that it wrote
        let section = |path: &Path, file: &[u8], name: &str| {
            let cut =
                || Failure::Passing(format!("'{}' is not whole: it has no section {name}", path.display()));
            elf::section(file, name).map(<[u8]>::to_vec).ok_or_else(cut)
        };
        let mut one = |entry: &&Function| -> Result<String, Failure> {
            let name = format!(".text.{}", entry.name);
            let bytes = section(&code, &code_bytes, &name)?;
            if section(&plain, &plain_bytes, &name)? != bytes {
                let why = "the code changes with the lines that number its instructions";
                return Err(Failure::Text(why.to_owned()));
            }
            let listing = sections.remove(&name).unwrap_or_default();
            let listed = listing.lines().filter(|line| line.contains('\t')).count();
            let count = bytes.len() / INSTRUCTION;
            if listed != count {
                let why = format!("nvdisasm lists {listed} instructions of {name}, which has {count}");
                return Err(Failure::Passing(why));
            }
            Ok(listing)
        };
        Ok(self.entries.iter().map(&mut one).collect())
    }

    /// What the first disassembler lists that can: one that is older than the assembler may not know the instructions.
    fn listing(&self, code: &Path, most: usize) -> Result<String, Failure> {
        let mut failed = Failure::Passing("there is no nvdisasm".to_owned());
        for disassembler in &self.tools.disassemblers {
            let mut command = Command::new(disassembler);
            command.args(["-c", "-g"]).arg(code);
            match Running::start(&mut command, most).and_then(|running| running.end(self.until)) {
                Ok(text) => return Ok(text),
                Err(failure) => failed = failure.of("nvdisasm"),
            }
        }
        Err(failed)
    }
}

fn of_file(path: &Path, error: &std::io::Error) -> Failure {
    Failure::Passing(format!("'{}': {error}", path.display()))
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
