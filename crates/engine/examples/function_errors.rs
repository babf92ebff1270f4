//! How far off the approximate functions are, over all 2^32 inputs: the figures of docs/functions.md, and the rate beside
//! libm's. The reference is the host's FP64 function, right to within a billionth of an FP32 ulp; near a tie its rounding
//! may be one off, which the counts then are too.
//!
//! `cargo run --release -p bitmma-engine --example function_errors [FUNCTION [EVERY]]`; EVERY measures every Nth input.
#![allow(clippy::print_stdout)] // a table is what it prints

use std::time::Instant;

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

/// The weight of the last bit of an FP32 number of that size.
fn ulp(value: f64) -> f64 {
    let exponent = ((value.abs().to_bits() >> 52) as i64 - 1023).max(-126);
    f64::from_bits(((exponent - 23 + 1023) as u64) << 52)
}

#[derive(Default)]
struct Errors {
    count: u64,
    sum: f64,
    largest: f64,
    at: u32,
    largest_in_quadrants: f64,
    off: [u64; 4],
    backward: u64,
}

const PART: u32 = 1 << 16;

fn measure(function: Function, every: u32) -> Errors {
    let form = Form { function, ftz: false };
    let (mut errors, mut y, mut before) = (Errors::default(), vec![0; PART as usize], None::<(u32, f32)>);
    // what sin and cos return for -x is of the same size, which a test shows
    let times = if matches!(function, Function::Sin | Function::Cos) { 2 } else { 1 };
    for part in 0..(1 << 16) / times / every {
        let x: Vec<u32> = (0..PART).map(|i| (part * PART + i) * every).collect();
        fill(form, &x, &mut y);
        for (&x, &y) in x.iter().zip(&y) {
            let (input, result) = (f32::from_bits(x), f32::from_bits(y));
            let reference = exact(function, input.into());
            let beyond = reference.abs() >= f64::from(f32::MAX) || !input.is_finite();
            if beyond || reference.is_nan() || !result.is_finite() {
                continue;
            }
            // toward larger magnitudes of x: which way results go
            let falls = match function {
                Function::Rcp | Function::Rsqrt => input > 0.0,
                Function::Ex2 => input < 0.0,
                _ => false,
            };
            if let Some((last, value)) = before
                && last + 1 == x
                && !matches!(function, Function::Sin | Function::Cos)
                && (if falls { result > value } else { result < value })
            {
                errors.backward += 1;
            }
            before = Some((x, result));
            let error = (f64::from(result) - reference).abs();
            let in_ulps = error / ulp(reference);
            errors.count += 1;
            errors.sum += in_ulps;
            if in_ulps > errors.largest {
                (errors.largest, errors.at) = (in_ulps, x);
            }
            if input.abs() <= std::f32::consts::PI {
                errors.largest_in_quadrants = errors.largest_in_quadrants.max(error);
            }
            let places = i64::from((reference as f32).to_bits() & 0x7fff_ffff) - i64::from(y & 0x7fff_ffff);
            errors.off[(places.unsigned_abs() as usize).min(3)] += u64::from(times);
        }
    }
    errors
}

fn rates(function: Function) -> [f64; 2] {
    let x: Vec<u32> = (0..1 << 16).map(|i: u32| 0x3f00_0000 + i * 251).collect();
    let mut y = vec![0; x.len()];
    let form = Form { function, ftz: false };
    let rate = |work: &mut dyn FnMut()| {
        let start = Instant::now();
        (0..100).for_each(|_| work());
        100.0 * x.len() as f64 / start.elapsed().as_secs_f64() / 1e6
    };
    let ours = rate(&mut || fill(form, &x, &mut y));
    let mut z = vec![0.0; x.len()];
    let theirs = rate(&mut || {
        z.iter_mut().zip(&x).for_each(|(z, &x)| *z = libm(function, f32::from_bits(x)));
        std::hint::black_box(&z);
    });
    [ours, theirs]
}

fn main() {
    let wanted = std::env::args().nth(1);
    let every =
        std::env::args().nth(2).map_or(1, |text| text.parse().expect("EVERY is a number from 1 to 65536"));
    println!(
        "function,mean ulp,max ulp,at,max abs error to pi,exact,1 off,2 off,more,steps back,M/s,libm M/s"
    );
    for (function, name) in Function::ALL {
        if wanted.as_deref().is_some_and(|wanted| wanted != name) {
            continue;
        }
        let [ours, libm] = rates(function);
        let Errors { count, sum, largest, at, largest_in_quadrants, off, backward } =
            measure(function, every);
        let [none, one, two, more] = off;
        println!(
            "{name},{:.4},{largest:.3},{at:08x},{largest_in_quadrants:.3e},{none},{one},{two},{more},{backward},{ours:.0},{libm:.0}",
            sum / count as f64
        );
    }
}
