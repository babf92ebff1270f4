//! What helps, measured.

use bitmma_engine::Architecture::{Cdna2, Cdna3, Hopper, RtxBlackwell};
use bitmma_engine::gemm::Target;

use super::options::Options;
use crate::cells;
use crate::data::{Distribution, Draw};
use crate::error::Error;
use crate::section::Content;
use crate::table::{Table, short};
use crate::workaround::{Attempt, attempts};
use bitmma_engine::Progress;

pub(super) fn section(options: &Options, progress: &dyn Progress) -> Result<Content, Error> {
    let size = options.effort.of(32, 128);
    let k = options.effort.of(512, 4096);
    let (mut tables, mut measured) = (Vec::new(), Vec::new());
    match &options.data {
        Some(data) => {
            let heading = format!("{}: {}", data.name, data.product.about);
            let found = attempts(&data.target, data.architecture, &data.product, options.revision)?;
            let text = if data.given { "On the data that was given." } else { "On random data." };
            tables.push(table("workarounds-own", &heading, text, &found));
            measured.push(words(&data.name, &found));
        }
        None => {
            let examples = [
                (Hopper, "wgmma.m64n8k32.f32.e4m3.e4m3", Distribution::STANDARD, "small F and ρ = RZ-E8M13"),
                (RtxBlackwell, "mma.m16n8k16.f16.f16.f16.f16", Distribution::STANDARD, "FP16 output"),
                (Cdna3, "v_mfma_f32_32x32x8_f16", Distribution::normal(10.0), "asymmetry"),
                (Cdna2, "v_mfma_f32_32x32x8f16", Distribution::normal(3e-5), "input FTZ, on small numbers"),
            ];
            for (index, (architecture, name, factors, risk)) in examples.into_iter().enumerate() {
                progress.step("workarounds", index as u64, examples.len() as u64)?;
                let target = Target::instruction(architecture, name, options.revision)?;
                let model = target.model();
                let draw = Draw { factors, accumulator: None, size: (size, size, k) };
                let product = draw.product([model.a, model.b, model.c], options.seed, 0)?;
                let found = attempts(&target, Some(architecture), &product, options.revision)?;
                let text = format!("The risk: {risk}. A, B ~ {}.", product.about);
                measured.push(words(&format!("{architecture} {name}"), &found));
                tables.push(table(
                    &format!("workarounds-{architecture}"),
                    &format!("{architecture} {name}"),
                    &text,
                    &found,
                ));
            }
        }
    }
    let mut text = vec![
            "The paper names: FP32 output instead of FP16, the FP16 instruction for FP8 data, a newer architecture, C = 0 with the \
             accumulation outside. Libraries also promote every N elements, and scale. Each is measured here against the \
             exact product of the same data; the mean tells a bias, the last column how many times smaller the root mean square \
             becomes."
                .to_owned(),
    ];
    text.extend(measured);
    Ok(Content { text, tables, ..Content::default() })
}

/// A mean that is fewer of its sampling errors from zero shows no bias.
const SIGNIFICANT: f64 = 3.0;

/// What the numbers say: whether the mean tells a bias, and what makes the error smaller or larger.
fn words(name: &str, found: &[Attempt]) -> String {
    let Some((first, others)) = found.split_first() else { return String::new() };
    let bias = match first.errors.mean.abs() / first.errors.mean_error {
        apart if apart > SIGNIFICANT => format!("{} sampling errors from zero, a bias", short(apart)),
        apart if apart.is_finite() => {
            format!("{} sampling errors from zero, no bias that shows", short(apart))
        }
        _ => "without a sampling error".to_owned(),
    };
    let rms = |one: &Attempt| one.errors.root_mean_square();
    let list = |wanted: &dyn Fn(f64) -> bool| {
        let of = |one: &&Attempt| wanted(rms(one) / rms(first));
        let told = |one: &Attempt| format!("{} ({} times)", one.name, short(rms(one) / rms(first)));
        let all: Vec<String> = others.iter().filter(of).map(told).collect();
        if all.is_empty() { "nothing".to_owned() } else { all.join("; ") }
    };
    format!(
        "{name}, as it is: the mean error is {bias}. A smaller rms error with: {}. No smaller one with: {}.",
        list(&|ratio| ratio < 1.0),
        list(&|ratio| ratio >= 1.0 || ratio.is_nan())
    )
}

fn table(name: &str, title: &str, text: &str, found: &[Attempt]) -> Table {
    let mut table = Table::new(
        name,
        title,
        text,
        "how | instruction | mean error | its sampling error | mean square error | \
         largest | not finite | rms, times smaller"
            .split(" | "),
    );
    let first = found.first().map_or(f64::NAN, |first| first.errors.root_mean_square());
    for attempt in found {
        let summary = &attempt.errors;
        table.row(cells![
            attempt.name.as_str(),
            attempt.instruction.as_str(),
            summary.mean,
            summary.mean_error,
            summary.mean_square,
            summary.largest,
            summary.not_finite,
            first / summary.root_mean_square(),
        ]);
    }
    table
}
