//! The error of a product along K: what the narrow formats of A and B cost, and what the unit's sums cost, apart.
//!
//! FP64 serves statistics only: the exact sums are in it, with errors far below those that are shown.

use std::ops::RangeInclusive;

use bitmma_analysis::data::{Distribution, matrix};
use bitmma_engine::arithmetic::Model;
use bitmma_engine::formats::{F32, F64, Format};
use bitmma_engine::gemm::{ScaleBlocks, ScaleOrder, Target};
use bitmma_engine::{GemmOptions, Matrix, gemm};
use bitmma_verify::inputs::nearest;
use serde::{Deserialize, Serialize};
use serde_json::Number;

use crate::error::{Error, LONGEST_NAME, at_most};
use crate::input::numbers;
use crate::scale::{exponent, largest, power, scale_code, value};
use crate::unit::{Asked, Unit};

/// Rows of A and columns of B: 64 dot products at each K.
const SIDE: usize = 8;
/// Elements along K, at most and at least.
const LONGEST: usize = 16384;
const SHORTEST: usize = 16;
/// Numbers of a user's own, at most.
const MOST_VALUES: usize = 1 << 18;
/// The largest number of a matrix: products of such numbers and their sums are far from the ends of FP64.
const PEAKS: RangeInclusive<f64> = 1e-140..=1e140;

/// What is drawn and how it is multiplied.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Question {
    units: Vec<Asked>,
    /// normal, uniform, outliers, softmax (A is a row after softmax, B is normal), or own
    distribution: String,
    /// The factor of the distribution; of softmax, of the numbers before it.
    #[serde(default = "one")]
    scale: f64,
    #[serde(default = "zero")]
    seed: Whole,
    /// The largest K.
    k: Whole,
    /// Elements of K after which the accumulator is added to a sum in FP32; none: never.
    #[serde(default)]
    promote: Option<Whole>,
    /// Parts that K is cut into.
    #[serde(default)]
    split: Option<Whole>,
    /// How units without scale factors get numbers into a format of 8 bits or fewer: none, tensor, block
    #[serde(default)]
    scaling: Scaling,
    /// Elements of K that share a scale, of `block`.
    #[serde(default = "block")]
    block: Whole,
    /// The numbers of `own`, as they are typed.
    #[serde(default)]
    values: String,
}

/// A number as it was asked for, of which only integers can be meant.
#[derive(Clone, Deserialize)]
struct Whole(Number);

impl Whole {
    fn read(&self, name: &str, range: RangeInclusive<u64>) -> Result<u64, Error> {
        let (given, least, most) = (&self.0, range.start(), range.end());
        self.0.as_u64().filter(|number| range.contains(number)).ok_or_else(|| {
            Error::new(format!("{name} is {given}; an integer from {least} to {most} is expected"))
        })
    }
}

/// A question's integers.
struct Sizes {
    k: usize,
    seed: u64,
    promote: Option<usize>,
    split: Option<usize>,
    block: usize,
}

/// The largest integer up to which a page's numbers are all different.
const MOST_SEEDS: u64 = (1 << 53) - 1;

impl Question {
    fn sizes(&self) -> Result<Sizes, Error> {
        let along = |name: &str, one: &Whole, least: usize| -> Result<usize, Error> {
            Ok(one.read(name, least as u64..=LONGEST as u64)? as usize)
        };
        Ok(Sizes {
            k: along("K", &self.k, SHORTEST)?,
            seed: self.seed.read("seed", 0..=MOST_SEEDS)?,
            promote: self.promote.as_ref().map(|one| along("promote", one, 1)).transpose()?,
            split: self.split.as_ref().map(|one| along("split", one, 1)).transpose()?,
            block: along("block", &self.block, 1)?,
        })
    }
}

#[derive(Clone, Copy, Default, Deserialize, PartialEq)]
#[serde(rename_all = "lowercase")]
enum Scaling {
    /// As they are; beyond the largest number, that.
    None,
    /// A power of two for A and one for B, so that the largest magnitude has the largest exponent.
    #[default]
    Tensor,
    /// An FP32 scale for each block of K, applied to the accumulator after the block.
    Block,
}

const fn one() -> f64 {
    1.0
}

fn zero() -> Whole {
    Whole(0.into())
}

fn block() -> Whole {
    Whole(128.into())
}

