//! Programs as units: the ones that keep to the protocol, and every way we know not to.
#![cfg(unix)]

use std::path::Path;
use std::time::{Duration, Instant};

use bitmma_engine::{Error, Fault, Matrices, MmaUnit, Simulator};
use bitmma_hardware::process::{Limits, Process};
use bitmma_verify::inputs::{Family, matrices};

const QUICK: Limits = Limits { start: Duration::from_secs(20), batch: Duration::from_millis(1500) };
const IMPATIENT: Limits = Limits { start: Duration::from_millis(1500), batch: Duration::from_secs(20) };

fn here(path: &str) -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path).display().to_string()
}

fn bad(words: &[&str], limits: Limits) -> Result<Process, Error> {
    let script = here("tests/peers/bad.py");
    let mut command = vec!["python3".to_owned(), script];
    command.extend(words.iter().map(|word| (*word).to_owned()));
    Process::start(&command, limits)
}

fn ask(unit: &Process, count: u64) -> Result<usize, Error> {
    let drawn: Vec<Matrices> =
        (0..count).map(|index| matrices(unit.signature(), Family::Bits, 1, index).unwrap()).collect();
    let operands: Vec<_> = drawn.iter().map(Matrices::operands).collect();
    unit.multiply_many(&operands).map(|answers| answers.len())
}

/// The error's kind and words.
fn fault(result: Result<impl Sized, Error>) -> (Fault, String) {
    match result {
        Err(Error::Unit { fault, problem, .. }) => (fault, problem),
        Err(other) => panic!("another error: {other}"),
        Ok(_) => panic!("no error"),
    }
}

#[track_caller]
fn check((fault, problem): (Fault, String), expected: Fault, words: &[&str]) {
    assert_eq!(fault, expected, "{problem}");
    for word in words {
        assert!(problem.contains(word), "'{word}' is not in: {problem}");
    }
}

#[test]
fn what_cannot_start() {
    check(fault(Process::open("no-such-program-anywhere", QUICK)), Fault::Unavailable, &["No such file"]);
    check(fault(Process::open("", QUICK)), Fault::Unavailable, &["no program"]);
    check(fault(Process::open("python3 'a", QUICK)), Fault::Unavailable, &["quote"]);
    check(fault(bad(&["dies at once"], QUICK)), Fault::Died, &["exit status: 1", "no such device: 7"]);
    check(fault(bad(&["half a line"], QUICK)), Fault::Died, &["before its first line", "12 bytes"]);
    check(
        fault(bad(&["nonsense"], QUICK)),
        Fault::Wrong,
        &["does not describe a unit", "Hello, I am a GPU!"],
    );
    check(fault(bad(&["endless line"], QUICK)), Fault::Wrong, &["more than 65536 bytes"]);
    check(fault(bad(&["says nothing"], IMPATIENT)), Fault::Hung, &["no first line within 1.5 s"]);
}

