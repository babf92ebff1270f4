//! The parameters of a model in words, each with the answers that show it.

use bitmma_engine::arithmetic::parameter::{Missing, Parameter as OfOperation, Value};
use bitmma_engine::arithmetic::{Conversion, InputFlush, Order};
use bitmma_engine::formats::{Format, text::hex};
use bitmma_engine::threads::prelude::*;
use bitmma_engine::{Case, Model};

use crate::hypotheses::Observations;
use crate::hypotheses::space::{self, Space};

/// A parameter with its value and what it rests on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// The paper's symbol, or the key of the model file.
    pub symbol: &'static str,
    /// Its value.
    pub value: String,
    /// What it means.
    pub meaning: &'static str,
    /// How sure the value is.
    pub certainty: Certainty,
    /// Values that answer alike on everything that was tried.
    pub open: Vec<String>,
    /// Values that no input can tell from it, by proof.
    pub same: Vec<String>,
    /// Values that an observation contradicts, the nearest first, two of them with their observation.
    pub against: Vec<Contradiction>,
    /// How many other values are contradicted.
    pub ruled_out: usize,
}

/// How sure the value of a parameter is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Certainty {
    /// Every value that could make a difference is contradicted by an answer.
    Measured,
    /// No other value can make a difference on this unit, for this reason.
    CannotMatter(&'static str),
    /// Other values answer alike on everything that was tried: it may be one of them.
    Open,
}

impl Certainty {
    /// `measured`, `cannot matter` or `open`.
    pub const fn name(self) -> &'static str {
        match self {
            Certainty::Measured => "measured",
            Certainty::CannotMatter(_) => "cannot matter",
            Certainty::Open => "open",
        }
    }
}

/// An observation that another value of a parameter contradicts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contradiction {
    /// The other value.
    pub value: String,
    /// What was asked.
    pub case: Case,
    /// What was answered.
    pub answer: u64,
    /// What would have been answered.
    pub would: u64,
}

/// Observations shown for one parameter.
const SHOWN: usize = 2;

/// Symbol, value and meaning of every parameter a model has, K being `k`.
pub fn describe(model: &Model, k: usize) -> Vec<(&'static str, String, &'static str)> {
    all()
        .into_iter()
        .filter_map(|(symbol, meaning, _)| Some((symbol, value(model, symbol, k)?, meaning)))
        .collect()
}

type Row = (&'static str, &'static str, Option<space::Coordinate>);

/// Symbol, meaning and coordinate: the family and its parameters, then what surrounds the operation.
fn all() -> Vec<Row> {
    use space::Coordinate as P;
    let of_operation = OfOperation::ALL.into_iter().map(|parameter| match parameter {
        OfOperation::MaxLength => ("L", "products in one sum", Some(P::Length)),
        _ => (parameter.key(), parameter.row().meaning, Some(P::of(parameter))),
    });
    let around = [
        ("order", "order along K", Some(P::Order)),
        ("rho", "how each sum becomes a number", Some(P::Conversion)),
        ("flush_operands", "whether subnormal numbers of A and B are read as zero", Some(P::FlushOperands)),
        ("flush_accumulator", "whether subnormal numbers of C are read as zero", Some(P::FlushAccumulator)),
        ("widen_operands", "what A and B are widened to first", Some(P::WidenOperands)),
        ("widen_accumulator", "what C is widened to first", Some(P::WidenAccumulator)),
        ("chains", "chains of K that are merged before C is added", Some(P::Chains)),
        ("add_accumulator_last", "how C is added after all sums", Some(P::AddLast)),
        ("narrow_output", "how the last result is narrowed to D", Some(P::Narrow)),
        ("nan", "the code of every NaN result", None),
    ];
    std::iter::once(("model", "the family", Some(P::Family))).chain(of_operation).chain(around).collect()
}

fn value(model: &Model, symbol: &str, k: usize) -> Option<String> {
    let name = |format: Option<Format>| format.map_or("none".to_owned(), |format| format.name.to_owned());
    let conversion = |value: Option<Conversion>| value.map_or("none".to_owned(), |value| value.to_string());
    let flush = |value: InputFlush| {
        match value {
            InputFlush::Never => "no",
            InputFlush::Positive => "yes",
            InputFlush::Signed => "yes, signs kept",
        }
        .to_owned()
    };
    match symbol {
        "model" => Some(model.operation.name().to_owned()),
        "L" => model.operation.has(OfOperation::MaxLength).then(|| model.length(k).to_string()),
        "order" => Some(match model.lowering.order {
            Order::Sequential => "sequential".to_owned(),
            Order::Reversed => "reversed".to_owned(),
            Order::Interleaved { run, period } => format!("interleaved, {run} of every {period}"),
        }),
        "rho" => Some(model.conversion.to_string()),
        "flush_operands" => Some(flush(model.flush_operands)),
        "flush_accumulator" => Some(flush(model.flush_accumulator)),
        "chains" => {
            model.lowering.chains.map(|chains| format!("{}, merged by {}", chains.count, chains.merge))
        }
        "widen_operands" => Some(name(model.lowering.widen_operands)),
        "widen_accumulator" => Some(name(model.lowering.widen_accumulator)),
        "add_accumulator_last" => Some(conversion(model.lowering.add_accumulator_last)),
        "narrow_output" => Some(conversion(model.lowering.narrow_output)),
        "nan" => Some(model.nan_code.map_or("any".to_owned(), |code| hex(&model.d, code))),
        key => {
            let parameter = OfOperation::ALL.into_iter().find(|parameter| parameter.key() == key)?;
            match (model.operation.get(parameter)?, parameter.row().missing) {
                (Value::None, Missing::As(_)) => None,
                (value, _) => Some(value.to_string()),
            }
        }
    }
}

