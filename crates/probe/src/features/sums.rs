//! How sums are cut and rounded.

use bitmma::Case;
use bitmma::formats::{Format, Overflow, Real, Rounding, encode};

use crate::error::Error;
use crate::numbers::normal_exponents;
use crate::order::terms;

use super::Observer;

/// Fractional bits that are looked for at most.
const DEEPEST: i32 = 64;

impl Observer<'_, '_> {
    /// U - U + small, ever smaller, in several places of the sum.
    pub(super) fn precision(&mut self) -> Result<(), Error> {
        let (k, large) = (self.signature.k, self.large());
        let lowest = self.smallest_product().max(self.signature.d.min_exponent());
        let places: Vec<(&'static str, String, [usize; 3])> = [
            ("precision of products", "p0 = U, p1 = -U, p2".to_owned(), [0, 1, 2]),
            ("precision of products across the sum", format!("p0 = U, p{} = -U, p1", k - 1), [0, k - 1, 1]),
            ("precision beside the accumulator", "c = U, p0 = -U, p1".to_owned(), [k, 0, 1]),
            ("precision of the accumulator", "p0 = U, p1 = -U, c".to_owned(), [0, 1, k]),
        ]
        .into_iter()
        .filter(|(.., [first, second, small])| first != second && second != small && small != first)
        .filter(|(.., leaves)| leaves.iter().all(|&leaf| leaf <= k))
        .collect();
        for (name, words, [first, second, small]) in places {
            let floor = if small == k { self.signature.c.min_exponent() } else { lowest };
            let questions: Vec<(String, Case)> = (0..=DEEPEST)
                .filter(|down| large - down >= floor)
                .map(|down| {
                    let case = terms(self.signature, |leaf| match leaf {
                        _ if leaf == first => Some((false, large)),
                        _ if leaf == second => Some((true, large)),
                        _ if leaf == small => Some((false, large - down)),
                        _ => None,
                    });
                    (format!("{words} = U/2^{down}, U = 2^{large}"), case)
                })
                .collect();
            let asked = questions.len() as i32;
            let observations = self.ask(questions)?;
            let kept = observations
                .iter()
                .zip(0..)
                .take_while(|(observation, down)| self.value_is(observation.answer, false, large - down))
                .count() as i32;
            let value = match kept {
                _ if kept == asked => {
                    format!("exact as far as the formats reach ({} bits below U)", asked - 1)
                }
                0 => "nothing is kept beside U".to_owned(),
                _ => format!("{} fractional bits below U are kept", kept - 1),
            };
            let shown = observations.into_iter().skip((kept - 1).max(0) as usize).take(2).collect();
            self.note(name, value, shown);
        }
        Ok(())
    }

    /// U plus some quarters of the last place that D keeps.
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
        let wide = |down: i32| Real::exact((1i128 << down) + 1, large - down);
        let exact = |down: i32| encode(&d, wide(down), Rounding::TowardZero, Overflow::Infinity);
        let kept = observations
            .iter()
            .zip(1..)
            .take_while(|(observation, down)| {
                *down <= d.fraction_bits as i32 && observation.answer == exact(*down)
            })
            .count() as i32;
        let value = match kept {
            _ if kept == deepest.min(d.fraction_bits as i32) && kept < d.fraction_bits as i32 => {
                format!("{kept} fractional bits or more: the formats reach no further")
            }
            _ => format!("{kept} fractional bits of {d} are kept"),
        };
        let shown = observations.into_iter().skip((kept - 1).max(0) as usize).take(2).collect();
        self.note("precision of the result", value, shown);
        if kept + 2 > deepest || k < 3 || kept == 0 {
            return Ok(());
        }
        // quarters of the last place kept: halves tie, odd and even
        let quarter = large - kept - 2;
        let mut questions = Vec::new();
        let mut values = Vec::new();
        for negative in [false, true] {
            for quarters in [1, 2, 3, 5, 6, 7_i32] {
                let case = terms(self.signature, |leaf| match leaf {
                    _ if leaf == k => Some((negative, large)),
                    0..=2 if quarters >> leaf & 1 == 1 => Some((negative, quarter + leaf as i32)),
                    _ => None,
                });
                let sign = if negative { "-" } else { "" };
                questions.push((
                    format!("{sign}(U + {quarters}/4 ulp), U = 2^{large}, ulp = 2^{}", quarter + 2),
                    case,
                ));
                let units = (1i128 << (kept + 2)) + i128::from(quarters);
                values.push(Real::exact(if negative { -units } else { units }, quarter));
            }
        }
        let observations = self.ask(questions)?;
        let cut = Format {
            fraction_bits: kept as u32,
            padding_bits: d.fraction_bits - kept as u32 + d.padding_bits,
            ..d
        };
        let fits = |rounding: &Rounding| {
            observations.iter().zip(&values).all(|(observation, value)| {
                observation.answer == encode(&cut, *value, *rounding, Overflow::Infinity)
            })
        };
        let rules: Vec<&str> =
            Rounding::ALL.iter().filter(|(rule, _)| fits(rule)).map(|(_, symbol)| *symbol).collect();
        let value = if rules.is_empty() {
            "no single rule: terms are cut before the sum is rounded, or summed apart".to_owned()
        } else {
            rules.join(" or ")
        };
        self.note("rounding of the result", value, observations);
        Ok(())
    }
}
