//! Questions: dot products made to bring out one thing or another.
//!
//! Case `index` of a seed is always the same.

use bitmma_engine::Case;
use bitmma_engine::formats::cases::notable_codes;
use bitmma_verify::inputs::{Formats, zero};

use crate::numbers::{Random, all_exponents, normal_exponents, number};

/// What kind of dot product.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Normal numbers only, no term zero: what cuts and rounds.
    Dense,
    /// One product and the accumulator, normal numbers, everything else zero: what no order changes.
    Pair,
    /// Zeros, subnormal numbers, limits, specials among them.
    Any,
}

/// Distances between exponents at which something may change: the widths of significands.
const WIDTHS: [i32; 14] = [7, 8, 10, 11, 12, 13, 14, 22, 23, 24, 25, 26, 31, 52];

/// The case `index` of `seed`.
pub(crate) fn directed(formats: &Formats, k: usize, kind: Kind, seed: u64, index: u64) -> Case {
    let mut draw = Draw { random: Random::new(seed, index), formats: *formats, k, kind };
    if kind == Kind::Pair {
        return draw.pair();
    }
    let mut case = match draw.random.below(if kind == Kind::Dense { 6 } else { 12 }) {
        0 | 1 => draw.spread(),
        2 | 3 => draw.cancelling(),
        4 => draw.tie(),
        5 => draw.moderate(),
        6 | 7 => draw.few(),
        8 => draw.bottom(),
        9 => draw.top(),
        10 => draw.specials(),
        _ => draw.zeros(),
    };
    if kind == Kind::Any && draw.random.chance(30) {
        draw.blank(&mut case);
    }
    case
}

struct Draw {
    random: Random,
    formats: Formats,
    k: usize,
    kind: Kind,
}

impl Draw {
    /// Every element zero, scale factors drawn.
    fn empty(&mut self) -> Case {
        let count = self.formats.scale.map_or(0, |scale| self.k / scale.size);
        let style = self.random.below(if self.kind == Kind::Any { 8 } else { 3 });
        let mut scales = || (0..count).map(|_| self.scale(style)).collect();
        Case {
            scale_a: scales(),
            scale_b: scales(),
            a: vec![zero(&self.formats.a); self.k],
            b: vec![zero(&self.formats.b); self.k],
            c: zero(&self.formats.c),
        }
    }

    fn scale(&mut self, style: usize) -> u64 {
        let Some(scale) = self.formats.scale else { return 0 };
        let (low, high) = normal_exponents(&scale.format);
        let exponent = match style {
            0 => 0,
            1 | 3 | 4 => self.random.between(-6, 6),
            2 | 5 => self.random.between(-25, 25),
            6 => return self.random.bits() & scale.format.max_code(),
            _ => self.random.one(&[low, high]),
        };
        if self.kind == Kind::Any && self.random.chance(3) {
            return self.random.one(&notable_codes(&scale.format));
        }
        let fraction = self.random.fraction();
        number(&scale.format, false, exponent.clamp(low, high), fraction)
    }

    fn exponents(&self) -> ((i32, i32), (i32, i32), (i32, i32)) {
        let of = if self.kind == Kind::Any { all_exponents } else { normal_exponents };
        (of(&self.formats.a), of(&self.formats.b), of(&self.formats.c))
    }

    /// Sets product `index` to one of this exponent, as near as the formats come.
    fn product(&mut self, case: &mut Case, index: usize, exponent: i32, negative: bool) {
        self.product_of(case, index, exponent, negative, |random| (random.fraction(), random.fraction()));
    }

    /// The same with a power of two.
    fn product_power(&mut self, case: &mut Case, index: usize, exponent: i32, negative: bool) {
        self.product_of(case, index, exponent, negative, |_| (0, 0));
    }

    fn product_of(
        &mut self,
        case: &mut Case,
        index: usize,
        exponent: i32,
        negative: bool,
        fractions: impl FnOnce(&mut Random) -> (u64, u64),
    ) {
        let (a, b, _) = self.exponents();
        let exponent = exponent.clamp(a.0 + b.0, a.1 + b.1);
        let first = self.random.between(a.0.max(exponent - b.1), a.1.min(exponent - b.0));
        let flip = self.random.chance(50);
        let (x, y) = fractions(&mut self.random);
        case.a[index] = number(&self.formats.a, negative != flip, first, x);
        case.b[index] = number(&self.formats.b, flip, exponent - first, y);
    }

