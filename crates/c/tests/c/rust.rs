//! What the calls of `programs/cost.c` cost from Rust.

use std::hint::black_box;
use std::time::Instant;

use bitmma_engine::arithmetic::run;
use bitmma_engine::{Architecture, FastSimulator, Matrix, MmaUnit, Operands, Revision, Simulator, formats};

/// Median nanoseconds of a call.
fn median(mut call: impl FnMut()) -> f64 {
    const CALLS: u32 = 20_000;
    let mut times: Vec<f64> = (0..21)
        .map(|_| {
            let start = Instant::now();
            (0..CALLS).for_each(|_| call());
            start.elapsed().as_secs_f64() * 1e9 / f64::from(CALLS)
        })
        .collect();
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

/// Prints them.
#[allow(clippy::print_stdout)] // it is there to print
pub(crate) fn cost() {
    let name = "mma.m16n8k16.f32.f16.f16.f32";
    let unit = Simulator::instruction(Architecture::Hopper, name, Revision::Hardware).expect("a model");
    let unit = FastSimulator::new(unit);
    let codes = |count: u64, start: u64| (0..count).map(move |index| start + index * 7919 % 4096);
    let a = Matrix::single(formats::F16, 16, 16, codes(256, 0x3800)).expect("A");
    let b = Matrix::single(formats::F16, 16, 8, codes(128, 0x3800)).expect("B");
    let c = Matrix::single(formats::F32, 16, 8, codes(128, 0x3f80_0000)).expect("C");
    let operands = Operands { a: &a, b: &b, c: Some(&c), scale_a: None, scale_b: None };
    let instruction = median(|| _ = black_box(unit.multiply(black_box(&operands))));
    let (row, column): (Vec<u64>, Vec<u64>) = (a.row(0, 0).collect(), b.column(0, 0).collect());
    let operands = run::Operands { a: &row, b: &column, c: c.get(0, 0, 0), scale_a: &[], scale_b: &[] };
    let dot = median(|| _ = black_box(unit.dot(black_box(&operands))));
    println!("Rust: one instruction of 16x8x16: {instruction:.0} ns; one dot product of 16: {dot:.0} ns");
}
