//! Every instruction of the catalogue gives back its own model, bit for bit: a sample each run, all of them
//! with `BITMMA_TESTS=all`.

use std::collections::HashSet;
use std::time::Instant;

use crate::common;

use bitmma_engine::catalogue::{catalogue, processors};
use bitmma_engine::{Instruction, Revision, Simulator};
use bitmma_probe::{Options, Verdict, probe};

/// One row of each of the paper's families and of each kind: composed forms, FP16 results, blocks, scale factors.
const SAMPLE: [&str; 15] = [
    "volta/mma.m8n8k4.f16.f16.f16.f16",
    "ampere/mma.m16n8k8.f32.tf32.tf32.f32",
    "ada/mma.m16n8k32.f32.e4m3.e5m2.f32",
    "hopper/mma.m16n8k16.f32.f16.f16.f32",
    "hopper/mma.m16n8k16.f32.e4m3.e4m3.f32",
    "hopper/mma.m16n8k16.f16.e5m2.e5m2.f16", // the F of its passes decides how its order looks
    "hopper/mma.m8n8k4.rm.f64.f64.f64.f64",
    "rtx-blackwell/mma.m16n8k32.kind::mxf8f6f4.block32.f32.e4m3.e2m1.f32.ue8m0",
    "blackwell/tcgen05.mma.m128n8k64.kind::mxf4nvf4.block16.f32.e2m1.e2m1.ue4m3",
    "ampere/wmma.m16n16k16.f16.f16.f16.f32",
    "cdna1/v_mfma_f32_4x4x2bf16",
    "cdna2/v_mfma_f32_4x4x4f16",
    "cdna2/v_mfma_f32_16x16x4f32",
    "cdna3/v_mfma_f32_16x16x8_xf32",
    "cdna3/v_mfma_f32_32x32x16_bf8_fp8",
];

fn name(row: &Instruction) -> String {
    format!("{}/{}", row.architecture, row.name_for(row.m.first, row.n.first))
}

/// Why the row's model was not recovered; `None` if it was.
fn failure(row: &Instruction, tests: u64) -> Option<String> {
    let instruction = row.name_for(row.m.first, row.n.first);
    let unit = Simulator::instruction(row.architecture, &instruction, Revision::Hardware).unwrap();
    let outcome = probe(&unit, &Options { tests, ..Options::default() }, &()).unwrap();
    let Verdict::Found(found) = &outcome.verdict else {
        return Some(outcome.summary());
    };
    found.model.validate().unwrap();
    if !found.known_as.contains(&format!("{}/{}", row.architecture, row.name())) {
        return Some(format!("known as {:?}", found.known_as));
    }
    let each = if common::all() { 5000 } else { 500 };
    common::first_difference(&unit, &found.model, each, 4711).map(|difference| format!("{difference:x?}"))
}

#[test]
fn a_sample_is_recovered() {
    let mut left: Vec<&str> = SAMPLE.to_vec();
    for row in catalogue().iter().filter(|row| row.model_ref(Revision::Hardware).is_some()) {
        let Some(at) = left.iter().position(|wanted| *wanted == name(row)) else { continue };
        left.remove(at);
        if let Some(why) = failure(row, 20_000) {
            panic!("{}: {why}", name(row));
        }
    }
    assert_eq!(left, Vec::<&str>::new(), "no such instructions");
}

#[test]
fn all_are_recovered() {
    if !common::all() {
        eprintln!("skipped: a probe of every instruction takes half an hour; BITMMA_TESTS=all runs it");
        return;
    }
    let rows: Vec<&Instruction> = catalogue()
        .iter()
        .filter(|row| row.model_ref(Revision::Hardware).is_some() && common::chosen(&name(row)))
        .collect();
    assert!(!rows.is_empty(), "no instruction has a name that BITMMA_ROWS asks for");
    // the first of each model and K before the others: a fault shows early
    let mut seen = HashSet::new();
    let (first, rest): (Vec<_>, Vec<_>) =
        rows.iter().partition(|row| seen.insert((row.model_ref(Revision::Hardware), row.products())));
    eprintln!("{} rows, {} of them the first of their model and K", rows.len(), first.len());
    let failed: Vec<String> = first
        .into_iter()
        .chain(rest)
        .filter_map(|row| {
            let start = Instant::now();
            let why = failure(row, 1_000_000);
            let took = start.elapsed().as_secs_f64();
            eprintln!("{}: {}, {took:.1} s", name(row), why.as_deref().unwrap_or("recovered"));
            why.map(|why| format!("{}: {why}", name(row)))
        })
        .collect();
    assert!(failed.is_empty(), "{} of {} rows:\n{}", failed.len(), rows.len(), failed.join("\n"));
}

/// Rounding to odd and flushing to zeros of either sign are in the space too.
#[test]
fn processors_are_recovered() {
    let tests = if common::all() { 1_000_000 } else { 20_000 };
    for row in processors() {
        let unit = Simulator::model(row.model.clone(), row.shape).unwrap();
        let outcome = probe(&unit, &Options { tests, ..Options::default() }, &()).unwrap();
        let Verdict::Found(found) = &outcome.verdict else { panic!("{}: {}", row.name, outcome.summary()) };
        assert_eq!(common::first_difference(&unit, &found.model, 2000, 4711), None, "{}", row.name);
        let own = |model: &bitmma_engine::Model| {
            (model.operation, model.conversion, model.flush_operands, model.flush_accumulator, model.lowering)
        };
        let described =
            std::iter::once(&found.model).chain(&found.equivalent).any(|model| own(model) == own(&row.model));
        assert!(described, "{}\n{}", row.name, outcome.summary());
    }
}
