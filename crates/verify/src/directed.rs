//! Cases that aim at one feature each, for any formats and any K.
//!
//! Random numbers seldom meet a sum that is exactly zero, a tie, or the exponent a zero term brings along.
//! These cases do, and they are made of the formats alone: what an instruction does with them is not asked.

mod sketch;

use std::collections::HashSet;

use bitmma_engine::formats::{Format, Overflow, Real, Rounding, cases::notable_codes, encode};
use bitmma_engine::{Case, Error, MmaUnit, Signature};

use crate::asking;
use crate::inputs::Formats;
use sketch::Sketch;

/// What a case aims at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Feature {
    /// Signs of zeros that are added, multiplied, cancelled.
    SignedZeros,
    /// The exponent that zero products bring into the largest (e_zero), seen beside a small C or product.
    ZeroExponent,
    /// Sums at and beyond the largest number; products beyond it that cancel.
    Overflow,
    /// NaN codes, infinities, zero times infinity, and what of them is lost beside large numbers.
    Specials,
    /// Subnormal inputs and results, and results just below the smallest normal number.
    Flushing,
    /// A large term and a small one, every distance and many places: precision, order, rounding.
    Alignment,
    /// Ties and their neighbors in the last sum, among them that of the MI300X (semantics.md, rule 11).
    Ties,
    /// Every notable code of every operand.
    Notable,
    /// Scale factors: limits, NaN, zero.
    Scales,
}

impl Feature {
    /// Every feature.
    pub const ALL: [Feature; 9] = [
        Feature::SignedZeros,
        Feature::ZeroExponent,
        Feature::Overflow,
        Feature::Specials,
        Feature::Flushing,
        Feature::Alignment,
        Feature::Ties,
        Feature::Notable,
        Feature::Scales,
    ];

    /// Its name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Feature::SignedZeros => "signed zeros",
            Feature::ZeroExponent => "zero exponent",
            Feature::Overflow => "overflow",
            Feature::Specials => "NaN and infinity",
            Feature::Flushing => "flushing",
            Feature::Alignment => "alignment",
            Feature::Ties => "ties",
            Feature::Notable => "notable codes",
            Feature::Scales => "scale factors",
        }
    }
}

/// Every directed case for a unit, each once, in a fixed order.
///
/// A case is kept as the few operands that are not zero, and written out when it is asked for: thousands of cases
/// take little memory at any K.
#[derive(Clone, Debug)]
pub struct Directed {
    formats: Formats,
    k: usize,
    cases: Vec<(Feature, Sketch)>,
}

impl Directed {
    /// Those for the unit.
    pub fn of(signature: &Signature) -> Directed {
        let (formats, k) = (Formats::from(signature), signature.k);
        let mut all = Collector { formats, d: signature.d, k, cases: Vec::new() };
        all.signed_zeros();
        all.zero_exponent();
        all.cut_by_zeros();
        all.overflow();
        all.specials();
        all.flushing();
        all.alignment();
        all.ties();
        all.notable();
        all.scales();
        let mut seen = HashSet::new();
        all.cases.retain(|(_, sketch)| seen.insert(sketch.clone()));
        Directed { formats, k, cases: all.cases }
    }

    /// How many.
    pub fn len(&self) -> usize {
        self.cases.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.cases.is_empty()
    }

    /// What case `index` aims at; `None` beyond the last.
    pub fn feature(&self, index: usize) -> Option<Feature> {
        self.cases.get(index).map(|(feature, _)| *feature)
    }

    /// Case `index`, written out.
    ///
    /// # Panics
    ///
    /// If `index` is not below [`Directed::len`].
    pub fn case(&self, index: usize) -> Case {
        self.cases[index].1.case(&self.formats, self.k)
    }

    /// Every case, written out one after the other.
    pub fn iter(&self) -> impl Iterator<Item = (Feature, Case)> + '_ {
        self.cases.iter().map(|(feature, sketch)| (*feature, sketch.case(&self.formats, self.k)))
    }

    /// The unit's result for each case.
    pub fn ask(&self, unit: &dyn MmaUnit) -> Result<Vec<u64>, Error> {
        let mut answers = Vec::with_capacity(self.len());
        let mut each = |_: &[Case], some| -> Result<(), Error> {
            answers.extend::<Vec<u64>>(some);
            Ok(())
        };
        asking::ask(unit, self.len() as u64, |index| self.case(index as usize), &mut each)?;
        Ok(answers)
    }
}

