//! Inputs on which two models part, constructed from where the models themselves cut, tie and end.
//!
//! Two models that differ in one parameter give different sums only if something falls off in one of them and not in
//! the other, and different answers only if what falls off decides a rounding. So an input is built from the result
//! down: a largest term, a last place or half of one below it, and a tail at a place where one of the models cuts. The
//! same few places decide whatever the parameter: [`Landmarks`] collects them from all models that are to be told
//! apart, [`Landmarks::case`] draws inputs from them. Where the sums of two models differ and their answers do not,
//! [`separating`] moves the sums to where the last rounding shows it.

mod draw;
mod expose;
#[cfg(test)]
mod tests;

use bitmma_engine::arithmetic::{Lowering, Prepared};
use bitmma_engine::{Case, Model};
use bitmma_verify::inputs::Formats;

use crate::numbers::{Random, all_exponents, normal_exponents};
use draw::Draw;
use expose::Pair;

/// An input on which two models part: constructed inputs, `tries` of them, and each that the models sum up differently
/// moved to where that shows.
pub(crate) fn separating(
    formats: &Formats,
    k: usize,
    models: [&Model; 2],
    (seed, tries): (u64, u64),
) -> Option<Case> {
    let marks = Landmarks::of(formats, k, models.into_iter());
    let pair = Pair::new(formats, k, models)?;
    (0..tries).find_map(|index| {
        let case = marks.case(seed, index);
        pair.expose(&mut Random::new(seed ^ 0xe4_905e, index), case, MOVES)
    })
}

/// Times that an input is changed to show a difference.
const MOVES: usize = 2;

/// Places on the axis of exponents where something changes in one of several models.
#[derive(Clone, Debug)]
pub(crate) struct Landmarks<'m> {
    formats: Formats,
    k: usize,
    /// Exponents of products, scale factors included.
    products: (i32, i32),
    /// One of the models.
    model: Option<Prepared<'m>>,
    /// Exponents that zero terms bring.
    zeros: Vec<i32>,
    /// Bits kept below the largest exponent, of terms and of sums.
    widths: Vec<i32>,
    /// Formats that sums are rounded into: the exponent of the smallest normal number, and fractional bits.
    results: Vec<(i32, i32)>,
    /// Exponents from which products or results are infinite.
    limits: Vec<i32>,
    /// What the models differ in, beside these places.
    differ: Differ,
}

/// Whether models differ in something that other inputs show than those at landmarks.
#[derive(Clone, Copy, Debug, Default)]
struct Differ {
    /// How small numbers of A and B are read.
    operands: bool,
    /// How small numbers of C are read.
    accumulator: bool,
    /// How sums are rounded.
    conversion: bool,
}

impl<'m> Landmarks<'m> {
    /// Those of all the models.
    pub(crate) fn of(formats: &Formats, k: usize, models: impl Iterator<Item = &'m Model>) -> Landmarks<'m> {
        let (a, b) = (all_exponents(&formats.a), all_exponents(&formats.b));
        let scale = formats.scale.map_or((0, 0), |scale| normal_exponents(&scale.format));
        let mut marks = Landmarks {
            formats: *formats,
            k,
            products: (a.0 + b.0 + 2 * scale.0, a.1 + b.1 + 2 * scale.1),
            model: None,
            zeros: Vec::new(),
            widths: Vec::new(),
            results: Vec::new(),
            limits: Vec::new(),
            differ: Differ::default(),
        };
        for model in models {
            marks.add(model);
        }
        for numbers in [&mut marks.zeros, &mut marks.widths, &mut marks.limits] {
            numbers.sort_unstable();
            numbers.dedup();
        }
        marks.results.sort_unstable();
        marks.results.dedup();
        marks
    }

    fn add(&mut self, model: &'m Model) {
        match &self.model {
            None => self.model = Prepared::new(model, self.k).ok(),
            Some(first) => {
                let (one, other) = (&first.model().lowering, &model.lowering);
                self.differ.operands |= one.widen_operands != other.widen_operands
                    || first.model().flush_operands != model.flush_operands;
                self.differ.accumulator |= one.widen_accumulator != other.widen_accumulator
                    || first.model().flush_accumulator != model.flush_accumulator;
                self.differ.conversion |= first.model().conversion != model.conversion;
            }
        }
        if let Some(sum) = model.operation.fused() {
            self.zeros.extend(sum.zero_exponent);
            self.widths.extend([sum.fraction_bits, sum.accumulator_bits()].map(|bits| bits as i32));
        } else if let Some(sum) = model.operation.rounded() {
            let widths = [sum.fraction_bits, sum.sum_fraction_bits + u32::from(sum.renormalize)];
            self.zeros.extend(sum.zero_accumulator_exponent);
            self.widths.extend(widths.map(|bits| bits as i32));
            self.limits.extend(sum.product_overflow);
        } else if model.operation.family().flushes_results {
            self.zeros.push(model.conversion.format.min_exponent());
        }
        let Lowering { chains, add_accumulator_last, narrow_output, .. } = model.lowering;
        let surrounding = [chains.map(|chains| chains.merge), add_accumulator_last, narrow_output];
        let formats = surrounding.into_iter().flatten().map(|conversion| conversion.format);
        for format in formats.chain([model.conversion.format, model.d]) {
            self.results.push((format.min_exponent(), format.fraction_bits as i32));
            self.limits.push(format.max_exponent() + 1);
        }
    }

    /// Input `index` of `seed`: some products and the accumulator at places that decide, everything else zero.
    pub(crate) fn case(&self, seed: u64, index: u64) -> Case {
        let mut draw = Draw::new(self, Random::new(seed ^ 0x5e9a_7a7e, index));
        match draw.random.below(100) {
            0..8 => return draw.carries(),
            8..16 => return draw.cancelled(),
            16..22 => return draw.at_the_limit(),
            22..27 => return draw.vanishing(),
            27..30 => return draw.alone(),
            30..50 => return draw.two(),
            50..65 if self.differ.conversion => return draw.carries(),
            65..80 if self.differ.accumulator => return draw.alone(),
            _ => {}
        }
        if self.formats.scale.is_some() && draw.random.chance(35) {
            return draw.scaled();
        }
        let (lowest, bits) = draw.random.one(&self.results);
        let top = draw.top(lowest - bits);
        // the last place of the result, and half of it
        let last = top.max(lowest) - bits;
        let half = last - 1;
        let cuts: Vec<i32> = std::iter::once(top)
            .chain(self.zeros.iter().copied().filter(|&zero| zero > top))
            .flat_map(|from| self.widths.iter().map(move |width| from - width))
            .collect();
        let signs = draw.random.one(&[0, 50, 50, 100]);
        if top > half && draw.random.chance(75) {
            draw.term(top, signs);
        }
        if draw.random.chance(30) {
            let up = draw.random.between(0, 3);
            draw.term(last + up, signs);
        }
        let tail = draw.tail(&cuts, half);
        if draw.random.chance(20) {
            draw.tied_product(half, half - tail, signs);
        } else {
            if draw.random.chance(80) {
                let to = if draw.random.chance(75) { half } else { draw.tail(&cuts, half) };
                draw.term(to, signs);
            }
            if draw.random.chance(85) {
                draw.term(tail, signs);
            }
        }
        if draw.random.chance(20) {
            let tail = draw.tail(&cuts, half);
            draw.term(tail, signs);
        }
        draw.case
    }
}
