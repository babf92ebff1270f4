//! Where ptxas and nvdisasm are, and how they are run.

use std::collections::HashMap;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Mutex, OnceLock};
use std::time::{Duration, Instant, SystemTime};

/// Folders that are searched before all others, separated as those of PATH are.
pub const FOLDERS_VARIABLE: &str = "BITMMA_CUDA_TOOLS";

/// How long ptxas and nvdisasm may take together for a text, all tries included; what [`Tools::limit`] is by default.
pub const TIME_LIMIT: Duration = Duration::from_secs(120);

/// What compiles a text and shows the code.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Tools {
    /// Assemblers, the preferred one first; the others are tried for texts that it does not take.
    pub assemblers: Vec<PathBuf>,
    /// Disassemblers, likewise.
    pub disassemblers: Vec<PathBuf>,
    /// Further options of the assembler.
    pub options: Vec<String>,
    /// The folder in which listings are kept. None: they are kept in the process only.
    pub cache: Option<PathBuf>,
    /// How long they may take together for a text.
    pub limit: Duration,
}

impl Default for Tools {
    fn default() -> Tools {
        Tools { assemblers: vec![], disassemblers: vec![], options: vec![], cache: None, limit: TIME_LIMIT }
    }
}

/// The folders of a variable.
fn split(variable: &str) -> Vec<PathBuf> {
    std::env::split_paths(&std::env::var_os(variable).unwrap_or_default()).collect()
}

impl Tools {
    /// Where NVIDIA's tools are looked for: in these folders, those of the variable `BITMMA_CUDA_TOOLS`, of PATH, and of CUDA_HOME and
    /// CUDA_PATH (`bin`).
    #[must_use]
    pub fn folders(first: &[PathBuf]) -> Vec<PathBuf> {
        let homes = ["CUDA_HOME", "CUDA_PATH"].into_iter().filter_map(std::env::var_os);
        let bins = homes.filter(|home| !home.is_empty()).map(|home| Path::new(&home).join("bin"));
        first.iter().cloned().chain(split(FOLDERS_VARIABLE)).chain(split("PATH")).chain(bins).collect()
    }

    /// The tools in these folders, of which one that is a file is an assembler itself, then in those of the variable
    /// `BITMMA_CUDA_TOOLS`, of PATH, and of CUDA_HOME and CUDA_PATH (`bin`). Else what is missing. Triton has a second assembler for
    /// what is newer than `sm_90`, `ptxas-blackwell`; it comes first for those targets.
    pub fn find(folders: &[PathBuf], target: &str) -> Result<Tools, String> {
        let all = Tools::folders(folders);
        let digits: String = target.chars().filter(char::is_ascii_digit).collect();
        let newer = digits.parse::<u32>().is_ok_and(|number| number >= 90);
        let names = if newer { ["ptxas-blackwell", "ptxas"] } else { ["ptxas", "ptxas-blackwell"] };
        let suffix = std::env::consts::EXE_SUFFIX;
        let found = |name: &str| {
            let path = |folder: &PathBuf| folder.join(format!("{name}{suffix}"));
            let mut paths: Vec<PathBuf> = vec![];
            for path in all.iter().filter(|folder| folder.is_absolute()).map(path) {
                if path.is_file() && !paths.contains(&path) {
                    paths.push(path);
                }
            }
            paths
        };
        let mut assemblers: Vec<PathBuf> = folders.iter().filter(|path| path.is_file()).cloned().collect();
        for path in names.into_iter().flat_map(found) {
            if !assemblers.contains(&path) {
                assemblers.push(path);
            }
        }
        let disassemblers = found("nvdisasm");
        let missing = match (assemblers.is_empty(), disassemblers.is_empty()) {
            (false, false) => {
                let cache = super::folder::folder()?;
                return Ok(Tools { assemblers, disassemblers, cache, ..Tools::default() });
            }
            (true, true) => "ptxas and nvdisasm are",
            (true, false) => "ptxas is",
            (false, true) => "nvdisasm is",
        };
        let mut why = format!("{missing} not in {FOLDERS_VARIABLE}, PATH or CUDA_HOME");
        let named = split(FOLDERS_VARIABLE);
        let is_wrong =
            |folder: &&PathBuf| !(folder.as_os_str().is_empty() || folder.is_absolute() && folder.is_dir());
        if let Some(wrong) = named.iter().find(is_wrong) {
            let wrong = wrong.display();
            why += &format!("; {FOLDERS_VARIABLE} names '{wrong}': expected the absolute path of a folder");
        }
        Err(why)
    }
}

/// Why tools gave no listing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Failure {
    /// They do not take the text, the target or an option, and never will.
    Text(String),
    /// Another try may succeed: a folder or space is missing, or a tool took too long, crashed, or was killed.
    Passing(String),
}

impl Failure {
    pub(super) fn why(&self) -> &str {
        let (Failure::Text(why) | Failure::Passing(why)) = self;
        why
    }

    /// The same, by a tool.
    pub(super) fn of(self, tool: &str) -> Failure {
        match self {
            Failure::Text(why) => Failure::Text(format!("{tool}: {why}")),
            Failure::Passing(why) => Failure::Passing(format!("{tool}: {why}")),
        }
    }
}

/// What tells a file from another that takes its place: its size, and when it was written.
type Mark = Option<(u64, Option<SystemTime>)>;

/// How long a tool may take to name its release.
const VERSION_LIMIT: Duration = Duration::from_secs(20);

