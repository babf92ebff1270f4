//! Models whose parameters show only where a sum ties near the smallest numbers of the result: each is found, or said
//! to be not explained, and whatever the report lists beside it answers alike.

use crate::common;

use std::time::Instant;

use crate::common::edges::{disagreements, edge};
use bitmma_engine::arithmetic::{Conversion, FusedSum, Operation, RoundedSum};
use bitmma_engine::formats::{BF16, F32, Rounding};
use bitmma_engine::{FastSimulator, MmaUnit, Model, Simulator};
use bitmma_probe::{Options, Verdict, probe};

/// What came of one model.
#[derive(Debug, PartialEq)]
enum Ending {
    Right,
    Wrong,
    NotExplained,
}

/// Probes a unit of this truth with so many tests; the model found and each in its list answer as many checks.
fn probed(name: &str, truth: &Model, k: usize, (tests, seed): (u64, u64), checks: (u64, u64)) -> Ending {
    let unit = FastSimulator::new(Simulator::model(truth.clone(), (16, 8, k)).unwrap());
    let start = Instant::now();
    let outcome = probe(&unit, &Options { tests, seed, ..Options::default() }, &()).unwrap();
    let took = start.elapsed().as_secs_f64();
    let found = match &outcome.verdict {
        Verdict::Found(found) => found,
        Verdict::NotExplained(rest) => {
            let (right, asked) = rest.agrees;
            let nearest = rest.nearest.as_ref().map(Model::to_toml).unwrap_or_default();
            eprintln!("{name}: NOT EXPLAINED, {right} of {asked}, {took:.1} s\n{}{nearest}", truth.to_toml());
            return Ending::NotExplained;
        }
        Verdict::Faulty(_) => panic!("{name}: a model is not a faulty unit"),
    };
    let alike = std::iter::once(&found.model).chain(&found.equivalent);
    for (number, model) in alike.take(50).enumerate() {
        let share = if number == 0 { checks.0 } else { checks.1 };
        let (wrong, first) = disagreements(truth, model, unit.signature(), (share, 0xc0de + number as u64));
        if wrong > 0 {
            eprintln!(
                "{name}: WRONG, model {number} of {}: {wrong} of {share}, {:x?}\n{}{}",
                found.equivalent.len() + 1,
                first.unwrap(),
                truth.to_toml(),
                model.to_toml()
            );
            return Ending::Wrong;
        }
    }
    let open: Vec<String> = found
        .parameters
        .iter()
        .filter(|one| !one.open.is_empty())
        .map(|one| format!("{} or {}", one.symbol, one.open.join(", ")))
        .collect();
    let (alike, open) = (found.equivalent.len() + 1, open.join("; "));
    eprintln!("{name}: found, {alike} alike, {took:.1} s; {open}");
    Ending::Right
}

/// Models that an earlier probe got wrong, each with the seed that did it.
fn known() -> Vec<(Model, u64)> {
    use Rounding::{NearestAway, NearestEven, NearestZero};
    let t = |fraction_bits, zero, rounding| {
        let sum = FusedSum {
            max_length: 8,
            fraction_bits,
            term_rounding: Rounding::TowardZero,
            zero_exponent: Some(zero),
            accumulator_fraction_bits: None,
        };
        Model::new(BF16, BF16, F32, Operation::TFdpa(sum), Conversion::new(rounding, F32))
    };
    let tr = |zero| {
        let sum = RoundedSum {
            max_length: 8,
            fraction_bits: 20,
            sum_fraction_bits: 27,
            term_rounding: Rounding::TowardZero,
            sum_rounding: Rounding::Down,
            renormalize: false,
            zero_accumulator_exponent: Some(zero),
            product_overflow: None,
        };
        Model::new(BF16, BF16, F32, Operation::TrFdpa(sum), Conversion::RNE_FP32)
    };
    vec![
        (t(24, -133, NearestEven), 2),
        (t(25, -133, NearestEven), 1),
        (t(28, -133, NearestEven), 1),
        (t(28, -133, NearestEven), 2),
        (t(25, -133, NearestAway), 2),
        (t(24, -133, NearestZero), 1),
        (t(30, -135, NearestEven), 1),
        (tr(-130), 1),
        (tr(-131), 1),
        (tr(-133), 1),
        (tr(-129), 1),
    ]
}

#[test]
fn known_cases_are_right() {
    let sizes = if common::all() { (1_000_000, 1_000_000) } else { (20_000, 44_000) };
    let wrong: Vec<usize> = known()
        .iter()
        .enumerate()
        .filter(|(number, (model, seed))| {
            probed(&format!("known {number}"), model, 8, (sizes.0, *seed), (sizes.1, sizes.1))
                != Ending::Right
        })
        .map(|(number, _)| number)
        .collect();
    assert!(wrong.is_empty(), "not right: {wrong:?}");
}

#[test]
fn drawn_cases_are_right_or_not_explained() {
    let (tests, checks) = if common::all() { (1_000_000, 1_000_000) } else { (20_000, 44_000) };
    // every time one of whose list an input in a hundred thousand had told a model apart (77; the others are 94, 132
    // and 161), and one that was not explained: F2 had imitated its rho (375)
    let seeds = common::seeds(&[0, 1, 2, 3, 77, 375], 0..600);
    let (mut wrong, mut missed) = (Vec::new(), Vec::new());
    for &seed in &seeds {
        let (model, k) = edge(seed);
        // all inputs for the lists of the first 50, for the others a tenth
        let of_list = if seed < 50 { checks } else { checks / 10 };
        match probed(&format!("edge {seed}"), &model, k, (tests, 1), (checks, of_list)) {
            Ending::Right => {}
            Ending::Wrong => wrong.push(seed),
            Ending::NotExplained => missed.push(seed),
        }
    }
    eprintln!("{} drawn, wrong {wrong:?}, not explained {missed:?}", seeds.len());
    assert!(wrong.is_empty(), "wrong: {wrong:?}");
    assert!(missed.len() * 50 <= seeds.len(), "not explained: {missed:?}");
}
