//! Links of findings: the page shows the same bits as the finding.

use bitmma_analysis::describe::number;
use bitmma_analysis::sections::{Effort, Options, Part, section};
use bitmma_analysis::table::{EXPLORE, Table};
use bitmma_analysis::verdict::{Side, Verdict, diff};
use bitmma_engine::arithmetic::{Model, Operands};
use bitmma_engine::catalogue::{catalogue, find};
use bitmma_engine::formats::Format;
use bitmma_engine::formats::table;
use bitmma_engine::formats::text::hex;
use bitmma_engine::{Architecture, Case, Revision, model_of};
use bitmma_probe::differ;
use bitmma_verify::inputs::{Family, case};
use bitmma_web::link;
use serde_json::{Value, json};

use crate::asked::ok;

/// What the page asks for the state of a link, as its own script reads it.
fn shown(state: &str) -> Vec<Value> {
    let all = |key: &str| -> Vec<String> {
        let pairs = state.split('&').filter_map(|pair| pair.split_once('='));
        pairs.filter(|(name, _)| *name == key).map(|(_, value)| value.replace("%2B", "+")).collect()
    };
    let one = |key: &str| all(key).concat();
    let units: Vec<Value> = all("u").into_iter().map(|unit| json!({ "unit": unit })).collect();
    let (scale_a, scale_b) = (one("sa"), one("sb"));
    let input =
        json!({ "a": one("a"), "b": one("b"), "c": one("c"), "scale_a": scale_a, "scale_b": scale_b });
    let answer = ok(&json!({ "ask": "explain", "units": units, "input": input }));
    answer["units"].as_array().expect("units").clone()
}

fn code(unit: &Value) -> &str {
    unit["d"]["code"].as_str().unwrap_or_else(|| panic!("no result: {unit}"))
}

fn dot(model: &Model, case: &Case) -> u64 {
    let Case { a, b, c, scale_a, scale_b } = case;
    model.dot(&Operands { a, b, c: *c, scale_a, scale_b }).expect("the input fits")
}

/// What `bitmma explain` and `bitmma verify` link to.
#[test]
fn every_instruction_on_inputs_of_every_kind() {
    let mut count = 0;
    for row in catalogue() {
        let Some(model) = row.model_ref(Revision::Hardware) else { continue };
        let name = format!("{} {}", row.architecture, row.name());
        for (index, family) in Family::ALL.into_iter().enumerate() {
            let case = case(model, row.products(), family, 59, index as u64);
            let Some(state) = link(&[&name], Revision::Hardware, &case) else {
                panic!("{name}: {family:?} has no link");
            };
            assert_eq!(code(&shown(&state)[0]), hex(&model.d, dot(model, &case)), "{name}: {state}");
            count += 1;
        }
        assert_eq!(link(&[&name], Revision::Paper, &case(model, row.products(), Family::Zeros, 1, 0)), None);
    }
    assert!(count > 1_000, "{count}");
}