#[test]
fn what_a_unit_may_not_say() {
    for (said, words) in [
        (r#"{"bitmma":2}"#, "it speaks protocol version 2; this build speaks version 1"),
        // what else the line holds does not matter
        (r#"{"bitmma":3,"m":"two","b":null}"#, "protocol version 3; this build speaks version 1"),
        (r#"{"bitmma":"1.1"}"#, "protocol version \"1.1\"; this build speaks version 1"),
        (r#"{"bitmma":1,"b":null}"#, "does not describe a unit"),
        (r#"{"m":0}"#, "m is 0; it may be 1 to 65536"),
        (r#"{"k":70000}"#, "k is 70000"),
        (r#"{"k":-1}"#, "invalid value"),
        (r#"{"a":"f17"}"#, "a is 'f17'; formats are f64, f32"),
        (r#"{"d":"ue8m0"}"#, "no sign"),
        (r#"{"scale":{"format":"ue8m0","size":3}}"#, "scale.size is 3; it must divide k = 2"),
        (r#"{"scale":{"format":"f16","size":2}}"#, "scale.format is f16"),
        (r#"{"name":"two\nlines"}"#, "its name is"),
        (r#"{"max_batch":0}"#, "max_batch is 0"),
        (r#"{"m":65536,"k":65536}"#, "268435456 are allowed"),
        (r#"{"b":null}"#, "invalid type"),
    ] {
        check(fault(bad(&["good", said], QUICK)), Fault::Wrong, &[words]);
    }
}

#[test]
fn what_is_no_answer() {
    let of = |mode: &str| fault(ask(&bad(&[mode], QUICK).unwrap(), 3));
    check(of("dies"), Fault::Died, &["0 of 64 bytes", "exit status: 3", "ECC error at 0x1234"]);
    check(of("killed"), Fault::Died, &["signal: 9"]);
    check(of("closes"), Fault::Died, &["closed its output"]);
    check(of("half a frame"), Fault::Short, &["21 of 64 bytes", "exit status: 0"]);
    check(of("short"), Fault::Short, &["44 bytes", "3 instructions of 16 bytes are 48"]);
    check(of("long"), Fault::Wrong, &["52 bytes", "are 48"]);
    check(of("more"), Fault::Wrong, &["4 bytes more"]);
    check(of("magic"), Fault::Wrong, &["[58, 58, 58, 58]", "MMAD"]);
    check(of("sequence"), Fault::Wrong, &["answers batch 1"]);
    check(of("count"), Fault::Wrong, &["4 instructions, 3 were asked"]);
    check(of("babbles"), Fault::Wrong, &["[73, 70, 61, 6d]"]);
    let narrow = bad(&["range", r#"{"d":"e2m1"}"#], QUICK).unwrap();
    check(fault(ask(&narrow, 1)), Fault::Wrong, &["code 0 is 0xff; e2m1 codes have 4 bits"]);
}

#[test]
fn silence_has_a_limit_and_no_pipe_is_too_full() {
    let start = Instant::now();
    for mode in ["hangs", "stalls"] {
        check(fault(ask(&bad(&[mode], QUICK).unwrap(), 2)), Fault::Hung, &["of 48 bytes came within 1.5 s"]);
    }
    // far more than a pipe holds, to one that never reads
    check(fault(ask(&bad(&["hangs deaf"], QUICK).unwrap(), 20_000)), Fault::Hung, &["0 of"]);
    assert!(start.elapsed() < Duration::from_secs(15), "{:?}", start.elapsed());
}

#[test]
fn after_an_error_the_same_error() {
    let unit = bad(&["dies"], QUICK).unwrap();
    let first = fault(ask(&unit, 1));
    assert_eq!(fault(ask(&unit, 1)), first);
    // a refusal leaves the unit alive
    let unit = bad(&["refuses"], QUICK).unwrap();
    check(fault(ask(&unit, 1)), Fault::Refused, &["12 of 16 GiB"]);
    assert_eq!(ask(&unit, 4).unwrap(), 4);
}

/// Whether a process runs; one that is dead and not reaped does not.
fn runs(process: &str) -> bool {
    std::fs::read_to_string(format!("/proc/{process}/stat"))
        .is_ok_and(|stat| !stat.rsplit(')').next().unwrap_or("").trim_start().starts_with('Z'))
}

#[test]
#[cfg(target_os = "linux")]
fn a_killed_unit_leaves_no_children() {
    let note = tempfile::NamedTempFile::new().unwrap();
    let path = note.path().display().to_string();
    check(fault(bad(&["child says nothing", "{}", &path], IMPATIENT)), Fault::Hung, &[]);
    let child = std::fs::read_to_string(note.path()).unwrap();
    let deadline = Instant::now() + Duration::from_secs(5);
    while runs(&child) {
        assert!(Instant::now() < deadline, "process {child} still runs");
        std::thread::sleep(Duration::from_millis(10));
    }
    // nor does any unit leave a zombie behind
    let own = std::process::id().to_string();
    drop(bad(&["good"], QUICK).unwrap());
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        let Ok(stat) = std::fs::read_to_string(entry.path().join("stat")) else { continue };
        let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or("").split_whitespace().collect();
        let (state, parent) = (fields.first(), fields.get(1));
        let waits = parent == Some(&own.as_str()) && state == Some(&"Z");
        // other tests of this file run beside this one: theirs are reaped in a moment
        if waits {
            std::thread::sleep(Duration::from_secs(1));
            assert!(
                !entry.path().exists()
                    || !std::fs::read_to_string(entry.path().join("stat")).is_ok_and(|now| now == stat),
                "{stat}"
            );
        }
    }
}

#[test]
fn large_batches_are_cut() {
    let unit = bad(&["good", r#"{"max_batch":7}"#], QUICK).unwrap();
    assert_eq!(ask(&unit, 100).unwrap(), 100);
    let unit = bad(&["good"], QUICK).unwrap();
    assert_eq!(ask(&unit, 300_000).unwrap(), 300_000);
}

#[test]
fn the_examples_answer() {
    let toml = "model = 'FMA'\nA = 'f32'\nB = 'f32'\nC = 'f32'\nrho = 'RNE-FP32'\n";
    let fma = bitmma_engine::Model::from_toml(toml).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("unit").display().to_string();
    let source = here("../../examples/protocol/unit.c");
    let compiler = std::env::var("CC").unwrap_or("cc".to_owned());
    match std::process::Command::new(&compiler).args(["-O2", "-o", &program, &source, "-lm"]).status() {
        Ok(status) => {
            assert!(status.success(), "{compiler} {source}");
            let unit = Process::start(&[program], QUICK).unwrap();
            agree(&unit, &Simulator::model(fma, (8, 8, 4)).unwrap(), &Family::ALL);
        }
        Err(error) => println!("skipped the example in C: {compiler}: {error}"),
    }
    // Python: rounds the product and the sum, so only what both do alike
    let unit =
        Process::start(&["python3".to_owned(), here("../../examples/protocol/unit.py")], QUICK).unwrap();
    assert_eq!((unit.signature().m, unit.signature().k), (4, 8));
    assert!(unit.about().device.unwrap().starts_with("Python 3"));
    let small = |unit: &dyn MmaUnit| {
        let f32s = |values: &[f32]| values.iter().map(|value| u64::from(value.to_bits())).collect::<Vec<_>>();
        let a = f32s(&[1.5; 32]);
        let c = f32s(&[0.25; 16]);
        let operands = Matrices {
            a: bitmma_engine::Matrix::single(unit.signature().a, 4, 8, a.clone()).unwrap(),
            b: bitmma_engine::Matrix::single(unit.signature().b, 8, 4, a).unwrap(),
            c: bitmma_engine::Matrix::single(unit.signature().c, 4, 4, c).unwrap(),
            scales: None,
        };
        unit.multiply(&operands.operands()).unwrap()
    };
    assert_eq!(small(&unit).get(0, 3, 3), u64::from(18.25f32.to_bits()));
}

/// The same codes, any NaN for any other.
fn agree(unit: &dyn MmaUnit, model: &dyn MmaUnit, families: &[Family]) {
    let nan = |code: u64| code & 0x7fff_ffff > 0x7f80_0000;
    for &family in families {
        let drawn: Vec<Matrices> =
            (0..50).map(|index| matrices(unit.signature(), family, 9, index).unwrap()).collect();
        let operands: Vec<_> = drawn.iter().map(Matrices::operands).collect();
        let (d, expected) = (unit.multiply_many(&operands).unwrap(), model.multiply_many(&operands).unwrap());
        for (d, expected) in d.iter().flat_map(|d| d.iter()).zip(expected.iter().flat_map(|d| d.iter())) {
            assert!(d == expected || nan(d) && nan(expected), "{}: {d:08x} {expected:08x}", family.name());
        }
    }
}
