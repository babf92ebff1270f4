//! How a result is rounded: from which fraction of a last place it goes to the next number.

use bitmma_engine::Case;
use bitmma_engine::formats::{Format, Overflow, Real, Rounding, encode};

use crate::error::Error;
use crate::numbers::{normal_exponents, number, power, split};
use crate::order::terms;

use super::sums::DEEPEST;
use super::{Observation, Observer};

/// Halvings of a last place at most: 1/2^FINEST of it is told apart.
const FINEST: i32 = 11;

/// A number that D keeps, and the fractions above it.
#[derive(Clone, Copy)]
struct Start {
    negative: bool,
    /// Whether its last place is one.
    odd: bool,
}

impl Start {
    /// In units of its last place, which is `kept` places below its leading bit.
    fn units(self, kept: i32) -> i128 {
        (1 << kept) + i128::from(self.odd)
    }

    fn text(self) -> String {
        let text = if self.odd { "U + 1" } else { "U" };
        if self.negative { format!("-({text})") } else { text.to_owned() }
    }
}

/// Where results go to the next number: the largest fraction that does not, the smallest that does, in parts of a last
/// place.
struct Threshold {
    start: Start,
    stays: i128,
    goes: i128,
    /// An answer that is neither of the two numbers.
    other: Option<Observation>,
}

/// `numerator`/2^`bits` without common factors.
fn fraction(numerator: i128, bits: i32) -> String {
    let zeros = (numerator.trailing_zeros() as i32).min(bits);
    match (numerator >> zeros, bits - zeros) {
        (whole, 0) => whole.to_string(),
        (numerator, bits) => format!("{numerator}/{}", 1i128 << bits),
    }
}

impl Observer<'_, '_> {
    /// U plus one product, ever smaller: the precision of D; then plus fractions of the last place that is kept.
    pub(super) fn rounding(&mut self) -> Result<(), Error> {
        let (k, d) = (self.signature.k, self.signature.d);
        let large = self.large().min(normal_exponents(&d).1 - 2).min(60);
        let lowest = self.smallest_product();
        let sum = |down: i32| {
            terms(self.signature, |leaf| match leaf {
                _ if leaf == k => Some((false, large)),
                0 => Some((false, large - down)),
                _ => None,
            })
        };
        let deepest = (large - lowest).min(DEEPEST);
        let questions =
            (1..=deepest).map(|down| (format!("c = U = 2^{large}, p0 = U/2^{down}"), sum(down))).collect();
        let observations = self.ask(questions)?;
        let code = |units: i128, places: i32| {
            encode(&d, Real::exact(units, large - places), Rounding::TowardZero, Overflow::Infinity)
        };
        let exact = |down: i32| code((1i128 << down) + 1, down);
        let kept = observations
            .iter()
            .zip(1..)
            .take_while(|(observation, down)| {
                *down <= d.fraction_bits as i32 && observation.answer == exact(*down)
            })
            .count() as i32;
        // beyond the last place that is kept: U, or the next number
        let rounded = |answer: u64| [code(1, 0), exact(kept)].contains(&answer);
        let odd = observations.iter().skip(kept as usize).find(|one| !rounded(one.answer)).cloned();
        let value = match &odd {
            Some(odd) => self.otherwise(odd),
            _ if kept == deepest.min(d.fraction_bits as i32) && kept < d.fraction_bits as i32 => {
                format!("{kept} fractional bits or more: the formats reach no further")
            }
            _ => format!("{kept} fractional bits of {d} are kept"),
        };
        let shown = match &odd {
            Some(odd) => vec![odd.clone()],
            None => observations.into_iter().skip((kept - 1).max(0) as usize).take(2).collect(),
        };
        self.note("precision of the result", value, shown);
        if odd.is_some() || kept == 0 || kept >= deepest {
            return Ok(());
        }
        let widest = self.signature.a.fraction_bits.max(self.signature.b.fraction_bits) as i32 + 1;
        let bits = widest.min(FINEST).min(large - kept - lowest);
        if bits < 1 {
            return Ok(());
        }
        self.thresholds(large, kept, bits)
    }

