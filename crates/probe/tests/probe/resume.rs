//! A probe that was cut off goes on from its log, and ends in the report of an undisturbed one.

use std::cell::Cell;
use std::path::PathBuf;

use bitmma_engine::{Architecture, Case, Error, Matrix, MmaUnit, Operands, Revision, Signature, Simulator};
use bitmma_probe::{Options, Outcome, probe};

/// Counts what it is asked, and fails after so many questions.
struct Counting {
    unit: Simulator,
    asked: Cell<usize>,
    fails_after: usize,
}

impl Counting {
    fn new(fails_after: usize) -> Counting {
        let name = "mma.m16n8k8.f16.f16.f16.f16"; // its base questions do not suffice: the loop closes once
        let unit = Simulator::instruction(Architecture::Ampere, name, Revision::Hardware).unwrap();
        Counting { unit, asked: Cell::new(0), fails_after }
    }

    fn count(&self, more: usize) -> Result<(), Error> {
        self.asked.set(self.asked.get() + more);
        if self.asked.get() > self.fails_after {
            Err(Error::Io(std::io::Error::other("gone")))
        } else {
            Ok(())
        }
    }
}

impl MmaUnit for Counting {
    fn signature(&self) -> &Signature {
        self.unit.signature()
    }

    fn multiply(&self, operands: &Operands<'_>) -> Result<Matrix, Error> {
        self.count(128)?;
        self.unit.multiply(operands)
    }

    fn dot_products(&self, cases: &[Case]) -> Result<Vec<u64>, Error> {
        self.count(cases.len())?;
        self.unit.dot_products(cases)
    }
}

struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("bitmma-probe-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    fn log(&self) -> PathBuf {
        self.0.join("questions.csv")
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

const TESTS: u64 = 30_000;

fn options(folder: &Folder, resume: bool) -> Options {
    Options { tests: TESTS, log: Some(folder.log()), resume, ..Options::default() }
}

fn reports(outcome: &Outcome) -> (String, String, Option<String>) {
    (outcome.to_text(), outcome.to_html(), outcome.to_toml())
}

#[test]
fn a_log_cut_anywhere_is_gone_on_with() {
    let folder = Folder::new("cut");
    let whole = probe(&Counting::new(usize::MAX), &options(&folder, false), &()).unwrap();
    let log = std::fs::read(folder.log()).unwrap();

    // everything is there: nothing is asked again
    let unit = Counting::new(0);
    let again = probe(&unit, &options(&folder, true), &()).unwrap();
    assert_eq!(unit.asked.get(), 0);
    assert_eq!(reports(&again), reports(&whole));
    assert_eq!(std::fs::read(folder.log()).unwrap(), log);

    // cut in the heading, in the middle of lines, just before the end
    for part in [1, 9, 40, 77, 95, 99] {
        let cut = if part == 1 { 12 } else { log.len() * part / 100 };
        std::fs::write(folder.log(), &log[..cut]).unwrap();
        let again = probe(&Counting::new(usize::MAX), &options(&folder, true), &()).unwrap();
        assert_eq!(reports(&again), reports(&whole), "cut at {cut} of {}", log.len());
        assert_eq!(std::fs::read(folder.log()).unwrap(), log, "cut at {cut} of {}", log.len());
    }
}

#[test]
fn a_unit_that_fails_loses_nothing() {
    let folder = Folder::new("fails");
    let whole = probe(&Counting::new(usize::MAX), &Options { tests: TESTS, ..Options::default() }, &());
    let error = probe(&Counting::new(11_000), &options(&folder, false), &()).unwrap_err();
    assert!(error.to_string().contains("gone"), "{error}");
    let unit = Counting::new(usize::MAX);
    let again = probe(&unit, &options(&folder, true), &()).unwrap();
    assert_eq!(reports(&again), reports(&whole.unwrap()));
}

#[test]
fn who_listens_stops_a_probe_and_it_resumes() {
    let folder = Folder::new("stopped");
    let whole = probe(&Counting::new(usize::MAX), &Options { tests: TESTS, ..Options::default() }, &());
    let stop = |_: &str, done, total| match total == 0 && done >= 1000 {
        true => Err(Error::Stopped),
        false => Ok(()),
    };
    let unit = Counting::new(usize::MAX);
    let error = probe(&unit, &options(&folder, false), &stop).unwrap_err();
    assert!(matches!(error, bitmma_probe::Error::Stopped), "{error}");
    assert!((1000..11_000).contains(&unit.asked.get()), "{} answers", unit.asked.get());
    let again = probe(&Counting::new(usize::MAX), &options(&folder, true), &()).unwrap();
    assert_eq!(reports(&again), reports(&whole.unwrap()));
}

#[test]
fn the_log_of_another_probe_is_refused() {
    let folder = Folder::new("other");
    probe(&Counting::new(usize::MAX), &options(&folder, false), &()).unwrap();
    let other = Options { seed: 2, ..options(&folder, true) };
    let error = probe(&Counting::new(usize::MAX), &other, &()).unwrap_err().to_string();
    assert!(error.contains("another probe") && error.contains("seed 2"), "{error}");

    // the head's other line differs
    let text = std::fs::read_to_string(folder.log()).unwrap();
    let message = |log: String| {
        std::fs::write(folder.log(), log).unwrap();
        probe(&Counting::new(usize::MAX), &options(&folder, true), &()).unwrap_err().to_string()
    };
    let unit = text.lines().nth(1).unwrap();
    let error = message(text.replacen(unit, "# another", 1));
    assert!(error.contains("line 2: ") && error.contains("'# another'") && error.contains(unit), "{error}");

    // answers that are none: codes of an instruction, of a dot product, a count
    for (question, problem) in [
        ("matrix,", "' is not "),
        ("dot,", "'zz' is not a code of "),
        ("validate,", "'zz' is not a count of mismatches"),
    ] {
        let (line, old) =
            text.lines().enumerate().find(|(_, line)| line.starts_with(question)).expect("was asked");
        let commas = if question == "validate," { 4 } else { old.matches(',').count() };
        let kept: Vec<&str> = old.split(',').take(commas).collect();
        let error = message(text.replacen(old, &format!("{},zz", kept.join(",")), 1));
        let at = format!("line {}: ", line + 1);
        assert!(error.contains(&at) && error.contains(problem), "{question}: {error}");
    }

    // a line that answers something else
    std::fs::write(folder.log(), text.replacen("dot,order,", "dot,disorder,", 1)).unwrap();
    let error = probe(&Counting::new(usize::MAX), &options(&folder, true), &()).unwrap_err().to_string();
    assert!(error.contains("another question"), "{error}");
}
