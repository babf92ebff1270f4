//! `--json`: every command's object begins with the schema and has the keys that its help names, no others.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{F16, bitmma};
use crate::run::files::matrix;

/// What stands between keys in the help.
const WORDS: [&str; 4] = ["with", "why", "and", "each"];
/// Objects whose keys are data.
const OPEN: [&str; 5] = ["parameters", "by_kind", "rivals", "equivalent", "steps"];

/// The keys that the help of a command names, whatever they are in.
fn named(command: &str) -> BTreeSet<String> {
    let help = bitmma(&[command, "--help"]).fine().split_whitespace().collect::<Vec<_>>().join(" ");
    let (_, list) = help.split_once("JSON: ").unwrap_or_else(|| panic!("{command} names no keys"));
    let list = list.split_once(". ").map_or(list, |(list, _)| list);
    let mut depth = 0;
    let bare = list.chars().map(|c| {
        depth += i32::from(c == '(');
        let kept = if depth == 0 { c } else { ' ' };
        depth -= i32::from(c == ')');
        kept
    });
    let bare: String = bare.collect();
    let words = bare.split(|c: char| !(c.is_ascii_lowercase() || c == '_'));
    words.filter(|word| !word.is_empty() && !WORDS.contains(word)).map(str::to_owned).collect()
}

fn keys(value: &Value, all: &mut BTreeSet<String>) {
    match value {
        Value::Object(object) => {
            for (key, value) in object {
                all.insert(key.clone());
                if !OPEN.contains(&key.as_str()) {
                    keys(value, all);
                }
            }
        }
        Value::Array(values) => values.iter().for_each(|value| keys(value, all)),
        _ => {}
    }
}

/// Runs the command in several ways; `rare` are keys that none of them has.
fn check(ways: &[&[&str]], rare: &[&str]) {
    let command = ways[0][0];
    let named = named(command);
    let mut seen = BTreeSet::new();
    for way in ways {
        let ended = bitmma(&[way, &["--json"][..]].concat());
        assert!(matches!(ended.code, Some(0 | 1)), "{ended:?}");
        assert!(ended.out.starts_with("{\n  \"schema\": 1,"), "{}", ended.out);
        keys(&serde_json::from_str(&ended.out).unwrap(), &mut seen);
    }
    let unnamed: Vec<_> = seen.difference(&named).collect();
    assert!(unnamed.is_empty(), "{command} prints {unnamed:?}, which its help does not name");
    let missing: Vec<_> =
        named.difference(&seen).filter(|key| !rare.contains(&key.as_str()) && *key != "step").collect();
    assert!(missing.is_empty(), "the help of {command} names {missing:?}, which it does not print");
}

