//! The exact vectors, and dot products that real units returned, through the question function.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use bitmma_engine::formats::table::by_name;
use bitmma_engine::formats::{Class, decode};
use serde_json::{Value, json};

use crate::asked::ok;

/// Lines of a file by their unit: the columns of a question, and the D that was recorded.
type Cases = BTreeMap<(String, String), Vec<(Value, String)>>;

fn files(folder: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../recordings").join(folder);
    let files =
        std::fs::read_dir(folder).expect("recordings are here").map(|file| file.expect("a file").path());
    let mut files: Vec<PathBuf> =
        files.filter(|path| path.extension().is_some_and(|end| end == "csv")).collect();
    files.sort();
    files
}

/// Every `step`-th line of a file.
fn read(path: &Path, step: usize, cases: &mut Cases) {
    let text = std::fs::read_to_string(path).expect("a recording");
    let lines = text.lines().filter(|line| !line.starts_with('#') && !line.starts_with("arch,"));
    for line in lines.step_by(step) {
        let [architecture, instruction, a, b, c, scale_a, scale_b, d] =
            line.split(',').collect::<Vec<_>>()[..]
        else {
            panic!("{}: {line}", path.display());
        };
        if architecture == "cpu" {
            continue; // a processor's instruction is none of a chip's
        }
        let case = json!({"a": a, "b": b, "c": c, "scale_a": scale_a, "scale_b": scale_b});
        cases
            .entry((architecture.to_owned(), instruction.to_owned()))
            .or_default()
            .push((case, d.to_owned()));
    }
}

/// Asks for all; returns how many there are. A difference is a failure.
fn replayed(cases: &Cases) -> usize {
    let mut count = 0;
    for ((architecture, instruction), all) in cases {
        let unit = json!({"unit": format!("{architecture} {instruction}")});
        let questions: Vec<&Value> = all.iter().map(|(case, _)| case).collect();
        let answer = ok(&json!({"ask": "dot", "unit": unit, "cases": questions}));
        let format = by_name(answer["format"].as_str().expect("a format")).expect("a format of the table");
        let nan: Vec<u64> =
            answer["nan"].as_array().expect("places").iter().filter_map(Value::as_u64).collect();
        for (place, (case, expected)) in all.iter().enumerate() {
            let actual = answer["d"][place].as_str().expect("a code");
            let expected_nan = expected == "nan"
                || u64::from_str_radix(expected, 16)
                    .is_ok_and(|code| decode(&format, code).class == Class::Nan);
            let any_nan =
                nan.contains(&(place as u64)) && (expected == "nan" || answer["has_nan_code"] == false);
            let agrees = actual == expected || (any_nan && expected_nan);
            assert!(agrees, "{architecture} {instruction}: {case}: {actual} instead of {expected}");
            count += 1;
        }
    }
    count
}

#[test]
fn exact_vectors() {
    let mut cases = Cases::new();
    files("vectors").iter().for_each(|path| read(path, 1, &mut cases));
    assert_eq!(replayed(&cases), 20_592);
}

#[test]
fn dot_products_of_real_units() {
    let mut cases = Cases::new();
    files("hardware").iter().for_each(|path| read(path, 5, &mut cases));
    let count = replayed(&cases);
    assert!(count >= 10_000, "{count}");
}