#[test]
fn what_diff_finds() {
    let mut count = 0;
    for (left, right) in [
        ("hopper", "wgmma.m64n8k16.f32.f16.f16", "cdna3", "v_mfma_f32_16x16x16_f16"),
        ("ampere", "mma.m16n8k8.f32.bf16.bf16.f32", "hopper", "mma.m16n8k16.f32.bf16.bf16.f32"), // K = 16 of both
        ("volta", "mma.m8n8k4.f32.f16.f16.f32", "hopper", "mma.m16n8k16.f32.f16.f16.f32"),
        ("hopper", "wgmma.m64n8k16.f16.f16.f16", "hopper", "wgmma.m64n8k16.f32.f16.f16"),
        ("ampere", "mma.m16n8k8.f32.tf32.tf32.f32", "hopper", "wgmma.m64n8k8.f32.tf32.tf32"),
        (
            "hopper",
            "wgmma.m64n8k32.f32.e4m3.e4m3",
            "blackwell",
            "tcgen05.mma.m128n8k32.kind::f8f6f4.f32.e4m3.e4m3",
        ),
    ]
    .map(|(x, one, y, other)| ((x, one), (y, other)))
    {
        let side = |(architecture, instruction): (&str, &str)| {
            let architecture: Architecture = architecture.parse().expect("an architecture");
            let found = find(architecture, instruction).unwrap_or_else(|error| panic!("{error}"));
            let model = model_of(&found, Revision::Hardware).expect("a model");
            Side {
                name: format!("{architecture} {}", found.name()),
                model,
                k: Some(found.instruction.products()),
            }
        };
        let (left, right) = (side(left), side(right));
        let Ok(found) = diff(&left, &right, &differ::RULES) else {
            continue;
        };
        let (Verdict::Differs(case, _), Some(results)) = (&found.verdict, &found.results) else { continue };
        let Some(state) = link(&[&left.name, &right.name], Revision::Hardware, case) else {
            panic!("{} and {} have no link", left.name, right.name);
        };
        let units = shown(&state);
        let [of_left, of_right] = [&results.of_left, &results.of_right].map(|one| one.code.as_deref());
        assert_eq!([Some(code(&units[0])), Some(code(&units[1]))], [of_left, of_right], "{state}");
        count += 1;
    }
    assert!(count >= 4, "{count} pairs differ");
}

/// A zero at the end is one more instruction, which makes +0 of −0.
#[test]
fn zeros_at_the_end_are_kept_where_they_are_another_instruction() {
    let unit = "ampere mma.m16n8k8.f32.bf16.bf16.f32";
    let mut case = Case { a: vec![0; 16], b: vec![0; 16], c: 0, scale_a: vec![], scale_b: vec![] };
    (case.a[0], case.b[0]) = (0x3f80, 0x3f80);
    let state = link(&[unit], Revision::Hardware, &case).expect("a link");
    assert_eq!(state.split('&').nth(1).expect("a").split(' ').count(), 16, "{state}");
    (case.a, case.b) = (vec![0x3f80; 12], vec![0x3f80; 12]); // one and a half instructions
    assert_eq!(link(&[unit], Revision::Hardware, &case), None);
    assert_eq!(link(&["ampere nothing"], Revision::Hardware, &case), None);
}

/// The rows of a report's table that have a link: the link, and the row by its headings.
fn linked(part: Part, name: &str) -> Vec<(String, impl Fn(&str) -> String + use<>)> {
    let options = Options { seed: 1, revision: Revision::Hardware, effort: Effort::Quick, data: None, link };
    let content = section(part, &options, &()).expect("a section");
    let table: &Table = content.tables.iter().find(|table| table.name == name).expect("the table");
    let columns = table.columns.clone();
    let place = columns.iter().position(|column| column == EXPLORE).expect("links");
    let rows = table.rows.iter().filter(|row| !row[place].exact().is_empty());
    rows.map(|row| {
        let (columns, row) = (columns.clone(), row.clone());
        let at = move |heading: &str| {
            let place = columns.iter().position(|column| column == heading);
            row[place.expect("a column")].exact()
        };
        (at(EXPLORE), at)
    })
    .collect()
}

#[test]
fn the_risks_of_the_report() {
    let rows = linked(Part::Risks, "risk-witnesses");
    assert!(rows.len() >= 20, "{}", rows.len());
    for (state, row) in rows {
        let units = shown(&state);
        let format: Format =
            table::by_name(units[0]["unit"]["d"].as_str().expect("a format")).expect("a format");
        let digits = u64::from_str_radix(code(&units[0]).trim_start_matches("0x"), 16).expect("a code");
        assert_eq!(number(&format, digits), row("D"), "{state}");
    }
}

#[test]
fn the_pairs_of_the_report() {
    let rows = linked(Part::Discrepancy, "pairs");
    assert!(rows.len() >= 20, "{}", rows.len());
    for (state, row) in rows {
        let units = shown(&state);
        assert_ne!(code(&units[0]), code(&units[1]), "{}: {state}", row("input"));
    }
}