#[test]
fn keys_are_those_of_the_help() {
    let dot = ["-a", "1 2", "-b", "3 0.5"];
    check(&[&["list"]], &[]);
    let results = concat!(env!("CARGO_MANIFEST_DIR"), "/../functions/tests/data/values.csv");
    check(
        &[
            &["function", "ex2", "turing", "1", "--explain"],
            &["function", "rcp", "turing", "--digest", "00"],
            &["function", "--check", results],
        ],
        &["line", "function", "expected", "actual"],
    );
    let ptx = |name: &str| format!("{}/../ptx/tests/data/ptx/{name}.ptx", env!("CARGO_MANIFEST_DIR"));
    let folder = tempfile::tempdir().unwrap();
    let y = folder.path().join("y.npy");
    let (out, input) = (format!("out:{}:f32:1x8", y.display()), format!("out:{}:f32:8", y.display()));
    let softmax = ["kernel", "run", &ptx("softmax_f32_80"), "--grid", "1", "--arg", &input, "--arg", &out];
    check(
        &[&["kernel", "show", &ptx("decayed_f32_80")], &[&softmax[..], &["--arg", "i32:8"]].concat()],
        &["name", "type"],
    );
    check(&[&[&["dot", "hopper", F16], &dot[..]].concat()], &[]);
    let of_elements = [
        "split_k",
        "promote_every",
        "c_last",
        "element",
        "k",
        "k_step",
        "events",
        "event",
        "part",
        "first",
        "last",
        "accumulator",
        "operands",
        "flushed",
        "exact",
        "result",
        "error",
        "total_error",
        "losses",
        "source",
        "term",
        "kept",
        "trace",
        "what",
        "left",
        "right",
        "departure",
        "observed",
        "agrees",
        "instead",
        "steps_alike",
        "complete",
        "significand",
        "exponent",
        "computed_by",
        "chips",
        "order",
        "here",
        "there",
    ];
    check(&[&[&["explain", "hopper", F16], &dot[..]].concat()], &of_elements);
    let with_a_model = ["model", "file", "same"];
    check(&[&["compare", "--why"], &["compare", "cdna1", "-a", "448", "-b", "1"]], &with_a_model);
    let bench = ["bench", "--arch", "turing", "--instruction", "mma.m16n8k8.f32.f16.f16.f32", "--size", "16"];
    let routes = [
        "bench",
        "--arch",
        "turing",
        "--instruction",
        "mma.m16n8k8.f32.f16.f16.f32",
        "--size",
        "16",
        "--routes",
    ];
    check(&[&bench, &routes], &["native", "native_products_per_second", "ratio"]);
    let same = ["sim:turing/mma.m16n8k8.f32.f16.f16.f32", "--tests", "1000"];
    let wrong = ["sim:hopper/mma.m16n8k16.f32.f16.f16.f32", "--tests", "1000", "--claims", "--against"];
    check(
        &[
            &[&["verify"], &same[..]].concat(),
            &[&["verify"], &wrong[..], &["ampere/mma.m16n8k16.f32.f16.f16.f32"]].concat(),
        ],
        &[],
    );
    check(
        &[&["probe", "sim:volta/mma.m8n8k4.f32.f16.f16.f32", "--tests", "1000"]],
        &[
            "family",
            "instruction",
            "place",
            "block",
            "row",
            "column",
            "case",
            "scale_a",
            "scale_b",
            "expected",
            "actual",
            "value",
            "code",
            "format",
            "agrees",
            "of",
            "nearest",
            "faults",
            "fault",
            "meaning",
            "asked",
            "elements",
            "differ",
            "explanation",
        ],
    );
}

#[test]
fn files_of_products_are_named_alike() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let write = |name: &str, (rows, columns): (usize, usize)| {
        let mut header =
            format!("{{'descr': '<f2', 'fortran_order': False, 'shape': ({rows}, {columns}), }}");
        while !(header.len() + 11).is_multiple_of(64) {
            header.push(' ');
        }
        header.push('\n');
        let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
        bytes.extend((header.len() as u16).to_le_bytes());
        bytes.extend(header.as_bytes());
        bytes.resize(bytes.len() + 2 * rows * columns, 0);
        std::fs::write(path(name), bytes).unwrap();
    };
    write("a.npy", (16, 16));
    write("b.npy", (16, 8));
    let (a, b, d) = (path("a.npy"), path("b.npy"), path("d.npy"));
    let files = ["hopper", F16, "-a", &a, "-b", &b, "-o", &d];
    check(&[&[&["run"], &files[..]].concat()], &[]);
    // 1·1 is not 0
    let recording = "arch,instruction,a,b,c,scale_a,scale_b,d\nhopper,f16,3c00,3c00,00000000,,,00000000\n";
    std::fs::write(path("r.csv"), recording).unwrap();
    let [a, b, expected] = ["a", "b", "d"].map(|column| format!("{}:{column}", path("r.csv")));
    let recorded = ["gemm", "hopper", F16, "-a", &a, "-b", &b, "--expect", &expected, "-o", &d];
    check(&[&[&["gemm"], &files[..]].concat(), &recorded], &[]);
}

