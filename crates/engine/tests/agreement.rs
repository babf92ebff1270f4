//! Engine and second implementation on the same random dot products, for every model of the catalogue
//! and both revisions.
//!
//! A slice runs each time; `BITMMA_TESTS=all` runs more than ten million dot products.

use std::collections::BTreeMap;

use bitmma::arithmetic::{Conversion, Operation, oracle, run::Operands};
use bitmma::catalogue::{Revision, catalogue};
use bitmma::formats::{BF16, E5M2, F16, F32, Rounding};
use bitmma::inputs::{Case, Family, case};
use bitmma::{Model, recording};
use rayon::prelude::*;

const SEED: u64 = 0x5eed;

/// Every distinct model and K of the catalogue, with one instruction that has it.
fn models() -> Vec<(String, Model, usize)> {
    let mut distinct: BTreeMap<String, (String, Model, usize)> = BTreeMap::new();
    for row in catalogue() {
        for revision in Revision::ALL {
            if let Some(model) = row.model(revision) {
                let name = format!("{} {} ({revision})", row.architecture, row.name());
                distinct.entry(format!("{model:?} {}", row.k)).or_insert((name, model, row.k));
            }
        }
    }
    distinct.into_values().chain(beyond_the_catalogue()).collect()
}

/// Processors, and FTZ-FMA in other formats, lengths and roundings than any processor has.
fn beyond_the_catalogue() -> impl Iterator<Item = (String, Model, usize)> {
    let processors = bitmma::catalogue::processors()
        .iter()
        .map(|row| (row.name.to_owned(), row.model.clone(), row.shape.2));
    let flushing = Rounding::ALL.into_iter().flat_map(|(rounding, _)| {
        [(F16, F16, 1), (BF16, F32, 4), (F32, F32, 3), (E5M2, BF16, 8)].map(|(from, to, max_length)| {
            let operation = Operation::FtzFma { max_length };
            let model = Model::new(from, from, to, operation, Conversion { rounding, format: to });
            (format!("FTZ-FMA {from} {to} {rounding}"), model, 24)
        })
    });
    // products and sums of pairs under every rounding; operands flushed to zero of their sign
    let pairs = Rounding::ALL.into_iter().flat_map(|(rounding, _)| {
        [(F16, F32, 1), (BF16, F32, 2), (E5M2, BF16, 4)].map(|(from, to, pairing)| {
            let operation = Operation::FtzAddMul { pairing };
            let model = Model::new(from, from, to, operation, Conversion { rounding, format: to });
            let model = Model { flush_inputs: true, flush_keeps_sign: true, ..model };
            (format!("FTZ-AddMul {from} {to} {rounding}"), model, 24)
        })
    });
    processors.chain(flushing).chain(pairs)
}

#[test]
fn engine_and_oracle_agree() {
    let all = std::env::var("BITMMA_TESTS").is_ok_and(|value| value == "all");
    let models = models();
    let budget: u64 = if all { 12_000_000 } else { 200_000 };
    let per_family = budget.div_ceil((models.len() * Family::ALL.len()) as u64);
    let jobs: Vec<_> = models.iter().flat_map(|model| Family::ALL.map(|family| (model, family))).collect();
    let failures: Vec<String> = jobs
        .par_iter()
        .filter_map(|((name, model, k), family)| {
            (0..per_family).find_map(|index| {
                let Case { a, b, c, scale_a, scale_b } = case(model, *k, *family, SEED, index);
                let actual = model
                    .dot(&Operands { a: &a, b: &b, c, scale_a: &scale_a, scale_b: &scale_b })
                    .unwrap_or_else(|error| panic!("{name}: {error}"));
                let expected = oracle::dot(model, &a, &b, c, &scale_a, &scale_b);
                (expected != actual).then(|| {
                    let hex = recording::hex;
                    format!(
                        "{name}, {family:?}, seed {SEED:#x}, index {index}\n a {}\n b {}\n c {}\n scales {scale_a:x?} {scale_b:x?}\n oracle {}\n engine {}",
                        hex(&model.a, &a),
                        hex(&model.b, &b),
                        hex(&model.c, &[c]),
                        hex(&model.d, &[expected]),
                        hex(&model.d, &[actual]),
                    )
                })
            })
        })
        .collect();
    let total = per_family * jobs.len() as u64;
    println!("{total} dot products, {} models, {} families", models.len(), Family::ALL.len());
    assert!(
        failures.is_empty(),
        "{} of {} jobs differ:\n{}",
        failures.len(),
        jobs.len(),
        failures.join("\n")
    );
}
