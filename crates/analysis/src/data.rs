//! The matrices that accuracy is measured on: drawn from a distribution, or a user's own.

use bitmma::Matrix;
use bitmma::formats::{Format, Overflow, Real, Rounding, decode, encode};
use bitmma::inputs::nearest;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use rand_distr::{Distribution as _, StandardNormal, StandardUniform};
use serde::{Deserialize, Serialize};

use crate::error::Error;

/// What numbers are drawn from, each then rounded to nearest in its format, saturating.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Distribution {
    /// scale · N(0, 1)
    Normal {
        /// The standard deviation.
        scale: f64,
    },
    /// Uniform on [−scale, scale)
    Uniform {
        /// The half width.
        scale: f64,
    },
    /// scale · (N(0, 1) + Bernoulli(0.001) · N(0, 100)): activations of neural networks.
    Outliers {
        /// The factor of the whole.
        scale: f64,
    },
}

impl Distribution {
    /// N(0, 1).
    pub const STANDARD: Distribution = Distribution::Normal { scale: 1.0 };

    /// scale · N(0, 1).
    pub const fn normal(scale: f64) -> Distribution {
        Distribution::Normal { scale }
    }

    fn draw(self, random: &mut ChaCha8Rng) -> f64 {
        let normal = |random: &mut ChaCha8Rng| -> f64 { StandardNormal.sample(random) };
        match self {
            Distribution::Normal { scale } => scale * normal(random),
            Distribution::Uniform { scale } => {
                let unit: f64 = StandardUniform.sample(random);
                scale * (2.0 * unit - 1.0)
            }
            Distribution::Outliers { scale } => {
                let outlier = random.next_u64().is_multiple_of(1000);
                let first = normal(random);
                scale * if outlier { first + 10.0 * normal(random) } else { first }
            }
        }
    }
}

impl std::fmt::Display for Distribution {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let factor = |scale: f64| {
            if scale.to_bits() == 1.0_f64.to_bits() { String::new() } else { format!("{scale}·") }
        };
        match *self {
            Distribution::Normal { scale } => write!(f, "{}N(0,1)", factor(scale)),
            Distribution::Uniform { scale } => write!(f, "U(-{scale},{scale})"),
            Distribution::Outliers { scale } => {
                write!(f, "{}(N(0,1) + B(0.001)·N(0,100))", factor(scale))
            }
        }
    }
}

/// A matrix drawn row by row from stream `stream` of `seed`: the same everywhere.
pub fn matrix(
    format: Format,
    (rows, columns): (usize, usize),
    distribution: Distribution,
    seed: u64,
    stream: u64,
) -> Result<Matrix, Error> {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    random.set_stream(stream);
    let codes = (0..rows * columns).map(|_| nearest(&format, distribution.draw(&mut random)));
    Ok(Matrix::single(format, rows, columns, codes)?)
}

/// A, B and C of a product: M×K, K×N, M×N.
#[derive(Clone, Debug, PartialEq)]
pub struct Product {
    /// M×K.
    pub a: Matrix,
    /// K×N.
    pub b: Matrix,
    /// M×N; `None`: zero.
    pub c: Option<Matrix>,
    /// What it is, for headings: `N(0,1), 128×128×128`.
    pub about: String,
}

/// How a product is drawn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Draw {
    /// Of A and B.
    pub factors: Distribution,
    /// Of C; `None`: zero.
    pub accumulator: Option<Distribution>,
    /// M, N, K.
    pub size: (usize, usize, usize),
}

impl Draw {
    /// A square product without C.
    pub const fn square(factors: Distribution, size: usize) -> Draw {
        Draw { factors, accumulator: None, size: (size, size, size) }
    }

    /// Product `index` of `seed`, A and B in formats `a` and `b`, C in `c`.
    pub fn product(&self, [a, b, c]: [Format; 3], seed: u64, index: u64) -> Result<Product, Error> {
        let (m, n, k) = self.size;
        Ok(Product {
            a: matrix(a, (m, k), self.factors, seed, 3 * index)?,
            b: matrix(b, (k, n), self.factors, seed, 3 * index + 1)?,
            c: self
                .accumulator
                .map(|distribution| matrix(c, (m, n), distribution, seed, 3 * index + 2))
                .transpose()?,
            about: format!("{}, {m}×{n}×{k}", self.factors),
        })
    }
}

/// The same numbers in another format; `None` for a number that it does not have.
pub fn converted(matrix: &Matrix, to: Format) -> Option<Matrix> {
    let from = matrix.format();
    if from == to {
        return Some(matrix.clone());
    }
    let code = |code: u64| {
        let value = decode(&from, code);
        if !value.is_finite() {
            return None;
        }
        let real = Real {
            negative: value.negative,
            significand: value.significand.into(),
            exponent: value.exponent - from.fraction_bits as i32,
            inexact: false,
        };
        let converted = encode(&to, real, Rounding::TowardZero, Overflow::Saturate);
        (crate::dyadic::Dyadic::of_code(&to, converted) == crate::dyadic::Dyadic::of_code(&from, code))
            .then_some(converted)
    };
    // every code once: there are few of them
    let codes: Option<Vec<u64>> = if from.bits() <= 16 {
        let table: Vec<Option<u64>> = (0..=from.max_code()).map(code).collect();
        matrix.iter().map(|one| table[one as usize]).collect()
    } else {
        matrix.iter().map(code).collect()
    };
    Matrix::new(to, matrix.shape(), codes?).ok()
}
