//! `bitmma probe` and its peer killed with SIGKILL at random moments: `--resume` ends in the files of an
//! undisturbed probe, byte for byte.
#![cfg(unix)]

use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant, SystemTime};

const UNIT: &str = "sim:volta/mma.m8n8k4.f32.f16.f16.f32";
const FILES: [&str; 4] = ["model.toml", "report.txt", "report.html", "questions.csv"];
/// Nothing here takes this long.
const PATIENCE: Duration = Duration::from_secs(120);

/// A probe of a process that serves `UNIT` and leaves its number in `peer`.
struct Bench {
    folder: tempfile::TempDir,
}

/// Who is killed.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Victim {
    Probe,
    Peer,
}

impl Bench {
    fn peer(&self) -> PathBuf {
        self.folder.path().join("peer")
    }

    fn start(&self, out: &Path, resume: bool) -> Child {
        let own = assert_cmd::cargo::cargo_bin!("bitmma");
        let (own, peer) = (own.to_str().unwrap(), self.peer());
        let served = format!(r#"echo $$ > "{}"; exec "{own}" serve {UNIT}"#, peer.display());
        let mut command = Command::new(own);
        command.args(["probe", &format!("exec:sh -c '{served}'"), "--tests", "5000", "--out"]).arg(out);
        if resume {
            command.arg("--resume");
        }
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }

    /// Starts a probe and kills the victim once the log has so many bytes, the peer once it has answered; `None` if
    /// the probe was done before that.
    fn killed(&self, out: &Path, resume: bool, victim: Victim, at: u64) -> Option<Output> {
        let log = out.join("questions.csv");
        let length = || std::fs::metadata(&log).map_or(0, |log| log.len());
        let at = if victim == Victim::Peer { at.max(length() + 1) } else { at };
        let mut child = self.start(out, resume);
        let start = Instant::now();
        while length() < at && child.try_wait().unwrap().is_none() {
            assert!(start.elapsed() < PATIENCE, "no {at} bytes were written within {PATIENCE:?}");
            std::thread::sleep(Duration::from_micros(200));
        }
        let kill = match victim {
            Victim::Probe => {
                child.kill().unwrap();
                None
            }
            Victim::Peer => {
                let number = std::fs::read_to_string(self.peer()).unwrap();
                Some(Command::new("kill").args(["-9", number.trim()]).output().unwrap())
            }
        };
        let output = child.wait_with_output().unwrap();
        let killed = kill.as_ref().is_none_or(|kill| kill.status.success());
        assert!(
            killed || output.status.code() == Some(0),
            "{kill:?}, yet the probe was not done: {output:?}"
        );
        (output.status.code() != Some(0)).then_some(output)
    }
}

fn files(out: &Path) -> Vec<(&'static str, String)> {
    FILES.map(|name| (name, std::fs::read_to_string(out.join(name)).unwrap())).into()
}

/// Three lengths of the log in thousandths of the whole, one in each of three stretches.
fn moments(seed: u64) -> [u64; 3] {
    let mut state = seed;
    [0, 290, 580].map(|least| {
        state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        least + (state >> 33) % 290
    })
}

#[test]
fn a_killed_probe_ends_in_the_files_of_an_undisturbed_one() {
    let bench = Bench { folder: tempfile::tempdir().unwrap() };
    let undisturbed = bench.folder.path().join("undisturbed");
    let output = bench.start(&undisturbed, false).wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let wanted = files(&undisturbed);
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
    for victim in [Victim::Probe, Victim::Peer] {
        // on a busy machine a probe may be done before this test looks again
        let killed = (0..20).any(|turn| {
            let out = bench.folder.path().join(format!("{victim:?}{turn}"));
            killed_thrice(&bench, victim, &out, now.as_nanos() as u64 + turn, &wanted)
        });
        assert!(killed, "{victim:?}: every probe was done before it was killed three times");
    }
}

/// Killed again and again, each time further on, in the one log, and then resumed; whether it came to that.
fn killed_thrice(
    bench: &Bench,
    victim: Victim,
    out: &Path,
    seed: u64,
    wanted: &[(&'static str, String)],
) -> bool {
    let whole = wanted[3].1.len() as u64;
    let moments = moments(seed);
    for (index, thousandths) in moments.into_iter().enumerate() {
        let at = whole * thousandths / 1000;
        let Some(output) = bench.killed(out, index > 0, victim, at) else { return false };
        let note = format!("{victim:?} killed at {at} of {whole} bytes, seed {seed}: {output:?}");
        match victim {
            Victim::Probe => assert_eq!(output.status.signal(), Some(9), "{note}"),
            Victim::Peer => {
                assert_eq!(output.status.code(), Some(2), "{note}");
                let said = String::from_utf8_lossy(&output.stderr).into_owned();
                assert!(said.contains("signal: 9") && said.contains("--resume"), "{note}");
            }
        }
        assert!(!out.join("report.txt").exists(), "{note}");
    }
    let output = bench.start(out, true).wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{moments:?}, seed {seed}: {output:?}");
    for (wanted, got) in wanted.iter().zip(files(out)) {
        assert!(*wanted == got, "{}: other than undisturbed; {victim:?} at {moments:?} thousandths", got.0);
    }
    true
}
