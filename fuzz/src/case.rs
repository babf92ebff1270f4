//! The command on some files, and how it must end: exit code 0, 1 or 2, within limits of memory and time.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

/// Address space that the command may take, in KiB: 1 GiB.
const MEMORY: u64 = 1 << 20;
/// Processor seconds that it may take, all threads together: a busy machine does not lengthen them.
const PROCESSOR_SECONDS: u64 = 5;
/// Where it waits for ever, it takes no processor time.
const PATIENCE: Duration = Duration::from_secs(120);

/// A command line and the files that it reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Case {
    /// Of a known case its name, of a finding also its seed.
    pub name: String,
    /// The line.
    pub line: Line,
    /// Names and contents.
    pub files: Vec<(String, Vec<u8>)>,
}

/// A command line, as the file `command.json` of a case has it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Line {
    /// Its words without the command's name; `@FILE` is the text of that file.
    pub words: Vec<String>,
    /// The exit code that was settled on; none: 0, 1 or 2.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<i32>,
    /// A text that the error holds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub says: Option<String>,
    /// What was found with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub about: Option<String>,
}

const LINE: &str = "command.json";

/// How a command ended.
#[derive(Clone, Debug)]
pub struct Ended {
    /// None where a signal ended it.
    pub code: Option<i32>,
    /// What it said on the standard error, as far as a message goes.
    pub said: String,
    /// Until it ended.
    pub took: Duration,
    /// Whether it was ended because it was given no more time.
    pub stopped: bool,
}

impl Case {
    /// A case of a few words.
    pub fn new(name: &str, words: &[&str], files: Vec<(String, Vec<u8>)>) -> Case {
        let words = words.iter().map(|&word| word.to_owned()).collect();
        Case { name: name.to_owned(), line: Line { words, code: None, says: None, about: None }, files }
    }

    /// The case that a folder holds: `command.json` and the files.
    pub fn load(folder: &Path) -> io::Result<Case> {
        let mut files = Vec::new();
        let mut line = None;
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            let (name, bytes) = (entry.file_name().to_string_lossy().into_owned(), fs::read(entry.path())?);
            if name == LINE {
                line = Some(serde_json::from_slice(&bytes)?);
            } else {
                files.push((name, bytes));
            }
        }
        files.sort();
        let line = line.ok_or_else(|| io::Error::other(format!("no {LINE} in {}", folder.display())))?;
        let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        Ok(Case { name, line, files })
    }

    /// Writes the case into a folder, which is made.
    pub fn save(&self, folder: &Path) -> io::Result<()> {
        fs::create_dir_all(folder)?;
        self.write_files(folder)?;
        fs::write(folder.join(LINE), serde_json::to_string_pretty(&self.line)? + "\n")
    }

    fn write_files(&self, folder: &Path) -> io::Result<()> {
        self.files.iter().try_for_each(|(name, bytes)| fs::write(folder.join(name), bytes))
    }

    /// Runs the command in a folder of its own; `given`: how long it may take before it is stopped.
    pub fn run(&self, command: &Path, given: Option<Duration>) -> io::Result<Ended> {
        let folder = tempfile::tempdir()?;
        self.write_files(folder.path())?;
        let word = |word: &String| match word.strip_prefix('@') {
            None => word.clone(),
            Some(file) => {
                let content = self.files.iter().find(|(name, _)| name == file);
                let bytes = content.map_or(&[][..], |(_, bytes)| bytes);
                String::from_utf8_lossy(bytes).replace('\0', "")
            }
        };
        let words: Vec<String> = self.line.words.iter().map(word).collect();
        limited(command, &words, folder.path(), given)
    }

    /// Why the end of a run is not as it must be.
    pub fn wrong(&self, ended: &Ended) -> Option<String> {
        let Line { code, says, .. } = &self.line;
        let allowed = match code {
            Some(code) => *code..=*code,
            None => 0..=2,
        };
        let said = says.as_ref().is_none_or(|text| ended.said.contains(text));
        let is_right = ended.code.is_some_and(|code| allowed.contains(&code)) && said;
        (!is_right).then(|| {
            let wanted = says.as_ref().map_or(String::new(), |text| format!(" and '{text}'"));
            format!(
                "{}: exit code {:?} after {:?}, {allowed:?}{wanted} expected\n{}",
                self.name, ended.code, ended.took, ended.said
            )
        })
    }
}

/// Runs a command with limits of memory and processor time, in a folder.
pub fn limited(
    command: &Path,
    words: &[String],
    folder: &Path,
    given: Option<Duration>,
) -> io::Result<Ended> {
    let said = folder.join("the standard error");
    let mut child = Command::new("sh");
    child
        .args(["-c", &format!("ulimit -v {MEMORY} && ulimit -t {PROCESSOR_SECONDS} && exec \"$@\""), "sh"])
        .arg(command)
        .args(words)
        .current_dir(folder)
        // threads and their heaps take address space
        .envs([("RAYON_NUM_THREADS", "2"), ("MALLOC_ARENA_MAX", "2"), ("RUST_BACKTRACE", "0")])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(File::create(&said)?);
    let start = Instant::now();
    let mut child = child.spawn()?;
    let limit = given.unwrap_or(PATIENCE);
    let mut stopped = false;
    let status = loop {
        match child.try_wait()? {
            Some(status) => break status,
            None if start.elapsed() > limit && !stopped => {
                child.kill()?;
                stopped = true;
            }
            None => std::thread::sleep(Duration::from_micros(500)),
        }
    };
    let mut text = Vec::new();
    File::open(&said)?.take(4000).read_to_end(&mut text)?;
    let said = String::from_utf8_lossy(&text).into_owned();
    Ok(Ended { code: status.code(), said, took: start.elapsed(), stopped })
}
