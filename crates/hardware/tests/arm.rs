//! Arm's BFDOT and BFMMLA, under QEMU and over the protocol: an implementation that nobody here wrote.
//!
//! What they turn out to do (FPCR.EBF = 0) is written out below; no model of the catalogue says it yet,
//! for none rounds to odd. It takes a cross compiler and the emulator: `BITMMA_AARCH64_CC`
//! (aarch64-linux-gnu-gcc if not set) and `BITMMA_QEMU` (qemu-aarch64). Where one is missing the test is
//! skipped and says so.
#![allow(missing_docs)]
#![allow(clippy::unwrap_used)] // also in the helpers of tests, a panic is the answer
#![allow(clippy::float_arithmetic, clippy::float_cmp)] // the reference of this test is written in FP64

use std::path::Path;
use std::process::Command;

use bitmma::MmaUnit;
use bitmma::inputs::{Case, Family, Matrices, matrices};
use bitmma_hardware::process::{Limits, Process};

/// A program of the environment's, or this one.
fn tool(variable: &str, otherwise: &str) -> String {
    std::env::var(variable).unwrap_or(otherwise.to_owned())
}

/// An FP32 number as BFDOT leaves it: rounded to odd (cut, the last bit set if anything was cut), below
/// 2^-126 zero of its sign, from 2^128 on infinity. The value is `sum + rest`, `rest` far smaller.
fn to_odd(sum: f64, rest: f64) -> f32 {
    if sum == 0.0 || !sum.is_finite() {
        return sum as f32;
    }
    let bits = sum.to_bits();
    let below = bits & ((1 << 29) - 1) != 0;
    let toward_zero = rest != 0.0 && !below && (rest < 0.0) != (sum < 0.0);
    let cut = if toward_zero { bits - (1 << 29) } else { bits } & !((1 << 29) - 1);
    let odd = cut | if below || rest != 0.0 { 1 << 29 } else { 0 };
    let value = f64::from_bits(odd);
    if value.abs() < f64::from(f32::MIN_POSITIVE) { (0.0f64).copysign(value) as f32 } else { value as f32 }
}

fn add(x: f32, y: f32) -> f32 {
    let (x, y) = (f64::from(x), f64::from(y));
    let sum = x + y;
    let of_y = sum - x;
    to_odd(sum, if sum.is_finite() { (x - (sum - of_y)) + (y - of_y) } else { 0.0 }) // Knuth's exact error
}

/// Zero of its sign in place of a subnormal number.
fn flushed(x: f32) -> f32 {
    if x.is_subnormal() { 0.0f32.copysign(x) } else { x }
}

/// c + (p0 + p1), and on with the next pair: products, their sum and the last sum each rounded to odd.
fn reference(case: &Case) -> f32 {
    let bf16 = |code: u64| flushed(f32::from_bits((code as u32) << 16));
    let product = |index: usize| to_odd(f64::from(bf16(case.a[index])) * f64::from(bf16(case.b[index])), 0.0);
    (0..case.a.len())
        .step_by(2)
        .fold(flushed(f32::from_bits(case.c as u32)), |sum, at| add(sum, add(product(at), product(at + 1))))
}

#[test]
fn bfdot_and_bfmmla_under_an_emulator() {
    let (compiler, emulator) =
        (tool("BITMMA_AARCH64_CC", "aarch64-linux-gnu-gcc"), tool("BITMMA_QEMU", "qemu-aarch64"));
    for program in [&compiler, &emulator] {
        if Command::new(program).arg("--version").output().is_err() {
            println!("skipped: no {program} (BITMMA_AARCH64_CC, BITMMA_QEMU)");
            return;
        }
    }
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("arm").display().to_string();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/peers/arm.c");
    let status = Command::new(&compiler)
        .args(["-O2", "-static", "-march=armv8.6-a+bf16", "-o", &program])
        .arg(source)
        .status()
        .unwrap();
    assert!(status.success());
    let all = std::env::var("BITMMA_TESTS").is_ok_and(|value| value == "all");
    let budget = if all { 10_000_000 } else { 200_000 };
    for name in ["bfdot", "bfmmla"] {
        let words = [&emulator, "-cpu", "max", &program, name].map(str::to_owned);
        let unit = Process::start(&words, Limits::default()).unwrap();
        let size = unit.signature().m;
        let mut total = 0;
        for family in Family::ALL {
            let count = (budget / Family::ALL.len() / (size * size)) as u64;
            for first in (0..count).step_by(4096) {
                let drawn: Vec<Matrices> = (first..count.min(first + 4096))
                    .map(|index| matrices(unit.signature(), family, 0xa4, index).unwrap())
                    .collect();
                let operands: Vec<_> = drawn.iter().map(Matrices::operands).collect();
                for (matrices, d) in drawn.iter().zip(unit.multiply_many(&operands).unwrap()) {
                    for index in 0..size * size {
                        let (row, column) = (index / size, index % size);
                        let case = matrices.case(0, row, column);
                        let (expected, actual) =
                            (reference(&case), f32::from_bits(d.get(0, row, column) as u32));
                        let same =
                            expected.to_bits() == actual.to_bits() || expected.is_nan() && actual.is_nan();
                        assert!(same, "{name} {}: {case:x?} {expected:e} {actual:e}", family.name());
                        total += 1;
                    }
                }
            }
        }
        println!("{name}: {total} dot products agree");
    }
}
