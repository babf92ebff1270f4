//! What a terminal of 80, 100 and 160 columns shows: no word broken, and snapshots of the narrow one and the wide one.
//!
//! `BITMMA_SNAPSHOTS=write` renews the files in `snapshots/`; look at the difference before you commit it.

use std::collections::HashSet;
use std::path::Path;

use unicode_width::UnicodeWidthStr;

use super::{command, end};

// name of the file, arguments
#[rustfmt::skip]
const EXAMPLES: &[(&str, &[&str])] = &[
    ("list-e4m3", &["list", "--arch", "h100", "--type", "e4m3"]),
    ("list-gst", &["list", "--model", "GST-FDPA"]),
    ("show", &["show", "hopper", "mma.m16n8k16.f32.f16.f16.f32"]),
    ("show-scaled", &["show", "rtx5090", "mma.m16n8k64.kind::mxf4nvf4.block16.f32.e2m1.e2m1.f32.ue4m3"]),
    ("compare", &["compare"]),
    ("compare-why", &["compare", "--why", "-a", "8192 0.5 0.25 0.125", "-b", "1024 1 1 1", "-c=-0x1p23"]),
    ("explain", &["explain", "hopper", "HMMA.16816.F32", "-a", "-8192 -0.5 -0.25 -0.125", "-b", "1024 1 1 1", "-c", "0x1p23"]),
    ("explain-cdna3", &["explain", "mi300x", "v_mfma_f32_32x32x8_f16", "-a", "-8192 -0.5 -0.25 -0.125", "-b", "1024 1 1 1", "-c", "0x1p23"]),
    ("explain-cdna2", &["explain", "mi250x", "v_mfma_f32_32x32x8f16", "-a", "0x1p-15 2 0.25", "-b", "1024 0x1.004p0 1", "-c", "0x1p23"]),
    ("risks", &["analyze", "risks", "hopper", "wgmma.m64n256k32.f32.e4m3.e4m3", "--quick"]),
    ("bounds", &["analyze", "bounds", "mi250x", "v_mfma_f32_32x32x8f16", "--quick", "--k", "64"]),
];

fn shown(arguments: &[&str], columns: Option<usize>) -> String {
    let mut command = command(arguments);
    command.env_remove("BITMMA_COLUMNS");
    if let Some(columns) = columns {
        command.env("BITMMA_COLUMNS", columns.to_string());
    }
    end(&mut command).fine().to_owned()
}

#[test]
fn tables_fit_the_terminal() {
    for (name, arguments) in EXAMPLES {
        let whole = shown(arguments, None);
        let words: HashSet<&str> = whole.split_whitespace().filter(|word| !word.starts_with('─')).collect();
        for columns in [80, 100, 160] {
            let text = shown(arguments, Some(columns));
            fits(name, &text, columns, &words);
            if columns != 100 {
                is_kept(&format!("{name}-{columns}.txt"), &text);
            }
        }
    }
}

/// No line is wider than that, but one of a single word, and no word is broken: `words` are those of the wide output.
pub(super) fn fits(name: &str, text: &str, columns: usize, words: &HashSet<&str>) {
    for line in text.lines() {
        let one_word = line.split_whitespace().count() == 1;
        assert!(line.width() <= columns || one_word, "{name} at {columns}: {line}");
    }
    if let Some(note) = text.lines().find(|line| line.starts_with("left out: ")) {
        assert!(note.contains("--wide"), "{note}");
    }
    let broken: Vec<&str> = text
        .lines()
        .filter(|line| !line.starts_with("left out: "))
        .flat_map(str::split_whitespace)
        .filter(|word| !words.contains(word) && !word.starts_with('─'))
        .collect();
    assert!(broken.is_empty(), "{name} at {columns}: {broken:?}");
}

/// A snapshot is what is printed.
pub(super) fn is_kept(file: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cli/command/snapshots").join(file);
    if std::env::var("BITMMA_SNAPSHOTS").as_deref() == Ok("write") {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(text, kept, "{} is not what is printed", path.display());
}

/// Every command, the whole first.
pub(super) fn commands() -> Vec<String> {
    let help = end(&mut command(&["--help"])).fine().to_owned();
    let (_, rest) = help.split_once("Ask:\n").unwrap();
    let lines = rest.lines().take_while(|line| *line != "Options:");
    let names = lines.filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    let names = names.map(|line| line.split_whitespace().next().unwrap().to_owned());
    std::iter::once(String::new()).chain(names).collect()
}

/// The help of a command in a terminal of that many columns, after its options.
pub(super) fn help(name: &str, columns: usize) -> String {
    let arguments = [name, "--help"];
    let arguments = if name.is_empty() { &arguments[1..] } else { &arguments };
    let help = end(command(arguments).env("COLUMNS", columns.to_string())).fine().to_owned();
    let (_, after) = help.split_once("Print help").unwrap();
    after.split_once("\n\n").map_or(String::new(), |(_, after)| after.to_owned())
}

#[test]
fn help_keeps_its_indents() {
    let names = commands();
    assert!(names.len() > 18, "{names:?}");
    for name in names {
        for columns in [80, 100, 160] {
            let text = help(&name, columns);
            assert!(text.lines().all(|line| line.width() <= columns.min(100)), "{name}: {text}");
            // a line that were too long would continue at the left
            for (line, next) in text.lines().zip(text.lines().skip(1)) {
                let is_broken = line.starts_with(' ') && !next.starts_with(' ') && !next.is_empty();
                assert!(!is_broken, "{name} at {columns}: {line}\n{next}");
            }
        }
    }
}

#[test]
fn everything_is_printed_into_pipes_and_with_wide() {
    let arguments = ["list", "--model", "GST-FDPA"];
    let whole = shown(&arguments, None);
    assert!(whole.contains("evidence") && !whole.contains("left out: "));
    assert_eq!(shown(&["list", "--model", "GST-FDPA", "--wide"], Some(80)), whole);
    // JSON is never folded
    let json = ["show", "hopper", "HMMA.16816.F32", "--json"];
    assert_eq!(shown(&json, None), shown(&json, Some(80)));
}

#[test]
fn colours_are_asked_for() {
    let red = |arguments: &[&str]| shown(arguments, None).contains("\u{1b}[");
    assert!(!red(&["list", "--model", "GST-FDPA"]));
    assert!(!red(&["list", "--model", "GST-FDPA", "--color", "never"]));
    assert!(red(&["list", "--model", "GST-FDPA", "--color", "always"]));
    assert!(red(&["--color=always", "compare"]));
}
