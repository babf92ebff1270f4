//! Accuracy against cost: what F, L, rho and G buy on given data.

use bitmma::arithmetic::{Conversion, FusedSum, Model, Operation};
use bitmma::formats::{BlockScale, E2M1, F32, Format, Rounding, UE4M3};
use bitmma::gemm::Target;
use bitmma::inputs::nearest;
use bitmma::{GemmOptions, Matrix};
use rayon::prelude::*;

use crate::data::Product;
use crate::error::Error;
use crate::exact::errors;
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
    let sum = FusedSum { max_length: length, fraction_bits, term_rounding, zero_exponent: None };
    let c = rho.container();
    Model::new(format, format, c, Operation::TFdpa(sum), rho)
}

/// GST-FDPA on FP4 with scale factors for every 16 elements (NVFP4), L = 64.
pub fn grouped(group: usize, fraction_bits: u32) -> Model {
    let sum =
        FusedSum { max_length: 64, fraction_bits, term_rounding: Rounding::TowardZero, zero_exponent: None };
    let mut model = Model::new(E2M1, E2M1, F32, Operation::GstFdpa { sum, group }, Conversion::RZ_FP32);
    model.scale = Some(BlockScale { format: UE4M3, size: 16 });
    model
}

/// Bits of the adders of one fused sum: L additions (of groups where there are some), each as wide as a
/// sign, two integer bits of a product, F fractional bits and the carries of all terms.
///
/// `None` for what has no such sum: FMA, FTZ-FMA, E-FDPA and FTZ-AddMul.
pub fn adder_bits(model: &Model) -> Option<u64> {
    let (terms, bits) = match model.operation {
        Operation::TFdpa(sum) | Operation::StFdpa(sum) => (sum.max_length, sum.fraction_bits),
        Operation::GstFdpa { sum, group } => (sum.max_length / group, sum.fraction_bits),
        Operation::TrFdpa(sum) | Operation::GtrFdpa(sum) => (sum.max_length, sum.fraction_bits),
        Operation::Fma | Operation::FtzFma { .. } | Operation::EFdpa { .. } | Operation::FtzAddMul { .. } => {
            return None;
        }
    };
    let carries = (terms + 1).next_power_of_two().ilog2();
    Some(terms as u64 * u64::from(1 + 2 + bits + carries))
}

/// What a design does on a product.
#[derive(Clone, Debug)]
pub struct Measured {
    /// The design.
    pub design: Design,
    /// Its cost.
    pub adder_bits: Option<u64>,
    /// D minus the exact product.
    pub summary: Summary,
    /// Root mean square of the errors over that of the exact results.
    pub relative: f64,
}

/// Every design on one product without scale factors.
pub fn measure(designs: &[Design], product: &Product) -> Result<Vec<Measured>, Error> {
    let size = exact_size(product)?;
    designs
        .par_iter()
        .map(|design| {
            let target = Target::of_model(design.model.clone(), None)?;
            let d = bitmma::gemm(&target, &product.a, &product.b, None, &GemmOptions::default())?;
            let summary = Summary::of(&errors(&product.a, &product.b, None, &d)?);
            let relative = summary.root_mean_square() / size;
            Ok(Measured { design: design.clone(), adder_bits: adder_bits(&design.model), summary, relative })
        })
        .collect()
}

/// Root mean square of the exact results: zero's errors are minus those.
fn exact_size(product: &Product) -> Result<f64, Error> {
    let (m, n) = (product.a.rows(), product.b.columns());
    let zero = Matrix::zeros(F32, (1, m, n))?;
    let results = errors(&product.a, &product.b, None, &zero)?;
    Ok(Summary::of(&results).root_mean_square())
}

/// NVFP4 data: elements ~ 2·N(0,1), scale factors from 0.5 up.
pub struct Scaled {
    product: Product,
    scale_a: Matrix,
    scale_b: Matrix,
}

impl Scaled {
    /// A product of `side`×`side`×`k`.
    pub fn new(side: usize, k: usize, seed: u64) -> Result<Scaled, Error> {
        use crate::data::{Distribution, Draw, matrix};
        let draw = Draw { factors: Distribution::normal(2.0), accumulator: None, size: (side, side, k) };
        let product = draw.product([E2M1, E2M1, F32], seed, 0)?;
        let scale = |rows: usize, columns: usize, stream| {
            let drawn = matrix(F32, (rows, columns), Distribution::STANDARD, seed, stream)?;
            let codes: Vec<u64> = drawn
                .iter()
                .map(|code| nearest(&UE4M3, 0.5 + f64::from(f32::from_bits(code as u32)).abs()))
                .collect();
            Ok::<_, Error>(Matrix::single(UE4M3, rows, columns, codes)?)
        };
        Ok(Scaled { product, scale_a: scale(side, k / 16, 1000)?, scale_b: scale(k / 16, side, 1001)? })
    }

    /// GST-FDPA designs on it.
    pub fn measure(&self, designs: &[Design]) -> Result<Vec<Measured>, Error> {
        let (a, b) = (
            self.unscaled(&self.product.a, &self.scale_a, true)?,
            self.unscaled(&self.product.b, &self.scale_b, false)?,
        );
        let exact = Product { a, b, c: None, about: String::new() };
        let size = exact_size(&exact)?;
        designs
            .par_iter()
            .map(|design| {
                let target = Target::of_model(design.model.clone(), None)?;
                let options = GemmOptions {
                    scale_a: Some(&self.scale_a),
                    scale_b: Some(&self.scale_b),
                    ..GemmOptions::default()
                };
                let d = bitmma::gemm(&target, &self.product.a, &self.product.b, None, &options)?;
                let summary = Summary::of(&errors(&exact.a, &exact.b, None, &d)?);
                let relative = summary.root_mean_square() / size;
                Ok(Measured {
                    design: design.clone(),
                    adder_bits: adder_bits(&design.model),
                    summary,
                    relative,
                })
            })
            .collect()
    }

    /// Elements times their scale factors, which FP32 has exactly: 2 + 4 bits.
    fn unscaled(&self, matrix: &Matrix, scale: &Matrix, rows: bool) -> Result<Matrix, Error> {
        let value =
            |format: &Format, code: u64| crate::Dyadic::of_code(format, code).unwrap_or_default().to_f64();
        let codes: Vec<u64> = (0..matrix.rows() * matrix.columns())
            .map(|index| {
                let (row, column) = (index / matrix.columns(), index % matrix.columns());
                let factor =
                    if rows { scale.get(0, row, column / 16) } else { scale.get(0, row / 16, column) };
                nearest(&F32, value(&E2M1, matrix.get(0, row, column)) * value(&UE4M3, factor))
            })
            .collect();
        Ok(Matrix::single(F32, matrix.rows(), matrix.columns(), codes)?)
    }
}
