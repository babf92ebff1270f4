//! What `docs/semantics.md` claims, settled one by one by a unit's answers to the directed cases.
//!
//! A claim stands against rivals: what would be returned if something else were true. A case tells where a
//! rival answers otherwise than the model; only those count.

use std::collections::{BTreeMap, BTreeSet};

use bitmma_engine::arithmetic::{Conversion, Model, Parameter, Value};
use bitmma_engine::formats::{Class, Format, Rounding, decode};
use bitmma_engine::threads::prelude::*;
use bitmma_engine::{Case, Error, MmaUnit};

use crate::directed::Directed;

/// A claim, and what the unit's results make of it.
#[derive(Clone, Debug)]
pub struct Settled {
    /// The rule of `docs/semantics.md`, or `-` for a reading of ours that has no number.
    pub rule: &'static str,
    /// What it says of this model.
    pub claim: String,
    /// Cases in which some rival answers otherwise.
    pub tell: u64,
    /// Of those, answers that are the model's.
    pub agree: u64,
    /// Answers that are a rival's and not the model's, by rival.
    pub rivals: BTreeMap<String, u64>,
    /// The rival that every result agrees with, where the model does not.
    pub instead: Option<String>,
    /// The first result that is not the model's: the case, the model's result, the unit's.
    pub first: Option<(Case, u64, u64)>,
}

/// What to make of a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finding {
    /// Every case that tells says so.
    Confirmed,
    /// A rival explains every result, the model does not.
    Contradicted,
    /// Some answers are not the model's, and no rival explains them all: something else is wrong.
    Differs,
    /// No directed case tells.
    Open,
}

impl Finding {
    /// In a word.
    pub const fn name(self) -> &'static str {
        match self {
            Finding::Confirmed => "confirmed",
            Finding::Contradicted => "contradicted",
            Finding::Differs => "differs",
            Finding::Open => "open",
        }
    }
}

impl Settled {
    /// What to make of it.
    pub fn finding(&self) -> Finding {
        match () {
            () if self.tell == 0 => Finding::Open,
            () if self.agree == self.tell => Finding::Confirmed,
            () if self.instead.is_some() => Finding::Contradicted,
            () => Finding::Differs,
        }
    }
}

/// What a rival returns for each case; `None` where it says nothing.
type Answers = Vec<Option<u64>>;

/// A claim, and what would be returned if something else were true, by what that is.
struct Claim {
    rule: &'static str,
    text: String,
    rivals: Vec<(String, Answers)>,
}

/// The directed cases, the model's results and the unit's.
struct Asked<'m> {
    model: &'m Model,
    cases: Directed,
    expected: Vec<u64>,
    answers: Vec<u64>,
}

/// The model's results.
fn simulated(model: &Model, cases: &Directed) -> Result<Vec<u64>, Error> {
    let dot = |index| Ok(model.dot(&cases.case(index).operands())?);
    (0..cases.len()).into_par_iter().map(dot).collect()
}

