//! The matrices that accuracy is measured on: drawn from a distribution, or a user's own.

use std::borrow::Cow;

use bitmma_engine::arithmetic::Model;
use bitmma_engine::formats::text::display;
use bitmma_engine::formats::{BlockScale, F64, Format, Overflow, Real, Rounding, decode, encode};
use bitmma_engine::gemm::Target;
use bitmma_engine::{Case, GemmOptions, Matrix};
use bitmma_verify::inputs::nearest;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use rand_distr::{Distribution as _, StandardNormal, StandardUniform};
use serde::{Deserialize, Serialize};

use crate::dyadic::Dyadic;
use crate::error::{Error, check_k, option};

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

    /// The names of distributions.
    pub const NAMES: [&str; 3] = ["normal", "uniform", "outliers"];

    /// The distribution of that name; `scale` is above 0 and at most 1e300, so that every draw is finite.
    pub fn named(name: &str, scale: f64) -> Result<Distribution, Error> {
        if !(scale > 0.0 && scale <= 1e300) {
            return Err(option("scale", scale, "a number above 0, at most 1e300, is expected"));
        }
        match name {
            "normal" => Ok(Distribution::Normal { scale }),
            "uniform" => Ok(Distribution::Uniform { scale }),
            "outliers" => Ok(Distribution::Outliers { scale }),
            _ => Err(option("distribution", name, "one of normal, uniform, outliers")),
        }
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
        let number = |scale: f64| display(&F64, scale.to_bits()); // 1e300 in a few digits
        let factor = |scale: f64| {
            if scale.to_bits() == 1.0_f64.to_bits() { String::new() } else { format!("{}·", number(scale)) }
        };
        match *self {
            Distribution::Normal { scale } => write!(f, "{}N(0,1)", factor(scale)),
            Distribution::Uniform { scale } => write!(f, "U(-{0},{0})", number(scale)),
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

/// One scale factor for every `size` elements along K.
#[derive(Clone, Debug, PartialEq)]
pub struct ScaleFactors {
    /// M × ceil(K/size).
    pub a: Matrix,
    /// ceil(K/size) × N.
    pub b: Matrix,
    /// Elements of a block.
    pub size: usize,
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
    /// Of A and B; `None`: they have none.
    pub scales: Option<ScaleFactors>,
    /// What it is, for headings: `N(0,1), 128×128×128`.
    pub about: String,
}

impl Product {
    /// D as the target computes it, scale factors included.
    pub fn gemm(&self, target: &Target, options: &GemmOptions<'_>) -> Result<Matrix, Error> {
        let scale = |of: fn(&ScaleFactors) -> &Matrix| self.scales.as_ref().map(of);
        let options = GemmOptions {
            scale_a: scale(|scales| &scales.a),
            scale_b: scale(|scales| &scales.b),
            ..*options
        };
        Ok(bitmma_engine::gemm(target, &self.a, &self.b, self.c.as_ref(), &options)?)
    }

    /// The numbers that A and B stand for: the elements as they are, or each times its scale factor, in FP64.
    pub fn numbers(&self) -> Result<(Cow<'_, Matrix>, Cow<'_, Matrix>), Error> {
        let Some(ScaleFactors { a, b, size }) = &self.scales else {
            return Ok((Cow::Borrowed(&self.a), Cow::Borrowed(&self.b)));
        };
        let of_a = unscaled(&self.a, |row, column| (a.format(), a.get(0, row, column / size)))?;
        let of_b = unscaled(&self.b, |row, column| (b.format(), b.get(0, row / size, column)))?;
        Ok((Cow::Owned(of_a), Cow::Owned(of_b)))
    }

    /// What goes into one element of D.
    pub fn case(&self, row: usize, column: usize) -> Case {
        let scale = |of: &dyn Fn(&ScaleFactors) -> Vec<u64>| self.scales.as_ref().map_or_else(Vec::new, of);
        Case {
            a: self.a.row(0, row).collect(),
            b: self.b.column(0, column).collect(),
            c: self.c.as_ref().map_or(0, |c| c.get(0, row, column)),
            scale_a: scale(&|scales| scales.a.row(0, row).collect()),
            scale_b: scale(&|scales| scales.b.column(0, column).collect()),
        }
    }

    /// The same without C.
    pub fn without_accumulator(&self) -> Product {
        Product { c: None, ..self.clone() }
    }
}

/// Every element times its scale factor. NaN stays NaN.
fn unscaled(matrix: &Matrix, factor: impl Fn(usize, usize) -> (Format, u64)) -> Result<Matrix, Error> {
    let columns = matrix.columns();
    let one = |(index, element): (usize, u64)| {
        let (format, factor) = factor(index / columns, index % columns);
        let value = |format: &Format, code| Dyadic::of_code(format, code);
        let Some((x, scale)) = value(&matrix.format(), element).zip(value(&format, factor)) else {
            return Ok(f64::NAN.to_bits());
        };
        let exact = &x * &scale;
        let bits = exact.to_f64().to_bits();
        if Dyadic::of_code(&F64, bits).as_ref() == Some(&exact) {
            Ok(bits)
        } else {
            Err(option(
                "scale factor",
                exact.to_f64(),
                "an element times its scale factor must be a number of FP64",
            ))
        }
    };
    let codes: Vec<u64> = matrix.iter().enumerate().map(one).collect::<Result<_, Error>>()?;
    Ok(Matrix::single(F64, matrix.rows(), columns, codes)?)
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

    /// 32×K times K×32 without C: what a user's instruction is measured on where there are no data.
    pub fn named(distribution: &str, scale: f64, k: usize) -> Result<Draw, Error> {
        let factors = Distribution::named(distribution, scale)?;
        check_k(k)?;
        Ok(Draw { factors, accumulator: None, size: (32, 32, k) })
    }

    /// Product `index` of `seed` in the formats of a model, with scale factors ~ |1/2 + N(0,1)| where it
    /// takes some.
    pub fn operands(&self, model: &Model, seed: u64, index: u64) -> Result<Product, Error> {
        let product = self.product([model.a, model.b, model.c], seed, index)?;
        let Some(BlockScale { format, size }) = model.scale else { return Ok(product) };
        let (m, n, k) = self.size;
        let draw = |rows: usize, columns: usize, side: u64| {
            let mut random = ChaCha8Rng::seed_from_u64(seed);
            random.set_stream((1 << 63) | (2 * index) | side);
            let mut one = || {
                let normal: f64 = StandardNormal.sample(&mut random);
                nearest(&format, (0.5 + normal).abs())
            };
            let codes: Vec<u64> = (0..rows * columns).map(|_| one()).collect();
            Matrix::single(format, rows, columns, codes)
        };
        let blocks = k.div_ceil(size);
        let scales = ScaleFactors { a: draw(m, blocks, 0)?, b: draw(blocks, n, 1)?, size };
        let about = format!("{}, scale factors |1/2 + N(0,1)|", product.about);
        Ok(Product { scales: Some(scales), about, ..product })
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
            scales: None,
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