    /// Halves the last place until it is known to `bits` bits where results go to the next number.
    fn thresholds(&mut self, large: i32, kept: i32, bits: i32) -> Result<(), Error> {
        let (c, d) = (self.signature.c, self.signature.d);
        let odd = [false, true].into_iter().filter(|odd| !odd || kept <= c.fraction_bits as i32);
        let mut all: Vec<Threshold> = odd
            .flat_map(|odd| [false, true].map(|negative| Start { negative, odd }))
            .map(|start| Threshold { start, stays: 0, goes: 1 << bits, other: None })
            .collect();
        let cut = Format {
            fraction_bits: kept as u32,
            padding_bits: d.fraction_bits - kept as u32 + d.padding_bits,
            ..d
        };
        let code = |start: Start, units: i128, exponent: i32, rounding| {
            let units = if start.negative { -units } else { units };
            encode(&cut, Real::exact(units, exponent), rounding, Overflow::Infinity)
        };
        let mut asked: Vec<(Start, i128, Observation)> = Vec::new();
        // both ends first, to be sure of them
        for turn in 0..=bits + 1 {
            let part = |one: &Threshold| match turn {
                0 => 0,
                1 => 1 << bits,
                _ => (one.stays + one.goes) / 2,
            };
            let parts: Vec<i128> = all.iter().map(part).collect();
            let questions = all.iter().zip(&parts).map(|(one, &part)| {
                let words = format!(
                    "{} + {} of a last place, U = 2^{large}, the last place 2^{}",
                    one.start.text(),
                    fraction(part, bits),
                    large - kept
                );
                (words, self.above(one.start, (large, kept), part, bits))
            });
            let observations = self.ask(questions.collect())?;
            for ((one, part), observation) in all.iter_mut().zip(parts).zip(observations) {
                let start = one.start;
                let number =
                    |more: i128| code(start, start.units(kept) + more, large - kept, Rounding::TowardZero);
                if observation.answer == number(1) && part > 0 {
                    one.goes = part;
                } else if observation.answer == number(0) && part < 1 << bits {
                    one.stays = part;
                } else {
                    one.other.get_or_insert_with(|| observation.clone());
                }
                asked.push((start, part, observation));
            }
        }
        let fits = |rounding: &Rounding| {
            asked.iter().all(|(start, part, observation)| {
                let units = (start.units(kept) << bits) + part;
                observation.answer == code(*start, units, large - kept - bits, *rounding)
            })
        };
        let rules: Vec<&str> =
            Rounding::ALL.iter().filter(|(rule, _)| fits(rule)).map(|(_, symbol)| *symbol).collect();
        let value = if let Some(other) = all.iter().find_map(|one| one.other.as_ref()) {
            self.otherwise(other)
        } else if rules.is_empty() {
            let between = |one: &Threshold| {
                let (stays, goes) = (fraction(one.stays, bits), fraction(one.goes, bits));
                format!("{} between {stays} and {goes} of a last place", one.start.text())
            };
            let all: Vec<String> = all.iter().map(between).collect();
            format!("no rule that has a name; to the next number from: {}", all.join("; "))
        } else {
            format!("{}, measured to 1/{} of a last place", rules.join(" or "), 1 << bits)
        };
        self.note("rounding of the result", value, asked.into_iter().map(|(.., one)| one).collect());
        Ok(())
    }

    /// A start in C, and one product that is `part`/2^`bits` of its last place.
    fn above(&self, start: Start, (large, kept): (i32, i32), part: i128, bits: i32) -> Case {
        let (a, b, c) = (self.signature.a, self.signature.b, self.signature.c);
        let mut case = terms(self.signature, |_| None);
        let last = if start.odd { 1 << (52 - kept) } else { 0 };
        case.c = number(&c, start.negative, large, last);
        if part > 0 {
            let leading = part.ilog2() as i32;
            let exponent = large - kept - bits + leading;
            let (of_a, of_b) = split(exponent, normal_exponents(&a), normal_exponents(&b));
            let significand = ((part as u64) << (52 - leading)) & ((1 << 52) - 1);
            (case.a[0], case.b[0]) = if a.fraction_bits >= b.fraction_bits {
                (number(&a, start.negative, of_a, significand), power(&b, false, of_b))
            } else {
                (power(&a, start.negative, of_a), number(&b, false, of_b, significand))
            };
        }
        case
    }
}
