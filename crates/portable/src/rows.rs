//! Sums and what is made of them, along rows of one length. Everything is FP64 until the end.

use crate::functions::larger;
use crate::order::sum;
use crate::{Numbers, NumbersMut};

/// One number from each row.
#[derive(Debug)]
pub struct Reduction {
    /// Its name.
    pub name: &'static str,
    of: fn(&mut [f64], f64) -> f64,
}

/// All reductions: of a row, which may be used as room, and a parameter.
pub static REDUCTIONS: &[Reduction] = &[
    Reduction { name: "sum", of: |x, _| sum(x) },
    Reduction { name: "mean", of: |x, _| sum(x) / x.len() as f64 },
    Reduction { name: "prod", of: |x, _| x.iter().fold(1.0, |product, x| product * x) },
    Reduction { name: "max", of: |x, _| x.iter().fold(f64::NEG_INFINITY, |most, &x| larger(most, x)) },
    Reduction { name: "min", of: |x, _| -x.iter().fold(f64::NEG_INFINITY, |most, &x| larger(most, -x)) },
    // the sum of squares of the deviations from the mean, divided by the number less p
    Reduction { name: "var", of: variance },
    Reduction { name: "std", of: |x, p| variance(x, p).sqrt() },
    Reduction { name: "norm", of: norm },
    Reduction { name: "logsumexp", of: |x, _| log_sum(x).unwrap_or_else(|special| special) },
];

/// The reduction of that name.
pub fn reduction(name: &str) -> Option<&'static Reduction> {
    REDUCTIONS.iter().find(|one| one.name == name)
}

/// A reduction of rows of `length` elements each; the result has one number for each row.
pub fn reduce(
    reduction: &Reduction,
    parameter: f64,
    length: usize,
    input: Numbers<'_>,
    output: NumbersMut<'_>,
) {
    output.each_row(length, |first, mut part| {
        let mut row = vec![0.0; length];
        for place in 0..part.len() {
            input.read((first + place) * length, &mut row);
            part.write(place, &[(reduction.of)(&mut row, parameter)]);
        }
    });
}

/// A row from each row.
#[derive(Debug)]
pub struct Along {
    /// Its name.
    pub name: &'static str,
    /// How many rows it takes.
    pub inputs: usize,
    of: fn(&mut [f64], &mut [f64]),
}

static ALONG: &[Along] = &[
    Along { name: "softmax", inputs: 1, of: |x, _| softmax(x) },
    Along { name: "safe_softmax", inputs: 1, of: safe_softmax },
    Along { name: "log_softmax", inputs: 1, of: |x, room| log_softmax(x, room) },
    // the gradient, and the result of the function
    Along { name: "softmax_backward", inputs: 2, of: softmax_backward },
    Along { name: "log_softmax_backward", inputs: 2, of: log_softmax_backward },
    Along { name: "cumsum", inputs: 1, of: |x, _| running(x, |total, x| total + x) },
    Along { name: "cumprod", inputs: 1, of: |x, _| running(x, |total, x| total * x) },
];

/// The operation along rows of that name.
pub fn row_operation(name: &str) -> Option<&'static Along> {
    ALONG.iter().find(|one| one.name == name)
}

