//! Accuracy against cost.

use bitmma_engine::Architecture;
use bitmma_engine::arithmetic::{Conversion, Model, Operation};
use bitmma_engine::catalogue::catalogue;
use bitmma_engine::formats::{BlockScale, F16, Format, Rounding};

use super::options::Options;
use crate::cells;
use crate::data::{Distribution, Draw, Product};
use crate::describe::{chips, parameters};
use crate::design_space::{Design, Measured, adder_bits, fused, grouped, measure, on_scaled};
use crate::error::Error;
use crate::plot::{Axis, Figure, Mark, Scale, Series};
use crate::section::Content;
use crate::table::{Table, short};
use bitmma_engine::Progress;

const LENGTHS: [usize; 4] = [4, 8, 16, 32];
const BITS: [u32; 14] = [8, 10, 12, 13, 14, 16, 18, 20, 22, 23, 24, 25, 27, 30];

pub(super) fn section(options: &Options, progress: &dyn Progress) -> Result<Content, Error> {
    let largest = options.effort.of(2048, 65_536);
    let side = options.effort.of(8, 16);
    let draw = |k| Draw { factors: Distribution::STANDARD, accumulator: None, size: (side, side, k) };
    let product = match &options.data {
        Some(data) => data.product.without_accumulator(),
        None => draw(largest).product([F16, F16, bitmma_engine::formats::F32], options.seed, 0)?,
    };
    let operands = Operands {
        format: product.a.format(),
        scale: options.data.as_ref().and_then(|data| data.target.model().scale),
    };
    if product.b.format() != operands.format {
        return Err(crate::error::option(
            "B",
            product.b.format(),
            "the design space is swept where A and B have one format",
        ));
    }
    progress.step("one instruction and a GEMM", 0, 4)?;
    let brief = match &options.data {
        Some(_) => product.clone(),
        None => draw(32).product([F16, F16, bitmma_engine::formats::F32], options.seed, 1)?,
    };
    let mut designs = sweep(operands);
    let swept = designs.len();
    designs.extend(real(operands, options)?);
    let own = options.data.as_ref().map(|data| Design {
        name: data.name.clone(),
        model: crate::subject::essence(data.target.model(), data.target.step()),
    });
    designs.extend(own.clone());
    let gemm = measure(&designs, &product)?;
    let one = measure(&designs, &brief)?;
    let mut tables = vec![main_table(&designs, &one, &gemm, (&brief, &product))];
    let mut figures = vec![figure(&gemm, swept, own.is_some(), &product)];
    let placed = own.as_ref().and_then(|_| gemm.last()).map(placed);

    progress.step("rounding", 1, 4)?;
    tables.push(rounding(operands, &product)?);
    progress.step("groups", 2, 4)?;
    tables.push(groups(options)?);
    progress.step("growth along K", 3, 4)?;
    if options.data.is_none() {
        figures.push(along_k(options, &designs[swept..], largest, side)?);
    }
    let mut text: Vec<String> = placed.into_iter().collect();
    text.extend([
            "A fused sum of L products with F fractional bits, on the same data for every design. Cost: the bits of its adders, L \
             additions each 3 + F + log2(L+1) bits wide (sign, two integer bits of a product, F, carries), rounded up. Accuracy: root \
             mean square of the errors over that of the exact results."
                .to_owned(),
            "GPUs are marked with their own L, F and ρ on these data, whatever formats they take themselves. Past F = 23 or so \
             FP32 results gain nothing and can lose: what is lost then is lost by ρ = RZ, once for every L elements and always toward \
             zero, so that it adds up, while terms cut at F = 23 lose to both sides. A longer L helps more, and so does ρ = RNE (CDNA3)."
                .to_owned(),
    ]);
    Ok(Content { text, tables, figures, ..Content::default() })
}

/// Where the user's own unit is on the chart, in words.
fn placed(own: &Measured) -> String {
    let (name, relative) = (&own.design.name, short(own.relative));
    match own.adder_bits {
        Some(bits) => format!(
            "{name}: {bits} bits of adders, a relative rms error of {relative}; on the chart it is marked by its name."
        ),
        None => format!(
            "{name}: a relative rms error of {relative}. Its model, {}, has no F and so no adders of that kind: it is in the table, \
             not on the chart.",
            own.design.model.operation.name()
        ),
    }
}

/// What all designs multiply.
#[derive(Clone, Copy)]
struct Operands {
    format: Format,
    scale: Option<BlockScale>,
}