/// (-1)^negative · significand · 2^exponent in `format`; `None` if the format does not have that number.
fn exactly(format: &Format, negative: bool, significand: u64, exponent: i32) -> Option<u64> {
    let real = Real { negative, significand: significand.into(), exponent, inexact: false };
    let rounded = |rounding| encode(format, real, rounding, Overflow::Saturate);
    let code = rounded(Rounding::Down);
    (code == rounded(Rounding::Up) && holds(format, significand, exponent)).then_some(code)
}

/// Whether significand · 2^exponent lies between the smallest and the largest number of the format.
fn holds(format: &Format, significand: u64, exponent: i32) -> bool {
    let leading = exponent + significand.ilog2() as i32;
    let lowest = format.min_exponent() - if format.subnormals { format.fraction_bits as i32 } else { 0 };
    let trailing = exponent + significand.trailing_zeros() as i32;
    leading <= format.max_exponent() && trailing >= lowest
}

/// The largest number that may be written with `bits` ones in front: 1.11…1 · 2^exponent.
fn ones(format: &Format, negative: bool, exponent: i32, bits: u32) -> Option<u64> {
    exactly(format, negative, (1 << (bits + 1)) - 1, exponent - bits as i32)
}

struct Collector {
    formats: Formats,
    d: Format,
    k: usize,
    cases: Vec<(Feature, Sketch)>,
}

impl Collector {
    fn negative_zero(format: &Format) -> Option<u64> {
        format.has_negative_zero().then_some(format.sign_bit())
    }

    /// Codes whose product is (-1)^negative · significand · 2^exponent, the exponent split evenly.
    fn factors(&self, negative: bool, significand: u64, exponent: i32) -> Option<(u64, u64)> {
        let Formats { a, b, .. } = self.formats;
        let half = exponent.div_euclid(2);
        (0..400).find_map(|distance: i32| {
            let of_b = half + if distance % 2 == 0 { distance / 2 } else { -distance.div_euclid(2) - 1 };
            let (x, y) = (exactly(&a, negative, significand, exponent - of_b), exactly(&b, false, 1, of_b));
            x.zip(y)
        })
    }

    /// A case with these products, as many as K takes, and C; nothing if one of them has no codes.
    fn add(&mut self, feature: Feature, products: &[(usize, Option<(u64, u64)>)], c: Option<u64>) {
        let Some(c) = c else { return };
        let mut sketch = Sketch::zeros(c);
        for (index, factors) in products {
            let (Some(factors), true) = (factors, *index < self.k) else { return };
            sketch.product(*index, *factors);
        }
        self.cases.push((feature, sketch));
    }

    fn signed_zeros(&mut self) {
        let Formats { a, b, c, .. } = self.formats;
        let zeros = |format: &Format| -> Vec<u64> {
            [Some(0), Self::negative_zero(format)].into_iter().flatten().collect()
        };
        let one = exactly(&b, false, 1, 0);
        let minus = exactly(&b, true, 1, 0);
        for c in zeros(&c) {
            for x in zeros(&a) {
                for y in zeros(&b).into_iter().chain(one).chain(minus) {
                    let mut all = Sketch::alike(self.k, (x, y), c);
                    self.cases.push((Feature::SignedZeros, all.clone()));
                    self.add(Feature::SignedZeros, &[(0, Some((x, y)))], Some(c));
                    all.product(self.k - 1, (0, 0));
                    self.cases.push((Feature::SignedZeros, all));
                }
            }
            // what cancels: two products, in one order and the other
            for (first, second) in [(false, true), (true, false)] {
                for at in [1, self.k / 2, self.k - 1] {
                    let products = [(0, self.factors(first, 3, 0)), (at, self.factors(second, 3, 0))];
                    if at > 0 {
                        self.add(Feature::SignedZeros, &products, Some(c));
                    }
                }
            }
        }
        for negative in [false, true] {
            let product = self.factors(negative, 1, 0);
            self.add(Feature::SignedZeros, &[(0, product)], exactly(&self.formats.c, !negative, 1, 0));
        }
    }