#[test]
fn recordings_that_differ() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("one.csv").display().to_string();
    let line = "turing,mma.m16n8k8.f32.f16.f16.f32,f000 b800 b400 b000 0000 0000 0000 0000,\
                6400 3c00 3c00 3c00 0000 0000 0000 0000,4b000000,,,bf400000\n";
    std::fs::write(&path, format!("arch,instruction,a,b,c,scale_a,scale_b,d\n{line}")).unwrap();
    check(&[&["replay", &path]], &[]);
}

#[test]
fn diff() {
    check(
        &[&["diff", "a100", "h100", "--type", "bf16"], &["diff", "b200", "h100", "--type", "f16"]],
        &["scale_a", "scale_b"],
    );
}

/// Three products: of the H100, of ones, of nothing.
#[test]
fn products_whose_maker_is_asked() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let put = |name: &str, kind: &str, shape, codes: &[u64]| {
        std::fs::write(path(name), matrix(kind, shape, codes)).unwrap();
    };
    let numbers = |count: u64| -> Vec<u64> { (0..count).map(|at| 0x3000 + at * at * 77 % 0xbff).collect() };
    put("a.npy", "<f2", (4, 64), &numbers(256));
    put("b.npy", "<f2", (64, 4), &numbers(256));
    put("ones.npy", "<f2", (4, 64), &[0x3c00; 256]);
    put("columns.npy", "<f2", (64, 4), &[0x3c00; 256]);
    put("sums.npy", "<f4", (4, 4), &[0x4280_0000; 16]);
    let [a, b, d, ones, columns, sums] =
        ["a.npy", "b.npy", "d.npy", "ones.npy", "columns.npy", "sums.npy"].map(path);
    bitmma(&["gemm", "h100", "wgmma", "f16", "f32", "-a", &a, "-b", &b, "-o", &d]).fine();
    check(
        &[
            &["which", "-a", &a, "-b", &b, "-d", &d],
            &["which", "-a", &ones, "-b", &columns, "-d", &sums],
            &["which", "-a", &a, "-b", &b, "-d", &sums],
        ],
        &["block", "scale_a", "scale_b"],
    );
    let element =
        ["explain", "hopper", F16, "-a", &a, "-b", &b, "--element", "1,2", "-d", &sums, "--split-k", "2"];
    let explained = bitmma(&[&element[..], &["--json"]].concat());
    let page: Value = serde_json::from_str(&explained.out).unwrap();
    assert_eq!(explained.code, Some(1), "{}", explained.out);
    assert_eq!(page["element"], serde_json::json!([0, 1, 2]));
    assert_eq!(page["events"].as_array().unwrap().len(), 5, "four steps and a sum of parts");
    assert_eq!(page["departure"]["agrees"], false);
}

#[test]
fn numbers_are_numbers() {
    let dot =
        |a: &str| bitmma(&["dot", "hopper", F16, "-a", a, "-b", "1", "--json"]).json()["d"]["value"].clone();
    assert_eq!(dot("-0.75"), Value::from(-0.75));
    assert_eq!(dot("nan"), "nan");
    assert_eq!(dot("-inf"), "-inf");
    assert_eq!(dot("0x1p-24"), Value::from(f64::from_bits(0x3e70_0000_0000_0000)));
}

/// A program that asked for JSON gets the reason of a failure as JSON, too.
#[test]
fn errors_are_json() {
    for (arguments, words) in [
        (&["show", "hopper", "banana", "--json"][..], "hopper has no instruction 'banana'"),
        (&["show", "--json", "mi350x", "x"], "mi350x is not modeled"),
    ] {
        let ended = bitmma(arguments);
        assert_eq!(ended.code, Some(2));
        let json: Value = serde_json::from_str(&ended.out).unwrap();
        assert_eq!((&json["schema"], &json["error"]["exit_code"]), (&1.into(), &2.into()));
        assert!(json["error"]["message"].as_str().unwrap().contains(words), "{}", ended.out);
        assert!(ended.err.contains(words), "{}", ended.err);
    }
}
