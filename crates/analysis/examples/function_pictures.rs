//! The picture of docs/functions.md: errors of `rcp` and `ex2` over one binade: the smallest and the largest of each
//! 128th of it.
//!
//! `cargo run --release -p bitmma-analysis --example function_pictures docs/function-errors.png`

use bitmma_analysis::plot::{Axis, Figure, Mark, Scale, Series};
use bitmma_engine::functions::Function;

/// The error in units of the last place of the exact result, by the host's FP64 function.
fn error(function: Function, x: u32) -> f64 {
    let input = f64::from(f32::from_bits(x));
    let exact = if function == Function::Rcp { 1.0 / input } else { input.exp2() };
    let exponent = (exact.to_bits() >> 52) as i32 - 1023;
    (f64::from(f32::from_bits(function.evaluate(x))) - exact) / 2f64.powi(exponent - 23)
}

/// The smallest and the largest error in each 128th of [1, 2), of all its 2^16 numbers.
fn envelope(function: Function) -> [Series; 2] {
    let (mut least, mut most) = (Vec::new(), Vec::new());
    for part in 0..128 {
        let codes = 0x3f80_0000 + (part << 16)..0x3f80_0000 + ((part + 1) << 16);
        let errors = codes.map(|x| error(function, x));
        let (low, high) =
            errors.fold((f64::MAX, f64::MIN), |(low, high), error| (low.min(error), high.max(error)));
        let middle = 1.0 + (f64::from(part) + 0.5) / 128.0;
        least.push((middle, low));
        most.push((middle, high));
    }
    let series = |name: &str, mark, points| Series::new(format!("{function}, {name}"), mark, points);
    [series("largest", Mark::Line, most), series("smallest", Mark::Dashes, least)]
}

fn main() -> std::io::Result<()> {
    let path = std::env::args().nth(1).unwrap_or_else(|| "function-errors.png".to_owned());
    let figure = Figure {
        name: "function-errors".to_owned(),
        title: "Errors of rcp.approx and ex2.approx over one binade".to_owned(),
        text: "The smallest and largest error in each 128th of [1, 2). A result within half a unit is correctly rounded.".to_owned(),
        x: Axis::new("x", Scale::Linear),
        y: Axis::new("error (units in the last place)", Scale::Linear),
        series: [Function::Ex2, Function::Rcp].into_iter().flat_map(envelope).collect(),
    };
    std::fs::write(path, figure.png())
}