    /// Exponents about the smallest of D, and further below where products reach there.
    fn low_exponents(&self) -> std::ops::RangeInclusive<i32> {
        let lowest = self.d.min_exponent() - self.d.fraction_bits as i32;
        lowest - 14..=self.d.min_exponent() + 34
    }

    fn zero_exponent(&mut self) {
        let c = self.formats.c;
        for exponent in self.low_exponents() {
            for negative in [false, true] {
                for bits in [0, 1, 5, c.fraction_bits] {
                    let one = ones(&c, negative, exponent, bits);
                    self.add(Feature::ZeroExponent, &[], one);
                    // a product of zero that is not +0 times +0
                    let (zero, other) =
                        (Self::negative_zero(&self.formats.a), exactly(&self.formats.b, false, 1, 0));
                    self.add(Feature::ZeroExponent, &[(self.k - 1, zero.zip(other))], one);
                }
                for significand in [1, 3, (2 << self.formats.a.fraction_bits) - 1] {
                    let product = self.factors(negative, significand, exponent - significand.ilog2() as i32);
                    for c in [Some(0), Self::negative_zero(&c), exactly(&c, negative, 1, exponent + 20)] {
                        self.add(Feature::ZeroExponent, &[(0, product)], c);
                        self.add(Feature::ZeroExponent, &[(self.k - 1, product)], c);
                    }
                }
            }
        }
    }

    /// A product at the last place of D, or at half of it, and one far below: whether the small one has a part
    /// depends on where the zeros beside them have the cut.
    fn cut_by_zeros(&mut self) {
        let last = self.d.min_exponent() - self.d.fraction_bits as i32;
        for (start, below) in
            [last, last - 1].into_iter().flat_map(|start| (1..=28).map(move |at| (start, at)))
        {
            for (first, second) in [(false, false), (false, true), (true, false), (true, true)] {
                let large = self.factors(first, 1, start);
                let small = self.factors(second, 1, start - below);
                self.add(Feature::ZeroExponent, &[(0, large), (1, small)], Some(0));
                self.add(Feature::ZeroExponent, &[(self.k - 1, large), (0, small)], Some(0));
            }
        }
    }

    fn overflow(&mut self) {
        let (c, top) = (self.formats.c, self.d.max_exponent());
        let below =
            |format: &Format, steps: u64| Some(format.max_finite_code() - (steps << format.padding_bits));
        for negative in [false, true] {
            let sign = |code: u64| if negative { code | c.sign_bit() } else { code };
            for steps in 0..3 {
                for exponent in top - self.d.fraction_bits as i32 - 30..=top + 1 {
                    for significand in [1, 3] {
                        let product = self.factors(negative, significand, exponent);
                        let largest = below(&c, steps).map(sign);
                        self.add(Feature::Overflow, &[(0, product)], largest);
                        let back = self.factors(!negative, significand, exponent);
                        self.add(Feature::Overflow, &[(0, product), (self.k - 1, back)], largest);
                    }
                }
            }
            for exponent in top - 2..=2 * top + 2 {
                let (there, back) =
                    (self.factors(negative, 1, exponent), self.factors(!negative, 1, exponent));
                let infinity = c.infinity_code();
                for c in [Some(0), infinity, infinity.map(|code| code | c.sign_bit())] {
                    self.add(Feature::Overflow, &[(0, there)], c);
                    for at in [1, 2, self.k / 2, self.k - 1] {
                        if at > 0 {
                            self.add(Feature::Overflow, &[(0, there), (at, back)], c);
                            self.add(Feature::Overflow, &[(0, there), (at, there)], c);
                        }
                    }
                }
            }
        }
    }

    /// NaNs and infinities of a format.
    fn special_codes(format: &Format) -> Vec<u64> {
        notable_codes(format)
            .into_iter()
            .filter(|code| !bitmma_engine::formats::decode(format, *code).is_finite())
            .collect()
    }