/// The curves.
#[derive(Serialize)]
pub(crate) struct Curves {
    ks: Vec<usize>,
    units: Vec<Curve>,
    about: String,
}

/// Of one unit; relative errors, root mean square, one for each K. None: a result is not finite.
#[derive(Default, Serialize)]
struct Curve {
    name: String,
    error: Option<String>,
    total: Vec<Option<f64>>,
    /// Of the exact product of the numbers as they are in the unit's formats.
    quantization: Vec<Option<f64>>,
    /// Of D, from that product.
    accumulation: Vec<Option<f64>>,
    /// How numbers came into the formats.
    scaling: String,
}

/// Lines along K: rows of A, or columns of B.
struct Lines {
    k: usize,
    numbers: Vec<f64>,
}

impl Lines {
    fn line(&self, line: usize) -> &[f64] {
        &self.numbers[line * self.k..(line + 1) * self.k]
    }

    fn drawn(distribution: Distribution, k: usize, seed: u64, stream: u64) -> Result<Lines, Error> {
        let drawn = matrix(F64, (SIDE, k), distribution, seed, stream)?;
        Ok(Lines { k, numbers: drawn.iter().map(f64::from_bits).collect() })
    }

    /// Softmax of each line.
    fn after_softmax(mut self) -> Lines {
        for line in self.numbers.chunks_mut(self.k) {
            let largest = line.iter().fold(f64::NEG_INFINITY, |largest, one| largest.max(*one));
            line.iter_mut().for_each(|one| *one = libm::exp(*one - largest));
            let sum: f64 = line.iter().sum();
            line.iter_mut().for_each(|one| *one /= sum);
        }
        self
    }
}

/// Lines in a format: codes, scale factors, and the numbers that they stand for.
struct Narrow {
    codes: Vec<u64>,
    scales: Vec<u64>,
    blocks: usize,
    numbers: Vec<f64>,
    /// A factor of the whole, a power of two.
    factor: f64,
}

/// A format's scale factors and the elements that share one.
#[derive(Clone, Copy)]
struct Blocks {
    format: Format,
    size: usize,
}

impl Narrow {
    fn of(lines: &Lines, format: &Format, blocks: Option<Blocks>, is_scaled: bool) -> Narrow {
        let peak = largest(&lines.numbers);
        let factor = match is_scaled && blocks.is_none() && format.bits() <= 8 && peak > 0.0 {
            true => power(exponent(peak) - format.max_exponent()),
            false => 1.0,
        };
        let Lines { k, numbers } = lines;
        let size = blocks.map_or(*k, |blocks| blocks.size);
        let count = k.div_ceil(size);
        let mut narrow = Narrow {
            codes: Vec::with_capacity(numbers.len()),
            scales: vec![],
            blocks: count,
            numbers: Vec::with_capacity(numbers.len()),
            factor,
        };
        for line in 0..numbers.len() / k {
            for block in lines.line(line).chunks(size) {
                let scale = blocks.map_or(factor, |blocks| {
                    let code = scale_code(&blocks.format, format, largest(block));
                    narrow.scales.push(code);
                    value(&blocks.format, code)
                });
                for number in block {
                    // of a format within wider words the unit reads the upper bits: it cuts
                    let code = match format.padding_bits {
                        0 => nearest(format, number / scale),
                        padding => nearest(&F32, number / scale) & (u64::MAX << padding),
                    };
                    narrow.codes.push(code);
                    narrow.numbers.push(value(format, code) * scale);
                }
            }
        }
        narrow
    }

    /// The first `until` elements of each line as rows of a matrix.
    fn codes(&self, k: usize, until: usize, transposed: bool, format: Format) -> Result<Matrix, Error> {
        part(&self.codes, k, until, transposed, format)
    }

    fn scales(&self, until: usize, transposed: bool, format: Format) -> Result<Matrix, Error> {
        part(&self.scales, self.blocks, until, transposed, format)
    }
}

fn part(
    codes: &[u64],
    along: usize,
    until: usize,
    transposed: bool,
    format: Format,
) -> Result<Matrix, Error> {
    let shape = if transposed { (1, until, SIDE) } else { (1, SIDE, until) };
    let at = |row: usize, column: usize| {
        let (line, place) = if transposed { (column, row) } else { (row, column) };
        codes[line * along + place]
    };
    let (_, rows, columns) = shape;
    let all = (0..rows).flat_map(|row| (0..columns).map(move |column| (row, column)));
    Ok(Matrix::single(format, rows, columns, all.map(|(row, column)| at(row, column)))?)
}

