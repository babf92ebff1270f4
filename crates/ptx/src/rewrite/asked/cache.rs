//! Listings that are known already: in the process, and in files of a folder.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Write;
use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Instant;

use super::compiled::{Compiled, compile};
use super::tools::{Failure, Tools, version};
use crate::text::{Function, Module};

/// Bytes of all files, at most; the oldest go first.
pub const CACHE_BYTES: u64 = 256 << 20;

/// Bytes of listings in the process, at most.
const MOST_BYTES: usize = 256 << 20;

/// What the first line of a file says; it changes with the form of the file.
const FIRST_LINE: &str = "bitmma listing 2";

/// A failure is kept only if it is the text's.
type Answer = Result<Arc<Compiled>, Failure>;

#[derive(Default)]
struct Known {
    answers: HashMap<String, Answer>,
    bytes: usize,
}

fn known() -> &'static Mutex<Known> {
    static KNOWN: OnceLock<Mutex<Known>> = OnceLock::new();
    KNOWN.get_or_init(Mutex::default)
}

/// The code of an entry.
pub(super) fn compiled(tools: &Tools, module: &Module, entry: &Function, target: &str) -> Answer {
    let until = Instant::now() + tools.limit;
    let text = digest(&module.text);
    let key = key(tools, &text, entry, target, until);
    if let Some(answer) = recall(tools, &key) {
        return answer;
    }
    let answer = compile(tools, module, &[entry], target, until);
    let answer = answer.and_then(|mut answers| answers.swap_remove(0)).map(Arc::new);
    keep(tools, &key, &answer);
    answer
}

/// Compiles all entries of a text by one run of ptxas, as far as they are not known.
pub(super) fn compiled_all(tools: &Tools, module: &Module, target: &str) -> Result<(), Failure> {
    let until = Instant::now() + tools.limit;
    let text = digest(&module.text);
    let key = |entry: &Function| key(tools, &text, entry, target, until);
    let is_new = |entry: &&Function| recall(tools, &key(entry)).is_none();
    let entries: Vec<&Function> = module.entries.iter().filter(is_new).collect();
    if entries.len() > 1 {
        let answers = compile(tools, module, &entries, target, until)?;
        for (entry, answer) in entries.iter().zip(answers) {
            keep(tools, &key(entry), &answer.map(Arc::new));
        }
    }
    Ok(())
}

/// All that an answer depends on.
fn key(tools: &Tools, text: &str, entry: &Function, target: &str, until: Instant) -> String {
    let mut key = format!("{text} {} {} {target} {}", entry.bytes.start, entry.name, tools.options.join(" "));
    for tool in tools.assemblers.iter().chain(&tools.disassemblers) {
        key.push_str(&format!(" {}@{}", tool.display(), version(tool, until)));
    }
    key.replace('\n', " ")
}

/// 128 bits and the length.
fn digest(text: &str) -> String {
    let half = |salt: u8| {
        let mut hasher = DefaultHasher::new();
        (salt, text).hash(&mut hasher);
        hasher.finish()
    };
    format!("{:016x}{:016x}-{}", half(1), half(2), text.len())
}

fn recall(tools: &Tools, key: &str) -> Option<Answer> {
    let answer = known().lock().ok().and_then(|known| known.answers.get(key).cloned());
    if answer.is_some() {
        return answer;
    }
    let compiled = read(&tools.cache.as_ref()?.join(file_name(key)), key)?;
    let answer = Ok(Arc::new(compiled));
    remember(key, &answer);
    Some(answer)
}

fn keep(tools: &Tools, key: &str, answer: &Answer) {
    if !matches!(answer, Err(Failure::Passing(_))) {
        remember(key, answer);
    }
    if let (Some(folder), Ok(compiled)) = (&tools.cache, answer) {
        // a folder that takes no file costs time only
        let _ = write(folder, key, compiled);
    }
}

fn remember(key: &str, answer: &Answer) {
    let Ok(mut known) = known().lock() else { return };
    let bytes = key.len() + answer.as_ref().map_or(64, |compiled| compiled.listing.len());
    if known.bytes + bytes > MOST_BYTES {
        *known = Known::default();
    }
    known.bytes += bytes;
    known.answers.insert(key.to_owned(), answer.clone());
}

fn file_name(key: &str) -> String {
    digest(key).split('-').next().unwrap_or("").to_owned() + ".listing"
}

/// What a file says, if it is whole and for this key.
fn read(path: &Path, key: &str) -> Option<Compiled> {
    // what is no file, as a pipe or a device, may never end
    let about = std::fs::metadata(path).ok().filter(|about| about.is_file())?;
    (about.len() <= CACHE_BYTES).then_some(())?;
    let text = std::fs::read_to_string(path).ok()?;
    let rest = text.strip_prefix(FIRST_LINE)?.strip_prefix('\n')?;
    let rest = rest.strip_prefix(key)?.strip_prefix('\n')?;
    let (sum, rest) = rest.split_once('\n')?;
    let (by, listing) = rest.split_once('\n')?;
    (sum == digest(rest)).then(|| Compiled { by: by.to_owned(), listing: listing.to_owned() })
}

fn write(folder: &Path, key: &str, compiled: &Compiled) -> std::io::Result<()> {
    std::fs::create_dir_all(folder)?;
    // where it is not possible, the folder is the worse for it only by a few files
    let _ = make_room(folder);
    let rest = format!("{}\n{}", compiled.by, compiled.listing);
    let path = folder.join(file_name(key));
    // another process sees the whole file or none
    let new = folder.join(format!("{}.{}.new", file_name(key), std::process::id()));
    let mut file = std::fs::File::create(&new)?;
    let written = file.write_all(format!("{FIRST_LINE}\n{key}\n{}\n{rest}", digest(&rest)).as_bytes());
    drop(file);
    written.and_then(|()| std::fs::rename(&new, &path)).inspect_err(|_| {
        // half a file is no use
        let _ = std::fs::remove_file(&new);
    })
}

/// Removes the oldest files of a folder that has become too large. It is measured once in 64 files.
fn make_room(folder: &Path) -> std::io::Result<()> {
    static COUNT: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);
    if !COUNT.fetch_add(1, std::sync::atomic::Ordering::Relaxed).is_multiple_of(64) {
        return Ok(());
    }
    remove_oldest(folder, CACHE_BYTES)
}

fn remove_oldest(folder: &Path, most: u64) -> std::io::Result<()> {
    let mut files = vec![];
    for file in std::fs::read_dir(folder)? {
        let file = file?;
        if let Ok(about) = file.metadata() {
            let is_ours =
                matches!(file.path().extension().and_then(|one| one.to_str()), Some("listing" | "new"));
            if is_ours {
                files.push((about.modified()?, about.len(), file.path()));
            }
        }
    }
    files.sort_unstable();
    let mut bytes: u64 = files.iter().map(|(_, bytes, _)| bytes).sum();
    if bytes <= most {
        return Ok(());
    }
    for (_, size, path) in files {
        if bytes <= most / 4 * 3 {
            break;
        }
        // another process may have been faster
        let _ = std::fs::remove_file(path);
        bytes -= size;
    }
    Ok(())
}
