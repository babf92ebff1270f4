//! Step 3: single features, each asked directly.
//!
//! What is read here is what a person would read off the answers; the hypotheses take the same answers
//! into account, and the report shows both.

mod range;
mod rounding;
mod specials;
mod sums;

use bitmma_engine::formats::{Class, Format, decode};
use bitmma_engine::{Case, Signature};
use bitmma_verify::inputs::Formats;

use crate::error::Error;
use crate::inputs::{Kind, directed};
use crate::numbers::{normal_exponents, power};
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

    /// Notes what `text` says of each of the answers.
    fn note_each(
        &mut self,
        name: &'static str,
        observations: Vec<Observation>,
        separator: &str,
        text: impl Fn(&Observation) -> String,
    ) {
        let value = observations.iter().map(text).collect::<Vec<_>>().join(separator);
        self.note(name, value, observations);
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
        self.note_each("scale factors", observations, "; ", |one| {
            format!("{}: {}", one.asked, bitmma_engine::formats::text::display(&d, one.answer))
        });
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
            one ^ d.sign_bit() == other || (is_zero(one) && is_zero(other)) || d.is_nan(one)
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
        value if value.class != Class::Zero => bitmma_engine::formats::text::display(format, code),
        value if value.negative => "-0".to_owned(),
        _ => "+0".to_owned(),
    }
}