/// Prefix sums of the exact product at some K: SIDE × SIDE each.
fn sums(a: &[f64], b: &[f64], k: usize, ks: &[usize]) -> Vec<Vec<f64>> {
    let mut all = vec![vec![0.0; SIDE * SIDE]; ks.len()];
    for row in 0..SIDE {
        for column in 0..SIDE {
            let (x, y) = (&a[row * k..(row + 1) * k], &b[column * k..(column + 1) * k]);
            let (mut sum, mut from) = (0.0, 0);
            for (place, until) in ks.iter().enumerate() {
                for index in from..*until {
                    sum += x[index] * y[index];
                }
                from = *until;
                all[place][row * SIDE + column] = sum;
            }
        }
    }
    all
}

/// Root mean square of x - y, relative to that of `whole`.
fn relative(x: &[f64], y: &[f64], whole: &[f64]) -> Option<f64> {
    let errors: Vec<f64> = x.iter().zip(y).map(|(x, y)| x - y).collect();
    let error = root(&errors);
    if error == 0.0 {
        return Some(0.0);
    }
    let ratio = error / root(whole);
    ratio.is_finite().then_some(ratio)
}

/// The root of a sum of squares; a power of two keeps the squares within FP64.
fn root(numbers: &[f64]) -> f64 {
    let unit = power(exponent(largest(numbers)));
    numbers.iter().map(|one| (one / unit) * (one / unit)).sum::<f64>().sqrt() * unit
}

/// Every K of the curve: powers of two, and the largest.
fn ks(k: usize) -> Vec<usize> {
    let powers = (SHORTEST.trailing_zeros()..usize::BITS - 1).map(|power| 1 << power);
    let mut all: Vec<usize> = powers.take_while(|one| *one < k).collect();
    all.push(k);
    all
}

/// The curves of some units on the same numbers.
pub(crate) fn curve(question: &Question) -> Result<Curves, Error> {
    let sizes = question.sizes()?;
    let (k, seed, scale) = (sizes.k, sizes.seed, question.scale);
    at_most("distribution", &question.distribution, LONGEST_NAME)?;
    let drawn = |name: &str, stream: u64| -> Result<Lines, Error> {
        Lines::drawn(Distribution::named(name, scale)?, k, seed, stream)
    };
    let is_own = question.distribution == "own";
    let values = if is_own { numbers(&question.values)? } else { vec![] };
    let (a, b) = match question.distribution.as_str() {
        "softmax" => (drawn("normal", 0)?.after_softmax(), Lines::drawn(Distribution::STANDARD, k, seed, 1)?),
        "own" => own(&values, k)?,
        name => (drawn(name, 0)?, drawn(name, 1)?),
    };
    for (name, lines) in [("A", &a), ("B", &b)] {
        let peak = largest(&lines.numbers);
        let is_far = !PEAKS.contains(&peak);
        if is_far && (peak != 0.0 || !is_own) {
            let (least, most) = (PEAKS.start(), PEAKS.end());
            return Err(Error::new(format!(
                "the largest magnitude of {name} is {peak:e}; one from {least:e} to {most:e} is expected"
            )));
        }
    }
    let counted =
        |given: usize| format!("{given} {} of your own", if given == 1 { "number" } else { "numbers" });
    let about = match question.distribution.as_str() {
        "softmax" => format!("A: softmax of rows of {scale}·N(0,1); B: N(0,1)"),
        "own" if values.len() < 2 * SIDE * k => {
            format!("{}, again and again: A and B take {}", counted(values.len()), 2 * SIDE * k)
        }
        "own" => counted(values.len()),
        name => Distribution::named(name, scale)?.to_string(),
    };
    let ks = ks(k);
    let exact = sums(&a.numbers, &b.numbers, k, &ks);
    let units = Unit::read_all(&question.units)?;
    let curves = units.into_iter().zip(&question.units).map(|(unit, asked)| {
        unit.and_then(|unit| {
            let name = unit.name();
            of_unit(&unit, (question.scaling, &sizes), (&a, &b), &ks, &exact)
                .map_err(|error| Error::new(format!("{name}: {error}")))
        })
        .unwrap_or_else(|error| Curve {
            name: asked.unit.clone(),
            error: Some(error.to_string()),
            ..Curve::default()
        })
    });
    Ok(Curves { units: curves.collect(), ks, about })
}

