//! The bias of round-down on CDNA3 (paper, figure of the distributions of δ_RD and δ_RZ), and its growth.

use bitmma_engine::arithmetic::Operation;
use bitmma_engine::formats::Rounding;
use bitmma_engine::gemm::Target;
use bitmma_engine::{Architecture, GemmOptions, Model, Revision};
use serde::Serialize;

use crate::data::{Distribution, Draw};
use crate::error::{Error, check, check_k};
use crate::exact::errors;
use crate::statistics::{Histogram, Summary};
use bitmma_engine::Progress;

/// The instruction of the figure.
pub const INSTRUCTION: &str = "v_mfma_f32_32x32x8_f16";
/// The distribution of A and B in the figure.
pub const FACTORS: Distribution = Distribution::normal(1000.0);
/// The distribution of C in the figure.
pub const ACCUMULATOR: Distribution = Distribution::STANDARD;

/// The model with RZ wherever the internal sums round down: the paper's hypothetical instruction.
pub fn toward_zero(model: &Model) -> Model {
    let mut model = model.clone();
    if let Operation::TrFdpa(sum) | Operation::GtrFdpa(sum) = &mut model.operation {
        sum.sum_rounding = Rounding::TowardZero;
    }
    model
}

/// The distributions of the figure.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Distributions {
    /// Of the instruction as it is.
    pub round_down: Summary,
    /// Of the hypothetical one.
    pub toward_zero: Summary,
    /// Of the instruction as it is, with C = 0 and C added outside in FP32.
    pub outside: Summary,
    /// Bins of the first.
    pub round_down_bins: Histogram,
    /// Bins of the second.
    pub toward_zero_bins: Histogram,
}

/// The instruction as it is, and the hypothetical one.
struct Units {
    target: Target,
    toward_zero: Target,
}

impl Units {
    fn new(revision: Revision) -> Result<Units, Error> {
        let target = Target::instruction(Architecture::Cdna3, INSTRUCTION, revision)?;
        let toward_zero = Target::of_model(toward_zero(target.model()), Some(target.step()))?;
        Ok(Units { target, toward_zero })
    }

    /// D − D_real on one product: as it is, of the hypothetical one, and with the accumulation outside.
    fn measure(&self, draw: &Draw, seed: u64, index: u64, all: &mut [Vec<f64>; 3]) -> Result<(), Error> {
        let Model { a, b, c, .. } = *self.target.model();
        let product = draw.product([a, b, c], seed, index)?;
        let plain = GemmOptions::default();
        let outside = GemmOptions { promote_every: Some(self.target.step()), ..plain };
        let runs = [(&self.target, &plain), (&self.toward_zero, &plain), (&self.target, &outside)];
        for ((unit, options), all) in runs.into_iter().zip(all) {
            let d = product.gemm(unit, options)?;
            all.extend(errors(&product.a, &product.b, product.c.as_ref(), &d)?);
        }
        Ok(())
    }
}

/// D − D_real of `instructions` instructions, 1 to 1,000,000, each 1,024 elements.
pub fn distributions(
    revision: Revision,
    instructions: u64,
    seed: u64,
    progress: &dyn Progress,
) -> Result<Distributions, Error> {
    check("instructions", instructions, 1..=1_000_000)?;
    let units = Units::new(revision)?;
    let draw = Draw { factors: FACTORS, accumulator: Some(ACCUMULATOR), size: (32, 32, units.target.step()) };
    let mut all = [Vec::new(), Vec::new(), Vec::new()];
    for index in 0..instructions {
        progress.step("distributions of δ", index, instructions)?;
        units.measure(&draw, seed, index, &mut all)?;
    }
    let [round_down, toward_zero, outside] = &all;
    let summary = Summary::of(round_down);
    // wide enough for nearly all, symmetric, and the same for both
    let end = nice(4.0 * summary.root_mean_square());
    let bins = |errors: &[f64]| Histogram::of(errors, (-end, end), 61);
    Ok(Distributions {
        round_down: summary,
        toward_zero: Summary::of(toward_zero),
        outside: Summary::of(outside),
        round_down_bins: bins(round_down),
        toward_zero_bins: bins(toward_zero),
    })
}

/// The next of 1, 2, 5 times a power of ten.
pub(crate) fn nice(x: f64) -> f64 {
    if !x.is_finite() || x <= 0.0 {
        return 1.0;
    }
    let power = 10f64.powi(x.log10().floor() as i32);
    let factor = [1.0, 2.0, 5.0, 10.0].into_iter().find(|factor| factor * power >= x * (1.0 - 1e-12));
    factor.unwrap_or(10.0) * power
}

/// Means after a chain of instructions.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Growth {
    /// Elements along K.
    pub k: usize,
    /// Accumulating in C.
    pub round_down: Summary,
    /// Accumulating in C on the hypothetical instruction.
    pub toward_zero: Summary,
    /// Each instruction from C = 0, its result added outside in FP32.
    pub outside: Summary,
    /// The first minus the second, element by element: what is the same in both, and varies much more
    /// than the bias, falls out.
    pub bias: Summary,
}

/// The error of chains of growing length, 1 to 2^20, on 32×32 elements, `products` times each, 1 to 1,000,000.
pub fn growth(
    revision: Revision,
    factors: Distribution,
    lengths: &[usize],
    products: u64,
    seed: u64,
    progress: &dyn Progress,
) -> Result<Vec<Growth>, Error> {
    check("products", products, 1..=1_000_000)?;
    lengths.iter().try_for_each(|&k| check_k(k))?;
    let units = Units::new(revision)?;
    let mut rows = Vec::new();
    for (done, &k) in lengths.iter().enumerate() {
        progress.step("growth of the bias", done as u64, lengths.len() as u64)?;
        let draw = Draw { factors, accumulator: None, size: (32, 32, k) };
        let mut all = [Vec::new(), Vec::new(), Vec::new()];
        for index in 0..products {
            units.measure(&draw, seed, index, &mut all)?;
        }
        let pairs = all[0].iter().zip(&all[1]);
        let bias = Summary::of(&pairs.map(|(down, zero)| down - zero).collect::<Vec<_>>());
        let [round_down, toward_zero, outside] = all.map(|errors| Summary::of(&errors));
        rows.push(Growth { k, round_down, toward_zero, outside, bias });
    }
    Ok(rows)
}
