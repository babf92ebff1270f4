//! What others measured on real GPUs, computed again on the models.
//!
//! Each measurement is a mean over 100 products of 128×128×128 of random numbers, so ours, drawn anew,
//! agree within the sampling error of both.

use bitmma_engine::formats::{E5M2, F16, F32, Format};
use bitmma_engine::gemm::{OutputConversion, Target};
use bitmma_engine::{Architecture, GemmOptions, Revision};
use serde::{Deserialize, Serialize};

use crate::data::{Distribution, Draw, converted};
use crate::error::Error;
use crate::exact::errors;
use crate::statistics::Summary;
use bitmma_engine::Progress;

/// Which number was published.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Statistic {
    /// Mean of the squared errors.
    MeanSquare,
    /// Mean of the errors.
    Mean,
}

/// How the product was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// The instruction along K, its accumulator from zero.
    Chain,
    /// The same, the result then rounded to this format, to nearest even.
    Converted(Format),
    /// Every instruction from C = 0, its result added to an FP32 sum outside.
    OutsideSum,
}

/// A published measurement.
#[derive(Clone, Copy, Debug)]
pub struct Published {
    /// The GPU.
    pub gpu: &'static str,
    /// Its architecture.
    pub architecture: Architecture,
    /// The instruction.
    pub instruction: &'static str,
    /// What A and B are drawn as, then given to the instruction in its own format.
    pub drawn: Format,
    /// Their distribution.
    pub factors: Distribution,
    /// How.
    pub method: Method,
    /// Which number.
    pub statistic: Statistic,
    /// The number.
    pub value: f64,
    /// In words.
    pub about: &'static str,
}

/// Elements along each side of every published product.
pub const SIZE: usize = 128;
/// Products in every published mean.
pub const PRODUCTS: u64 = 100;

/// Every measurement.
// one row each: GPU, architecture, instruction, drawn as, from, how, which number, the number, in words
#[rustfmt::skip]
pub const PUBLISHED: [Published; 7] = [
    row("RTX 4090", Architecture::Ada, "mma.m16n8k32.f32.e5m2.e5m2.f32", E5M2, 1.0, Method::Chain, Statistic::MeanSquare, 1.027e-6, "E5M2 data, FP8 instruction"),
    row("RTX 4090", Architecture::Ada, "mma.m16n8k16.f32.f16.f16.f32", E5M2, 1.0, Method::Chain, Statistic::MeanSquare, 4.2e-15, "the same E5M2 data, FP16 instruction"),
    row("RTX PRO 6000", Architecture::RtxBlackwell, "mma.m16n8k16.f16.f16.f16.f16", F16, 1.0, Method::Chain, Statistic::MeanSquare, 2.47e-5, "FP16 data, FP16 output"),
    row("RTX PRO 6000", Architecture::RtxBlackwell, "mma.m16n8k16.f32.f16.f16.f32", F16, 1.0, Method::Chain, Statistic::MeanSquare, 4.47e-12, "FP16 data, FP32 output"),
    row("RTX PRO 6000", Architecture::RtxBlackwell, "mma.m16n8k16.f32.f16.f16.f32", F16, 1.0, Method::Converted(F16), Statistic::MeanSquare, 5.48e-6, "FP16 data, FP32 output, then converted to FP16"),
    row("MI300X", Architecture::Cdna3, "v_mfma_f32_32x32x8_f16", F16, 10.0, Method::Chain, Statistic::Mean, -1.22e-6, "FP16 data, accumulated in C"),
    row("MI300X", Architecture::Cdna3, "v_mfma_f32_32x32x8_f16", F16, 10.0, Method::OutsideSum, Statistic::Mean, -2.4e-8, "FP16 data, C = 0, FP32 sum outside"),
];

#[allow(clippy::too_many_arguments)] // the columns of a table
const fn row(
    gpu: &'static str,
    architecture: Architecture,
    instruction: &'static str,
    drawn: Format,
    scale: f64,
    method: Method,
    statistic: Statistic,
    value: f64,
    about: &'static str,
) -> Published {
    let factors = Distribution::normal(scale);
    Published { gpu, architecture, instruction, drawn, factors, method, statistic, value, about }
}

/// Ours beside a published one.
#[derive(Clone, Copy, Debug)]
pub struct Measured {
    /// Theirs.
    pub published: &'static Published,
    /// Ours.
    pub summary: Summary,
    /// Our number.
    pub value: f64,
    /// Its sampling error: the standard deviation over products, divided by the root of their number.
    pub sampling_error: f64,
}

impl Measured {
    /// How many sampling errors apart the two numbers are, both drawn from as many products.
    pub fn deviation(&self, products: u64) -> f64 {
        let theirs = self.sampling_error * (products as f64 / PRODUCTS as f64).sqrt();
        (self.value - self.published.value) / self.sampling_error.hypot(theirs)
    }
}

/// Computes one measurement again over `products` products.
pub fn measure(
    published: &'static Published,
    products: u64,
    seed: u64,
    progress: &dyn Progress,
) -> Result<Measured, Error> {
    let target = Target::instruction(published.architecture, published.instruction, Revision::Hardware)?;
    let drawn = published.drawn;
    let mut all = Vec::new();
    let mut each = Vec::new();
    for index in 0..products {
        progress.step(published.about, index, products)?;
        let draw = Draw::square(published.factors, SIZE);
        let product = draw.product([drawn, drawn, F32], seed, index)?;
        let inside = |matrix| {
            converted(matrix, target.model().a).ok_or_else(|| {
                crate::error::option("format", drawn, "every number must be one of the instruction's A and B")
            })
        };
        let mut options = GemmOptions::default();
        match published.method {
            Method::Chain => {}
            Method::Converted(format) => options.output = Some(OutputConversion::nearest(format)),
            Method::OutsideSum => options.promote_every = Some(target.step()),
        }
        let d = bitmma_engine::gemm(&target, &inside(&product.a)?, &inside(&product.b)?, None, &options)?;
        let errors = errors(&product.a, &product.b, None, &d)?;
        let own = Summary::of(&errors);
        each.push(match published.statistic {
            Statistic::Mean => own.mean,
            Statistic::MeanSquare => own.mean_square,
        });
        all.extend(errors);
    }
    let over_products = Summary::of(&each);
    Ok(Measured {
        published,
        summary: Summary::of(&all),
        value: over_products.mean,
        sampling_error: over_products.mean_error,
    })
}