fn own(values: &[f64], k: usize) -> Result<(Lines, Lines), Error> {
    if values.is_empty() || values.len() > MOST_VALUES {
        let given = values.len();
        return Err(Error::new(format!("{given} numbers were given; 1 to {MOST_VALUES} are expected")));
    }
    if let Some(place) = values.iter().position(|one| one.is_nan() || one.abs() >= 1e30) {
        return Err(Error::new(format!(
            "number {place} is {}; magnitudes below 1e30 are expected",
            values[place]
        )));
    }
    let lines = |from: usize| Lines {
        k,
        numbers: (0..SIDE * k).map(|index| values[(from + index) % values.len()]).collect(),
    };
    Ok((lines(0), lines(SIDE * k)))
}

fn of_unit(
    unit: &Unit,
    (scaling, sizes): (Scaling, &Sizes),
    (a, b): (&Lines, &Lines),
    ks: &[usize],
    exact: &[Vec<f64>],
) -> Result<Curve, Error> {
    let model: &Model = &unit.model;
    if model.is_integer() {
        return Err(Error::new("it multiplies integers; the curve is of floating-point units"));
    }
    if model.d == F64 {
        return Err(Error::new(
            "it adds in FP64, as the curve's exact sums do; the curve is of narrower units",
        ));
    }
    let Sizes { k, block, promote, split, .. } = *sizes;
    let target = Target::of_model(unit.for_length(unit.step + 1), Some(unit.step))?;
    let is_narrow = model.a.bits() <= 8 && model.b.bits() <= 8;
    let own = model.scale.map(|scale| Blocks { format: scale.format, size: scale.size });
    let is_block = own.is_none() && scaling == Scaling::Block && is_narrow;
    if is_block && !block.is_multiple_of(unit.step) {
        return Err(Error::new(format!(
            "blocks of {block} elements were asked for; multiples of its K = {} up to {LONGEST} are possible",
            unit.step
        )));
    }
    if let (true, Some(every)) = (is_block, promote) {
        return Err(Error::new(format!(
            "promotion every {every} and scales of blocks were asked for: after each block the accumulator is added to FP32 anyway; turn one of them off"
        )));
    }
    let blocks = own.or(is_block.then_some(Blocks { format: F32, size: block }));
    let is_scaled = scaling != Scaling::None;
    let (x, y) = (Narrow::of(a, &model.a, blocks, is_scaled), Narrow::of(b, &model.b, blocks, is_scaled));
    let narrow = sums(&x.numbers, &y.numbers, k, ks);
    let mut curve = Curve {
        name: unit.name(),
        scaling: match blocks {
            Some(Blocks { format, size }) => format!("{format} scales of {size} elements"),
            None if is_narrow && is_scaled => "a power of two for each matrix".to_owned(),
            None => "none".to_owned(),
        },
        ..Curve::default()
    };
    for (place, until) in ks.iter().enumerate() {
        bitmma_engine::threads::check();
        let scales = match blocks {
            Some(Blocks { format, size }) => {
                let along = until.div_ceil(size);
                Some((x.scales(along, false, format)?, y.scales(along, true, format)?))
            }
            None => None,
        };
        let (scale_a, scale_b) = scales.as_ref().map(|(a, b)| (a, b)).unzip();
        let options = GemmOptions {
            scale_a,
            scale_b,
            scale_blocks: is_block.then_some(ScaleBlocks {
                k: block,
                rows: 1,
                columns: 1,
                order: ScaleOrder::Product,
                fma: false,
            }),
            split_k: split.filter(|parts| *parts > 1),
            promote_every: promote,
            ..GemmOptions::default()
        };
        let (of_a, of_b) = (x.codes(k, *until, false, model.a)?, y.codes(k, *until, true, model.b)?);
        let d = gemm(&target, &of_a, &of_b, None, &options)?;
        let factor = x.factor * y.factor;
        let d: Vec<f64> = d.iter().map(|code| value(&d.format(), code) * factor).collect();
        curve.total.push(relative(&d, &exact[place], &exact[place]));
        curve.quantization.push(relative(&narrow[place], &exact[place], &exact[place]));
        curve.accumulation.push(relative(&d, &narrow[place], &exact[place]));
    }
    Ok(curve)
}