    fn specials(&mut self) {
        let Formats { a, b, c, .. } = self.formats;
        let (of_a, of_b, of_c) = (Self::special_codes(&a), Self::special_codes(&b), Self::special_codes(&c));
        let mut ordinary_b = vec![0, b.one_code(), b.one_code() | b.sign_bit(), b.max_finite_code()];
        ordinary_b.extend(&of_b);
        let mut ordinary_c = vec![0, c.one_code(), c.max_finite_code(), c.max_finite_code() | c.sign_bit()];
        ordinary_c.extend(&of_c);
        for index in [0, self.k - 1] {
            for &x in &of_a {
                for &y in &ordinary_b {
                    for &z in &ordinary_c {
                        self.add(Feature::Specials, &[(index, Some((x, y)))], Some(z));
                    }
                }
            }
            for &y in &of_b {
                for x in [0, a.one_code(), a.max_finite_code() | a.sign_bit()] {
                    for z in [0, c.one_code()] {
                        self.add(Feature::Specials, &[(index, Some((x, y)))], Some(z));
                    }
                }
            }
        }
        for &z in &of_c {
            let large = Some((a.max_finite_code(), b.max_finite_code()));
            self.add(Feature::Specials, &[(0, large)], Some(z));
            self.add(Feature::Specials, &[], Some(z));
        }
        // two infinite products, near and far
        for &x in &of_a {
            for &y in &of_a {
                for at in [1, 2, self.k / 2, self.k - 1] {
                    if at > 0 {
                        let one = b.one_code();
                        self.add(Feature::Specials, &[(0, Some((x, one))), (at, Some((y, one)))], Some(0));
                    }
                }
            }
        }
    }

    fn flushing(&mut self) {
        let Formats { a, b, c, .. } = self.formats;
        let subnormal = |format: &Format| {
            let least = 1 << format.padding_bits;
            let most = format.min_normal_code() - least;
            [least, most, (most / 2) & !(least - 1), format.min_normal_code()]
        };
        for negative in [false, true] {
            for x in subnormal(&a).map(|code| if negative { code | a.sign_bit() } else { code }) {
                for y in [b.one_code(), b.max_finite_code(), 0, b.min_normal_code()] {
                    for z in [0, c.sign_bit(), c.min_normal_code(), c.one_code()] {
                        self.add(Feature::Flushing, &[(0, Some((x, y)))], Some(z));
                        self.add(Feature::Flushing, &[(self.k - 1, Some((x, y)))], Some(z));
                    }
                }
            }
            for y in subnormal(&b) {
                let x = a.one_code() | if negative { a.sign_bit() } else { 0 };
                self.add(Feature::Flushing, &[(0, Some((x, y)))], Some(0));
            }
            for z in subnormal(&c).map(|code| if negative { code | c.sign_bit() } else { code }) {
                self.add(Feature::Flushing, &[], Some(z));
                self.add(Feature::Flushing, &[(0, self.factors(!negative, 1, c.min_exponent()))], Some(z));
                self.add(Feature::Flushing, &[(0, self.factors(negative, 1, 0))], Some(z));
            }
            // from the smallest normal number down by less than its last bit
            for distance in 0..8 {
                for significand in [1, 3, 5, 7] {
                    let exponent = self.d.min_exponent() - self.d.fraction_bits as i32 + 1 - distance;
                    let small = self.factors(!negative, significand, exponent - 2);
                    let normal = self.d.min_exponent();
                    self.add(Feature::Flushing, &[(0, small)], exactly(&c, negative, 1, normal));
                    self.add(Feature::Flushing, &[(self.k - 1, small)], exactly(&c, negative, 1, normal));
                    let first = self.factors(negative, 1, normal);
                    self.add(Feature::Flushing, &[(0, first), (self.k - 1, small)], Some(0));
                }
            }
        }
    }

    fn alignment(&mut self) {
        let c = self.formats.c;
        let bits = (2 << self.formats.a.fraction_bits) - 1;
        let places: Vec<usize> =
            [1, 2, 3, 4, self.k / 2, self.k - 1].into_iter().filter(|at| *at > 0).collect();
        for distance in 0..=44 {
            for (first, second) in [(false, false), (false, true), (true, false), (true, true)] {
                for exponent in [0, 6] {
                    let large = self.factors(first, 1, exponent);
                    let small = self.factors(second, 1, exponent - distance);
                    let rough = self.factors(second, bits, exponent - distance);
                    for &at in &places {
                        self.add(Feature::Alignment, &[(0, large), (at, small)], Some(0));
                        self.add(Feature::Alignment, &[(at, large), (0, rough)], Some(0));
                    }
                    self.add(Feature::Alignment, &[(0, small)], exactly(&c, first, 1, exponent));
                    self.add(Feature::Alignment, &[(self.k - 1, rough)], exactly(&c, first, 1, exponent));
                    self.add(Feature::Alignment, &[(0, large)], exactly(&c, second, 1, exponent - distance));
                    self.add(
                        Feature::Alignment,
                        &[(0, large)],
                        ones(&c, second, exponent - distance, c.fraction_bits),
                    );
                    // what a third term makes of what is left
                    let third = self.factors(!first, 1, exponent);
                    self.add(Feature::Alignment, &[(0, large), (1, third), (self.k - 1, small)], Some(0));
                    self.add(Feature::Alignment, &[(0, large), (1, small)], exactly(&c, !first, 1, exponent));
                }
            }
        }
    }

