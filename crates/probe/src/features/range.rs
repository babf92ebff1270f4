//! Both ends of the range: subnormal numbers and overflow.

use bitmma_engine::Signature;
use bitmma_engine::formats::{Class, Format, decode};

use crate::error::Error;
use crate::numbers::{all_exponents, normal_exponents, power};
use crate::order::terms;

use super::{Observation, Observer, zero_text};

impl Observer<'_, '_> {
    pub(super) fn small_numbers(&mut self) -> Result<(), Error> {
        let Signature { a, b, c, d, .. } = *self.signature;
        let empty = terms(self.signature, |_| None);
        let mut questions = Vec::new();
        // the smallest subnormal of one factor beside the largest power of the other
        for (name, small, other, first) in [("a0", a, b, true), ("b0", b, a, false)] {
            if !small.subnormals {
                continue;
            }
            let mut case = empty.clone();
            let factor = power(&other, false, normal_exponents(&other).1);
            (case.a[0], case.b[0]) =
                if first { (small.min_positive_code(), factor) } else { (factor, small.min_positive_code()) };
            questions
                .push((format!("{name} the smallest subnormal number, times a large power of two"), case));
        }
        let mut case = empty.clone();
        case.c = c.min_positive_code();
        questions.push(("c the smallest subnormal number".to_owned(), case));
        let observations = self.ask(questions)?;
        self.note_each("subnormal inputs", observations, "; ", |one| {
            let text = if decode(&d, one.answer).class == Class::Zero { "zero" } else { "not zero" };
            format!("{}: {text}", one.asked)
        });

        let (lowest, highest) = (self.smallest_product(), self.large());
        let subnormal = d.min_exponent() - 1;
        if lowest <= subnormal && subnormal <= highest && subnormal >= all_exponents(&d).0 {
            let words = ["p0 subnormal in D", "-p0 subnormal in D"];
            let observations = self.ask_product(words, subnormal)?;
            let value = match decode(&d, observations[0].answer).class {
                Class::Zero => format!(
                    "flushed: {} and {}",
                    zero_text(&d, observations[0].answer),
                    zero_text(&d, observations[1].answer)
                ),
                _ => "kept".to_owned(),
            };
            self.note("subnormal results", value, observations);
        }
        let below = all_exponents(&d).0 - 3;
        if lowest <= below {
            let words = ["p0 an eighth of the smallest number", "the same, negative"];
            let observations = self.ask_product(words, below)?;
            self.note_each("results too small", observations, " and ", |one| zero_text(&d, one.answer));
        }
        Ok(())
    }

    /// One product of ±2^`exponent`, everything else zero.
    fn ask_product(&mut self, words: [&str; 2], exponent: i32) -> Result<Vec<Observation>, Error> {
        let product = |negative| terms(self.signature, |leaf| (leaf == 0).then_some((negative, exponent)));
        let [positive, negative] = words.map(str::to_owned);
        self.ask(vec![(positive, product(false)), (negative, product(true))])
    }

    pub(super) fn overflow(&mut self) -> Result<(), Error> {
        let Signature { a, b, c, d, k, .. } = *self.signature;
        let mut questions = Vec::new();
        for negative in [false, true] {
            let sign = |format: &Format| if negative { format.sign_bit() } else { 0 };
            let mut case = terms(self.signature, |_| None);
            case.c = c.max_finite_code() | sign(&c);
            case.a.fill(a.max_finite_code() | sign(&a));
            case.b.fill(b.max_finite_code());
            questions.push((
                format!("everything the largest finite number{}", if negative { ", negative" } else { "" }),
                case,
            ));
        }
        let observations = self.ask(questions)?;
        let text = |code: u64| match decode(&d, code) {
            value if value.class == Class::Infinity => if value.negative { "-inf" } else { "inf" }.to_owned(),
            _ if code & !d.sign_bit() == d.max_finite_code() => "the largest finite number".to_owned(),
            value if value.class == Class::Nan => "NaN".to_owned(),
            _ => "no overflow".to_owned(),
        };
        let value = format!("{} and {}", text(observations[0].answer), text(observations[1].answer));
        self.note("overflow", value, observations);
        // products beyond the result's range that cancel
        let high = normal_exponents(&a).1 + normal_exponents(&b).1;
        if high > d.max_exponent() && k >= 2 {
            let case = terms(self.signature, |leaf| match leaf {
                0 => Some((false, high)),
                1 => Some((true, high)),
                _ => None,
            });
            let observations =
                self.ask(vec![("p0 = -p1, both beyond the largest number of D".to_owned(), case)])?;
            let value = match decode(&d, observations[0].answer).class {
                Class::Nan => "a product becomes infinite by itself",
                Class::Zero => "products have no limit",
                _ => "neither infinite nor cancelled",
            };
            self.note("overflow of products", value, observations);
        }
        Ok(())
    }
}
