//! How sums are cut.

use bitmma_engine::Case;
use bitmma_engine::formats::{Class, decode, text};

use crate::error::Error;
use crate::order::terms;

use super::{Observation, Observer};

/// Fractional bits that are looked for at most.
pub(super) const DEEPEST: i32 = 64;

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
            let (value, from) = match self.kept(&observations, large) {
                Kept::First(kept) if kept == asked => {
                    (format!("exact as far as the formats reach ({} bits below U)", asked - 1), kept - 1)
                }
                Kept::First(0) => ("nothing is kept beside U".to_owned(), 0),
                Kept::First(kept) => (format!("{} fractional bits below U are kept", kept - 1), kept - 1),
                Kept::Otherwise(odd) => (self.otherwise(&observations[odd]), odd as i32),
            };
            let shown = observations.into_iter().skip(from.max(0) as usize).take(2).collect();
            self.note(name, value, shown);
        }
        Ok(())
    }
}

/// Bits that are kept below U, from what is left of ever smaller numbers.
enum Kept {
    /// The first that many are left whole, the others are lost or rounded to the last place kept.
    First(i32),
    /// Something else is left of this one: no number of bits explains it.
    Otherwise(usize),
}

impl Observer<'_, '_> {
    /// What `observations` of U - U + U/2^down, `down` from 0 on, say.
    fn kept(&self, observations: &[Observation], large: i32) -> Kept {
        let is = |at: usize, down: i32| self.value_is(observations[at].answer, false, large - down);
        let first = (0..observations.len()).take_while(|&at| is(at, at as i32)).count();
        let lost = |at: &usize| {
            let zero = decode(&self.signature.d, observations[*at].answer).class == Class::Zero;
            zero || (first > 0 && is(*at, first as i32 - 1))
        };
        match (first..observations.len()).find(|at| !lost(at)) {
            Some(odd) => Kept::Otherwise(odd),
            None => Kept::First(first as i32),
        }
    }

    /// That an answer is none that a number of bits explains.
    pub(super) fn otherwise(&self, observation: &Observation) -> String {
        let answer = text::display_hex_float(&self.signature.d, observation.answer);
        format!("no number of bits explains it: {} gives {answer}", observation.asked)
    }
}