impl Asked<'_> {
    /// Another model as a rival.
    fn rival(&self, label: impl Into<String>, model: &Model) -> Result<(String, Answers), Error> {
        Ok((label.into(), simulated(model, &self.cases)?.into_iter().map(Some).collect()))
    }

    /// A rival that is made of the model's result, where it is of that kind.
    fn otherwise(&self, label: &str, answer: impl Fn(&Case, u64) -> Option<u64>) -> (String, Answers) {
        let cases = self.cases.iter().zip(&self.expected);
        let answers = cases.map(|((_, case), expected)| answer(&case, *expected));
        (label.to_owned(), answers.collect())
    }

    /// Whether every operand of a case is a number.
    fn is_finite(&self, case: &Case) -> bool {
        let Model { a, b, c, scale, .. } = self.model;
        let finite =
            |format: &Format, codes: &[u64]| codes.iter().all(|code| decode(format, *code).is_finite());
        finite(a, &case.a)
            && finite(b, &case.b)
            && finite(c, &[case.c])
            && scale.is_none_or(|scale| {
                finite(&scale.format, &case.scale_a) && finite(&scale.format, &case.scale_b)
            })
    }

    /// The class of a code of D.
    fn class(&self, code: u64) -> Class {
        decode(&self.model.d, code).class
    }

    /// Rule 2, where zero terms have an exponent.
    fn zero_terms(&self) -> Result<Option<Claim>, Error> {
        let Some(exponent) = self.model.operation.number::<i32>(Parameter::ZeroExponent) else {
            return Ok(None);
        };
        let rivals = [("none", None), ("one more", Some(exponent + 1)), ("one less", Some(exponent - 1))]
            .into_iter()
            .map(|(label, other)| {
                self.rival(format!("e_zero {label}"), &with_zero_exponent(self.model, other))
            })
            .collect::<Result<_, _>>()?;
        Ok(Some(Claim { rule: "2", text: format!("a zero term has exponent {exponent}"), rivals }))
    }

    /// Rule 5.
    fn signs_of_zeros(&self) -> Claim {
        let text = if self.model.operation.fused().is_some() {
            "a zero result is +0"
        } else {
            "signs of zero results"
        };
        let other = self.otherwise("the other sign", |_, code| {
            (self.class(code) == Class::Zero).then_some(code ^ self.model.d.sign_bit())
        });
        Claim { rule: "5", text: text.to_owned(), rivals: vec![other] }
    }

    /// Rule 6, where D has an infinity: where overflow leads, and where it begins.
    fn overflow(&self) -> Vec<Claim> {
        let Model { d, conversion, .. } = self.model;
        let Some(infinity) = d.infinity_code() else { return vec![] };
        let (largest, sign) = (d.max_finite_code(), d.sign_bit());
        // the model's result is `code`, of numbers alone, and the unit gave another
        let instead = |label, code, other| {
            vec![self.otherwise(label, |case, expected| {
                (expected & !sign == code && self.is_finite(case)).then_some(expected & sign | other)
            })]
        };
        vec![
            Claim {
                rule: if self.model.operation.fused().is_some() { "6" } else { "-" },
                text: format!("overflow gives infinity ({conversion})"),
                rivals: instead("the largest number", infinity, largest),
            },
            Claim {
                rule: "-",
                text: format!("the largest number does not overflow ({conversion})"),
                rivals: instead("infinity", largest, infinity),
            },
        ]
    }

    /// Rule 7, settled: whatever else the unit gives is a rival, but that one NaN is as good as another here.
    fn specials(&self) -> Settled {
        let both_nan = |one, other| self.class(one) == Class::Nan && self.class(other) == Class::Nan;
        let pairs = self.expected.iter().zip(&self.answers);
        let alike: Vec<u64> = pairs.map(|(e, a)| if both_nan(*e, *a) { *e } else { *a }).collect();
        let otherwise =
            self.cases.iter().zip(&self.expected).zip(&alike).map(|(((_, case), expected), answer)| {
                let told = !self.is_finite(&case) && !decode(&self.model.d, *expected).is_finite();
                told.then_some(if answer == expected { expected ^ self.model.d.sign_bit() } else { *answer })
            });
        let rivals = vec![("something else".to_owned(), otherwise.collect())];
        let text = "NaN and infinity go before all alignment".to_owned();
        self.settle(Claim { rule: "7", text, rivals }, &alike)
    }

    /// Rule 9: every other code is a rival, those that the unit gives.
    fn nan_code(&self) -> Claim {
        let code = self.model.emitted_nan().unwrap_or_default(); // not asked of integers
        let is_nan = |code: u64| self.class(code) == Class::Nan;
        let pairs = self.answers.iter().zip(&self.expected);
        let given = pairs.filter(|(answer, expected)| is_nan(**answer) && is_nan(**expected));
        let seen: BTreeSet<u64> = given.map(|(answer, _)| *answer).filter(|other| *other != code).collect();
        let rivals = seen.into_iter().chain([code ^ self.model.d.sign_bit()]).map(|other| {
            self.otherwise(&format!("{other:#x}"), |_, expected| is_nan(expected).then_some(other))
        });
        let specified = match self.model.nan_code {
            Some(_) => "NaN is",
            None => "no code is specified; NaN is taken to be",
        };
        Claim { rule: "9", text: format!("{specified} {code:#x}"), rivals: rivals.collect() }
    }

    /// How results are rounded.
    fn rounding(&self) -> Result<Claim, Error> {
        let conversion = self.model.conversion;
        let rivals = [Rounding::NearestEven, Rounding::TowardZero, Rounding::Down, Rounding::Up]
            .into_iter()
            .filter(|other| *other != conversion.rounding)
            .map(|rounding| {
                let conversion = Conversion { rounding, ..conversion };
                self.rival(conversion.to_string(), &Model { conversion, ..self.model.clone() })
            })
            .collect::<Result<_, _>>()?;
        Ok(Claim { rule: "-", text: format!("results are rounded as {conversion}"), rivals })
    }

    /// What becomes of integers beyond the range of D.
    fn integer_overflow(&self) -> Result<Claim, Error> {
        let conversion = self.model.conversion;
        let other = Conversion { saturate: !conversion.saturate, ..conversion };
        let does = |conversion: Conversion| if conversion.saturate { "saturates" } else { "wraps" };
        let rival = self.rival(does(other), &Model { conversion: other, ..self.model.clone() })?;
        let text = format!("a sum beyond {} {}", conversion.format, does(conversion));
        Ok(Claim { rule: "-", text, rivals: vec![rival] })
    }

    /// What these results make of a claim.
    fn settle(&self, Claim { rule, text, rivals }: Claim, answers: &[u64]) -> Settled {
        let (claim, none) = (text, BTreeMap::new());
        let mut settled =
            Settled { rule, claim, tell: 0, agree: 0, rivals: none, instead: None, first: None };
        for (index, (expected, answer)) in self.expected.iter().zip(answers).enumerate() {
            let others = rivals.iter().filter_map(|(label, of)| Some((label, of[index]?)));
            let differing: Vec<_> = others.filter(|(_, other)| other != expected).collect();
            if differing.is_empty() {
                continue;
            }
            settled.tell += 1;
            if answer == expected {
                settled.agree += 1;
                continue;
            }
            settled.first.get_or_insert_with(|| (self.cases.case(index), *expected, *answer));
            for (label, _) in differing.iter().filter(|(_, other)| other == answer) {
                *settled.rivals.entry((*label).clone()).or_default() += 1;
            }
        }
        if settled.agree < settled.tell {
            let explains = |of: &Answers| {
                of.iter().zip(answers).all(|(other, answer)| other.is_none_or(|other| other == *answer))
            };
            settled.instead = rivals.iter().find(|(_, of)| explains(of)).map(|(label, _)| label.clone());
        }
        settled
    }
}

fn with_zero_exponent(model: &Model, exponent: Option<i32>) -> Model {
    let exponent = exponent.map_or(Value::None, |exponent| Value::Number(exponent.into()));
    Model { operation: model.operation.with(Parameter::ZeroExponent, exponent), ..model.clone() }
}

/// Asks the unit the directed cases and settles every claim that concerns the model.
pub fn settle(unit: &dyn MmaUnit, model: &Model) -> Result<Vec<Settled>, Error> {
    let cases = Directed::of(unit.signature());
    let answers = cases.ask(unit)?;
    let expected = simulated(model, &cases)?;
    let asked = Asked { model, cases, expected, answers };
    if model.is_integer() {
        return Ok(vec![asked.settle(asked.integer_overflow()?, &asked.answers)]);
    }
    let before = asked.zero_terms()?.into_iter().chain([asked.signs_of_zeros()]).chain(asked.overflow());
    let after = [asked.nan_code(), asked.rounding()?];
    let settled = |claim| asked.settle(claim, &asked.answers);
    Ok(before.map(settled).chain([asked.specials()]).chain(after.map(settled)).collect())
}
