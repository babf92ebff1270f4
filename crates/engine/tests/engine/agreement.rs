//! Engine and second implementation on the same random dot products, for every model of the catalogue
//! and both revisions.
//!
//! A slice runs each time; `BITMMA_TESTS=all` runs more than ten million dot products.

use std::collections::BTreeMap;

use crate::common::inputs::{Family, case};
use bitmma_engine::arithmetic::{
    Chains, Conversion, FAMILIES, FusedSum, InputFlush, Lowering, Operation, Order, ResultFlush, RoundedSum,
    oracle, run::Operands,
};
use bitmma_engine::catalogue::{Revision, catalogue};
use bitmma_engine::formats::text::digits_of as hex;
use bitmma_engine::formats::{BF16, BlockScale, E2M1, E4M3, E5M2, F16, F32, Rounding, UE4M3, UE8M0};
use bitmma_engine::threads::prelude::*;
use bitmma_engine::{Case, Model};

const SEED: u64 = 0x5eed;

/// Every distinct model and K of the catalogue, with one instruction that has it.
pub(crate) fn models() -> Vec<(String, Model, usize)> {
    let mut distinct: BTreeMap<String, (String, Model, usize)> = BTreeMap::new();
    for row in catalogue() {
        for revision in Revision::ALL {
            if let Some(model) = row.model(revision) {
                let name = format!("{} {} ({revision})", row.architecture, row.name());
                distinct.entry(format!("{model:?} {}", row.products())).or_insert((
                    name,
                    model,
                    row.products(),
                ));
            }
        }
    }
    distinct.into_values().chain(beyond_the_catalogue()).collect()
}

/// Processors, and FTZ-FMA in other formats, lengths and roundings than any processor has.
fn beyond_the_catalogue() -> impl Iterator<Item = (String, Model, usize)> {
    let processors = bitmma_engine::catalogue::processors()
        .iter()
        .map(|row| (row.name.to_owned(), row.model.clone(), row.shape.2));
    let flushing = Rounding::ALL.into_iter().flat_map(|(rounding, _)| {
        [(F16, F16, 1), (BF16, F32, 4), (F32, F32, 3), (E5M2, BF16, 8)].map(|(from, to, max_length)| {
            let operation = Operation::FtzFma { max_length };
            let model = Model::new(from, from, to, operation, Conversion::new(rounding, to));
            (format!("FTZ-FMA {from} {to} {rounding}"), model, 24)
        })
    });
    // products and sums of pairs under every rounding; operands flushed to zero of their sign
    let pairs = Rounding::ALL.into_iter().flat_map(|(rounding, _)| {
        [(F16, F32, 1), (BF16, F32, 2), (E5M2, BF16, 4)].map(|(from, to, pairing)| {
            let operation = Operation::FtzAddMul { pairing };
            let model = Model::new(from, from, to, operation, Conversion::new(rounding, to));
            let model = model.flushing(InputFlush::Signed);
            (format!("FTZ-AddMul {from} {to} {rounding}"), model, 24)
        })
    });
    processors
        .chain(flushing)
        .chain(pairs)
        .chain(every_family())
        .chain(ends_of_the_range())
        .chain(chains())
        .chain(own_bits())
}

/// Every family of the table, from its example: three lengths, every rounding, results flushed and saturated or not.
fn every_family() -> impl Iterator<Item = (String, Model, usize)> {
    let ends = [(ResultFlush::Never, false), (ResultFlush::AfterRounding, false), (ResultFlush::Never, true)];
    let conversions = Rounding::ALL.into_iter().flat_map(move |(rounding, _)| {
        ends.map(|(flush, saturate)| Conversion { flush, saturate, ..Conversion::new(rounding, F32) })
    });
    let models = conversions.flat_map(|conversion| {
        FAMILIES.iter().flat_map(move |family| {
            [(E4M3, F32, 1), (BF16, F32, 2), (E5M2, F16, 4)].map(|(from, to, length)| {
                let operation = family.example.with_length(length * family.multiple);
                let conversion = Conversion { format: to, ..conversion };
                let scale = operation.is_scaled().then_some(BlockScale { format: UE8M0, size: 8 });
                let model = Model { scale, ..Model::new(from, from, to, operation, conversion) };
                (format!("{} {from} {conversion}", family.name), model, 16)
            })
        })
    });
    models.filter(|(_, model, _)| model.validate().is_ok())
}

