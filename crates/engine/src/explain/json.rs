//! Every step as JSON.

use bitmma::arithmetic::special::Special;
use bitmma::arithmetic::{Step, Term};
use bitmma::catalogue::Found;
use bitmma::explain::Explanation;
use bitmma::formats::{F64, Overflow, Real, Rounding, encode};
use bitmma::{Case, Signature};
use serde::Serialize;

use crate::json::{Coded, Computes, Number, Operands};
use crate::number;
use crate::target::{Arguments, Target};
use crate::values::Inputs;

/// A number of any precision.
#[derive(Serialize)]
struct Exact {
    /// The nearest number of FP64.
    value: Number,
    /// In hex.
    significand: String,
    /// Of the significand's last bit.
    exponent: i32,
    /// Whether significand and exponent are the number, not its leading bits.
    exact: bool,
}

impl From<Real> for Exact {
    fn from(real: Real) -> Exact {
        let nearest = encode(&F64, real, Rounding::NearestEven, Overflow::Infinity);
        Exact {
            value: Number::of(&F64, nearest),
            significand: format!("{}{:#x}", if real.negative { "-" } else { "" }, real.significand),
            exponent: real.exponent,
            exact: !real.inexact,
        }
    }
}

/// A term of a sum.
#[derive(Serialize)]
struct Summand {
    name: String,
    exact: Exact,
    /// None: a zero that brings no exponent.
    exponent: Option<i32>,
    kept: Exact,
    lost: Exact,
}

impl From<&Term> for Summand {
    fn from(term: &Term) -> Summand {
        Summand {
            name: term.name.to_string(),
            exact: number::real(term.exact).into(),
            exponent: term.exponent,
            kept: number::real(term.kept).into(),
            lost: number::difference(term.exact, term.kept).into(),
        }
    }
}

/// A step, its kind under `step`.
#[derive(Serialize)]
#[serde(tag = "step", rename_all = "lowercase")]
enum One {
    Begin {
        operation: &'static str,
        elements: Vec<usize>,
        accumulator: Coded,
    },
    Special {
        result: &'static str,
    },
    Aligned {
        maximum: &'static str,
        exponent: i32,
        fraction_bits: u32,
        rounding: String,
        terms: Vec<Summand>,
        sum: Exact,
    },
    Exact {
        terms: Vec<Summand>,
        sum: Exact,
    },
    Binary {
        operation: &'static str,
        left: Coded,
        right: Coded,
        result: Coded,
    },
    Converted {
        value: Exact,
        conversion: String,
        result: Coded,
    },
    Changed {
        what: &'static str,
        from: Coded,
        to: Coded,
    },
    Unknown,
}

impl From<&Step> for One {
    fn from(step: &Step) -> One {
        let summands = |terms: &[Term]| terms.iter().map(Summand::from).collect();
        match step {
            Step::Begin { operation, elements, accumulator, format } => One::Begin {
                operation,
                elements: elements.clone(),
                accumulator: Coded::new(format, *accumulator),
            },
            Step::Special(special) => One::Special {
                result: match special {
                    Special::Nan => "nan",
                    Special::Infinity { negative: false } => "inf",
                    Special::Infinity { negative: true } => "-inf",
                },
            },
            Step::Aligned { maximum, exponent, terms, fraction_bits, rounding, sum } => One::Aligned {
                maximum,
                exponent: *exponent,
                fraction_bits: *fraction_bits,
                rounding: rounding.to_string(),
                terms: summands(terms),
                sum: number::real(*sum).into(),
            },
            Step::Exact { terms, sum } => One::Exact { terms: summands(terms), sum: (*sum).into() },
            Step::Binary { operation, left, left_format, right, right_format, result, format } => {
                One::Binary {
                    operation,
                    left: Coded::new(left_format, *left),
                    right: Coded::new(right_format, *right),
                    result: Coded::new(format, *result),
                }
            }
            Step::Converted { value, conversion, code, format } => One::Converted {
                value: (*value).into(),
                conversion: conversion.to_string(),
                result: Coded::new(format, *code),
            },
            Step::Changed { what, from, from_format, to, to_format } => {
                One::Changed { what, from: Coded::new(from_format, *from), to: Coded::new(to_format, *to) }
            }
            _ => One::Unknown,
        }
    }
}

/// Everything `explain` knows.
#[derive(Serialize)]
pub(super) struct Page {
    #[serde(flatten)]
    computes: Computes,
    #[serde(flatten)]
    operands: Operands,
    steps: Vec<One>,
    d: Coded,
}

impl Page {
    pub(super) fn new(
        target: &Target,
        arguments: &Arguments,
        inputs: &Inputs,
        explanation: &Explanation,
    ) -> Page {
        let Inputs { a, b, c, scale_a, scale_b, .. } = inputs;
        let case =
            Case { a: a.clone(), b: b.clone(), c: *c, scale_a: scale_a.clone(), scale_b: scale_b.clone() };
        let signature = Signature::of_model(target.name.clone(), &target.model, (1, 1, inputs.k()));
        Page {
            computes: Computes::new(target, arguments, inputs.k(), Found::name),
            operands: Operands::new(&case, &signature),
            steps: explanation.steps.iter().map(One::from).collect(),
            d: Coded::new(&target.model.d, explanation.d),
        }
    }
}
