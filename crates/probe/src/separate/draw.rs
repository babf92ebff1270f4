//! Inputs drawn from landmarks.

use bitmma_engine::Case;
use bitmma_engine::arithmetic::Prepared;
use bitmma_engine::formats::{Class, Format, Overflow, Real, Rounding, decode, encode};
use bitmma_verify::inputs::{Formats, zero};

use super::Landmarks;
use crate::hypotheses::answer;
use crate::numbers::{Random, all_exponents, normal_exponents, number, split};

/// An input in the making.
pub(super) struct Draw<'l> {
    marks: &'l Landmarks<'l>,
    pub(super) random: Random,
    pub(super) case: Case,
    /// Products not used yet, in the order in which they will be.
    free: Vec<usize>,
    accumulator: bool,
    /// Whether factors are subnormal where that is possible.
    subnormal: bool,
    /// By how much the scale factors of each block raise its products, once chosen.
    raised: Vec<Option<i32>>,
}

/// How large the terms of a sum that carries are.
#[derive(Clone, Copy)]
enum Carry {
    /// As large as their exponent allows.
    Largest,
    /// Near it, with few bits.
    Simple,
    /// Near it, with any bits.
    Any,
}

impl<'l> Draw<'l> {
    pub(super) fn new(marks: &'l Landmarks<'l>, mut random: Random) -> Draw<'l> {
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
        let (mut free, length): (Vec<usize>, usize) = match &marks.model {
            Some(model) => (model.order().to_vec(), model.length()),
            None => ((0..k).collect(), k),
        };
        // the elements of one operation first, most of the time: of the last, after which nothing is cut, or of any
        let operations = k.div_ceil(length);
        let shuffled = match random.below(8) {
            0..5 => {
                free.rotate_left((operations - 1) * length);
                length
            }
            5 | 6 => {
                free.rotate_left(random.below(operations) * length);
                length
            }
            _ => k,
        };
        for at in 0..shuffled {
            let other = at + random.below(shuffled - at);
            free.swap(at, other);
        }
        free.reverse();
        let subnormal = random.chance(if marks.differ.operands { 40 } else { 10 });
        Draw { marks, random, case, free, accumulator: false, subnormal, raised: vec![None; blocks] }
    }

    /// Large fractions at one exponent, most of one sign: a sum as far above its largest term as it can come.
    pub(super) fn carries(mut self) -> Case {
        let Landmarks { formats, results, .. } = self.marks;
        let (lowest, bits) = self.random.one(results);
        let top =
            if self.random.chance(30) { lowest - bits + self.random.between(0, 8) } else { self.top(lowest) };
        let kind = self.random.one(&[Carry::Largest, Carry::Simple, Carry::Any]);
        let (others, lower, left_out) = match kind {
            Carry::Largest => (0, self.random.one(&[0, 0, 10]), 0),
            // few bits and some products left out: the sum can be moved
            Carry::Simple => (self.random.one(&[0, 0, 10]), 10, self.random.one(&[0, 10, 20])),
            Carry::Any => (self.random.one(&[0, 0, 10]), 10, 0),
        };
        let high = |random: &mut Random| match kind {
            Carry::Largest => u64::MAX >> 12,
            Carry::Simple => random.one(&[3 << 50, 7 << 49, 1 << 51]),
            Carry::Any => (random.bits() | (7 << 61)) >> 12,
        };
        if self.random.chance(60) {
            // one operation
            let length = self.marks.model.as_ref().map_or(self.marks.k, Prepared::length);
            self.free.drain(..self.free.len() - length);
        }
        for _ in 0..self.free.len() {
            if self.random.chance(left_out) {
                self.free.pop();
                continue;
            }
            let (negative, down) = (self.random.chance(others), i32::from(self.random.chance(lower)));
            let fractions = (high(&mut self.random), high(&mut self.random));
            self.product(top - down, negative, fractions);
        }
        let at = top + self.random.one(&[-9, -1, 0, 0, 1, 3]);
        let (negative, fraction) = (self.random.chance(others), high(&mut self.random));
        self.accumulate(at, negative, fraction);
        if self.random.chance(50) {
            let sign =
                |format: &Format, code: u64| if format.is_signed() { code ^ format.sign_bit() } else { code };
            self.case.a.iter_mut().for_each(|code| *code = sign(&formats.a, *code));
            self.case.c = sign(&formats.c, self.case.c);
        }
        self.case
    }

    /// Products as in [`Draw::carries`] or far apart, and the accumulator what takes their sum away but for some last bits.
    pub(super) fn cancelled(mut self) -> Case {
        let (marks, c) = (self.marks, self.marks.formats.c);
        let top = self.top(0);
        let reach = self.random.one(&[0, 2, 12, 30]);
        for _ in 0..=self.random.below(marks.k) {
            let down = self.random.between(0, reach);
            let (negative, fractions) = (self.random.chance(20), (self.random.bits() >> 12, self.fraction()));
            self.product(top - down, negative, fractions);
        }
        let sum = marks.model.as_ref().map(|model| {
            let d = model.model().d;
            (decode(&d, answer(model, &self.case)), d)
        });
        if let Some((sum, d)) = sum
            && sum.class == Class::Finite
        {
            let real = Real { negative: !sum.negative && c.is_signed(), ..sum.real(&d) };
            let code = encode(&c, real, Rounding::TowardZero, Overflow::Saturate);
            let off = self.random.one(&[0, 0, 1, 2, 7]);
            let magnitude = (code & !c.sign_bit()) + off;
            self.case.c = magnitude.min(c.max_finite_code()) | (code & c.sign_bit());
        }
        self.case
    }

    /// The accumulator one of the largest numbers, and products that a rounding may add to it or take from it, sometimes
    /// before an infinity: only that tells an accumulator that overflowed from one that did not.
    pub(super) fn at_the_limit(mut self) -> Case {
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
        let Formats { a, b, .. } = self.marks.formats;
        if let Some(infinity) = a.infinity_code()
            && self.random.chance(25)
            && let Some(index) = self.free.pop()
        {
            self.case.a[index] = infinity | if self.random.chance(50) { a.sign_bit() } else { 0 };
            self.case.b[index] = b.one_code();
        }
        self.case
    }

    /// The accumulator and nothing else, with a tail at a cut.
    pub(super) fn alone(mut self) -> Case {
        let c = self.marks.formats.c;
        let (low, high) = all_exponents(&c);
        let lowest = c.min_exponent();
        let subnormal = self.random.chance(70);
        let at = if subnormal { lowest - self.random.between(-1, 6) } else { self.top(low).clamp(low, high) };
        let (negative, fraction) = (self.random.chance(50), self.random.bits() >> 12);
        self.case.c = number(&c, negative, at, fraction);
        let from = if subnormal { lowest } else { at };
        let width = if self.marks.widths.is_empty() { 0 } else { self.random.one(&self.marks.widths) };
        // bits of C below the cut
        let cut = from - width + self.random.one(&[0, 0, 1, -1]) - (at.max(lowest) - c.fraction_bits as i32);
        if (1..c.fraction_bits as i32).contains(&cut) {
            let (half, below) = (1u64 << (cut - 1), (1u64 << cut) - 1);
            let tail = self.random.one(&[half - 1, half, half + 1, 1, below]) & below;
            self.case.c = (self.case.c & !below) | tail;
        }
        self.case
    }

    /// One large term, a power of two most of the time, and a tail at a cut below it: the fewest terms that two models sum
    /// up differently, left to [`super::expose`] to complete.
    pub(super) fn two(mut self) -> Case {
        let Landmarks { zeros, widths, results, .. } = self.marks;
        let (lowest, bits) = self.random.one(results);
        let top = self.top(lowest - bits);
        let from = if zeros.is_empty() || self.random.chance(60) { top } else { self.random.one(zeros) };
        let width = if widths.is_empty() { bits } else { self.random.one(widths) };
        let place = from - width + self.random.one(&[0, 0, 1, -1, -1, -2]);
        let (negative, fractions) = (self.random.chance(50), (self.fraction(), 0));
        if self.random.chance(50) {
            self.accumulate(top, negative, fractions.0);
            self.accumulator = true;
        } else {
            self.product(top, negative, fractions);
        }
        let signs = if negative { 30 } else { 70 };
        self.term(place, signs);
        if self.random.chance(20) {
            let again = self.random.between(-3, 3);
            self.term(place + again, 50);
        }
        self.case
    }

    /// A product or two where a whole sum is cut to nothing, and nothing else.
    pub(super) fn vanishing(mut self) -> Case {
        let Landmarks { zeros, widths, results, .. } = self.marks;
        let (lowest, bits) = self.random.one(results);
        let width = if widths.is_empty() { bits } else { self.random.one(widths) };
        let from = if zeros.is_empty() { self.top(lowest - bits) } else { self.random.one(zeros) };
        let place = from - width + self.random.between(-2, 1);
        let signs = self.random.one(&[0, 50, 100]);
        for _ in 0..=self.random.below(2) {
            let (negative, fractions) = (self.random.chance(signs), (self.fraction(), self.fraction()));
            let down = self.random.one(&[0, 0, 1, 2]);
            self.product(place - down, negative, fractions);
        }
        self.case
    }

    /// Blocks whose scale factors lie a cut apart, some products in each, and the accumulator near one of them.
    pub(super) fn scaled(mut self) -> Case {
        let Formats { a, b, scale, .. } = self.marks.formats;
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
            let at = self.random.one(&near) + self.random.between(-30, 12);
            let (negative, fraction) = (self.random.chance(50), self.random.fraction());
            self.accumulate(at, negative, fraction);
        }
        self.case
    }

    /// The exponent of the largest term; `last` is the last place of the smallest results.
    pub(super) fn top(&mut self, last: i32) -> i32 {
        let Landmarks { zeros, widths, limits, formats, .. } = self.marks;
        let width = |random: &mut Random| if widths.is_empty() { 24 } else { random.one(widths) };
        let products = self.marks.products;
        if self.subnormal && self.random.chance(50) {
            let bits = formats.a.fraction_bits + formats.b.fraction_bits;
            let exponents = formats.a.min_exponent() + formats.b.min_exponent();
            return exponents - self.random.between(-2, bits as i32);
        }
        match self.random.below(10) {
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
            7 => {
                let (low, high) = all_exponents(&formats.c);
                self.random.between(low.max(products.0), high.min(products.1))
            }
            // a cut where products have bits
            _ => {
                let cut = self.random.between(products.0, products.1);
                (cut + width(&mut self.random)).min(all_exponents(&formats.c).1.max(products.1))
            }
        }
    }

    /// A place below the half: at a cut or between.
    pub(super) fn tail(&mut self, cuts: &[i32], half: i32) -> i32 {
        let lowest = cuts.iter().min().map_or(half - 30, |cut| cut - 3);
        if cuts.is_empty() || self.random.chance(30) {
            return self.random.between(lowest.min(half - 1), half);
        }
        self.random.one(cuts) + self.random.between(-3, 1)
    }

    /// Adds a term of about ±2^`exponent`: a power of two most of the time.
    pub(super) fn term(&mut self, exponent: i32, signs: usize) {
        let negative = self.random.chance(signs);
        let (low, high) = self.marks.products;
        if !self.accumulator && (!(low..=high).contains(&exponent) || self.random.chance(25)) {
            self.accumulator = true;
            let fraction = self.fraction();
            return self.accumulate(exponent, negative, fraction);
        }
        let fractions = (self.fraction(), self.fraction());
        self.product(exponent, negative, fractions);
    }

    /// Sets the accumulator to ±2^`exponent` · (1 + fraction), as near as its format comes.
    fn accumulate(&mut self, exponent: i32, negative: bool, fraction: u64) {
        let c = self.marks.formats.c;
        let (low, high) = all_exponents(&c);
        self.case.c = number(&c, negative, exponent.clamp(low, high), fraction);
    }

    fn fraction(&mut self) -> u64 {
        if self.random.chance(80) { 0 } else { self.random.fraction() }
    }

    /// One product that ends in half a last place and a tail `below` it, or just less than half of one; what is above that
    /// is as it comes.
    pub(super) fn tied_product(&mut self, half: i32, below: i32, signs: usize) {
        let [a, b] = [self.marks.formats.a, self.marks.formats.b].map(|format| format.fraction_bits + 1);
        let below = below.clamp(1, ((a + b) as i32 - 1).min(60)) as u32;
        let residue = (1u64 << below).wrapping_add(if self.random.chance(50) { 1 } else { u64::MAX });
        let negative = self.random.chance(signs);
        for _ in 0..24 {
            let x = (self.random.bits() % (1 << a)) | 1;
            // x·y = residue, modulo 2^(below + 1)
            let y = residue.wrapping_mul(inverse(x)) % (1 << (below + 1));
            if y < 1 << b {
                let y = y | ((self.random.bits() << (below + 1)) % (1 << b));
                let (x_top, y_top) = (x.ilog2(), y.ilog2());
                let exponent = half - below as i32 + (x_top + y_top) as i32;
                let fraction = |number: u64, top: u32| (number ^ (1 << top)) << (52 - top);
                return self.product(exponent, negative, (fraction(x, x_top), fraction(y, y_top)));
            }
        }
        self.product(half, negative, (0, 0));
    }

    /// Sets a product to ±2^`exponent` · (1 + fractions), as near as the formats come.
    fn product(&mut self, exponent: i32, negative: bool, (first, second): (u64, u64)) {
        let Some(index) = self.free.pop() else { return };
        let Formats { a, b, .. } = self.marks.formats;
        let (a_range, b_range) = (all_exponents(&a), all_exponents(&b));
        let exponent = exponent - self.raise(index, exponent);
        let exponent = exponent.clamp(a_range.0 + b_range.0, a_range.1 + b_range.1);
        let (low, high) = (a_range.0.max(exponent - b_range.1), a_range.1.min(exponent - b_range.0));
        let share = match self.subnormal {
            true if self.random.chance(50) => self.random.between(low, high.min(a.min_exponent())),
            true => self.random.between(low.max(exponent - b.min_exponent()), high),
            false => self.random.between(low, high),
        };
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

/// The inverse of an odd number modulo 2^64 (Newton: each step doubles the bits that are right, from three).
fn inverse(odd: u64) -> u64 {
    (0..5).fold(odd, |inverse, _| inverse.wrapping_mul(2u64.wrapping_sub(odd.wrapping_mul(inverse))))
}
