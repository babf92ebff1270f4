//! Step 3: single features, each asked directly.
//!
//! What is read here is what a person would read off the answers; the hypotheses take the same answers
//! into account, and the report shows both.

use bitmma::Signature;
use bitmma::formats::{Class, Format, Overflow, Real, Rounding, decode, encode};
use bitmma::inputs::{Case, Formats};

use crate::error::Error;
use crate::inputs::{Kind, directed};
use crate::numbers::{all_exponents, normal_exponents, power};
use crate::order::{Asked, terms};
use crate::session::Session;

/// A question with its answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Observation {
    /// What was asked, in words.
    pub asked: String,
    /// The dot product.
    pub case: Case,
    /// The code of D.
    pub answer: u64,
}

/// A feature as it was observed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Feature {
    /// Which.
    pub name: &'static str,
    /// What the answers say.
    pub value: String,
    /// The answers.
    pub observations: Vec<Observation>,
}

/// Fractional bits that are looked for at most.
const DEEPEST: i32 = 64;
/// Cases that are asked negated too.
const MIRRORED: u64 = 12;

/// Every feature that can be asked of these formats.
pub(crate) fn observe(session: &mut Session<'_>) -> Result<(Vec<Feature>, Asked), Error> {
    let signature = session.signature();
    let mut observer = Observer { session, signature, features: Vec::new(), asked: Vec::new() };
    observer.precision()?;
    observer.rounding()?;
    observer.zeros()?;
    observer.specials()?;
    observer.small_numbers()?;
    observer.overflow()?;
    observer.scales()?;
    observer.symmetry()?;
    Ok((observer.features, observer.asked))
}

struct Observer<'s, 'u> {
    session: &'s mut Session<'u>,
    signature: &'u Signature,
    features: Vec<Feature>,
    asked: Asked,
}

impl Observer<'_, '_> {
    fn ask(&mut self, questions: Vec<(String, Case)>) -> Result<Vec<Observation>, Error> {
        let (words, cases): (Vec<String>, Vec<Case>) = questions.into_iter().unzip();
        let answers = self.session.dots("features", &cases)?;
        self.asked.extend(cases.iter().cloned().zip(answers.iter().copied()));
        let all = words.into_iter().zip(cases).zip(answers);
        Ok(all.map(|((asked, case), answer)| Observation { asked, case, answer }).collect())
    }

    fn note(&mut self, name: &'static str, value: impl Into<String>, observations: Vec<Observation>) {
        self.features.push(Feature { name, value: value.into(), observations });
    }

    /// The largest power of two to add to, below every limit.
    fn large(&self) -> i32 {
        let (a, b) = (normal_exponents(&self.signature.a), normal_exponents(&self.signature.b));
        let (c, d) = (normal_exponents(&self.signature.c), normal_exponents(&self.signature.d));
        (a.1 + b.1).min(c.1).min(d.1) - 2
    }

    fn smallest_product(&self) -> i32 {
        normal_exponents(&self.signature.a).0 + normal_exponents(&self.signature.b).0
    }

    fn value_is(&self, code: u64, negative: bool, exponent: i32) -> bool {
        code == power(&self.signature.d, negative, exponent)
    }

