//! Inputs on which two models part, constructed from where the models themselves cut, tie and end.
//!
//! Two models that differ in one parameter give different sums only if something falls off in one of them and not in
//! the other, and different answers only if what falls off decides a rounding. So an input is built from the result
//! down: a largest term, a last place or half of one below it, and a tail at a place where one of the models cuts. The
//! same few places decide whatever the parameter: [`Landmarks`] collects them from all models that are to be told
//! apart, [`Landmarks::case`] draws inputs from them.

use bitmma::arithmetic::Prepared;
use bitmma::formats::{Class, Format, Overflow, Real, Rounding, decode, encode};
use bitmma::{Case, Model};
use bitmma_verify::inputs::{Formats, zero};

use crate::hypotheses::answer;
use crate::numbers::{Random, all_exponents, normal_exponents, number, split};

/// Places on the axis of exponents where something changes in one of several models.
#[derive(Clone, Debug)]
pub(crate) struct Landmarks {
    formats: Formats,
    k: usize,
    /// One of the models.
    model: Option<Model>,
    /// Exponents that zero terms bring.
    zeros: Vec<i32>,
    /// Bits kept below the largest exponent, of terms and of sums.
    widths: Vec<i32>,
    /// Formats that sums are rounded into: the exponent of the smallest normal number, and fractional bits.
    results: Vec<(i32, i32)>,
    /// Exponents from which products or results are infinite.
    limits: Vec<i32>,
}