    fn accumulator(&mut self, case: &mut Case, exponent: i32) {
        let (_, _, c) = self.exponents();
        let (negative, fraction) = (self.random.chance(50), self.random.fraction());
        case.c = number(&self.formats.c, negative, exponent.clamp(c.0, c.1), fraction);
    }

    /// An exponent that products reach, away from the ends where the range is wide.
    fn anywhere(&mut self) -> i32 {
        let (a, b, c) = self.exponents();
        let (mut low, mut high) = (a.0 + b.0, a.1 + b.1);
        if self.kind != Kind::Any || self.random.chance(60) {
            // leave room for the result
            (low, high) = (low.max(c.0 + 30), high.min(c.1 - 10));
        }
        self.random.between(low, high)
    }

    /// How far below the largest term another lies.
    fn offset(&mut self, reach: i32) -> i32 {
        match self.random.below(4) {
            0 => self.random.between(0, 4),
            1 => self.random.one(&WIDTHS) + self.random.between(-2, 3),
            _ => self.random.between(0, reach),
        }
    }

    /// One largest exponent, everything else some way below it.
    fn spread(&mut self) -> Case {
        let mut case = self.empty();
        let (top, reach) = (self.anywhere(), self.random.one(&[6, 15, 30, 45, 66]));
        for index in 0..self.k {
            let (offset, negative) = (self.offset(reach), self.random.chance(50));
            self.product(&mut case, index, top - offset, negative);
        }
        let shift = if self.random.chance(50) { -self.offset(reach) } else { self.random.between(-40, 40) };
        self.accumulator(&mut case, top + shift);
        case
    }

    /// One product, and the accumulator some way above or below it.
    fn pair(&mut self) -> Case {
        let mut case = self.empty();
        let top = self.anywhere();
        let (index, negative) = (self.random.below(self.k), self.random.chance(50));
        self.product(&mut case, index, top, negative);
        let distance = self.offset(45);
        let (a, b, c) = self.exponents();
        if self.random.chance(50) && top + distance <= c.1 {
            self.accumulator(&mut case, top + distance);
        } else if top - distance >= c.0 && self.random.chance(90) {
            self.accumulator(&mut case, top - distance);
        } else {
            // a product of many bits by itself
            let high = self.random.between((a.0 + b.0).max(c.0), (a.1 + b.1).min(c.1));
            self.product(&mut case, index, high, negative);
        }
        case
    }

    /// U - U and what is left, U being products or the accumulator.
    fn cancelling(&mut self) -> Case {
        let mut case = self.empty();
        let (top, reach) = (self.anywhere(), self.random.one(&[20, 40, 64]));
        let below = self.random.between(0, reach);
        for index in 0..self.k {
            let (jitter, negative) = (self.random.between(-2, 6), self.random.chance(50));
            self.product(&mut case, index, top - below - jitter, negative);
        }
        self.accumulator(&mut case, top - below);
        let (first, second) = (self.random.below(self.k), self.random.below(self.k));
        let negative = self.random.chance(50);
        self.product_power(&mut case, first, top, negative);
        if first == second || self.random.chance(25) {
            case.c = number(&self.formats.c, !negative, top, 0);
        } else {
            case.a[second] = case.a[first] ^ self.formats.a.sign_bit();
            case.b[second] = case.b[first];
        }
        case
    }

    /// A large term, one at about half its last place, one far below that tips the scales.
    fn tie(&mut self) -> Case {
        let mut case = self.empty();
        let top = self.anywhere();
        let half = self.random.one(&WIDTHS) + self.random.between(-1, 1);
        let tip = half + self.random.between(0, 40);
        let filler = if self.random.chance(50) { tip + self.random.between(0, 20) } else { 70 };
        for index in 0..self.k {
            let negative = self.random.chance(50);
            self.product(&mut case, index, top - filler, negative);
        }
        self.accumulator(&mut case, top - filler);
        let (first, second) = (self.random.below(self.k), self.random.below(self.k));
        if self.random.chance(50) {
            self.accumulator(&mut case, top);
        } else {
            let (negative, large) = (self.random.chance(50), self.random.below(self.k));
            self.product(&mut case, large, top, negative);
        }
        let negative = self.random.chance(50);
        self.product_power(&mut case, first, top - half, negative);
        if self.random.chance(70) {
            let negative = self.random.chance(50);
            self.product_power(&mut case, second, top - tip, negative);
        }
        case
    }