/// Every rule at both ends of the range, under three roundings, for every family that takes it.
fn ends_of_the_range() -> impl Iterator<Item = (String, Model, usize)> {
    let fused = FusedSum { zero_exponent: Some(-10), ..FusedSum::new(4, 20) };
    let rounded = RoundedSum {
        max_length: 4,
        fraction_bits: 20,
        sum_fraction_bits: 25,
        term_rounding: Rounding::TowardZero,
        sum_rounding: Rounding::Down,
        renormalize: true,
        zero_accumulator_exponent: None,
        product_overflow: None,
    };
    let operations = [
        Operation::Fma,
        Operation::EFdpa { max_length: 4 },
        Operation::TFdpa(fused),
        Operation::TrFdpa(rounded),
        Operation::GtrFdpa(RoundedSum { renormalize: false, ..rounded }),
        Operation::FtzAddMul { pairing: 2 },
        Operation::FtzFma { max_length: 4 },
    ];
    let rules = [Rounding::NearestEven, Rounding::TowardZero, Rounding::Down];
    let conversions = rules.into_iter().flat_map(|rounding| {
        ResultFlush::ALL.into_iter().flat_map(move |(flush, _)| {
            [false, true].map(|saturate| Conversion { saturate, flush, ..Conversion::new(rounding, F32) })
        })
    });
    let models = conversions.flat_map(move |conversion| {
        operations.into_iter().flat_map(move |operation| {
            // formats whose products and sums meet both ends
            [(BF16, F32), (E5M2, F16), (F16, BF16)].map(|(from, to)| {
                let conversion = Conversion { format: to, ..conversion };
                (
                    format!("{} {from} {conversion}", operation.name()),
                    Model::new(from, from, to, operation, conversion),
                    8,
                )
            })
        })
    });
    models.filter(|(_, model, _)| model.validate().is_ok())
}

/// Several chains of every family, in every order, C first and last; C flushed or not.
fn chains() -> impl Iterator<Item = (String, Model, usize)> {
    let operations = [
        Operation::Fma,
        Operation::FtzFma { max_length: 1 },
        Operation::FtzAddMul { pairing: 2 },
        Operation::EFdpa { max_length: 2 },
        Operation::TFdpa(FusedSum::new(4, 24)),
    ];
    let orders = [
        (Order::Sequential, 3),
        (Order::Reversed, 2),
        (Order::Interleaved { run: 1, period: 2 }, 2),
        (Order::Interleaved { run: 2, period: 8 }, 2),
        (Order::Interleaved { run: 4, period: 8 }, 4),
    ];
    let flush = ResultFlush::AfterRounding;
    let (plain, ftz) = (Conversion::RNE_FP32, Conversion { flush, ..Conversion::RNE_FP32 });
    operations.into_iter().flat_map(move |operation| {
        orders.into_iter().flat_map(move |(order, count)| {
            [(plain, None), (Conversion::RZ_FP32, Some(plain)), (ftz, Some(ftz))].map(|(merge, last)| {
                let chains = Some(Chains { count, merge });
                let lowering = Lowering { order, chains, add_accumulator_last: last, ..Lowering::NONE };
                let model = Model::new(BF16, BF16, F32, operation, plain);
                let flush = if last == Some(ftz) { InputFlush::Signed } else { InputFlush::Never };
                let model = Model { lowering, flush_accumulator: flush, ..model };
                (format!("{} {count} chains {order:?} {merge}", operation.name()), model, 48)
            })
        })
    })
}

/// C cut to more, and to fewer, bits than the products.
fn own_bits() -> impl Iterator<Item = (String, Model, usize)> {
    let bits = [(24, 13), (13, 24), (0, 60), (60, 0), (25, 26)];
    bits.into_iter().flat_map(|(fraction_bits, of_c)| {
        [Rounding::TowardZero, Rounding::NearestEven, Rounding::Down].into_iter().flat_map(move |rounding| {
            let sum = FusedSum {
                term_rounding: rounding,
                accumulator_fraction_bits: Some(of_c),
                ..FusedSum::new(8, fraction_bits)
            };
            let rho = Conversion::RNE_FP32;
            let plain = Model::new(E5M2, E5M2, F32, Operation::TFdpa(sum), rho);
            let scaled = Model {
                scale: Some(BlockScale { format: UE8M0, size: 8 }),
                ..Model::new(E4M3, E5M2, F32, Operation::StFdpa(sum), rho)
            };
            let grouped = Model {
                scale: Some(BlockScale { format: UE4M3, size: 4 }),
                ..Model::new(E2M1, E2M1, F32, Operation::GstFdpa { sum, group: 4 }, rho)
            };
            [plain, scaled, grouped].map(|model| {
                (format!("{} F {fraction_bits} F_c {of_c} {rounding}", model.operation.name()), model, 16)
            })
        })
    })
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
