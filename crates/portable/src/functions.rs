//! Functions of each element, in FP64, rounded once to the format of the result.

use std::f64::consts::{FRAC_1_SQRT_2, LN_2, PI};

use crate::{Numbers, NumbersMut};

/// A function of up to three elements and of up to three parameters that all elements share.
#[derive(Debug)]
pub struct Function {
    /// Its name, as PyTorch has it.
    pub name: &'static str,
    /// How many elements it takes.
    pub inputs: usize,
    evaluate: fn([f64; 3], [f64; 3]) -> f64,
}

impl Function {
    /// Its value.
    pub fn evaluate(&self, elements: [f64; 3], parameters: [f64; 3]) -> f64 {
        (self.evaluate)(elements, parameters)
    }
}

/// The function of that name.
pub fn function(name: &str) -> Option<&'static Function> {
    FUNCTIONS.iter().find(|one| one.name == name)
}

/// Elements that are read, computed and written at a time.
const PIECE: usize = 256;

/// The values of a function of arrays of one length.
///
/// # Panics
///
/// Where there are fewer arrays than the function takes, or one is shorter than the result.
pub fn apply(function: &Function, parameters: [f64; 3], inputs: &[Numbers<'_>], output: NumbersMut<'_>) {
    let evaluate = function.evaluate;
    let inputs = &inputs[..function.inputs];
    output.each_part(1, |first, mut part| {
        let mut held = [[0.0; PIECE]; 3];
        let length = part.len();
        for start in (0..length).step_by(PIECE) {
            let size = PIECE.min(length - start);
            for (held, input) in held.iter_mut().zip(inputs) {
                input.read(first + start, &mut held[..size]);
            }
            let [mut x, y, z] = held;
            for place in 0..size {
                x[place] = evaluate([x[place], y[place], z[place]], parameters);
            }
            part.write(start, &x[..size]);
        }
    });
}

const fn row(name: &'static str, inputs: usize, evaluate: fn([f64; 3], [f64; 3]) -> f64) -> Function {
    Function { name, inputs, evaluate }
}

/// All functions. Above each group stands what x, y, z and p, q, r are.
pub static FUNCTIONS: &[Function] = &[
    // of x
    row("exp", 1, |[x, ..], _| libm::exp(x)),
    row("exp2", 1, |[x, ..], _| libm::exp2(x)),
    row("expm1", 1, |[x, ..], _| libm::expm1(x)),
    row("log", 1, |[x, ..], _| libm::log(x)),
    row("log2", 1, |[x, ..], _| libm::log2(x)),
    row("log10", 1, |[x, ..], _| libm::log10(x)),
    row("log1p", 1, |[x, ..], _| libm::log1p(x)),
    row("sin", 1, |[x, ..], _| libm::sin(x)),
    row("cos", 1, |[x, ..], _| libm::cos(x)),
    row("tan", 1, |[x, ..], _| libm::tan(x)),
    row("asin", 1, |[x, ..], _| libm::asin(x)),
    row("acos", 1, |[x, ..], _| libm::acos(x)),
    row("atan", 1, |[x, ..], _| libm::atan(x)),
    row("sinh", 1, |[x, ..], _| libm::sinh(x)),
    row("cosh", 1, |[x, ..], _| libm::cosh(x)),
    row("tanh", 1, |[x, ..], _| libm::tanh(x)),
    row("asinh", 1, |[x, ..], _| libm::asinh(x)),
    row("acosh", 1, |[x, ..], _| libm::acosh(x)),
    row("atanh", 1, |[x, ..], _| libm::atanh(x)),
    row("erf", 1, |[x, ..], _| libm::erf(x)),
    row("erfc", 1, |[x, ..], _| libm::erfc(x)),
    row("lgamma", 1, |[x, ..], _| libm::lgamma(x)),
    row("rsqrt", 1, |[x, ..], _| 1.0 / x.sqrt()),
    row("sigmoid", 1, |[x, ..], _| sigmoid(x)),
    row("silu", 1, |[x, ..], _| x / (1.0 + libm::exp(-x))),
    row("gelu", 1, |[x, ..], _| gelu(x)),
    row("gelu_tanh", 1, |[x, ..], _| gelu_tanh(x)),
    row("mish", 1, |[x, ..], _| x * libm::tanh(softplus(x))),
    row("log_sigmoid", 1, |[x, ..], _| -softplus(-x)),
    row("hardswish", 1, |[x, ..], _| x * clamp(x + 3.0, 0.0, 6.0) / 6.0),
    row("hardsigmoid", 1, |[x, ..], _| clamp(x + 3.0, 0.0, 6.0) / 6.0),
    // of x, and the range p of the argument
    row("logit", 1, |[x, ..], [p, ..]| {
        let x = if p < 0.0 { x } else { clamp(x, p, 1.0 - p) };
        libm::log(x / (1.0 - x))
    }),
    // of x; p is beta, q the threshold
    row("softplus", 1, |[x, ..], [p, q, _]| if x * p > q { x } else { softplus(x * p) / p }),
    // of x; p is the negative factor, q the scale, r the scale of the argument
    row("elu", 1, |[x, ..], [p, q, r]| if x > 0.0 { x * q } else { libm::expm1(x * r) * p * q }),
    // of x; p is the exponent, or the base
    row("power", 1, |[x, ..], [p, ..]| power(x, p)),
    row("power_of", 1, |[x, ..], [p, ..]| power(p, x)),
    // of x and y
    row("pow", 2, |[x, y, _], _| power(x, y)),
    row("atan2", 2, |[x, y, _], _| libm::atan2(x, y)),
    row("hypot", 2, |[x, y, _], _| libm::hypot(x, y)),
    row("fmod", 2, |[x, y, _], _| libm::fmod(x, y)),
    row("remainder", 2, |[x, y, _], _| remainder(x, y)),
    row("floor_divide", 2, |[x, y, _], _| floor_divide(x, y)),
    row("maximum", 2, |[x, y, _], _| larger(x, y)),
    row("minimum", 2, |[x, y, _], _| -larger(-x, -y)),
    row("fmax", 2, |[x, y, _], _| {
        if x.is_nan() {
            y
        } else if y.is_nan() {
            x
        } else {
            larger(x, y)
        }
    }),
    row("fmin", 2, |[x, y, _], _| {
        if x.is_nan() {
            y
        } else if y.is_nan() {
            x
        } else {
            -larger(-x, -y)
        }
    }),
    row("logaddexp", 2, |[x, y, _], _| {
        if x == y && x.is_infinite() { x } else { larger(x, y) + libm::log1p(libm::exp(-(x - y).abs())) }
    }),
    row("logaddexp2", 2, |[x, y, _], _| {
        if x == y && x.is_infinite() {
            x
        } else {
            larger(x, y) + libm::log1p(libm::exp2(-(x - y).abs())) / LN_2
        }
    }),
    row("xlogy", 2, |[x, y, _], _| {
        if y.is_nan() {
            y
        } else if x == 0.0 {
            0.0
        } else {
            x * libm::log(y)
        }
    }),
    // x plus or minus p times y
    row("add", 2, |[x, y, _], [p, ..]| x + p * y),
    row("lerp", 2, |[x, y, _], [p, ..]| lerp(x, y, p)),
    // x is the gradient, y the result of the function
    row("sigmoid_backward", 2, |[x, y, _], _| x * (1.0 - y) * y),
    row("tanh_backward", 2, |[x, y, _], _| x * (1.0 - y * y)),
    // x is the gradient, y the argument of the function
    row("silu_backward", 2, |[x, y, _], _| {
        let s = sigmoid(y);
        x * (s * (1.0 + y * (1.0 - s)))
    }),
    row("gelu_backward", 2, |[x, y, _], _| {
        let density = libm::exp(-0.5 * (y * y)) * (FRAC_1_SQRT_2 * (1.0 / PI.sqrt()));
        x * (0.5 * libm::erfc(-y * FRAC_1_SQRT_2) + y * density)
    }),
    row("gelu_tanh_backward", 2, |[x, y, _], _| {
        let s = sigmoid(2.0 * inner(y));
        x * (s + y * (2.0 * s * (1.0 - s)) * (SQRT_2_OVER_PI * (1.0 + 3.0 * 0.044715 * (y * y))))
    }),
    row("mish_backward", 2, |[x, y, _], _| {
        let (s, t) = (sigmoid(y), libm::tanh(softplus(y)));
        x * (t + y * s * (1.0 - t * t))
    }),
    row("log_sigmoid_backward", 2, |[x, y, _], _| x * sigmoid(-y)),
    row("hardswish_backward", 2, |[x, y, _], _| {
        if y <= -3.0 {
            0.0
        } else if y < 3.0 {
            x * (y / 3.0 + 0.5)
        } else {
            x
        }
    }),
    row("hardsigmoid_backward", 2, |[x, y, _], _| if y > -3.0 && y < 3.0 { x / 6.0 } else { 0.0 }),
    row("softplus_backward", 2, |[x, y, _], [p, q, _]| if y * p > q { x } else { x * sigmoid(y * p) }),
    row(
        "elu_backward",
        2,
        |[x, y, _], [p, q, r]| if y > 0.0 { x * q } else { x * r * p * q * libm::exp(y * r) },
    ),
    row(
        "elu_backward_of_result",
        2,
        |[x, y, _], [p, q, r]| if y > 0.0 { x * q } else { x * r * (y + p * q) },
    ),
    // of x, y and z
    row("addcmul", 3, |[x, y, z], [p, ..]| x + p * y * z),
    row("addcdiv", 3, |[x, y, z], [p, ..]| x + p * (y / z)),
    row("lerp_by", 3, |[x, y, z], _| lerp(x, y, z)),
    // x itself: a conversion
    row("round_to", 1, |[x, ..], _| x),
];

const SQRT_2_OVER_PI: f64 = 0.797_884_560_802_865_4;

fn sigmoid(x: f64) -> f64 {
    1.0 / (1.0 + libm::exp(-x))
}

fn softplus(x: f64) -> f64 {
    if x.is_nan() { x } else { x.max(0.0) + libm::log1p(libm::exp(-x.abs())) }
}

/// x · Φ(x).
fn gelu(x: f64) -> f64 {
    if x == f64::NEG_INFINITY { f64::NAN } else { 0.5 * x * libm::erfc(-x * FRAC_1_SQRT_2) }
}

/// √(2/π) · (x + 0.044715 · x³).
fn inner(x: f64) -> f64 {
    SQRT_2_OVER_PI * (x + 0.044715 * (x * x * x))
}

/// x/2 · (1 + tanh u), which is x / (1 + exp(−2u)).
fn gelu_tanh(x: f64) -> f64 {
    x / (1.0 + libm::exp(-2.0 * inner(x)))
}

fn clamp(x: f64, low: f64, high: f64) -> f64 {
    if x < low {
        low
    } else if x > high {
        high
    } else {
        x
    }
}

/// The larger number; +0 is larger than −0, and NaN than all.
pub(crate) fn larger(x: f64, y: f64) -> f64 {
    if x.is_nan() || y.is_nan() {
        f64::NAN
    } else if x > y || (x == y && x.is_sign_positive()) {
        x
    } else {
        y
    }
}

fn power(x: f64, y: f64) -> f64 {
    libm::pow(x, y)
}

/// With the sign of y, as Python's.
fn remainder(x: f64, y: f64) -> f64 {
    let found = libm::fmod(x, y);
    if found != 0.0 && (y < 0.0) != (found < 0.0) { found + y } else { found }
}

/// The integer below x / y, as Python and PyTorch find it.
fn floor_divide(x: f64, y: f64) -> f64 {
    if y == 0.0 {
        return x / y;
    }
    let rest = libm::fmod(x, y);
    let mut quotient = (x - rest) / y;
    if rest != 0.0 && (y < 0.0) != (rest < 0.0) {
        quotient -= 1.0;
    }
    if quotient == 0.0 {
        return 0f64.copysign(x / y);
    }
    let below = quotient.floor();
    if quotient - below > 0.5 { below + 1.0 } else { below }
}

/// From x to y by w, counted from the nearer end.
fn lerp(x: f64, y: f64, w: f64) -> f64 {
    if w.abs() < 0.5 { x + w * (y - x) } else { y - (y - x) * (1.0 - w) }
}