impl Landmarks {
    /// Those of all the models.
    pub(crate) fn of<'m>(formats: &Formats, k: usize, models: impl Iterator<Item = &'m Model>) -> Landmarks {
        let mut marks = Landmarks {
            formats: *formats,
            k,
            model: None,
            zeros: Vec::new(),
            widths: Vec::new(),
            results: Vec::new(),
            limits: Vec::new(),
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

    fn add(&mut self, model: &Model) {
        self.model.get_or_insert_with(|| model.clone());
        if let Some(sum) = model.operation.fused() {
            self.zeros.extend(sum.zero_exponent);
            self.widths.push(sum.fraction_bits as i32);
        } else if let Some(sum) = model.operation.rounded() {
            let widths = [sum.fraction_bits, sum.sum_fraction_bits + u32::from(sum.renormalize)];
            self.zeros.extend(sum.zero_accumulator_exponent);
            self.widths.extend(widths.map(|bits| bits as i32));
            self.limits.extend(sum.product_overflow);
        } else if model.operation.family().flushes_results {
            self.zeros.push(model.conversion.format.min_exponent());
        }
        let surrounding = [model.lowering.add_accumulator_last, model.lowering.narrow_output];
        let formats = surrounding.into_iter().flatten().map(|conversion| conversion.format);
        for format in formats.chain([model.conversion.format, model.d]) {
            self.results.push((format.min_exponent(), format.fraction_bits as i32));
            self.limits.push(format.max_exponent() + 1);
        }
    }

    /// Input `index` of `seed`: some products and the accumulator at places that decide, everything else zero.
    pub(crate) fn case(&self, seed: u64, index: u64) -> Case {
        let mut draw = Draw::new(self, Random::new(seed ^ 0x5e9a_7a7e, index));
        if draw.random.chance(8) {
            return draw.carries();
        }
        if draw.random.chance(8) {
            return draw.cancelled();
        }
        if draw.random.chance(6) {
            return draw.at_the_limit();
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

struct Draw<'l> {
    marks: &'l Landmarks,
    random: Random,
    case: Case,
    /// Products not used yet, in the order in which they will be.
    free: Vec<usize>,
    accumulator: bool,
    /// By how much the scale factors of each block raise its products, once chosen.
    raised: Vec<Option<i32>>,
}

impl<'l> Draw<'l> {
    fn new(marks: &'l Landmarks, mut random: Random) -> Draw<'l> {
        let Landmarks { formats, k, .. } = *marks;
        let blocks = formats.scale.map_or(0, |scale| k / scale.size);
        let one = formats.scale.map_or(0, |scale| scale.format.one_code());
        let case = Case {
            a: vec![zero(&formats.a); k],
            b: vec![zero(&formats.b); k],
            c: zero(&formats.c),
            scale_a: vec![one; blocks],
            scale_b: vec![one; blocks],
        };
        // neighbours half of the time, so that short sums and groups hold several of them
        let mut free: Vec<usize> = if random.chance(50) {
            let first = random.below(k);
            (0..k).map(|step| (first + step) % k).collect()
        } else {
            (0..k).collect()
        };
        let shuffled = if random.chance(50) { k } else { k.min(4) };
        for at in 0..shuffled {
            let other = at + random.below(shuffled - at);
            free.swap(at, other);
        }
        free.reverse();
        Draw { marks, random, case, free, accumulator: false, raised: vec![None; blocks] }
    }

    /// Large fractions at one exponent, most of one sign: a sum as far above its largest term as it can come.
    fn carries(mut self) -> Case {
        let Landmarks { formats, results, .. } = self.marks;
        let (lowest, bits) = self.random.one(results);
        let top =
            if self.random.chance(30) { lowest - bits + self.random.between(0, 8) } else { self.top(lowest) };
        let others = self.random.one(&[0, 0, 10]);
        let high = |random: &mut Random| (random.bits() | (7 << 61)) >> 12;
        for _ in 0..self.marks.k {
            let (negative, down) = (self.random.chance(others), i32::from(self.random.chance(10)));
            let fractions = (high(&mut self.random), high(&mut self.random));
            self.product(top - down, negative, fractions);
        }
        let (low, highest) = all_exponents(&formats.c);
        let at = (top + self.random.between(-1, 3)).clamp(low, highest);
        let (negative, fraction) = (self.random.chance(others), high(&mut self.random));
        self.case.c = number(&formats.c, negative, at, fraction);
        if self.random.chance(50) {
            let sign =
                |format: &Format, code: u64| if format.is_signed() { code ^ format.sign_bit() } else { code };
            self.case.a.iter_mut().for_each(|code| *code = sign(&formats.a, *code));
            self.case.c = sign(&formats.c, self.case.c);
        }
        self.case
    }

    /// Products as in [`Draw::carries`] or far apart, and the accumulator what takes their sum away but for some last bits.
    fn cancelled(mut self) -> Case {
        let (marks, c) = (self.marks, self.marks.formats.c);
        let top = self.top(0);
        let reach = self.random.one(&[0, 2, 12, 30]);
        for _ in 0..=self.random.below(marks.k) {
            let down = self.random.between(0, reach);
            let (negative, fractions) = (self.random.chance(20), (self.random.bits() >> 12, self.fraction()));
            self.product(top - down, negative, fractions);
        }
        let sum = marks.model.as_ref().and_then(|model| {
            let prepared = Prepared::new(model, marks.k).ok()?;
            Some(decode(&model.d, answer(&prepared, &self.case))).zip(Some(model.d.fraction_bits as i32))
        });
        if let Some((sum, bits)) = sum
            && sum.class == Class::Finite
        {
            let real = Real {
                negative: !sum.negative && c.is_signed(),
                significand: u128::from(sum.significand),
                exponent: sum.exponent - bits,
                inexact: false,
            };
            let code = encode(&c, real, Rounding::TowardZero, Overflow::Saturate);
            let off = self.random.one(&[0, 0, 1, 2, 7]);
            let magnitude = (code & !c.sign_bit()) + off;
            self.case.c = magnitude.min(c.max_finite_code()) | (code & c.sign_bit());
        }
        self.case
    }

    /// The accumulator one of the largest numbers, and products that a rounding may add to it or take from it.
    fn at_the_limit(mut self) -> Case {
        let Formats { c, .. } = self.marks.formats;
        self.accumulator = true;
        let sign = if c.is_signed() && self.random.chance(50) { c.sign_bit() } else { 0 };
        self.case.c = (c.max_finite_code() - self.random.below(3) as u64) | sign;
        for _ in 0..=self.random.below(self.marks.k.min(6)) {
            let near = self.random.chance(50);
            let exponent = if near { c.max_exponent() - self.random.between(0, 34) } else { self.top(0) };
            let (negative, fractions) = (self.random.chance(50), (self.fraction(), self.fraction()));
            self.product(exponent, negative, fractions);
        }
        self.case
    }

    /// Blocks whose scale factors lie a cut apart, some products in each, and the accumulator near one of them.
    fn scaled(mut self) -> Case {
        let Formats { a, b, c, scale } = self.marks.formats;
        let Some(scale) = scale else { return self.case };
        let (low, high) = normal_exponents(&scale.format);
        let top =
            if self.random.chance(50) { self.random.between(2 * low, 2 * high) } else { self.top(2 * low) };
        let mut near = Vec::new();
        for block in 0..self.raised.len() {
            let down = match self.random.below(4) {
                0 => 0,
                1 => self.random.between(0, 40),
                _ if self.marks.widths.is_empty() => self.random.between(0, 8),
                _ => self.random.one(&self.marks.widths) + self.random.between(-14, 4),
            };
            let (first, second) = split(top - down, (low, high), (low, high));
            self.case.scale_a[block] = number(&scale.format, false, first, self.random.fraction());
            self.case.scale_b[block] = number(&scale.format, false, second, 0);
            self.raised[block] = Some(first + second);
            near.push(first + second);
        }
        let products = (all_exponents(&a), all_exponents(&b));
        let bottom = products.0.0 + products.1.0;
        let ceiling = products.0.1 + products.1.1;
        for _ in 0..=self.random.below(self.marks.k.min(12)) {
            let Some(&index) = self.free.last() else { break };
            let raised = near[index / scale.size];
            let exponent = raised + self.random.between(bottom, ceiling);
            let (negative, fractions) = (self.random.chance(50), (self.fraction(), self.fraction()));
            self.product(exponent, negative, fractions);
        }
        if self.random.chance(60) {
            let range = all_exponents(&c);
            let at = self.random.one(&near) + self.random.between(-30, 12);
            let (negative, fraction) = (self.random.chance(50), self.random.fraction());
            self.case.c = number(&c, negative, at.clamp(range.0, range.1), fraction);
        }
        self.case
    }

    /// The exponent of the largest term; `last` is the last place of the smallest results.
    fn top(&mut self, last: i32) -> i32 {
        let Landmarks { zeros, widths, limits, formats, .. } = self.marks;
        let width = |random: &mut Random| if widths.is_empty() { 24 } else { random.one(widths) };
        match self.random.below(8) {
            0 | 1 => last + self.random.between(-2, 10),
            2 | 3 if !zeros.is_empty() => self.random.one(zeros) - self.random.between(-1, 8),
            4 if !zeros.is_empty() => {
                let reach = width(&mut self.random) + 2;
                self.random.one(zeros) - self.random.between(0, reach)
            }
            5 if !zeros.is_empty() => {
                // the whole sum lies where it may be cut to nothing
                self.random.one(zeros) - width(&mut self.random) + self.random.between(-2, 2)
            }
            6 => self.random.one(limits) - self.random.between(0, 3),
            _ => {
                let (a, b) = (all_exponents(&formats.a), all_exponents(&formats.b));
                let (low, high) = all_exponents(&formats.c);
                let (low, high) = ((a.0 + b.0).max(low), (a.1 + b.1).min(high));
                self.random.between(low, high)
            }
        }
    }

    /// A place below the half: at a cut or between.
    fn tail(&mut self, cuts: &[i32], half: i32) -> i32 {
        let lowest = cuts.iter().min().map_or(half - 30, |cut| cut - 3);
        if cuts.is_empty() || self.random.chance(30) {
            return self.random.between(lowest.min(half - 1), half);
        }
        self.random.one(cuts) + self.random.between(-3, 1)
    }

    /// Adds a term of about ±2^`exponent`: a power of two most of the time.
    fn term(&mut self, exponent: i32, signs: usize) {
        let negative = self.random.chance(signs);
        if !self.accumulator && self.random.chance(25) {
            self.accumulator = true;
            let format = self.marks.formats.c;
            let (low, high) = all_exponents(&format);
            let fraction = self.fraction();
            self.case.c = number(&format, negative, exponent.clamp(low, high), fraction);
            return;
        }
        let fractions = (self.fraction(), self.fraction());
        self.product(exponent, negative, fractions);
    }

    fn fraction(&mut self) -> u64 {
        if self.random.chance(80) { 0 } else { self.random.fraction() }
    }

    /// One product of half a last place and a tail `below` it, or just less than half of one, as far as two factors
    /// can say so.
    fn tied_product(&mut self, half: i32, below: i32, signs: usize) {
        let bits = [self.marks.formats.a, self.marks.formats.b].map(|format: Format| format.fraction_bits);
        let ones = |bits: u32| ((1u64 << bits) - 1) << (52 - bits);
        let one = |place: i32| if (1..=52).contains(&place) { 1u64 << (52 - place) } else { 0 };
        let (first, second, half) = match self.random.below(4) {
            // (1 + 2^-below) and 2 - 2^-p
            0 => (one(below), 0, half),
            1 => (ones(bits[0]), 0, half - 1),
            // 1 - 2^-2p, and 1 + 2^-i + 2^-j + 2^-(i + j)
            2 => (one(bits[0] as i32), ones(bits[1]), half - 1),
            _ => {
                let place = self.random.between(1, bits[0] as i32);
                (one(place), one(below - place), half)
            }
        };
        let negative = self.random.chance(signs);
        self.product(half, negative, (first, second));
    }

    /// Sets a product to ±2^`exponent` · (1 + fractions), as near as the formats come.
    fn product(&mut self, exponent: i32, negative: bool, (first, second): (u64, u64)) {
        let Some(index) = self.free.pop() else { return };
        let Formats { a, b, .. } = self.marks.formats;
        let (a_range, b_range) = (all_exponents(&a), all_exponents(&b));
        let exponent = exponent - self.raise(index, exponent);
        let exponent = exponent.clamp(a_range.0 + b_range.0, a_range.1 + b_range.1);
        let share =
            self.random.between(a_range.0.max(exponent - b_range.1), a_range.1.min(exponent - b_range.0));
        let flip = self.random.chance(50);
        self.case.a[index] = number(&a, negative != flip, share, first);
        self.case.b[index] = number(&b, flip, exponent - share, second);
    }

    /// By how much scale factors raise product `index`; the first of a block chooses them so that it reaches
    /// `exponent`.
    fn raise(&mut self, index: usize, exponent: i32) -> i32 {
        let Some(scale) = self.marks.formats.scale else { return 0 };
        let block = index / scale.size;
        if let Some(raised) = self.raised[block] {
            return raised;
        }
        let Formats { a, b, .. } = self.marks.formats;
        let (a, b) = (all_exponents(&a), all_exponents(&b));
        // the largest comes first most often: leave room below it
        let (low, high) = (a.0 + b.0, a.1 + b.1);
        let own = if self.random.chance(60) {
            high - self.random.between(0, 3)
        } else {
            self.random.between(low, high)
        };
        let range = normal_exponents(&scale.format);
        let (first, second) = split(exponent - own, range, range);
        self.case.scale_a[block] = number(&scale.format, false, first, 0);
        self.case.scale_b[block] = number(&scale.format, false, second, 0);
        self.raised[block] = Some(first + second);
        first + second
    }
}