    /// Everything near one.
    fn moderate(&mut self) -> Case {
        let mut case = self.empty();
        for index in 0..self.k {
            let (exponent, negative) = (self.random.between(-4, 4), self.random.chance(50));
            self.product(&mut case, index, exponent, negative);
        }
        let exponent = self.random.between(-8, 12);
        self.accumulator(&mut case, exponent);
        case
    }

    /// One to three terms, everything else zero.
    fn few(&mut self) -> Case {
        let mut case = self.empty();
        let top = self.anywhere();
        for _ in 0..=self.random.below(3) {
            let (index, offset) = (self.random.below(self.k), self.offset(40));
            let negative = self.random.chance(50);
            self.product(&mut case, index, top - offset, negative);
        }
        if self.random.chance(60) {
            let offset = self.offset(40);
            self.accumulator(&mut case, top - offset);
        }
        case
    }

    /// The smallest numbers there are, zeros among them.
    fn bottom(&mut self) -> Case {
        let mut case = self.empty();
        let (a, b, c) = self.exponents();
        let low = if self.random.chance(50) { a.0 + b.0 } else { (a.0 + b.0).max(c.0) };
        let zeros = self.random.one(&[0, 50, 90]);
        for index in 0..self.k {
            if !self.random.chance(zeros) {
                let (up, negative) = (self.random.between(-4, 24), self.random.chance(50));
                self.product(&mut case, index, low + up, negative);
            }
        }
        if !self.random.chance(zeros) {
            let up = self.random.between(0, 30);
            self.accumulator(&mut case, c.0 + up);
        }
        case
    }

    /// The largest numbers there are.
    fn top(&mut self) -> Case {
        let mut case = self.empty();
        let (a, b, c) = self.exponents();
        let high = if self.random.chance(60) { (a.1 + b.1).min(c.1 + 2) } else { a.1 + b.1 };
        let zeros = self.random.one(&[0, 50, 90]);
        let sign = self.random.one(&[0, 50, 100]);
        for index in 0..self.k {
            if !self.random.chance(zeros) {
                let (down, negative) = (self.random.between(0, 6), self.random.chance(sign));
                self.product(&mut case, index, high - down, negative);
            }
        }
        if !self.random.chance(zeros) {
            let down = self.random.between(0, 4);
            self.accumulator(&mut case, c.1.min(high) - down);
        }
        case
    }

    /// A notable code here and there.
    fn specials(&mut self) -> Case {
        let mut case = if self.random.chance(50) { self.few() } else { self.moderate() };
        for _ in 0..=self.random.below(3) {
            let index = self.random.below(self.k);
            match self.random.below(3) {
                0 => case.a[index] = self.random.one(&notable_codes(&self.formats.a)),
                1 => case.b[index] = self.random.one(&notable_codes(&self.formats.b)),
                _ => case.c = self.random.one(&notable_codes(&self.formats.c)),
            }
        }
        case
    }

    /// Zeros of both signs, and now and then a number.
    fn zeros(&mut self) -> Case {
        let mut case = self.empty();
        let negative = self.random.one(&[0, 50, 100]);
        let Formats { a, b, c, .. } = self.formats;
        for index in 0..self.k {
            for (codes, format) in [(&mut case.a, a), (&mut case.b, b)] {
                let sign = if self.random.chance(negative) && format.has_negative_zero() {
                    format.sign_bit()
                } else {
                    0
                };
                codes[index] = if self.random.chance(50) {
                    format.one_code() | (self.random.bits() & format.sign_bit())
                } else {
                    sign
                };
            }
            if case.a[index] & !a.sign_bit() != 0 {
                case.b[index] &= if b.has_negative_zero() { b.sign_bit() } else { 0 };
            }
        }
        case.c = if self.random.chance(negative) { c.sign_bit() } else { 0 };
        case
    }

    /// Makes some products zero by one of their factors.
    fn blank(&mut self, case: &mut Case) {
        let percent = self.random.one(&[10, 50, 90]);
        for index in 0..self.k {
            if self.random.chance(percent) {
                if self.random.chance(50) { case.a[index] = 0 } else { case.b[index] = 0 }
            }
        }
        if self.random.chance(percent) {
            case.c = zero(&self.formats.c);
        }
    }
}
