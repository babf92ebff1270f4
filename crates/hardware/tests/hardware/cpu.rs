//! This processor's instructions held against their models, every family of input.
//!
//! A slice runs each time; `BITMMA_TESTS=all` runs more than ten million dot products of each unit. What
//! the processor has not is skipped, and said so.

use bitmma_engine::catalogue::processors;
use bitmma_engine::{Case, FastSimulator, Fault, Matrices, MmaUnit, Simulator};
use bitmma_hardware::cpu::Cpu;
use bitmma_verify::inputs::{Family, matrices};

fn agree(unit: &dyn MmaUnit, model: &FastSimulator, drawn: &[Matrices], what: &str) -> usize {
    let operands: Vec<_> = drawn.iter().map(Matrices::operands).collect();
    let (d, expected) = (unit.multiply_many(&operands).unwrap(), model.multiply_many(&operands).unwrap());
    let pairs = d.iter().flat_map(|d| d.iter()).zip(expected.iter().flat_map(|d| d.iter()));
    let mut count = 0;
    for (d, expected) in pairs {
        assert!(
            model.model().agrees(expected, d, false),
            "{} {what}, element {count}: {d:x}, the model {expected:x}",
            unit.signature().name
        );
        count += 1;
    }
    count
}

#[test]
fn instructions_are_their_models() {
    let budget =
        if std::env::var("BITMMA_TESTS").is_ok_and(|value| value == "all") { 10_500_000 } else { 400_000 };
    for row in processors() {
        let unit = match Cpu::open(row.name) {
            Ok(unit) => unit,
            Err(error) => {
                println!("skipped: {error}");
                continue;
            }
        };
        let model = FastSimulator::new(Simulator::model(row.model.clone(), row.shape).unwrap());
        let (m, n, _) = row.shape;
        let each = (budget / (m * n) / Family::ALL.len()) as u64 + 1;
        let mut total = 0;
        for family in Family::ALL {
            for first in (0..each).step_by(512) {
                let drawn: Vec<Matrices> = (first..each.min(first + 512))
                    .map(|index| matrices(unit.signature(), family, 0xc9, index).unwrap())
                    .collect();
                total += agree(&unit, &model, &drawn, family.name());
            }
        }
        println!("{}: {total} dot products agree", unit.signature().name);
    }
}

/// Results about the smallest normal number, where it matters when tininess is detected: an accumulator of
/// 2^-126 and its neighbours, a product between 2^-148 and 2^-156, first and second in turn.
#[test]
fn tiny_results() {
    let Ok(unit) = Cpu::open("vdpbf16ps") else { return println!("skipped: no AVX512_BF16") };
    let row = bitmma_engine::catalogue::processor("vdpbf16ps").unwrap();
    let model = FastSimulator::new(Simulator::model(row.model.clone(), row.shape).unwrap());
    let bf16 = |negative: u64, exponent: i64, fraction: u64| {
        negative << 15 | ((exponent + 127) as u64) << 7 | fraction
    };
    let mut cases = Vec::new();
    for exponent in -156..=-148 {
        for fraction in [0, 1, 0x20, 0x3f, 0x40, 0x41, 0x60, 0x7f] {
            for c in [0x0080_0000, 0x0080_0001, 0x0080_0002, 0x0100_0000, 0x007f_ffff, 0] {
                for signs in 0..4 {
                    for odd in [false, true] {
                        let (product, zero) =
                            ([bf16(signs & 1, -80, fraction), bf16(0, exponent + 80, 0)], [0, 0x8000]);
                        let (a, b) = match odd {
                            true => (vec![zero[0], product[0]], vec![zero[1], product[1]]),
                            false => (vec![product[0], zero[0]], vec![product[1], zero[1]]),
                        };
                        let c = c | (signs >> 1) << 31;
                        cases.push(Case { a, b, c, scale_a: Vec::new(), scale_b: Vec::new() });
                    }
                }
            }
        }
    }
    let drawn: Vec<Matrices> =
        cases.chunks(16).map(|chunk| Matrices::diagonal(unit.signature(), chunk).unwrap()).collect();
    println!("{} dot products agree", agree(&unit, &model, &drawn, "tiny results"));
    // both sides of the two places that tell the rules of tininess apart
    let d = |p: u64| {
        let case = Case {
            a: vec![bf16(1, -80, p), 0],
            b: vec![bf16(0, -71, 0), 0],
            c: 0x0080_0000,
            scale_a: Vec::new(),
            scale_b: Vec::new(),
        };
        unit.dot_products(&[case]).unwrap()[0]
    };
    assert_eq!(d(0), 0x0080_0000); // 2^-126 - 2^-151: a tie, to even, up: not tiny
    assert_eq!(d(1), 0); // a little less: rounds to 2^-126 - 2^-150 with 24 bits, tiny
}

#[test]
fn names() {
    let error = Cpu::open("vdpbf17ps").unwrap_err();
    assert!(matches!(error, bitmma_engine::Error::Unit { fault: Fault::Unavailable, .. }));
    assert!(error.to_string().contains("there are fma.f32, fma.f64, vdpbf16ps"), "{error}");
    for name in Cpu::available() {
        assert_eq!(Cpu::open(&name.to_uppercase()).unwrap().signature().name, format!("cpu:{name}"));
    }
}