/// The parameters of `model`, with what speaks against other values; `alive` are the models that answer
/// as it does.
pub(crate) fn with_evidence(
    space: &Space,
    observations: &Observations,
    model: &Model,
    alive: &[Model],
) -> Vec<Parameter> {
    let k = space.signature.k;
    let canonical = space.canonical(model);
    let mut parameters = Vec::new();
    for (symbol, meaning, coordinate) in all() {
        let Some(own) = value(model, symbol, k) else { continue };
        let mut parameter = Parameter {
            symbol,
            value: own.clone(),
            meaning,
            certainty: Certainty::Measured,
            open: Vec::new(),
            same: Vec::new(),
            against: Vec::new(),
            ruled_out: 0,
        };
        let Some(coordinate) = coordinate else {
            parameters.push(parameter);
            continue;
        };
        for other in alive {
            if let Some(open) = value(other, symbol, k).filter(|open| *open != own)
                && !parameter.open.contains(&open)
            {
                parameter.open.push(open);
            }
        }
        let mut others: Vec<(u64, String, Model)> = Vec::new();
        for other in space.vary(model, &[coordinate]) {
            let Some(other_value) = value(&other, symbol, k).filter(|other| *other != own) else { continue };
            if others.iter().any(|(_, known, _)| *known == other_value)
                || parameter.same.contains(&other_value)
            {
                continue;
            }
            if space.canonical(&other) == canonical {
                parameter.same.push(other_value);
            } else {
                others.push((distance(&own, &other_value), other_value, other));
            }
        }
        others.sort_by_key(|(distance, ..)| *distance);
        let held = others.into_par_iter().map(|(_, value, other)| {
            let Some((index, would)) = observations.first_contradiction(&other, &observations.all) else {
                return Err(value);
            };
            let (case, answer) = observations.case(index);
            Ok(Contradiction { value, case: case.clone(), answer, would })
        });
        for one in held.collect::<Vec<_>>() {
            match one {
                Err(open) if parameter.open.contains(&open) => {}
                Err(open) => parameter.open.push(open),
                Ok(against) => {
                    parameter.ruled_out += 1;
                    if parameter.against.len() < SHOWN {
                        parameter.against.push(against);
                    }
                }
            }
        }
        parameter.same.retain(|same| !parameter.open.contains(same));
        parameter.open = ranges(&parameter.open);
        parameter.same = ranges(&parameter.same);
        if matches!(symbol, "e_zero" | "e_zero_c") && own == "none" {
            // below every exponent that a term can bring
            parameter.same.push(format!("{} or less", space.term_exponents(model).0));
        }
        parameter.certainty = match (parameter.open.is_empty(), parameter.ruled_out) {
            (false, _) => Certainty::Open,
            (true, 0) => Certainty::CannotMatter(reason(symbol)),
            (true, _) => Certainty::Measured,
        };
        parameters.push(parameter);
    }
    parameters
}

/// Why no value of a parameter can make a difference, where that is proven (`hypotheses/space/canonical.rs`).
fn reason(symbol: &str) -> &'static str {
    match symbol {
        "F" | "F_c" | "F2" | "term_rounding" | "sum_rounding" | "renormalize" => "nothing is ever cut",
        "rho" | "narrow_output" => "every sum is exact before it is rounded",
        "e_zero" | "e_zero_c" => "no sum that it could cut can be seen",
        "order" | "L" | "P" | "G" => "the same elements meet in every sum",
        "product_overflow" => "no product is as large",
        "flush_operands" | "flush_accumulator" => {
            "these formats have no such numbers, or their zeros are not seen"
        }
        "widen_operands" | "widen_accumulator" => "no wider format reads these numbers otherwise",
        _ => "there is one value only",
    }
}

/// How far apart two values are; those that are no numbers are far from all.
fn distance(one: &str, other: &str) -> u64 {
    match (one.parse::<i64>(), other.parse::<i64>()) {
        (Ok(one), Ok(other)) => one.abs_diff(other),
        _ => u64::from(u32::MAX),
    }
}

/// Values with runs of whole numbers as `first … last`.
fn ranges(values: &[String]) -> Vec<String> {
    let mut numbers: Vec<i64> = values.iter().filter_map(|value| value.parse().ok()).collect();
    numbers.sort_unstable();
    let words = any_rounding(values.iter().filter(|value| value.parse::<i64>().is_err()).cloned().collect());
    let runs = numbers.chunk_by(|one, next| one + 1 == *next).map(|run| match (run.first(), run.last()) {
        (Some(first), Some(last)) if last - first > 1 => format!("{first} … {last}"),
        _ => run.iter().map(i64::to_string).collect::<Vec<_>>().join(", "),
    });
    words.into_iter().chain(runs).collect()
}

/// Conversions of all roundings into one format as one.
fn any_rounding(values: Vec<String>) -> Vec<String> {
    let mut grouped: Vec<(String, Vec<String>)> = Vec::new();
    for value in values {
        let format = value.split_once('-').map_or(value.clone(), |(_, format)| format.to_owned());
        match grouped.iter_mut().find(|(known, _)| *known == format) {
            Some((_, group)) => group.push(value),
            None => grouped.push((format, vec![value])),
        }
    }
    let all = bitmma_engine::formats::Rounding::ALL.len();
    let shown = |(format, group): (String, Vec<String>)| {
        if group.len() + 1 >= all { vec![format!("any rounding into {format}")] } else { group }
    };
    grouped.into_iter().flat_map(shown).collect()
}
