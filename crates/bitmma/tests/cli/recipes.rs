//! CONTRIBUTING's recipes for an architecture that computes as another one, and for a format of 8 bits: each names at most three files.
//!
//! With `BITMMA_TESTS=all`, one of each is added to a copy of the sources, which is built and asked: the tests of the tables, `list`,
//! `show`, `dot`, the docs, and Python (`BITMMA_PYTHON`, or `python3`, where that has NumPy) follow. Always: no other source file lists
//! all architectures or names the formats of CDNA3, but those listed here with what they state.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A line that a recipe adds: file, beginning of the line that it follows, what is added.
type Line = (&'static str, &'static str, &'static str);

/// A GPU with the matrix unit of CDNA3.
const ARCHITECTURE: &[Line] = &[
    (
        "crates/catalogue/src/architecture.rs",
        "    Cdna3: ",
        "    Twin: \"A twin of CDNA3.\", Row { like: Some((Architecture::Cdna3, \"a test says so\")), ..amd(\"twin\", \"gfx999\") };",
    ),
    (
        "crates/catalogue/src/chips/targets.rs",
        "    modelled(\"gfx942\"",
        "    modelled(\"gfx999\", Twin, &[\"mi999x\"]),",
    ),
];

/// A format that nobody has.
const FORMAT: &[Line] = &[
    (
        "crates/formats/src/table.rs",
        "    E4M3FNUZ = ",
        "    /// E4M3 with a bias of 11.\n    E4M3B11 = \"e4m3b11\", Signed, 4, 3, 0, 11, NegativeZeroNan, \"a test\";",
    ),
    ("crates/formats/src/alias.rs", "    (E4M3FNUZ, ", "    (E4M3B11, &[\"float8_e4m3b11\"]),"),
    (
        "crates/formats/tests/formats/standard_tables.rs",
        "          infinity: None, nans: &[0x80], negative_zero: None, one: 0x40 },\n    Row { format: E3M2",
        "    Row { format: E4M3B11, bits: 8, max_normal: (0x7f, (30, 0)), min_normal: (0x08, (1, -10)),
          subnormals: Some([(0x07, (7, -13)), (0x01, (1, -13))]),
          infinity: None, nans: &[0x80], negative_zero: None, one: 0x58 },",
    ),
    (
        "crates/formats/tests/formats/standard_tables.rs",
        "        (\"e4m3fnuz\", 1, 2),",
        "        (\"e4m3b11\", 1, 2),",
    ),
];

/// Files that name six architectures or more, because each differs in what they state: none of it is asked of one that computes as
/// another.
const LISTING_ARCHITECTURES: &[&str] = &[
    "crates/analysis/src/sections/bounds/along_k.rs", // instructions whose errors are drawn
    "crates/analysis/src/sections/discrepancy.rs",    // the paper's table
    "crates/analysis/src/sections/models.rs",         // the paper's tables
    "crates/catalogue/src/architecture.rs",
    "crates/catalogue/src/chips/targets.rs",
    "crates/catalogue/src/function.rs", // what was published of functions
    "crates/catalogue/src/library.rs",  // instructions of libraries' kernels
    "crates/catalogue/src/nvidia/parameters.rs", // the paper's tables
    "crates/catalogue/src/nvidia/sets.rs", // who has which instructions
    "crates/catalogue/src/recorded.rs", // what was recorded
    "crates/catalogue/src/software/triton.rs", // what Triton makes of a product
    "crates/cli/src/bench.rs",          // instructions that are timed
];

/// Files that name the FP8 formats of CDNA3: the tables of formats, and instructions and file types that have them.
const NAMING_FNUZ: &[&str] = &[
    "crates/calls/src/torch.rs", // what torch rejects
    "crates/catalogue/src/amd/cdna3.rs",
    "crates/catalogue/src/amd/parameters.rs",
    "crates/files/src/arrays/safetensors.rs",
    "crates/formats/src/alias.rs",
    "crates/formats/src/table.rs",
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

fn files(recipe: &[Line]) -> BTreeSet<&'static str> {
    recipe.iter().map(|(file, ..)| *file).collect()
}

/// The recipe of CONTRIBUTING that begins so, up to the next one.
fn written(begins: &str) -> String {
    let text = std::fs::read_to_string(root().join("CONTRIBUTING.md")).unwrap();
    let (_, rest) =
        text.split_once(begins).unwrap_or_else(|| panic!("CONTRIBUTING has no recipe '{begins}'"));
    rest.split("\n\n**").next().unwrap().to_owned()
}