    fn ties(&mut self) {
        let c = self.formats.c;
        let last = -(self.d.fraction_bits as i32);
        for negative in [false, true] {
            for opposite in [false, true] {
                for low in 0..4 {
                    for exponent in last - 3..=last + 1 {
                        for further in [0, 1, 4, 8, 12] {
                            let start = exactly(
                                &c,
                                negative,
                                (1 << c.fraction_bits) + low,
                                -(c.fraction_bits as i32),
                            );
                            let half = self.factors(negative != opposite, 1, exponent);
                            let more = self.factors(negative, 1, exponent - further);
                            let less = self.factors(!negative, 1, exponent - further);
                            self.add(Feature::Ties, &[(0, half)], start);
                            self.add(Feature::Ties, &[(0, half), (1, more)], start);
                            self.add(Feature::Ties, &[(0, half), (1, less)], start);
                        }
                    }
                }
            }
            // rule 11: (10, 2^-7) · (1, 1) + 0x1.fffff8p24, and all about it
            for down in 0..=20 {
                for ten in [5, 10, 20, 3] {
                    for cut in [1, 2, 3, 4] {
                        let bits = c.fraction_bits.saturating_sub(cut);
                        let start = ones(&c, negative, c.fraction_bits as i32 + 1, bits);
                        let large = self.factors(negative, ten, 0);
                        for at in [1, 2] {
                            let small = self.factors(negative, 1, -down);
                            self.add(Feature::Ties, &[(0, large), (at, small)], start);
                            let small = self.factors(!negative, 1, -down);
                            self.add(Feature::Ties, &[(0, large), (at, small)], start);
                        }
                    }
                }
            }
        }
    }

    fn notable(&mut self) {
        let Formats { a, b, c, .. } = self.formats;
        for x in notable_codes(&a) {
            for z in [0, c.one_code()] {
                self.add(Feature::Notable, &[(0, Some((x, b.one_code())))], Some(z));
                self.add(Feature::Notable, &[(self.k - 1, Some((x, b.max_finite_code())))], Some(z));
            }
        }
        for y in notable_codes(&b) {
            self.add(Feature::Notable, &[(0, Some((a.one_code(), y)))], Some(0));
            self.add(
                Feature::Notable,
                &[(self.k - 1, Some((a.max_finite_code() | a.sign_bit(), y)))],
                Some(0),
            );
        }
        for z in notable_codes(&c) {
            self.add(Feature::Notable, &[], Some(z));
            self.add(Feature::Notable, &[(0, Some((a.one_code(), b.one_code())))], Some(z));
        }
    }

    fn scales(&mut self) {
        let Some(scale) = self.formats.scale else { return };
        let Formats { a, b, c, .. } = self.formats;
        let codes = notable_codes(&scale.format);
        for &x in &codes {
            for &y in codes.iter().step_by(3).chain([&scale.format.one_code()]) {
                for (a, b, z) in [(a.one_code(), b.one_code(), 0), (0, b.one_code(), c.one_code())] {
                    let one = scale.format.one_code();
                    let mut case = Sketch::zeros(z);
                    case.product(0, (a, b));
                    let mut other = case.clone();
                    case.factors(0, (x, y), one);
                    self.cases.push((Feature::Scales, case));
                    // the last block, where there is another
                    other.product(self.k - 1, (a, b));
                    other.factors(self.k / scale.size - 1, (x, y), one);
                    self.cases.push((Feature::Scales, other));
                }
            }
        }
    }
}
