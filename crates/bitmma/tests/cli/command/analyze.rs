//! `bitmma analyze`: a part takes an instruction or a model, or refuses it; none ignores it.

use serde_json::Value;

use super::bitmma;

const PARTS: [&str; 8] =
    ["models", "discrepancy", "bounds", "risks", "bias", "published", "design-space", "workarounds"];
/// The parts that are the same for every instruction.
const ALIKE: [&str; 2] = ["bias", "published"];
const INSTRUCTION: [&str; 2] = ["hopper", "wgmma.m64n8k32.f32.e4m3.e4m3"];
const MODEL: &str =
    "model = 'T-FDPA'\nA = 'e4m3'\nB = 'e4m3'\nC = 'f32'\nrho = 'RZ-FP32'\nL_max = 8\nF = 19\n";

/// The parts that compute on data.
const ON_DATA: [&str; 3] = ["bounds", "design-space", "workarounds"];

fn quick(part: &str, more: &[&str]) -> super::Ended {
    let short: &[&str] =
        if ON_DATA.contains(&part) && !more.is_empty() && more[0] != "--json" { &["--k", "64"] } else { &[] };
    bitmma(&[&["analyze", part, "--quick"], short, more].concat())
}

#[test]
fn data_that_a_part_does_not_use_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out").display().to_string();
    let text = bitmma(&[&["analyze", "bias", "--quick", "-o", &out], &INSTRUCTION[..]].concat())
        .refused()
        .to_owned();
    assert!(
        text.contains("part is bias; it does not take an instruction"),
        "a folder does not hide it: {text}"
    );
    for data in [["--k", "64"], ["--scale", "2"], ["--distribution", "outliers"]] {
        for part in PARTS {
            let text = bitmma(&[&["analyze", part, "--quick"], &data[..]].concat()).refused().to_owned();
            let why = format!("{} is for the data of one instruction; name it", data[0]);
            assert!(text.contains(&why), "{part}: {text}");
            if !ON_DATA.contains(&part) && !ALIKE.contains(&part) {
                let text = bitmma(&[&["analyze", part, "--quick"], &data[..], &INSTRUCTION].concat())
                    .refused()
                    .to_owned();
                let why = format!(
                    "{} is given; {part} would not use it; these parts do: bounds, design-space",
                    data[0]
                );
                assert!(text.contains(&why), "{part}: {text}");
            }
        }
        let report = ["report", "--quick", "--only", "risks,models", "-o", &out];
        let text = bitmma(&[&report[..], &data, &INSTRUCTION].concat()).refused().to_owned();
        assert!(text.contains("risks, models would not use it"), "{text}");
    }
}

#[test]
fn every_part_takes_or_refuses_an_instruction_and_a_model() {
    let file = tempfile::Builder::new().suffix(".toml").tempfile().unwrap();
    std::fs::write(file.path(), MODEL).unwrap();
    let model = file.path().to_str().unwrap();
    for (given, name) in [(&INSTRUCTION[..], "hopper wgmma.m64n"), (&["--model", model], model)] {
        for part in PARTS {
            let ended = quick(part, given);
            if ALIKE.contains(&part) {
                let text = ended.refused();
                assert!(
                    text.contains(&format!("part is {part}; it does not take an instruction or a model")),
                    "{text}"
                );
                assert!(
                    text.contains("these do: discrepancy, bounds, risks, design-space, workarounds, models"),
                    "{text}"
                );
                continue;
            }
            let text = ended.fine();
            assert!(text.contains(name), "{part} does not name {name}: {text}");
            // the first paragraphs are about it
            if part != "bounds" && part != "workarounds" {
                let first = text.lines().nth(1).unwrap_or_default();
                assert!(first.contains(name), "{part} begins with something else: {first}");
            }
        }
    }
}

#[test]
fn what_the_parts_say_of_one_unit() {
    let section = |part: &str| -> Value { quick(part, &[&INSTRUCTION[..], &["--json"]].concat()).json() };
    // risks: its own verdicts first
    let risks = section("risks");
    assert_eq!(risks["tables"][0]["name"], "own-risks");
    let first = risks["text"][0].as_str().unwrap();
    assert!(first.starts_with("hopper wgmma.m64n") && first.contains("small F"), "{first}");
    // models: the instructions that compute so
    let models = section("models");
    assert_eq!(models["tables"][0]["name"], "own-model");
    assert!(models["text"][0].as_str().unwrap().contains(": hopper wgmma"), "{}", models["text"][0]);
    // discrepancy: every pair has it
    let pairs = &section("discrepancy")["tables"][0];
    let rows = pairs["rows"].as_array().unwrap();
    assert!(
        !rows.is_empty() && rows.iter().all(|row| row[1].as_str().unwrap().starts_with("Hopper")),
        "{pairs}"
    );
    // design-space: a row of the table and a point of the chart
    let space = section("design-space");
    let named = |row: &&Value| row[0].as_str().unwrap().starts_with("hopper wgmma");
    assert!(space["tables"][0]["rows"].as_array().unwrap().iter().any(|row| named(&row)));
    let series = space["figures"][0]["series"].as_array().unwrap().last().unwrap();
    assert!(series["name"].as_str().unwrap().starts_with("hopper wgmma"), "{series}");
    assert_eq!(series["points"].as_array().unwrap().len(), 1);
}

/// The words follow the numbers: no workaround is praised whose error is larger.
#[test]
fn workarounds_are_what_was_measured() {
    let section: Value = quick("workarounds", &["--json"]).json();
    let words: Vec<&str> =
        section["text"].as_array().unwrap().iter().map(|words| words.as_str().unwrap()).collect();
    let mut larger = 0;
    for table in section["tables"].as_array().unwrap() {
        let title = table["title"].as_str().unwrap();
        let said = words.iter().find(|words| words.starts_with(&format!("{title}, as it is: "))).unwrap();
        let (smaller, not) = said.split_once("No smaller one with: ").unwrap();
        for row in table["rows"].as_array().unwrap().iter().skip(1) {
            let (name, times) = (row[0].as_str().unwrap(), row[7].as_f64());
            let place = if times.is_some_and(|times| times > 1.0) { smaller } else { not };
            assert!(place.contains(name), "{title}: {name} is {times:?} times smaller: {said}");
            larger += usize::from(times.is_some_and(|times| times < 1.0));
        }
        let first = &table["rows"][0];
        let apart = (first[2].as_f64().unwrap() / first[3].as_f64().unwrap()).abs();
        assert_eq!(smaller.contains("a bias. "), apart > 3.0, "{title}: {apart}: {said}");
    }
    println!("{larger} workarounds have a larger error");
    let said = quick("bias", &["--json"]).json()["text"].to_string();
    assert!(said.contains("gives a mean of ") && !said.contains("has no bias"), "{said}");
}
