//! Where ptxas and nvdisasm are, and how they are run.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, OnceLock};
use std::time::{Duration, Instant, SystemTime};

/// Folders that are searched before all others, separated as those of PATH are.
pub const FOLDERS_VARIABLE: &str = "BITMMA_CUDA_TOOLS";

/// How long ptxas and nvdisasm may take together for a text, all tries included.
pub const TIME_LIMIT: Duration = Duration::from_secs(120);

/// What compiles a text and shows the code.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Tools {
    /// Assemblers, the preferred one first; the others are tried for texts that it does not take.
    pub assemblers: Vec<PathBuf>,
    /// Disassemblers, likewise.
    pub disassemblers: Vec<PathBuf>,
    /// Further options of the assembler.
    pub options: Vec<String>,
    /// The folder in which listings are kept. None: they are kept in the process only.
    pub cache: Option<PathBuf>,
}

impl Tools {
    /// The tools in these folders, of which one that is a file is an assembler itself, then in those of the variable `BITMMA_CUDA_TOOLS`, of PATH, and of CUDA_HOME and CUDA_PATH
    /// (`bin`). None where an assembler or the disassembler is missing. Triton has a second assembler for what is newer than
    /// `sm_90`, `ptxas-blackwell`; it comes first for those targets.
    pub fn find(folders: &[PathBuf], target: &str) -> Option<Tools> {
        let variable = |name: &str| std::env::var_os(name).unwrap_or_default();
        let split = |name: &str| std::env::split_paths(&variable(name)).collect::<Vec<_>>();
        let mut all = folders.to_vec();
        all.extend(split(FOLDERS_VARIABLE));
        all.extend(split("PATH"));
        for name in ["CUDA_HOME", "CUDA_PATH"] {
            let home = variable(name);
            if !home.is_empty() {
                all.push(Path::new(&home).join("bin"));
            }
        }
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
        (!assemblers.is_empty() && !disassemblers.is_empty()).then_some(Tools {
            assemblers,
            disassemblers,
            options: vec![],
            cache: super::folder::folder(),
        })
    }
}

/// What tells a file from another that takes its place: its size, and when it was written.
type Mark = Option<(u64, Option<SystemTime>)>;

/// How long a tool may take to name its release.
const VERSION_LIMIT: Duration = Duration::from_secs(20);

/// The release that a tool names, as in `12.9.86`; empty where it names none. Asked once for each file.
pub(super) fn version(tool: &Path) -> String {
    static KNOWN: OnceLock<Mutex<HashMap<(PathBuf, Mark), String>>> = OnceLock::new();
    let known = KNOWN.get_or_init(Mutex::default);
    let mark = std::fs::metadata(tool).ok().map(|about| (about.len(), about.modified().ok()));
    let key = (tool.to_owned(), mark);
    if let Some(version) = known.lock().ok().and_then(|known| known.get(&key).cloned()) {
        return version;
    }
    let text = Folder::new().map_err(|error| error.to_string()).and_then(|folder| {
        let running = Running::start(Command::new(tool).arg("--version"), &folder.0, "version")?;
        running.end(Instant::now() + VERSION_LIMIT)
    });
    let text = text.unwrap_or_default();
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
    pub(super) fn new() -> std::io::Result<Folder> {
        static COUNT: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);
        loop {
            let count = COUNT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            let path = std::env::temp_dir().join(format!("bitmma-{}-{count}", std::process::id()));
            match std::fs::create_dir(&path) {
                Ok(()) => return Ok(Folder(path)),
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
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

/// A tool that runs, with the files that it prints to.
pub(super) struct Running {
    child: std::process::Child,
    name: String,
    output: PathBuf,
    errors: PathBuf,
}

impl Running {
    pub(super) fn start(command: &mut Command, folder: &Path, label: &str) -> Result<Running, String> {
        let name = command.get_program().to_string_lossy().into_owned();
        let (output, errors) = (folder.join(format!("{label}.out")), folder.join(format!("{label}.err")));
        let file =
            |path: &Path| std::fs::File::create(path).map_err(|error| format!("{}: {error}", path.display()));
        let command = command.stdin(Stdio::null()).stdout(file(&output)?).stderr(file(&errors)?);
        let child = command.spawn().map_err(|error| format!("{name}: {error}"))?;
        Ok(Running { child, name, output, errors })
    }

    /// Waits for it, until then at the latest; what it printed.
    pub(super) fn end(mut self, until: Instant) -> Result<String, String> {
        let mut pause = Duration::from_millis(1);
        let status = loop {
            match self.child.try_wait() {
                Ok(Some(status)) => break status,
                Ok(None) if Instant::now() < until => std::thread::sleep(pause),
                Ok(None) => {
                    return Err(format!("{} took too long and was stopped", self.name));
                }
                Err(error) => return Err(format!("{}: {error}", self.name)),
            }
            pause = (pause * 2).min(Duration::from_millis(20));
        };
        let read =
            |path: &Path| std::fs::read(path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        if status.success() {
            return read(&self.output).map_err(|error| error.to_string());
        }
        let errors = read(&self.errors).unwrap_or_default();
        let first = errors.lines().find(|line| !line.trim().is_empty()).unwrap_or("no message").trim();
        // the name of the file is one of ours
        let first = first.rsplit_once(".ptx").map_or(first, |(_, rest)| rest.trim_start_matches([',', ' ']));
        Err(format!("{status}: {first}"))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if matches!(self.child.try_wait(), Ok(None)) {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}
