//! Steps and numbers as JSON: types with `Serialize`, the same in the command and in the C library.

use std::fmt;

use bitmma_arithmetic::special::Special;
use bitmma_arithmetic::trace::{Reading, Why};
use bitmma_arithmetic::{Step, Term};
use bitmma_formats::text::{decimal, hex, to_f64_bits};
use bitmma_formats::{F64, Format, Overflow, Real, Rounding, encode};
use serde::Serialize;

/// A number where it is finite: FP64 holds the numbers of every format. NaN and infinities are text: `"nan"`, `"inf"`,
/// `"-inf"`.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Number {
    /// A finite number.
    Finite(f64),
    /// What JSON has no number for.
    Other(String),
}

impl Number {
    /// The number a code is.
    pub fn of(format: &Format, code: u64) -> Number {
        Number::from(f64::from_bits(to_f64_bits(format, code)))
    }
}

impl From<f64> for Number {
    fn from(value: f64) -> Number {
        match value {
            _ if value.is_finite() => Number::Finite(value),
            _ if value.is_nan() => Number::Other("nan".to_owned()),
            _ => Number::Other(if value.is_sign_negative() { "-inf" } else { "inf" }.to_owned()),
        }
    }
}

/// A code and the number it is.
#[derive(Clone, Debug, Serialize)]
pub struct Coded {
    /// The number.
    pub value: Number,
    /// Hex; none: any code of a NaN.
    pub code: Option<String>,
    /// The format's name.
    pub format: &'static str,
}

impl Coded {
    /// A code of a format.
    pub fn new(format: &Format, code: u64) -> Coded {
        Coded { value: Number::of(format, code), code: Some(hex(format, code)), format: format.name }
    }

    /// A NaN of whatever code.
    pub fn any_nan(format: &Format) -> Coded {
        Coded { value: Number::from(f64::NAN), code: None, format: format.name }
    }
}

/// `1.5`, `nan`.
impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Number::Finite(value) => f.write_str(&decimal(*value)),
            Number::Other(word) => f.write_str(word),
        }
    }
}

/// `1.5 (0x3e00)`.
impl fmt::Display for Coded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.value.fmt(f)?;
        self.code.as_ref().map_or(Ok(()), |code| write!(f, " ({code})"))
    }
}

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
            exact: term.exact.real().into(),
            exponent: term.exponent,
            kept: term.kept.real().into(),
            lost: term.exact.minus(term.kept).into(),
        }
    }
}

/// An operand that is not used as it is given.
#[derive(Serialize)]
struct Operand {
    name: String,
    given: Coded,
    used: Coded,
}

impl From<&Reading> for Operand {
    fn from(reading: &Reading) -> Operand {
        Operand {
            name: reading.operand.to_string(),
            given: Coded::new(&reading.given_format, reading.given),
            used: Coded::new(&reading.format, reading.used),
        }
    }
}

/// A term that changes because of such operands.
#[derive(Serialize)]
struct Changed {
    /// None: a scale factor, which is in several terms.
    term: Option<String>,
    operands: Vec<Operand>,
    /// The term, or the scale factor, as given; none: infinite or NaN.
    exact: Option<Exact>,
    /// What of it is lost; none: it, or what is used, is infinite or NaN.
    lost: Option<Exact>,
}

/// A step of an explanation, its kind under `step`.
#[derive(Serialize)]
#[serde(transparent)]
pub struct Written(One);

impl From<&Step> for Written {
    fn from(step: &Step) -> Written {
        Written(One::from(step))
    }
}

#[derive(Serialize)]
#[serde(tag = "step", rename_all = "lowercase")]
enum One {
    /// Subnormal operands read as zero.
    Flushed(Changed),
    /// Operands with bits that are not read.
    Ignored(Changed),
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
            Step::Read { why, term, operands, exact, lost } => {
                let changed = Changed {
                    term: term.map(|term| term.to_string()),
                    operands: operands.iter().map(Operand::from).collect(),
                    exact: exact.map(|exact| exact.real().into()),
                    lost: lost.map(Exact::from),
                };
                match why {
                    Why::Flushed => One::Flushed(changed),
                    Why::Ignored => One::Ignored(changed),
                }
            }
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
                sum: sum.real().into(),
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
