//! Files that were changed a little, through every reader of the command: exit code 0, 1 or 2, at most 1 GiB, at most five
//! seconds of processor time.
//!
//! 200 files in every run, 10,000 with `BITMMA_TESTS=all`, as many as fit with `BITMMA_FUZZ_SECONDS`. A finding is left as a
//! folder; put right, it moves to `fuzz/corpus`. `BITMMA_FUZZ_SEED=0x…` begins with that file, `BITMMA_FUZZ_BASE=kernel` changes
//! only files of bases that have this in their name, and `BITMMA_COMMAND` is a command that was built for speed.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, Instant, SystemTime};

use bitmma_fuzz::bases::bases;
use bitmma_fuzz::case::Case;
use bitmma_fuzz::files::mutated;

use crate::{all, command, in_parallel, variable};

/// Every base is read to its end, and so are most of its parts where one is changed.
#[test]
fn bases_are_valid() {
    let (command, bases) = (command(), bases());
    let failures = in_parallel(bases.len() as u64, None, |index| {
        let base = &bases[index as usize];
        let ended = base.run(&command, None).expect("the command starts");
        let is_valid = matches!(ended.code, Some(0 | 1));
        (!is_valid).then(|| format!("{}: {ended:?}", base.name))
    });
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    let mut names: Vec<&str> = bases.iter().map(|base| base.name.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), bases.len());
}

/// What was found once.
#[test]
fn findings_stay_put_right() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus");
    let folders = std::fs::read_dir(&corpus).expect("a folder of findings");
    let mut folders: Vec<PathBuf> = folders.map(|entry| entry.expect("an entry").path()).collect();
    folders.retain(|path| path.is_dir());
    folders.sort();
    assert!(!folders.is_empty(), "{}", corpus.display());
    let command = command();
    let failures = in_parallel(folders.len() as u64, None, |index| {
        let case = Case::load(&folders[index as usize]).expect("a case");
        assert!(case.line.about.is_some(), "{}: nothing says what was found", case.name);
        case.wrong(&case.run(&command, None).expect("the command starts"))
    });
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn mutated_files() {
    let (command, mut bases) = (command(), bases());
    if let Ok(name) = std::env::var("BITMMA_FUZZ_BASE") {
        bases.retain(|base| base.name.contains(&name));
    }
    assert!(!bases.is_empty(), "no base has BITMMA_FUZZ_BASE in its name");
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_nanos());
    let first = variable("BITMMA_FUZZ_SEED").unwrap_or(now as u64);
    let until = variable("BITMMA_FUZZ_SECONDS").map(Duration::from_secs);
    let count = match until {
        Some(_) => u64::MAX,
        None if all() => 10_000,
        None => 200,
    };
    println!("{count} files, the first of seed {first:#x}");
    let start = Instant::now();
    let codes = Mutex::new(BTreeMap::<Option<i32>, usize>::new());
    let failures = in_parallel(count, until, |index| {
        let case = mutated(&bases, first.wrapping_add(index));
        let ended = case.run(&command, None).expect("the command starts");
        *codes.lock().expect("nobody fails with it").entry(ended.code).or_default() += 1;
        let wrong = case.wrong(&ended)?;
        let name: String =
            case.name.chars().map(|letter| if letter.is_alphanumeric() { letter } else { '-' }).collect();
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("findings").join(name);
        case.save(&folder).expect("a folder for what was found");
        Some(format!("{wrong}\nin {}\n", folder.display()))
    });
    println!(
        "exit codes: {:?}, {:.1} s",
        codes.lock().expect("nobody fails with it"),
        start.elapsed().as_secs_f64()
    );
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