impl Operands {
    /// The model on these operands; `None` where its sum cannot take their scale factors.
    fn on(self, mut model: Model) -> Option<Model> {
        (model.a, model.b) = (self.format, self.format);
        if let Some(scale) = self.scale {
            model = on_scaled(model, scale);
        }
        model.validate().is_ok().then_some(model)
    }
}

fn sweep(operands: Operands) -> Vec<Design> {
    let one = |(length, bits)| {
        let model = fused(operands.format, length, bits, Rounding::TowardZero, Conversion::RZ_FP32);
        Some(Design { name: format!("L = {length}, F = {bits}"), model: operands.on(model)? })
    };
    LENGTHS.into_iter().flat_map(|length| BITS.map(|bits| (length, bits))).filter_map(one).collect()
}

/// The parameters of real units, on these operands.
fn real(operands: Operands, options: &Options) -> Result<Vec<Design>, Error> {
    let mut designs: Vec<(Vec<(&str, Architecture)>, Model)> = Vec::new();
    for row in catalogue().iter().filter(|row| row.is_native() && row.d == bitmma_engine::formats::F32) {
        let Some(model) = row.model(options.revision) else { continue };
        let wanted = match model.operation {
            Operation::TFdpa(_) => ["f16", "e4m3"].contains(&row.a.name) && row.a == row.b && row.c == row.d,
            Operation::TrFdpa(_) => row.a == F16 && row.k >= 8,
            _ => false,
        };
        if !wanted || model.operation.max_length() > row.k {
            continue;
        }
        let Some(own) = operands.on(crate::subject::essence(&model, row.k)) else { continue };
        let kind = if row.a.bits() == 8 { "FP8" } else { "FP16" };
        let label = (kind, row.architecture);
        // e_zero tells generations apart and no number here
        let key = |model: &Model| {
            let mut model = model.clone();
            if let Operation::TFdpa(sum) | Operation::StFdpa(sum) | Operation::GstFdpa { sum, .. } =
                &mut model.operation
            {
                sum.zero_exponent = None;
            }
            model
        };
        match designs.iter_mut().find(|(_, model)| key(model) == key(&own)) {
            Some((labels, _)) => {
                if !labels.contains(&label) {
                    labels.push(label);
                }
            }
            None => designs.push((vec![label], own)),
        }
    }
    // `Ada FP8`, `Hopper, Blackwell FP16`; FP8 is left out where FP16 has the same parameters
    let named = |labels: &[(&str, Architecture)]| {
        let kind = labels[0].0;
        let of_kind: Vec<Architecture> = labels.iter().filter(|one| one.0 == kind).map(|one| one.1).collect();
        format!("{} {kind}", chips(&of_kind))
    };
    Ok(designs.into_iter().map(|(labels, model)| Design { name: named(&labels), model }).collect())
}

fn main_table(
    designs: &[Design],
    one: &[Measured],
    gemm: &[Measured],
    (short, long): (&Product, &Product),
) -> Table {
    let (k, longer) = (short.a.columns(), long.a.columns());
    let mut table = Table::new(
        "design-space",
        "Every design",
        format!("Data: {}; and {}.", short.about, long.about),
        format!(
            "design | parameters | adder bits | relative rms, K = {k} | relative rms, K = {longer} | \
             its sampling error | mean error, K = {longer}"
        )
        .split(" | "),
    );
    for ((design, one), gemm) in designs.iter().zip(one).zip(gemm) {
        table.row(cells![
            design.name.as_str(),
            parameters(&design.model, 1 << 16),
            adder_bits(&design.model),
            one.relative,
            gemm.relative,
            gemm.relative_error,
            gemm.errors.mean,
        ]);
    }
    table
}

fn figure(gemm: &[Measured], swept: usize, own: bool, product: &Product) -> Figure {
    let (gemm, own) = gemm.split_at(gemm.len() - usize::from(own));
    let length = |one: &Measured| one.design.model.operation.max_length();
    let seen = |one: &&Measured| one.relative > 0.0 && one.adder_bits.is_some();
    let drawn = |all: &[Measured], name: String, mark| {
        let all = all.iter().filter(seen);
        let points = all.clone().filter_map(|one| Some((one.adder_bits? as f64, one.relative))).collect();
        let errors = all.map(|one| one.relative_error).collect();
        Series { errors, ..Series::new(name, mark, points) }
    };
    let mut series: Vec<Series> = gemm[..swept]
        .chunk_by(|one, next| length(one) == length(next))
        .map(|one| drawn(one, format!("sums of {} products", length(&one[0])), Mark::Line))
        .collect();
    let labels = gemm[swept..].iter().filter(seen).map(|one| one.design.name.clone()).collect();
    let real = drawn(&gemm[swept..], "GPUs".to_owned(), Mark::Points);
    series.push(Series { labels, ..real });
    if let Some(one) = own.iter().find(seen) {
        let placed = drawn(own, one.design.name.clone(), Mark::Points);
        series.push(Series { labels: vec![one.design.name.clone()], ..placed });
    }
    Figure {
        name: "design-space".to_owned(),
        title: "Accuracy against cost".to_owned(),
        text: format!(
            "{}; bars: the sampling error of {} elements of D. Down is better, left is cheaper. Along each line F grows from {} to {}. \
             Beyond F = 23 the lines turn up: more bits, and a larger error. Longer terms leave nothing to be cut from them, and what \
             ρ = RZ cuts from each sum always points toward zero, so that it adds up along K.",
            product.about,
            product.a.rows() * product.b.columns(),
            BITS[0],
            BITS[BITS.len() - 1]
        ),
        x: Axis::new("bits of the adders", Scale::Log2),
        y: Axis::new("rms error / rms of exact results", Scale::Log10),
        series,
    }
}

