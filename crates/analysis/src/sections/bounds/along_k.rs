//! Errors and bounds of whole GEMMs along K, for every family; FP8 along K.

use bitmma_engine::arithmetic::Parameter;
use bitmma_engine::formats::{F32, Format};
use bitmma_engine::gemm::Target;
use bitmma_engine::{Architecture, GemmOptions, Matrix, Operands, Revision};

use crate::cells;
use crate::data::{Distribution, Draw, Product, ScaleFactors};
use crate::describe::chips;
use crate::error::Error;
use crate::error_bound::{Magnitudes, a_priori, elements};
use crate::exact::errors;
use crate::plot::{Axis, Figure, Mark, Scale, Series};
use crate::section::Finding;
use crate::sections::options::Options;
use crate::subject::alike;
use crate::table::{Table, short};
use bitmma_engine::Progress;

/// Instructions that are followed: architecture, name, what people call its formats.
type Followed = [(Architecture, &'static str, &'static str); 5];

const NVIDIA: Followed = [
    (Architecture::Hopper, "wgmma.m64n8k32.f32.e4m3.e4m3", "FP8"),
    (Architecture::Hopper, "wgmma.m64n8k16.f32.f16.f16", "FP16"),
    (Architecture::RtxBlackwell, "mma.m16n8k16.f16.f16.f16.f16", "FP16 to FP16"),
    (Architecture::RtxBlackwell, "mma.m16n8k32.kind::mxf8f6f4.block32.f32.e4m3.e4m3.f32.ue8m0", "MXFP8"),
    (Architecture::RtxBlackwell, "mma.m16n8k64.kind::mxf4nvf4.block16.f32.e2m1.e2m1.f32.ue4m3", "NVFP4"),
];

const AMD: Followed = [
    (Architecture::Cdna3, "v_mfma_f32_32x32x2_f32", "FP32"),
    (Architecture::Cdna1, "v_mfma_f32_32x32x8f16", "FP16"),
    (Architecture::Cdna2, "v_mfma_f32_32x32x8f16", "FP16"),
    (Architecture::Cdna3, "v_mfma_f32_32x32x8_f16", "FP16"),
    (Architecture::Cdna3, "v_mfma_f32_32x32x16_fp8_fp8", "FP8"),
];

/// The figures: name, heading, instructions.
const FIGURES: [(&str, &str, &Followed); 2] = [
    ("gemm-bounds", "Errors and bounds along K: NVIDIA", &NVIDIA),
    ("gemm-bounds-amd", "Errors and bounds along K: AMD", &AMD),
];

/// The chips whose instructions compute so, and the formats: `Hopper, Blackwell FP16`.
fn legend(target: &Target, formats: &str, revision: Revision) -> String {
    format!("{} {formats}", chips(&alike(target.model(), target.step(), revision)))
}

/// The first `k` elements along K of a product: what a longer one has in common with a shorter one.
fn first(product: &Product, k: usize) -> Result<Product, Error> {
    let cut = |whole: &Matrix, (rows, columns): (usize, usize)| {
        let row = |row: usize| (0..columns).map(move |column| whole.get(0, row, column));
        Matrix::single(whole.format(), rows, columns, (0..rows).flat_map(row))
    };
    let scales = product.scales.as_ref().map(|ScaleFactors { a, b, size }| {
        let blocks = k.div_ceil(*size);
        let (a, b) = (cut(a, (a.rows(), blocks))?, cut(b, (blocks, b.columns()))?);
        Ok::<_, Error>(ScaleFactors { a, b, size: *size })
    });
    Ok(Product {
        a: cut(&product.a, (product.a.rows(), k))?,
        b: cut(&product.b, (k, product.b.columns()))?,
        scales: scales.transpose()?,
        ..product.clone()
    })
}

