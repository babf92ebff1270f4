//! The bias of round-down on CDNA3.

use super::options::Options;
use crate::bias::{ACCUMULATOR, FACTORS, INSTRUCTION, distributions, growth};
use crate::cells;
use crate::data::Distribution;
use crate::error::Error;
use crate::plot::{Axis, Figure, Mark, Scale, Series};
use crate::section::{Content, Finding};
use crate::statistics::{Histogram, Summary};
use crate::table::{Table, short};
use bitmma_engine::Progress;

pub(super) fn section(options: &Options, progress: &dyn Progress) -> Result<Content, Error> {
    let instructions = options.effort.of(40, 1000);
    let found = distributions(options.revision, instructions, options.seed, progress)?;
    let mut table = Table::new(
        "bias",
        "δ = D − D_real",
        format!(
            "{instructions} instructions, {} elements. A, B ~ {FACTORS}, C ~ {ACCUMULATOR}; D_real is exact. A mean several \
             sampling errors from zero is a bias.",
            found.round_down.count
        ),
        ["internal rounding", "mean", "sampling error", "mean / error", "root mean square", "largest"],
    );
    let mut row = |name: &str, summary: &Summary| {
        table.row(cells![
            name,
            summary.mean,
            summary.mean_error,
            summary.mean / summary.mean_error,
            summary.root_mean_square(),
            summary.largest
        ]);
    };
    row("RD: the instruction as it is", &found.round_down);
    row("RZ: hypothetical", &found.toward_zero);
    row("workaround: C = 0, C added outside in FP32", &found.outside);

    let bins = |name: &str, histogram: &Histogram| {
        let middle = |bin: usize| histogram.start + (bin as f64 + 0.5) * histogram.width;
        let counts = histogram.counts.iter().map(|count| *count as f64);
        let points = counts.clone().enumerate().map(|(bin, count)| (middle(bin), count)).collect();
        // each error falls into a bin or does not
        let all: f64 = counts.clone().sum();
        let errors = counts.map(|count| (count * (1.0 - count / all)).sqrt()).collect();
        Series { errors, ..Series::new(name, Mark::Steps, points) }
    };
    let figure = Figure {
        name: "bias-distributions".to_owned(),
        title: "Distributions of δ_RD and δ_RZ".to_owned(),
        text: format!(
            "The paper's figure, {} elements; bars: the sampling error of each count; the first bin and the last hold what lies beyond. δ_RZ lies evenly about zero; δ_RD is pushed to \
             the left, because a negative C far smaller than the products is rounded down by a whole unit of their last bit, and a \
             positive one to zero.",
            found.round_down.count
        ),
        x: Axis::new("δ = D − D_real", Scale::Linear),
        y: Axis::new("elements in a bin", Scale::Linear),
        series: vec![bins("δ_RD", &found.round_down_bins), bins("δ_RZ", &found.toward_zero_bins)],
    };

    let lengths: Vec<usize> = (3..=options.effort.of(9, 13)).map(|power| 1 << power).collect();
    let products = options.effort.of(2, 24);
    let mut grown = Table::new(
        "bias-growth",
        "Growth along K",
        format!(
            "{products} products of 32×32×K, A, B ~ 10·N(0,1), accumulated in C over K/8 instructions. The bias is the mean of \
             δ_RD − δ_RZ, element by element: what rounding toward zero does to both, and what varies far more than the bias, \
             falls out. The workaround starts every instruction from C = 0 and adds outside in FP32."
        ),
        "K | mean δ_RD | mean δ_RZ | bias | its sampling error | mean with workaround | \
         its sampling error | rms δ_RD | rms with workaround"
            .split(" | "),
    );
    let rows =
        growth(options.revision, Distribution::normal(10.0), &lengths, products, options.seed, progress)?;
    for row in &rows {
        grown.row(cells![
            row.k,
            row.round_down.mean,
            row.toward_zero.mean,
            row.bias.mean,
            row.bias.mean_error,
            row.outside.mean,
            row.outside.mean_error,
            row.round_down.root_mean_square(),
            row.outside.root_mean_square()
        ]);
    }
    let points = rows.iter().map(|row| (row.k as f64, -row.bias.mean)).collect();
    let errors = rows.iter().map(|row| row.bias.mean_error).collect();
    let growing = Figure {
        name: "bias-growth".to_owned(),
        title: "The bias grows along K".to_owned(),
        text: format!(
            "Minus the mean of δ_RD − δ_RZ over {} elements for each K; bars: its sampling error. The axis is logarithmic: a bar that \
             reaches the bottom includes zero.",
            1024 * products
        ),
        x: Axis::new("K, elements", Scale::Log2),
        y: Axis::new("−bias", Scale::Log10),
        series: vec![Series { errors, ..Series::new("−bias", Mark::Line, points) }],
    };
    let text = vec![
        format!(
            "TR- and GTR-FDPA on CDNA3 round sums down. The paper's experiment with {INSTRUCTION}, as printed: the mean of δ_RD \
             is {} ± {}, that of a hypothetical instruction that rounds toward zero {} ± {}. The paper prints the picture and \
             no numbers: its δ_RD is biased toward the negative direction, its δ_RZ is symmetric; so are ours.",
            short(found.round_down.mean),
            short(found.round_down.mean_error),
            short(found.toward_zero.mean),
            short(found.toward_zero.mean_error)
        ),
        format!(
            "The workaround of the paper, C = 0 and the accumulation outside, gives a mean of {} ± {} and a root mean square {} times \
             that of the instruction as it is.",
            short(found.outside.mean),
            short(found.outside.mean_error),
            short(found.outside.root_mean_square() / found.round_down.root_mean_square())
        ),
    ];
    let finding = Finding {
        headline: "CDNA3 rounds sums down: its errors do not average out".to_owned(),
        text: format!(
            "The mean error of {INSTRUCTION} is {} ± {}; rounding toward zero would make it {} ± {}. Starting from C = 0 and adding \
             C outside makes it {} ± {}.",
            short(found.round_down.mean),
            short(found.round_down.mean_error),
            short(found.toward_zero.mean),
            short(found.toward_zero.mean_error),
            short(found.outside.mean),
            short(found.outside.mean_error)
        ),
    };
    Ok(Content { finding: Some(finding), text, tables: vec![table, grown], figures: vec![figure, growing] })
}
