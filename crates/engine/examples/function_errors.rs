//! How far off the approximate functions are, over all 2^32 inputs: the figures of docs/functions.md.
//!
//! The reference is the host's FP64 function, whose error is far below 2^-50 of the result: so ulps are right to a
//! millionth. Where that leaves open which FP32 number is the nearest, exact arithmetic decides: counts are exact.
//!
//! `cargo run --release -p bitmma-engine --example function_errors [FUNCTION…]`
#![allow(clippy::print_stdout)] // a table is what it prints

use bitmma_engine::functions::nearest::{nearest, ulps};
use bitmma_engine::functions::ptx::Form;
use bitmma_engine::functions::{Function, fill};

fn exact(function: Function, x: f64) -> f64 {
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

/// The code nearest to the exact result, of which `reference` is one to within 2^-50.
fn rounded(function: Function, x: u32, reference: f64) -> u32 {
    let [low, high] = [1.0 - f64::EPSILON * 4.0, 1.0 + f64::EPSILON * 4.0].map(|by| (reference * by) as f32);
    if low.to_bits() == high.to_bits() { low.to_bits() } else { nearest(function, x) }
}

/// The weight of the last bit of an FP32 number of that size.
fn ulp(value: f64) -> f64 {
    let exponent = ((value.abs().to_bits() >> 52) as i64 - 1023).max(-126);
    f64::from_bits(((exponent - 23 + 1023) as u64) << 52)
}

/// Magnitudes of x over which the largest absolute error is taken: up to π, and for `lg2` from 1/2 to 2.
fn is_central(function: Function, x: f32) -> bool {
    match function {
        Function::Lg2 => (0.5..=2.0).contains(&x),
        _ => x.abs() <= std::f32::consts::PI,
    }
}

#[derive(Default)]
struct Errors {
    count: u64,
    sum: f64,
    largest: f64,
    at: u32,
    largest_absolute: f64,
    /// Results that are the nearest, 1 and 2 places off, and more.
    off: [u64; 4],
}

const PART: u32 = 1 << 16;

/// Over all inputs whose result is a finite number.
fn measure(function: Function) -> Errors {
    let form = Form { function, ftz: false };
    let (mut errors, mut y) = (Errors::default(), vec![0; PART as usize]);
    // what sin and cos return for -x is of the same size, which a test shows
    let times = if matches!(function, Function::Sin | Function::Cos) { 2 } else { 1 };
    for part in 0..(1 << 16) / times {
        let x: Vec<u32> = (0..PART).map(|i| part * PART + i).collect();
        fill(form, &x, &mut y);
        for (&x, &y) in x.iter().zip(&y) {
            let (input, result) = (f32::from_bits(x), f32::from_bits(y));
            if !input.is_finite() || !result.is_finite() {
                continue;
            }
            let reference = exact(function, input.into());
            let Some(places) = ulps(y, rounded(function, x, reference)) else { continue };
            let error = (f64::from(result) - reference).abs();
            let in_ulps = error / ulp(reference);
            errors.count += u64::from(times);
            errors.sum += in_ulps * f64::from(times);
            if in_ulps > errors.largest {
                (errors.largest, errors.at) = (in_ulps, x);
            }
            if is_central(function, input) {
                errors.largest_absolute = errors.largest_absolute.max(error);
            }
            errors.off[(places.unsigned_abs() as usize).min(3)] += u64::from(times);
        }
    }
    errors
}

fn main() {
    let wanted: Vec<String> = std::env::args().skip(1).collect();
    println!("function,inputs,mean ulp,max ulp,at,max absolute error,exact,1 off,2 off,more");
    for (function, name) in Function::ALL {
        if !wanted.is_empty() && !wanted.iter().any(|wanted| wanted == name) {
            continue;
        }
        let Errors { count, sum, largest, at, largest_absolute, off: [none, one, two, more] } =
            measure(function);
        let mean = sum / count as f64;
        println!(
            "{name},{count},{mean:.4e},{largest:.4e},{at:08x},{largest_absolute:.3e},{none},{one},{two},{more}"
        );
    }
}