    /// U - U + small, ever smaller, in several places of the sum.
    fn precision(&mut self) -> Result<(), Error> {
        let (k, large) = (self.signature.k, self.large());
        let lowest = self.smallest_product().max(self.signature.d.min_exponent());
        let places: Vec<(&'static str, String, [usize; 3])> = [
            ("precision of products", "p0 = U, p1 = -U, p2".to_owned(), [0, 1, 2]),
            ("precision of products across the sum", format!("p0 = U, p{} = -U, p1", k - 1), [0, k - 1, 1]),
            ("precision beside the accumulator", "c = U, p0 = -U, p1".to_owned(), [k, 0, 1]),
            ("precision of the accumulator", "p0 = U, p1 = -U, c".to_owned(), [0, 1, k]),
        ]
        .into_iter()
        .filter(|(.., [first, second, small])| {
            k > *first.min(second).max(&1) - 1
                && first != second
                && second != small
                && small != first
                && k > 1
        })
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
    fn rounding(&mut self) -> Result<(), Error> {
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

    fn zeros(&mut self) -> Result<(), Error> {
        let (k, d) = (self.signature.k, self.signature.d);
        let signs = |negative_products: bool, negative_c: bool| {
            let mut case = terms(self.signature, |_| None);
            if negative_products && self.signature.a.has_negative_zero() {
                case.a.fill(self.signature.a.sign_bit());
            }
            if negative_products
                && !self.signature.a.has_negative_zero()
                && self.signature.b.has_negative_zero()
            {
                case.b.fill(self.signature.b.sign_bit());
            }
            if negative_products {
                // the other factor is one: the product is -0
                let ones = |codes: &mut Vec<u64>, format: &Format| codes.fill(format.one_code());
                if self.signature.a.has_negative_zero() {
                    ones(&mut case.b, &self.signature.b);
                } else {
                    ones(&mut case.a, &self.signature.a);
                }
            }
            if negative_c {
                case.c = self.signature.c.sign_bit();
            }
            case
        };
        let one = 0.clamp(self.smallest_product(), self.large());
        let cancel = terms(self.signature, |leaf| match leaf {
            _ if leaf == k => Some((true, one)),
            0 => Some((false, one)),
            _ => None,
        });
        let observations = self.ask(vec![
            ("all products -0, c = -0".to_owned(), signs(true, true)),
            ("all products +0, c = -0".to_owned(), signs(false, true)),
            ("all products -0, c = +0".to_owned(), signs(true, false)),
            ("c = -x, p0 = x".to_owned(), cancel),
        ])?;
        let texts: Vec<String> = observations.iter().map(|one| zero_text(&d, one.answer)).collect();
        let value =
            format!("-0-0 = {}, +0-0 = {}, -0+0 = {}, x-x = {}", texts[0], texts[1], texts[2], texts[3]);
        self.note("signs of zero", value, observations);
        Ok(())
    }

    fn specials(&mut self) -> Result<(), Error> {
        let Signature { a, b, c, d, k, .. } = *self.signature;
        let with = |change: &dyn Fn(&mut Case)| {
            let mut case = terms(self.signature, |leaf| (leaf == k).then_some((false, 0)));
            change(&mut case);
            case
        };
        let mut questions = Vec::new();
        if let Some(infinity) = c.infinity_code() {
            questions.push(("c = inf".to_owned(), with(&|case| case.c = infinity)));
            questions.push(("c = -inf".to_owned(), with(&|case| case.c = infinity | c.sign_bit())));
            if let Some(other) = a.infinity_code() {
                let product = |case: &mut Case, negative: bool| {
                    case.a[0] = other | if negative { a.sign_bit() } else { 0 };
                    case.b[0] = b.one_code();
                };
                questions.push(("p0 = inf".to_owned(), with(&|case| product(case, false))));
                questions.push((
                    "p0 = -inf, c = inf".to_owned(),
                    with(&|case| {
                        product(case, true);
                        case.c = infinity;
                    }),
                ));
                questions.push(("p0 = inf · 0".to_owned(), with(&|case| case.a[0] = other)));
            }
        }
        for (name, format, which) in [("a0", a, 0), ("b0", b, 1), ("c", c, 2)] {
            if let Some(nan) = format.nan_code() {
                questions.push((
                    format!("{name} = NaN"),
                    with(&|case| match which {
                        0 => case.a[0] = nan,
                        1 => case.b[0] = nan,
                        _ => case.c = nan,
                    }),
                ));
            }
        }
        if let (Some(nan), Some(infinity)) = (c.nan_code(), c.infinity_code()) {
            questions.push(("c = -NaN".to_owned(), with(&|case| case.c = nan | c.sign_bit())));
            questions.push((
                "c = signalling NaN".to_owned(),
                with(&|case| case.c = infinity | (1 << c.padding_bits)),
            ));
        }
        let observations = self.ask(questions)?;
        let mut nans: Vec<u64> = observations
            .iter()
            .map(|one| one.answer)
            .filter(|&code| decode(&d, code).class == Class::Nan)
            .collect();
        nans.sort_unstable();
        nans.dedup();
        let value = observations
            .iter()
            .map(|one| {
                let text = match decode(&d, one.answer).class {
                    Class::Nan => "NaN",
                    Class::Infinity if decode(&d, one.answer).negative => "-inf",
                    Class::Infinity => "inf",
                    _ => "a number",
                };
                format!("{}: {text}", one.asked)
            })
            .collect::<Vec<_>>()
            .join(", ");
        self.note("infinity and NaN", value, observations.clone());
        let digits = d.hex_digits();
        let value = match nans.as_slice() {
            [] => "no NaN was seen".to_owned(),
            [one] => format!("0x{one:0digits$x}, whatever it comes from"),
            several => format!(
                "several: {}",
                several.iter().map(|code| format!("0x{code:0digits$x}")).collect::<Vec<_>>().join(", ")
            ),
        };
        self.note("code of NaN", value, Vec::new());
        Ok(())
    }

    fn small_numbers(&mut self) -> Result<(), Error> {
        let Signature { a, b, c, d, k, .. } = *self.signature;
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
        let value = observations
            .iter()
            .map(|one| {
                let text = if decode(&d, one.answer).class == Class::Zero { "zero" } else { "not zero" };
                format!("{}: {text}", one.asked)
            })
            .collect::<Vec<_>>()
            .join("; ");
        self.note("subnormal inputs", value, observations);

        let (lowest, highest) = (self.smallest_product(), self.large());
        let subnormal = d.min_exponent() - 1;
        if lowest <= subnormal && subnormal <= highest && subnormal >= all_exponents(&d).0 {
            let product =
                |negative| terms(self.signature, move |leaf| (leaf == 0).then_some((negative, subnormal)));
            let observations = self.ask(vec![
                ("p0 subnormal in D".to_owned(), product(false)),
                ("-p0 subnormal in D".to_owned(), product(true)),
            ])?;
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
            let product =
                |negative| terms(self.signature, move |leaf| (leaf == 0).then_some((negative, below)));
            let observations = self.ask(vec![
                ("p0 an eighth of the smallest number".to_owned(), product(false)),
                ("the same, negative".to_owned(), product(true)),
            ])?;
            let value =
                observations.iter().map(|one| zero_text(&d, one.answer)).collect::<Vec<_>>().join(" and ");
            self.note("results too small", value, observations);
        }
        let _ = k;
        Ok(())
    }

    fn overflow(&mut self) -> Result<(), Error> {
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

    fn scales(&mut self) -> Result<(), Error> {
        let Some(scale) = self.signature.scale else { return Ok(()) };
        let d = self.signature.d;
        let mut questions = Vec::new();
        let one = terms(self.signature, |leaf| (leaf == 0).then_some((false, 0)));
        let zero = terms(self.signature, |_| None);
        if let Some(nan) = scale.format.nan_code() {
            for (name, base) in [("a product of one", &one), ("every product zero", &zero)] {
                let mut case = base.clone();
                case.scale_a[0] = nan;
                questions.push((format!("{name}, its scale factor NaN"), case));
            }
        }
        let (low, high) = normal_exponents(&scale.format);
        for exponent in [low.max(-8), high.min(8)] {
            let mut case = one.clone();
            case.scale_a[0] = power(&scale.format, false, exponent);
            questions.push((format!("a product of one, its scale factor 2^{exponent}"), case));
        }
        if scale.format.subnormals {
            let mut case = one.clone();
            case.scale_a[0] = 0;
            questions.push(("a product of one, its scale factor zero".to_owned(), case));
        }
        let observations = self.ask(questions)?;
        let value = observations
            .iter()
            .map(|one| format!("{}: {}", one.asked, bitmma::formats::text::display(&d, one.answer)))
            .collect::<Vec<_>>()
            .join("; ");
        self.note("scale factors", value, observations);
        Ok(())
    }

    /// The same with every sign turned.
    fn symmetry(&mut self) -> Result<(), Error> {
        let Signature { a, c, d, k, .. } = *self.signature;
        let formats = Formats::from(self.signature);
        let mut questions = Vec::new();
        for index in 0..MIRRORED {
            let case = directed(&formats, k, Kind::Dense, 0x51, index);
            let mut mirrored = case.clone();
            mirrored.a.iter_mut().for_each(|code| *code ^= a.sign_bit());
            mirrored.c ^= c.sign_bit();
            questions.push(("a sum".to_owned(), case));
            questions.push(("the same with every sign turned".to_owned(), mirrored));
        }
        let observations = self.ask(questions)?;
        let is_zero = |code: u64| decode(&d, code).class == Class::Zero;
        let turned = |pair: &[Observation]| {
            let (one, other) = (pair[0].answer, pair[1].answer);
            one ^ d.sign_bit() == other
                || (is_zero(one) && is_zero(other))
                || decode(&d, one).class == Class::Nan
        };
        let odd: Vec<Observation> = observations
            .chunks(2)
            .find(|pair| !turned(pair))
            .map(<[Observation]>::to_vec)
            .unwrap_or_default();
        let value = if odd.is_empty() {
            format!("symmetric: turning every sign turned the sign of D in {MIRRORED} sums")
        } else {
            "not symmetric: turning every sign changes the magnitude of D".to_owned()
        };
        self.note("symmetry", value, odd);
        Ok(())
    }
}

fn zero_text(format: &Format, code: u64) -> String {
    match decode(format, code) {
        value if value.class != Class::Zero => bitmma::formats::text::display(format, code),
        value if value.negative => "-0".to_owned(),
        _ => "+0".to_owned(),
    }
}