#[test]
fn contributing_names_the_files() {
    for (begins, recipe) in
        [("**An architecture that computes as another one.**", ARCHITECTURE), ("**A new format.**", FORMAT)]
    {
        let (written, files) = (written(begins), files(recipe));
        assert!(files.len() <= 3);
        let missing: Vec<_> = files.iter().filter(|file| !written.contains(**file)).collect();
        assert!(missing.is_empty(), "{begins} does not name {missing:?}");
    }
}

/// Every source file of Rust and Python, tests apart, by its path in the repository.
fn sources() -> Vec<(String, String)> {
    fn walk(folder: &Path, found: &mut Vec<PathBuf>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            match path.extension().and_then(|extension| extension.to_str()) {
                _ if path.is_dir() && !["tests", "target", "benches", "__pycache__"].contains(&&*name) => {
                    walk(&path, found);
                }
                Some("rs" | "py") if name != "tests.rs" => found.push(path),
                _ => {}
            }
        }
    }
    let (root, mut found) = (root(), Vec::new());
    walk(&root.join("crates"), &mut found);
    let read = |path: PathBuf| {
        let text = std::fs::read_to_string(&path).unwrap();
        let code = text.split("#[cfg(test)]").next().unwrap().to_owned();
        (path.strip_prefix(&root).unwrap().to_string_lossy().into_owned(), code)
    };
    found.into_iter().map(read).collect()
}

/// Whether a word stands in code, not in a comment.
fn names(code: &str, word: &str) -> bool {
    let code = code.lines().filter(|line| !line.trim_start().starts_with("//"));
    let mut words = code.flat_map(|line| line.split(|c: char| !c.is_alphanumeric() && c != '_'));
    words.any(|one| one == word)
}

#[test]
fn no_other_file_lists_architectures() {
    const ALL: [&str; 10] = [
        "Volta",
        "Turing",
        "Ampere",
        "Ada",
        "Hopper",
        "Blackwell",
        "RtxBlackwell",
        "Cdna1",
        "Cdna2",
        "Cdna3",
    ];
    let lists = |code: &str| ALL.iter().filter(|name| names(code, name)).count() >= 6;
    let mut listing: Vec<String> =
        sources().into_iter().filter(|(_, code)| lists(code)).map(|(file, _)| file).collect();
    listing.sort();
    assert_eq!(listing, LISTING_ARCHITECTURES);
}

#[test]
fn no_other_file_names_a_format_of_one_vendor() {
    let is_naming = |code: &str| {
        let words = ["E4M3FNUZ", "E5M2FNUZ", "float8_e4m3fnuz", "float8_e5m2fnuz", "e4m3fnuz", "e5m2fnuz"];
        words.iter().any(|word| names(code, word))
    };
    let mut naming: Vec<String> =
        sources().into_iter().filter(|(_, code)| is_naming(code)).map(|(file, _)| file).collect();
    naming.sort();
    assert_eq!(naming, NAMING_FNUZ);
}

/// A copy of the sources with the lines of both recipes; recordings are linked.
fn copy_with_recipes(to: &Path) {
    let root = root();
    let mut git = Command::new("git");
    for file in run(git.args(["ls-files", "-co", "--exclude-standard"]).current_dir(&root)).lines() {
        if file.starts_with("recordings/") || !root.join(file).exists() {
            continue;
        }
        let mut text = std::fs::read(root.join(file)).unwrap();
        for (_, after, line) in ARCHITECTURE.iter().chain(FORMAT).filter(|(of, ..)| *of == file) {
            text = with_line(&String::from_utf8(text).unwrap(), after, line).into_bytes();
        }
        // a file that is as it was keeps its date, so that nothing is built again
        if std::fs::read(to.join(file)).ok().as_ref() != Some(&text) {
            std::fs::create_dir_all(to.join(file).parent().unwrap()).unwrap();
            std::fs::write(to.join(file), text).unwrap();
        }
    }
    let _ = std::os::unix::fs::symlink(root.join("recordings"), to.join("recordings"));
}

/// A text with a line after the first one that begins so.
fn with_line(text: &str, after: &str, line: &str) -> String {
    let start = text.find(after).unwrap_or_else(|| panic!("no line '{after}'"));
    let end = start + text[start..].find('\n').unwrap() + 1;
    format!("{}{line}\n{}", &text[..end], &text[end..])
}