/// rho and the rounding of terms.
fn rounding(operands: Operands, product: &Product) -> Result<Table, Error> {
    let mut designs = Vec::new();
    for (bits, rules) in [(25, ["RZ"].as_slice()), (13, ["RZ", "RNE", "RD"].as_slice())] {
        for rule in rules {
            for rho in ["RZ-FP32", "RNE-FP32", "RZ-E8M13", "RNE-E8M13", "RZ-FP16", "RNE-FP16"] {
                let (Ok(rounding), Ok(conversion)) = (rule.parse(), rho.parse()) else { continue };
                let name = format!("F = {bits}, terms {rule}, ρ = {rho}");
                let model = operands.on(fused(operands.format, 16, bits, rounding, conversion));
                designs.extend(model.map(|model| Design { name, model }));
            }
        }
    }
    let mut table = Table::new(
        "design-rounding",
        "ρ and the rounding of terms",
        format!(
            "L = 16; {}. Rounding to nearest pays where results are short; a rule that points one way shows in the mean.",
            product.about
        ),
        ["design", "relative rms", "mean error", "its sampling error"],
    );
    for one in measure(&designs, product)? {
        table.row(cells![one.design.name, one.relative, one.errors.mean, one.errors.mean_error]);
    }
    Ok(table)
}

/// G of GST-FDPA.
fn groups(options: &Options) -> Result<Table, Error> {
    let size = (16, 16, options.effort.of(512, 4096));
    let draw = Draw { factors: Distribution::normal(2.0), accumulator: None, size };
    let product = draw.operands(&grouped(16, 35), options.seed, 0)?;
    let designs: Vec<Design> = [4, 8, 16]
        .into_iter()
        .flat_map(|group| [10, 13, 16, 20, 25, 35].map(|bits| (group, bits)))
        .map(|(group, bits)| Design { name: format!("G = {group}, F = {bits}"), model: grouped(group, bits) })
        .collect();
    let mut table = Table::new(
        "design-groups",
        "G: exact sums of groups (GST-FDPA)",
        "NVFP4 data, L = 64, blocks of 16. The larger a group, the fewer terms are aligned and cut; Blackwell has G = 16, F = 35.",
        ["design", "adder bits", "relative rms", "mean error"],
    );
    for one in measure(&designs, &product)? {
        table.row(cells![one.design.name, one.adder_bits, one.relative, one.errors.mean]);
    }
    Ok(table)
}

/// Real units on longer and longer K.
fn along_k(options: &Options, designs: &[Design], largest: usize, side: usize) -> Result<Figure, Error> {
    let mut series: Vec<Series> =
        designs.iter().map(|design| Series::new(design.name.clone(), Mark::Line, Vec::new())).collect();
    let mut k = 64;
    while k <= largest {
        let draw = Draw { factors: Distribution::STANDARD, accumulator: None, size: (side, side, k) };
        let product = draw.product([F16, F16, bitmma_engine::formats::F32], options.seed, 2)?;
        for (series, one) in series.iter_mut().zip(measure(designs, &product)?) {
            series.points.push((k as f64, one.relative));
            series.errors.push(one.relative_error);
        }
        k *= 4;
    }
    Ok(Figure {
        name: "design-along-k".to_owned(),
        title: "GPUs along K".to_owned(),
        text: format!(
            "FP16 data, {side}×{side} elements of D for each K, with the sums of each unit; bars: their sampling error. The accumulator \
             stays in the unit: truncation adds up with every instruction."
        ),
        x: Axis::new("K, elements", Scale::Log2),
        y: Axis::new("rms error / rms of exact results", Scale::Log10),
        series,
    })
}