/// Bounds of whole GEMMs beside measured errors.
pub(super) fn followed(options: &Options, progress: &dyn Progress) -> Result<(Table, Vec<Figure>), Error> {
    let side = options.effort.of(4, 8);
    let longest = options.effort.of(9, 12);
    let mut table = Table::new(
        "gemm-bounds",
        "Bounds along the K of a GEMM",
        format!(
            "{side}×{side} elements of A·B, A and B ~ N(0,1), scale factors ~ |1/2 + N(0,1)|; a longer K has the elements of a shorter one and \
             more. Each number is the largest over the elements of D. A priori: from the largest magnitudes of A and B alone, before \
             anything has run. A posteriori: from the exponents that occurred, summed along the chain."
        ),
        "instruction | K | largest error | a posteriori bound | a priori bound | \
         error / a posteriori"
            .split(" | "),
    );
    let mut figures = Vec::new();
    for (done, (name, title, instructions)) in FIGURES.into_iter().enumerate() {
        let (mut series, mut exact) = (Vec::new(), Vec::new());
        for (index, (architecture, name, formats)) in instructions.iter().enumerate() {
            let step = (done * instructions.len() + index) as u64;
            progress.step("bounds along K", step, (FIGURES.len() * instructions.len()) as u64)?;
            let target = Target::instruction(*architecture, name, options.revision)?;
            let legend = legend(&target, formats, options.revision);
            let factors = Distribution::STANDARD;
            let draw = Draw { factors, accumulator: None, size: (side, side, 1 << longest) };
            let product = draw.operands(target.model(), options.seed, 0)?;
            let (mut errors, mut bounds) = (Vec::new(), Vec::new());
            // two steps of the longest instruction, and more
            for power in 6..=longest {
                let k = 1_usize << power;
                let one = at(&target, &first(&product, k)?, k)?;
                table.row(cells![
                    format!("{architecture} {name}"),
                    k,
                    one.error,
                    one.bound,
                    one.before,
                    one.share
                ]);
                errors.push((k as f64, one.error));
                bounds.push((k as f64, one.bound));
            }
            // zero has no place on the axis
            if errors.iter().any(|point| point.1 == 0.0) {
                exact.push(legend.clone());
            }
            series.push(Series::new(legend.clone(), Mark::Line, errors));
            series.push(Series::new(format!("{legend}, bound"), Mark::Dashes, bounds));
        }
        figures.push(Figure {
            name: name.to_owned(),
            title: title.to_owned(),
            text: format!(
                "Lines: the largest error of {} elements of D for each K, A and B ~ N(0,1); dashes: their largest a posteriori bound. \
                 Bounds add up along K; errors do so only where they have one sign (truncation toward zero of a growing sum).{}",
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
fn missing(exact: &[String]) -> String {
    match exact {
        [] => String::new(),
        some => format!(" Where a point is missing, every element was exact ({}).", some.join("; ")),
    }
}

/// What was found at one K, each the largest over the elements of D.
#[derive(Default)]
struct At {
    error: f64,
    bound: f64,
    /// Of an element, error over bound.
    share: f64,
    /// The bound before anything has run; `None` where an overflow is possible.
    before: Option<f64>,
}

fn at(target: &Target, product: &Product, k: usize) -> Result<At, Error> {
    let (a, b) = product.numbers()?;
    let before = Magnitudes::of(&a, &b, None);
    let before = before.and_then(|magnitudes| a_priori(target.model(), target.step(), k, &magnitudes));
    let scale_a = product.scales.as_ref().map(|scales| &scales.a);
    let scale_b = product.scales.as_ref().map(|scales| &scales.b);
    let operands = Operands { a: &product.a, b: &product.b, c: None, scale_a, scale_b };
    let mut most = At { before: before.map(|bound| bound.total().to_f64()), ..At::default() };
    for (error, bound) in elements(target, &operands, &GemmOptions::default())? {
        if bound.is_finite() {
            most.error = most.error.max(error.abs());
            most.bound = most.bound.max(bound);
            most.share = most.share.max(if bound > 0.0 { error.abs() / bound } else { 0.0 });
        }
    }
    Ok(most)
}

/// FP8 instructions, and the elements of K after which the sum is moved to FP32.
const FP8: [(Architecture, &str, Option<usize>); 5] = [
    (Architecture::Ada, "mma.m16n8k32.f32.e4m3.e4m3.f32", None),
    (Architecture::Hopper, "wgmma.m64n8k32.f32.e4m3.e4m3", None),
    (Architecture::Hopper, "wgmma.m64n8k32.f32.e4m3.e4m3", Some(PROMOTED)),
    (Architecture::RtxBlackwell, "mma.m16n8k32.kind::f8f6f4.f32.e4m3.e4m3.f32", None),
    (Architecture::Cdna3, "v_mfma_f32_32x32x16_fp8_fp8", None),
];
const PROMOTED: usize = 128;
/// Which of them the words are about.
const HOPPER: usize = 1;
const HOPPER_PROMOTED: usize = 2;
const BLACKWELL: usize = 3;

/// FP8 sums along K: relative errors of sums of positive numbers.
pub(super) fn fp8(options: &Options, progress: &dyn Progress) -> Result<(Finding, Table, Figure), Error> {
    let side = options.effort.of(8, 32);
    let longest = 1_usize << options.effort.of(12, 14);
    let mut table = Table::new(
        "fp8-along-k",
        "FP8 along K",
        format!(
            "{side}×{side} elements of D, A and B uniform between 0 and 1: no sum cancels, so that every relative error says something. \
             A longer K has the elements of a shorter one and more."
        ),
        ["instruction", "FP32 sum every", "K", "largest relative error", "mean relative error"],
    );
    let (mut series, mut exact, mut at_longest, mut kept) = (vec![], vec![], vec![], 0);
    for (index, (architecture, name, promote_every)) in FP8.into_iter().enumerate() {
        progress.step("FP8 along K", index as u64, FP8.len() as u64)?;
        let target = Target::instruction(architecture, name, options.revision)?;
        let [a, b] = [target.model().a, target.model().b];
        let draw = Draw {
            factors: Distribution::Uniform { scale: 1.0 },
            accumulator: None,
            size: (side, side, longest),
        };
        let drawn = draw.product([a, b, F32], options.seed, 0)?;
        let whole = Product { a: magnitudes(&drawn.a, a)?, b: magnitudes(&drawn.b, b)?, ..drawn };
        let mut points = vec![];
        let mut k = 128;
        while k <= longest {
            let product = first(&whole, k)?;
            let d = product.gemm(&target, &GemmOptions { promote_every, ..GemmOptions::default() })?;
            let zero = Matrix::zeros(F32, (1, side, side))?;
            let sizes = errors(&product.a, &product.b, None, &zero)?;
            let found = errors(&product.a, &product.b, None, &d)?;
            let relative: Vec<f64> =
                found.iter().zip(&sizes).map(|(error, size)| (error / size).abs()).collect();
            let largest = relative.iter().copied().fold(0.0, f64::max);
            let mean = relative.iter().sum::<f64>() / relative.len() as f64;
            table.row(cells![format!("{architecture} {name}"), promote_every, k, largest, mean]);
            points.push((k as f64, largest));
            k *= 2;
        }
        let mut legend = legend(&target, "FP8", options.revision);
        if let Some(every) = promote_every {
            legend += &format!(", FP32 sum every {every}");
        }
        if index == HOPPER {
            kept = target.model().operation.number::<u64>(Parameter::FractionBits).unwrap_or(0);
        }
        if points.iter().any(|point| point.1 == 0.0) {
            exact.push(legend.clone());
        }
        at_longest.push(points.last().map_or(0.0, |point| point.1));
        series.push(Series::new(legend, Mark::Line, points));
    }
    let percent = |index: usize| short(100.0 * at_longest[index]);
    let finding = Finding {
        headline: format!(
            "FP8 sums on Hopper are wrong by up to {} % at K\u{a0}=\u{a0}{longest}",
            percent(HOPPER)
        ),
        text: format!(
            "Hopper keeps {kept} fraction bits of each sum. Moving it to FP32 every {PROMOTED} elements of K brings the largest error down \
             to {} %; Blackwell's is {} %.",
            percent(HOPPER_PROMOTED),
            percent(BLACKWELL)
        ),
    };
    let figure = Figure {
        name: "fp8-along-k".to_owned(),
        title: "FP8 along K: the largest relative error".to_owned(),
        text: format!(
            "Of {} elements of D, A and B E4M3 numbers uniform between 0 and 1.{}",
            side * side,
            missing(&exact)
        ),
        x: Axis::new("K, elements", Scale::Log2),
        y: Axis::new("|D − exact result| / exact result", Scale::Log10),
        series,
    };
    Ok((finding, table, figure))
}

/// The same numbers without their signs.
fn magnitudes(matrix: &Matrix, format: Format) -> Result<Matrix, Error> {
    let sign = 1_u64 << (format.bits() - 1);
    Ok(Matrix::single(format, matrix.rows(), matrix.columns(), matrix.iter().map(|code| code & !sign))?)
}
