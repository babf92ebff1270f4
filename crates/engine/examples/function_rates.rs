//! Results a second of the approximate functions on one core, for each instruction set, beside libm's of FP32 in the
//! same run; the best of several passes over 2^16 inputs.
//!
//! `cargo run --release -p bitmma-engine --example function_rates`
#![allow(clippy::print_stdout)] // a table is what it prints

use std::hint::black_box;
use std::time::Instant;

use bitmma_engine::functions::Function;
use bitmma_engine::functions::ptx::Form;
use bitmma_kernel::{Level, functions};

fn libm(function: Function, x: f32) -> f32 {
    match function {
        Function::Rcp => 1.0 / x,
        Function::Sqrt => x.sqrt(),
        Function::Rsqrt => 1.0 / x.sqrt(),
        Function::Ex2 => x.exp2(),
        Function::Lg2 => x.log2(),
        Function::Sin => x.sin(),
        Function::Cos => x.cos(),
    }
}

/// Millions a second.
fn rate(count: usize, mut work: impl FnMut()) -> f64 {
    let pass = |_| {
        let start = Instant::now();
        work();
        count as f64 / start.elapsed().as_secs_f64() / 1e6
    };
    (0..200).map(pass).fold(0.0, f64::max)
}

fn main() {
    let x: Vec<u32> = (0..1 << 16).map(|i: u32| 0x3f00_0000 + i * 251).collect();
    let mut y = vec![0; x.len()];
    for (function, name) in Function::ALL {
        let form = Form { function, ftz: false };
        let mut rates = vec![(
            "plain".to_owned(),
            rate(x.len(), || (0..x.len()).for_each(|i| y[i] = form.evaluate(x[i]))),
        )];
        for level in Level::available() {
            rates.push((
                format!("{level:?}"),
                rate(x.len(), || functions::fill(level, form, &x, black_box(&mut y))),
            ));
        }
        let of_libm = rate(x.len(), || {
            for (y, &x) in y.iter_mut().zip(&x) {
                *y = libm(function, f32::from_bits(x)).to_bits();
            }
            black_box(&mut y);
        });
        rates.push(("libm".to_owned(), of_libm));
        let cells: Vec<String> = rates.iter().map(|(name, rate)| format!("{name} {rate:.0}")).collect();
        println!("{name}: {} M/s", cells.join(", "));
    }
}