/// The release that a tool names, as in `12.9.86`; empty where it names none until then. Asked once for each file.
pub(super) fn version(tool: &Path, until: Instant) -> String {
    static KNOWN: OnceLock<Mutex<HashMap<(PathBuf, Mark), String>>> = OnceLock::new();
    let known = KNOWN.get_or_init(Mutex::default);
    let mark = std::fs::metadata(tool).ok().map(|about| (about.len(), about.modified().ok()));
    let key = (tool.to_owned(), mark);
    if let Some(version) = known.lock().ok().and_then(|known| known.get(&key).cloned()) {
        return version;
    }
    let until = until.min(Instant::now() + VERSION_LIMIT);
    let running = Running::start(Command::new(tool).arg("--version"), MOST_WORDS);
    let Ok(text) = running.and_then(|running| running.end(until)) else { return String::new() };
    let version = text
        .split([' ', ',', '\n'])
        .find_map(|word| word.strip_prefix('V').filter(|rest| rest.starts_with(|c: char| c.is_ascii_digit())))
        .unwrap_or("")
        .to_owned();
    if let Ok(mut known) = known.lock() {
        known.insert(key, version.clone());
    }
    version
}

/// A folder of its own that goes when this does.
pub(super) struct Folder(pub(super) PathBuf);

impl Folder {
    pub(super) fn new() -> Result<Folder, Failure> {
        static COUNT: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);
        let parent = std::env::temp_dir();
        loop {
            let count = COUNT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            let path = parent.join(format!("bitmma-{}-{count}", std::process::id()));
            match std::fs::create_dir(&path) {
                Ok(()) => return Ok(Folder(path)),
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
                Err(error) => {
                    let parent = parent.display();
                    return Err(Failure::Passing(format!("no temporary folder in '{parent}': {error}")));
                }
            }
        }
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // what is left of it is the system's to remove
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Bytes that are kept of what a tool says besides its result.
const MOST_WORDS: usize = 4096;

/// Characters of a line that a message quotes, at most.
const MOST_CHARACTERS: usize = 300;

/// A tool that runs, in a group of processes of its own.
pub(super) struct Running {
    child: Child,
    output: Receiver<Vec<u8>>,
    errors: Receiver<Vec<u8>>,
    reaped: bool,
}

impl Running {
    /// Starts it. Of what it prints as its result this many bytes are kept.
    pub(super) fn start(command: &mut Command, most: usize) -> Result<Running, Failure> {
        let name = command.get_program().to_string_lossy().into_owned();
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(command, 0);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let failed = |error: std::io::Error| Failure::Passing(format!("{name}: {error}"));
        let mut child = command.spawn().map_err(failed)?;
        let (output, errors) = (child.stdout.take(), child.stderr.take());
        let (kept, said) = (channel(), channel());
        let running = Running { child, output: kept.1, errors: said.1, reaped: false };
        for (pipe, most, sender) in [
            (output.map(|pipe| Box::new(pipe) as Box<dyn Read + Send>), most, kept.0),
            (errors.map(|pipe| Box::new(pipe) as Box<dyn Read + Send>), MOST_WORDS, said.0),
        ] {
            let read = move || sender.send(pipe.map_or(vec![], |pipe| beginning(pipe, most)));
            std::thread::Builder::new().spawn(read).map_err(failed)?;
        }
        Ok(running)
    }

    /// Waits for it and for all that have its pipes, until then at the latest; what it printed.
    pub(super) fn end(mut self, until: Instant) -> Result<String, Failure> {
        let slow = || Failure::Passing("took too long and was stopped".to_owned());
        let rest = || until.saturating_duration_since(Instant::now());
        let output = self.output.recv_timeout(rest()).map_err(|_| slow())?;
        let errors = self.errors.recv_timeout(rest()).map_err(|_| slow())?;
        let mut pause = Duration::from_millis(1);
        let status = loop {
            match self.child.try_wait() {
                Ok(Some(status)) => break status,
                Ok(None) if Instant::now() < until => std::thread::sleep(pause),
                Ok(None) => return Err(slow()),
                Err(error) => return Err(Failure::Passing(error.to_string())),
            }
            pause = (pause * 2).min(Duration::from_millis(20));
        };
        self.reaped = true;
        match status.success() {
            true => Ok(String::from_utf8_lossy(&output).into_owned()),
            false => Err(failure(status, &String::from_utf8_lossy(&errors))),
        }
    }
}

/// The first bytes of a pipe, which is read to its end: what writes to it shall not wait.
fn beginning(mut pipe: impl Read, most: usize) -> Vec<u8> {
    let mut kept = vec![];
    // what cannot be read is as if it had not been written
    let _ = pipe.by_ref().take(most as u64).read_to_end(&mut kept);
    let _ = std::io::copy(&mut pipe, &mut std::io::sink());
    kept
}

/// Why a tool failed that printed this.
fn failure(status: ExitStatus, errors: &str) -> Failure {
    let is_error = |line: &&str| line.contains("error") || line.contains("fatal");
    let mut lines = errors.lines().map(str::trim).filter(|line| !line.is_empty());
    let first = lines.clone().find(is_error).or_else(|| lines.next()).unwrap_or("no message");
    // the name of the file is one of ours
    let of_line = first.rsplit_once(".ptx, ").map(|(_, rest)| rest).filter(|rest| rest.starts_with("line "));
    let line = of_line.unwrap_or(first);
    // ptxas names a line of the text, or an option; else it had no memory or no space
    let is_text = of_line.is_some() || line.contains(" option '");
    let mut why = format!("{status}: {}", line.chars().take(MOST_CHARACTERS).collect::<String>());
    if line.chars().nth(MOST_CHARACTERS).is_some() {
        why.push('…');
    }
    match is_text && is_error(&line) && status.code().is_some() {
        true => Failure::Text(why),
        false => Failure::Passing(why),
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if self.reaped {
            return; // its number may be another's by now
        }
        #[cfg(unix)]
        if let Some(group) = i32::try_from(self.child.id()).ok().and_then(rustix::process::Pid::from_raw) {
            let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
