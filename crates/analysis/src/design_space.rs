//! Accuracy against cost: what F, L, rho and G buy on given data.

use bitmma_engine::arithmetic::{Conversion, FusedSum, Model, Operation, Parameter};
use bitmma_engine::formats::{BlockScale, E2M1, F32, Format, Rounding, UE4M3};
use bitmma_engine::gemm::Target;
use bitmma_engine::threads::prelude::*;
use bitmma_engine::{GemmOptions, Matrix};
use serde::Serialize;

use crate::data::Product;
use crate::error::Error;
use crate::exact::errors;
use crate::json::number;
use crate::statistics::Summary;

/// A unit that could be built.
#[derive(Clone, Debug)]
pub struct Design {
    /// Its name; for a real GPU its own.
    pub name: String,
    /// How it computes.
    pub model: Model,
}

/// A fused sum of L products and an accumulator: T-FDPA on operands of one format.
pub fn fused(
    format: Format,
    length: usize,
    fraction_bits: u32,
    term_rounding: Rounding,
    rho: Conversion,
) -> Model {
    let sum = FusedSum { term_rounding, ..FusedSum::new(length, fraction_bits) };
    let c = rho.container();
    Model::new(format, format, c, Operation::TFdpa(sum), rho)
}

/// GST-FDPA on FP4 with scale factors for every 16 elements (NVFP4), L = 64.
pub fn grouped(group: usize, fraction_bits: u32) -> Model {
    let sum = FusedSum::new(64, fraction_bits);
    let mut model = Model::new(E2M1, E2M1, F32, Operation::GstFdpa { sum, group }, Conversion::RZ_FP32);
    model.scale = Some(BlockScale { format: UE4M3, size: 16 });
    model
}

/// The same fused sum of elements that have scale factors: ST-FDPA where those are powers of two, else
/// GST-FDPA with groups of up to 16, as Blackwell has them.
pub fn on_scaled(mut model: Model, scale: BlockScale) -> Model {
    if let Operation::TFdpa(sum) = model.operation {
        model.operation = match scale.format.fraction_bits {
            0 => Operation::StFdpa(sum),
            _ => Operation::GstFdpa { sum, group: scale.size.min(16) },
        };
    }
    model.scale = Some(scale);
    model
}

/// Bits of the adders of one fused sum: L additions (of groups where there are some), each as wide as a
/// sign, two integer bits of a product, F fractional bits and the carries of all terms.
///
/// `None` for families without F, which have no such sum.
pub fn adder_bits(model: &Model) -> Option<u64> {
    let bits: u32 = model.operation.number(Parameter::FractionBits)?;
    let terms = model.operation.max_length() / model.operation.group();
    let carries = (terms + 1).next_power_of_two().ilog2();
    Some(terms as u64 * u64::from(1 + 2 + bits + carries))
}

/// What a design does on a product.
#[derive(Clone, Debug, Serialize)]
pub struct Measured {
    /// The design.
    #[serde(skip)]
    pub design: Design,
    /// Its cost.
    pub adder_bits: Option<u64>,
    /// D minus the exact product.
    pub errors: Summary,
    /// Root mean square of the errors over that of the exact results.
    #[serde(serialize_with = "number")]
    pub relative: f64,
    /// Its sampling error, elements taken as independent and the exact results as given.
    #[serde(skip)]
    pub relative_error: f64,
}

/// Every design on one product, its C left out.
pub fn measure(designs: &[Design], product: &Product) -> Result<Vec<Measured>, Error> {
    let product = product.without_accumulator();
    let (a, b) = product.numbers()?;
    // root mean square of the exact results: zero's errors are minus those
    let zero = Matrix::zeros(F32, (1, a.rows(), b.columns()))?;
    let size = Summary::of(&errors(&a, &b, None, &zero)?).root_mean_square();
    designs
        .par_iter()
        .map(|design| {
            let target = Target::of_model(design.model.clone(), None)?;
            let d = product.gemm(&target, &GemmOptions::default())?;
            let summary = Summary::of(&errors(&a, &b, None, &d)?);
            let rms = summary.root_mean_square();
            // of a root: half the error of the square, over the root
            let error = if rms > 0.0 { summary.mean_square_error / (2.0 * rms) } else { 0.0 };
            Ok(Measured {
                design: design.clone(),
                adder_bits: adder_bits(&design.model),
                errors: summary,
                relative: rms / size,
                relative_error: error / size,
            })
        })
        .collect()
}