fn run(command: &mut Command) -> String {
    let out = command.output().unwrap();
    let said = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(out.status.success(), "{command:?}: {}{}", said(&out.stdout), said(&out.stderr));
    said(&out.stdout)
}

#[test]
fn everything_follows_the_tables() {
    if std::env::var("BITMMA_TESTS").is_ok_and(|value| value == "all") {
        let copy = Path::new(env!("CARGO_TARGET_TMPDIR")).join("recipes");
        copy_with_recipes(&copy);
        let target = copy.with_file_name("recipes-target");
        let cargo = |words: &str| {
            let mut cargo = Command::new(env!("CARGO"));
            run(cargo.args(words.split(' ')).current_dir(&copy).env("CARGO_TARGET_DIR", &target));
        };
        cargo("test --offline -p bitmma-formats -p bitmma-catalogue --tests");
        cargo("build --offline -p bitmma -p bitmma-python");
        command_follows(&target.join("debug/bitmma"), &copy);
        python_follows(&target.join("debug/lib_bitmma.so"), &copy);
    }
}

fn command_follows(bitmma: &Path, copy: &Path) {
    let ask = |words: &[&str]| run(Command::new(bitmma).args(words).current_dir(copy));
    const FP8: &str = "v_mfma_f32_16x16x32_fp8_fp8";
    assert_eq!(ask(&["list", "twin"]).lines().count(), ask(&["list", "cdna3"]).lines().count());
    let shown = ask(&["show", "mi999x", FP8]);
    assert!(shown.starts_with("twin v_mfma") && shown.contains("inferred: a test says so"), "{shown}");
    let numbers = ["-a", "1 0x1p-4 -3", "-b", "2 0x1p-3 1.5", "-c", "0x1p-20"];
    let dot = |target: &[&str]| ask(&[&["dot"], target, &numbers[..]].concat());
    assert_eq!(dot(&["gfx999", FP8]), dot(&["cdna3", FP8]));

    // the new format in a model of CDNA3: 2 + 2^-7 − 4.5 + 2^-20 = −2.492 186 546 325 683 59, of which FP32 has every bit
    let model = ask(&["show", "twin", FP8, "--toml"]).replace("e4m3fnuz", "e4m3b11");
    std::fs::write(copy.join("new.toml"), model).unwrap();
    let shown = ask(&["show", "--model", "new.toml"]);
    assert!(shown.contains("e4m3b11") && shown.contains("a test"), "{shown}");
    let result = dot(&["--model", "new.toml"]);
    assert!(result.contains("-2.4921865"), "{result}");

    ask(&["generate", "docs", "fresh"]);
    let read = |name: &str| std::fs::read_to_string(copy.join("fresh").join(name)).unwrap();
    assert!(read("instructions.md").contains("\n## twin\n\nAMD, `gfx999`; also `mi999x`. "));
    assert!(read("formats.md").contains("`e4m3b11`"));
}

fn python_follows(library: &Path, copy: &Path) {
    let python = std::env::var("BITMMA_PYTHON").unwrap_or("python3".to_owned());
    let numpy = Command::new(&python).args(["-c", "import numpy"]).output();
    if !numpy.is_ok_and(|out| out.status.success()) {
        return println!("skipped: {python} has no NumPy");
    }
    let package = copy.join("crates/python/python");
    std::fs::copy(library, package.join("bitmma/_bitmma.abi3.so")).unwrap();
    let asked = "
import numpy as np, bitmma
from bitmma import _dtypes, formats
a = np.full((16, 32), 0x40, np.uint8)
unit = bitmma.mma('mi999x', 'v_mfma_f32_16x16x32_fp8_fp8')
assert unit.instruction.architecture == 'twin'
assert (unit(a, a.T, np.zeros((16, 16), np.uint32)).view(np.float32) == 32).all()
assert formats.by_name('float8_e4m3b11').name == 'e4m3b11'
assert _dtypes.FORMATS_OF['float8_e4m3b11'] == ('e4m3b11',)
codes = formats.encode([1.0, 30.0], 'e4m3b11')
assert codes.tolist() == [0x58, 0x7f], codes
assert formats.decode(codes, 'e4m3b11').tolist() == [1.0, 30.0]
";
    run(Command::new(&python).args(["-c", asked]).env("PYTHONPATH", package).current_dir(copy));
}
