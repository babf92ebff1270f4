//! What `docs/semantics.md` claims, settled one by one by a unit's answers to the directed cases.
//!
//! A claim stands against rivals: what would be answered if something else were true. A case tells where a
//! rival answers otherwise than the model; only those count.

use std::collections::BTreeMap;

use bitmma::arithmetic::{Conversion, Model, Operation, run};
use bitmma::directed;
use bitmma::formats::{Class, Format, Rounding, decode};
use bitmma::inputs::Case;
use bitmma::{Error, Fault, MmaUnit};
use rayon::prelude::*;

/// A claim, and what the unit's answers make of it.
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
    /// The rival that every answer agrees with, where the model does not.
    pub instead: Option<String>,
    /// The first answer that is not the model's: the case, the model's answer, the unit's.
    pub first: Option<(Case, u64, u64)>,
}

/// What to make of a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finding {
    /// Every case that tells says so.
    Confirmed,
    /// A rival explains every answer, the model does not.
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

/// What a rival answers to each case; `None` where it says nothing.
type Answers = Vec<Option<u64>>;

/// The directed cases, and the model's answers.
struct Asked<'m> {
    model: &'m Model,
    cases: Vec<Case>,
    expected: Vec<u64>,
}

impl Asked<'_> {
    fn by(&self, model: &Model) -> Result<Vec<u64>, Error> {
        let dot = |Case { a, b, c, scale_a, scale_b }: &Case| {
            Ok(model.dot(&run::Operands { a, b, c: *c, scale_a, scale_b })?)
        };
        self.cases.par_iter().map(dot).collect()
    }

    /// Of another model.
    fn rival(&self, label: impl Into<String>, model: &Model) -> Result<(String, Answers), Error> {
        Ok((label.into(), self.by(model)?.into_iter().map(Some).collect()))
    }

    /// Of the model's answer, where it is of that kind.
    fn otherwise(&self, label: &str, answer: impl Fn(&Case, u64) -> Option<u64>) -> (String, Answers) {
        let answers = self.cases.iter().zip(&self.expected).map(|(case, expected)| answer(case, *expected));
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

    fn settle(
        &self,
        (rule, claim): (&'static str, String),
        rivals: &[(String, Answers)],
        answers: &[u64],
    ) -> Settled {
        let mut settled =
            Settled { rule, claim, tell: 0, agree: 0, rivals: BTreeMap::new(), instead: None, first: None };
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
            settled.first.get_or_insert_with(|| (self.cases[index].clone(), *expected, *answer));
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

fn zero_exponent(model: &Model) -> Option<i32> {
    match model.operation {
        Operation::TFdpa(sum) | Operation::StFdpa(sum) | Operation::GstFdpa { sum, .. } => sum.zero_exponent,
        _ => None,
    }
}

fn with_zero_exponent(model: &Model, exponent: Option<i32>) -> Model {
    let mut model = model.clone();
    if let Operation::TFdpa(sum) | Operation::StFdpa(sum) | Operation::GstFdpa { sum, .. } =
        &mut model.operation
    {
        sum.zero_exponent = exponent;
    }
    model
}

/// Asks the unit the directed cases and settles every claim that concerns the model.
pub fn settle(unit: &dyn MmaUnit, model: &Model) -> Result<Vec<Settled>, Error> {
    let signature = unit.signature();
    let cases: Vec<Case> = directed::cases(signature).into_iter().map(|(_, case)| case).collect();
    let answers = unit.dot_products(&cases)?;
    if answers.len() != cases.len() {
        let problem = format!("{} answers to {} dot products", answers.len(), cases.len());
        return Err(Error::Unit { unit: signature.name.clone(), fault: Fault::Short, problem });
    }
    let mut asked = Asked { model, cases, expected: vec![] };
    asked.expected = asked.by(model)?;
    let d = model.d;
    let class = |code: u64| decode(&d, code).class;
    let fused =
        matches!(model.operation, Operation::TFdpa(_) | Operation::StFdpa(_) | Operation::GstFdpa { .. });
    let mut settled = vec![];
    let mut add = |claim, rivals: &[(String, Answers)]| settled.push(asked.settle(claim, rivals, &answers));

    if let Some(exponent) = zero_exponent(model) {
        let rivals = [("none", None), ("one more", Some(exponent + 1)), ("one less", Some(exponent - 1))];
        let rivals = rivals
            .map(|(label, other)| asked.rival(format!("e_zero {label}"), &with_zero_exponent(model, other)));
        let rivals = rivals.into_iter().collect::<Result<Vec<_>, _>>()?;
        add(("2", format!("a zero term has exponent {exponent}")), &rivals);
    }
    let claim = if fused { "a zero result is +0" } else { "signs of zero results" };
    let zero = asked
        .otherwise("the other sign", |_, code| (class(code) == Class::Zero).then_some(code ^ d.sign_bit()));
    add(("5", claim.to_owned()), &[zero]);
    if let Some(infinity) = d.infinity_code() {
        let (largest, sign) = (d.max_finite_code(), d.sign_bit());
        let overflow = asked.otherwise("the largest number", |case, code| {
            (code & !sign == infinity && asked.is_finite(case)).then_some(code & sign | largest)
        });
        let rule = if fused { "6" } else { "-" };
        add((rule, format!("overflow gives infinity ({})", model.conversion)), &[overflow]);
        let begins = asked.otherwise("infinity", |case, code| {
            (code & !sign == largest && asked.is_finite(case)).then_some(code & sign | infinity)
        });
        add(("-", format!("the largest number is no overflow yet ({})", model.conversion)), &[begins]);
    }
    // whatever else the unit gives is a rival; which NaN it is, is asked below
    let both_nan = |one: u64, other: u64| class(one) == Class::Nan && class(other) == Class::Nan;
    let alike: Vec<u64> =
        asked.expected.iter().zip(&answers).map(|(e, a)| if both_nan(*e, *a) { *e } else { *a }).collect();
    let otherwise = asked.cases.iter().zip(&asked.expected).zip(&alike).map(|((case, expected), answer)| {
        let told = !asked.is_finite(case) && !decode(&d, *expected).is_finite();
        told.then_some(if answer == expected { expected ^ d.sign_bit() } else { *answer })
    });
    let special = ("something else".to_owned(), otherwise.collect());
    settled.push(asked.settle(
        ("7", "NaN and infinity go before all alignment".to_owned()),
        &[special],
        &alike,
    ));
    let mut add = |claim, rivals: &[(String, Answers)]| settled.push(asked.settle(claim, rivals, &answers));
    let code = model.emitted_nan();
    let is_nan = |code: u64| class(code) == Class::Nan;
    // every other code is a rival: those that the unit gives
    let mut seen: BTreeMap<u64, u64> = BTreeMap::new();
    for (answer, expected) in answers.iter().zip(&asked.expected) {
        if is_nan(*answer) && is_nan(*expected) {
            *seen.entry(*answer).or_default() += 1;
        }
    }
    let mut others: Vec<u64> = seen.keys().copied().filter(|other| *other != code).collect();
    others.push(code ^ d.sign_bit());
    let rivals: Vec<_> = others
        .iter()
        .map(|other| {
            asked.otherwise(&format!("{other:#x}"), |_, expected| is_nan(expected).then_some(*other))
        })
        .collect();
    let specified =
        if model.nan_code.is_some() { "NaN is" } else { "no code is specified; NaN is taken to be" };
    add(("9", format!("{specified} {code:#x}")), &rivals);
    let rounding = model.conversion.rounding;
    let roundings = [Rounding::NearestEven, Rounding::TowardZero, Rounding::Down, Rounding::Up];
    let rivals = roundings
        .into_iter()
        .filter(|other| *other != rounding)
        .map(|rounding| {
            let conversion = Conversion { rounding, ..model.conversion };
            asked.rival(conversion.to_string(), &Model { conversion, ..model.clone() })
        })
        .collect::<Result<Vec<_>, Error>>()?;
    add(("-", format!("results are rounded as {}", model.conversion)), &rivals);
    Ok(settled)
}