/// An operation along rows of `length` elements each.
pub fn along(operation: &Along, length: usize, inputs: &[Numbers<'_>], output: NumbersMut<'_>) {
    if length == 0 {
        return;
    }
    output.each_part(length, |first, mut part| {
        let (mut x, mut y) = (vec![0.0; length], vec![0.0; length]);
        for start in (0..part.len()).step_by(length) {
            inputs[0].read(first + start, &mut x);
            if let Some(other) = inputs.get(1) {
                other.read(first + start, &mut y);
            }
            (operation.of)(&mut x, &mut y);
            part.write(start, &x);
        }
    });
}

fn variance(x: &mut [f64], correction: f64) -> f64 {
    let count = x.len() as f64;
    let mean = sum(x) / count;
    for x in &mut *x {
        let deviation = *x - mean;
        *x = deviation * deviation;
    }
    sum(x) / (count - correction).max(0.0)
}

/// The norm of order p: the number of elements that are not zero, the sum of magnitudes, the root of the sum of squares, the
/// largest or smallest magnitude, or in general the root of the sum of powers.
fn norm(x: &mut [f64], p: f64) -> f64 {
    let all = |x: &mut [f64], of: &dyn Fn(f64) -> f64| {
        for x in &mut *x {
            *x = of(*x);
        }
        sum(x)
    };
    if p == 0.0 {
        all(x, &|x| if x == 0.0 { 0.0 } else { 1.0 })
    } else if p == 1.0 {
        all(x, &f64::abs)
    } else if p == 2.0 {
        all(x, &|x| x * x).sqrt()
    } else if p == f64::INFINITY {
        x.iter().fold(0.0, |most, x| larger(most, x.abs()))
    } else if p == f64::NEG_INFINITY {
        -x.iter().fold(f64::NEG_INFINITY, |most, x| larger(most, -x.abs()))
    } else {
        libm::pow(all(x, &|x| libm::pow(x.abs(), p)), 1.0 / p)
    }
}

fn largest(x: &[f64]) -> f64 {
    x.iter().fold(f64::NEG_INFINITY, |most, &x| larger(most, x))
}

/// The largest element plus the logarithm of the sum of powers of what is left; Err where the largest is infinite or NaN.
fn log_sum(x: &mut [f64]) -> Result<f64, f64> {
    let most = largest(x);
    if !most.is_finite() {
        return Err(most);
    }
    for x in &mut *x {
        *x = libm::exp(*x - most);
    }
    Ok(libm::log(sum(x)) + most)
}

fn softmax(x: &mut [f64]) {
    let most = largest(x);
    for x in &mut *x {
        *x = libm::exp(*x - most);
    }
    let total = sum(x);
    for x in x {
        *x /= total;
    }
}

/// Zeros where all elements are −∞.
fn safe_softmax(x: &mut [f64], _: &mut [f64]) {
    if x.iter().all(|&x| x == f64::NEG_INFINITY) {
        x.fill(0.0);
    } else {
        softmax(x);
    }
}

fn log_softmax(x: &mut [f64], room: &mut [f64]) {
    let most = largest(x);
    for (x, power) in x.iter_mut().zip(&mut *room) {
        *x -= most;
        *power = libm::exp(*x);
    }
    let total = libm::log(sum(room));
    for x in x {
        *x -= total;
    }
}

fn softmax_backward(gradient: &mut [f64], result: &mut [f64]) {
    let products: Vec<f64> = gradient.iter().zip(&*result).map(|(g, y)| g * y).collect();
    let total = sum(&products);
    for (g, y) in gradient.iter_mut().zip(result) {
        *g = *y * (*g - total);
    }
}

fn log_softmax_backward(gradient: &mut [f64], result: &mut [f64]) {
    let total = sum(gradient);
    for (g, y) in gradient.iter_mut().zip(result) {
        *g -= libm::exp(*y) * total;
    }
}

fn running(x: &mut [f64], with: impl Fn(f64, f64) -> f64) {
    for place in 1..x.len() {
        x[place] = with(x[place - 1], x[place]);
    }
}

/// Factors and terms of each column, and ε.
#[derive(Clone, Copy, Debug)]
pub struct Affine<'a> {
    /// Factors.
    pub weight: Option<Numbers<'a>>,
    /// Terms.
    pub bias: Option<Numbers<'a>>,
    /// What is added to the variance.
    pub epsilon: f64,
}

/// Each row less its mean, times 1 / √(variance + ε), times weight, plus bias; the means and these factors, too.
pub fn layer_norm(
    length: usize,
    affine: Affine<'_>,
    input: Numbers<'_>,
    output: NumbersMut<'_>,
    (mut means, mut factors): (NumbersMut<'_>, NumbersMut<'_>),
) {
    let column = |numbers: Option<Numbers<'_>>, none: f64| {
        let mut all = vec![none; length];
        if let Some(numbers) = numbers {
            numbers.read(0, &mut all);
        }
        all
    };
    let (weight, bias) = (column(affine.weight, 1.0), column(affine.bias, 0.0));
    let mut output = output;
    let (mut x, mut squares) = (vec![0.0; length], vec![0.0; length]);
    for row in 0..means.len() {
        input.read(row * length, &mut x);
        let mean = sum(&x) / length as f64;
        for (x, square) in x.iter_mut().zip(&mut squares) {
            *x -= mean;
            *square = *x * *x;
        }
        let factor = 1.0 / (sum(&squares) / length as f64 + affine.epsilon).sqrt();
        for (place, x) in x.iter_mut().enumerate() {
            *x = *x * factor * weight[place] + bias[place];
        }
        output.write(row * length, &x);
        means.write(row, &[mean]);
        factors.write(row, &[factor]);
    }
}
