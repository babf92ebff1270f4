//! Errors and bounds of whole GEMMs along K, for every family.

use bitmma_engine::gemm::Target;
use bitmma_engine::{Architecture, GemmOptions, Operands};

use crate::cells;
use crate::data::{Distribution, Draw};
use crate::error::Error;
use crate::error_bound::{Magnitudes, a_priori, elements};
use crate::plot::{Axis, Figure, Mark, Scale, Series};
use crate::sections::options::Options;
use crate::table::Table;
use bitmma_engine::Progress;

/// Instructions that are followed: architecture, name, name in the legend.
type Followed = [(Architecture, &'static str, &'static str); 5];

const NVIDIA: Followed = [
    (Architecture::Hopper, "wgmma.m64n8k32.f32.e4m3.e4m3", "T-FDPA: H100 FP8"),
    (Architecture::Hopper, "wgmma.m64n8k16.f32.f16.f16", "T-FDPA: H100 FP16"),
    (Architecture::RtxBlackwell, "mma.m16n8k16.f16.f16.f16.f16", "T-FDPA: 5090 FP16 to FP16"),
    (
        Architecture::RtxBlackwell,
        "mma.m16n8k32.kind::mxf8f6f4.block32.f32.e4m3.e4m3.f32.ue8m0",
        "ST-FDPA: 5090 MXFP8",
    ),
    (
        Architecture::RtxBlackwell,
        "mma.m16n8k64.kind::mxf4nvf4.block16.f32.e2m1.e2m1.f32.ue4m3",
        "GST-FDPA: 5090 NVFP4",
    ),
];

const AMD: Followed = [
    (Architecture::Cdna3, "v_mfma_f32_32x32x2_f32", "FMA: MI300X FP32"),
    (Architecture::Cdna1, "v_mfma_f32_32x32x8f16", "E-FDPA: MI100 FP16"),
    (Architecture::Cdna2, "v_mfma_f32_32x32x8f16", "FTZ-AddMul: MI250X FP16"),
    (Architecture::Cdna3, "v_mfma_f32_32x32x8_f16", "TR-FDPA: MI300X FP16"),
    (Architecture::Cdna3, "v_mfma_f32_32x32x16_fp8_fp8", "GTR-FDPA: MI300X FP8"),
];

/// The figures: name, heading, instructions.
const FIGURES: [(&str, &str, &Followed); 2] = [
    ("gemm-bounds", "Errors and bounds along K: NVIDIA", &NVIDIA),
    ("gemm-bounds-amd", "Errors and bounds along K: AMD", &AMD),
];

/// Bounds of whole GEMMs beside measured errors.
pub(super) fn followed(options: &Options, progress: &dyn Progress) -> Result<(Table, Vec<Figure>), Error> {
    let side = options.effort.of(4, 8);
    let mut table = Table::new(
        "gemm-bounds",
        "Bounds along the K of a GEMM",
        format!(
            "{side}×{side} elements of A·B, A and B ~ N(0,1), scale factors ~ |1/2 + N(0,1)|. A priori: from the largest magnitudes of A \
             and B alone, before anything has run. A posteriori: from the exponents that occurred, summed along the chain, for the \
             element that lost most."
        ),
        "instruction | K | largest error | a posteriori bound | a priori bound | \
         error / a posteriori"
            .split(" | "),
    );
    let mut figures = Vec::new();
    for (done, (name, title, instructions)) in FIGURES.into_iter().enumerate() {
        let (mut series, mut exact) = (Vec::new(), Vec::new());
        for (index, (architecture, name, short)) in instructions.iter().enumerate() {
            let step = (done * instructions.len() + index) as u64;
            progress.step("bounds along K", step, (FIGURES.len() * instructions.len()) as u64)?;
            let target = Target::instruction(*architecture, name, options.revision)?;
            let (mut errors, mut bounds) = (Vec::new(), Vec::new());
            // two steps of the longest instruction, and more
            for power in 6..=options.effort.of(9, 12) {
                let k = 1_usize << power;
                let one = at(&target, side, k, options.seed)?;
                table.row(cells![
                    format!("{architecture} {name}"),
                    k,
                    one.error,
                    one.bound,
                    one.before,
                    one.error / one.bound
                ]);
                errors.push((k as f64, one.error));
                bounds.push((k as f64, one.bound));
            }
            // zero has no place on the axis
            if errors.iter().any(|point| point.1 == 0.0) {
                exact.push(*short);
            }
            series.push(Series::new(*short, Mark::Line, errors));
            series.push(Series::new(format!("{short}, bound"), Mark::Dashes, bounds));
        }
        figures.push(Figure {
            name: name.to_owned(),
            title: title.to_owned(),
            text: format!(
                "Lines: the largest error of {} elements of D for each K, A and B ~ N(0,1); dashes: the a posteriori bound of the element \
                 that lost most. Bounds add up along K; errors do so only where they have one sign (truncation toward zero of a growing \
                 sum).{}",
                side * side,
                missing(&exact)
            ),
            x: Axis::new("K, elements", Scale::Log2),
            y: Axis::new("|D − exact result|", Scale::Log10),
            series,
        });
    }
    Ok((table, figures))
}

/// Why points of these are not there.
fn missing(exact: &[&str]) -> String {
    match exact {
        [] => String::new(),
        some => format!(" Where a point is missing, every element was exact ({}).", some.join(", ")),
    }
}

/// What was found at one K.
struct At {
    /// The largest error, and the bound of its element.
    error: f64,
    bound: f64,
    /// The bound before anything has run; `None` where an overflow is possible.
    before: Option<f64>,
}

fn at(target: &Target, side: usize, k: usize, seed: u64) -> Result<At, Error> {
    let model = target.model();
    let draw = Draw { factors: Distribution::STANDARD, accumulator: None, size: (side, side, k) };
    let product = draw.operands(model, seed, 0)?;
    let (a, b) = product.numbers()?;
    let before = Magnitudes::of(&a, &b, None);
    let before = before.and_then(|magnitudes| a_priori(model, target.step(), k, &magnitudes));
    let scale_a = product.scales.as_ref().map(|scales| &scales.a);
    let scale_b = product.scales.as_ref().map(|scales| &scales.b);
    let operands = Operands { a: &product.a, b: &product.b, c: None, scale_a, scale_b };
    let (mut error, mut bound): (f64, f64) = (0.0, 0.0);
    for (its, most) in elements(target, &operands, &GemmOptions::default())? {
        if most.is_finite() && its.abs() >= error {
            (error, bound) = (its.abs(), most);
        }
    }
    Ok(At { error, bound, before: before.map(|bound| bound.total().to_f64()) })
}
