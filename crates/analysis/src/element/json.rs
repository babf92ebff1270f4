//! An element of a product as JSON: the same in the command and in Python.

use bitmma_engine::arithmetic::Model;
use bitmma_engine::explain::json::{Coded, Number, Written};
use bitmma_engine::formats::text::hex;
use serde::Serialize;

use super::{Addition, Element, Event, Other, Step, What};
use crate::dyadic::Dyadic;

/// A number of any precision.
#[derive(Serialize)]
struct Exact {
    /// The nearest double.
    value: Number,
    /// Exactly, in hex, times two to the exponent.
    significand: String,
    exponent: i64,
}

impl From<&Dyadic> for Exact {
    fn from(number: &Dyadic) -> Exact {
        let (digits, exponent) = number.to_hex();
        let significand = match digits.strip_prefix('-') {
            Some(digits) => format!("-0x{digits}"),
            None => format!("0x{digits}"),
        };
        Exact { value: number.to_f64().into(), significand, exponent }
    }
}

/// Operands that are not both zero.
#[derive(Serialize)]
struct Pair {
    k: usize,
    a: Coded,
    b: Coded,
}

#[derive(Serialize)]
struct Lost {
    source: &'static str,
    term: String,
    exact: Exact,
    kept: Exact,
}

/// A step along K.
#[derive(Serialize)]
struct Taken {
    part: usize,
    first: usize,
    last: usize,
    accumulator: Coded,
    operands: Vec<Pair>,
    scale_a: Vec<String>,
    scale_b: Vec<String>,
    flushed: Vec<String>,
    exact: Option<Exact>,
    result: Coded,
    error: Option<Exact>,
    total_error: Option<Exact>,
    losses: Vec<Lost>,
    trace: Vec<Written>,
}

/// A sum around the instruction.
#[derive(Serialize)]
struct Added {
    what: String,
    left: Coded,
    right: Coded,
    result: Coded,
}

/// A step or a sum.
#[derive(Serialize)]
#[serde(tag = "event", rename_all = "lowercase")]
enum Happens {
    Step(Box<Taken>),
    Addition(Box<Added>),
}

#[derive(Serialize)]
struct Departs {
    observed: Coded,
    agrees: bool,
    step: Option<usize>,
    instead: Option<Coded>,
    steps_alike: usize,
    complete: bool,
}

/// An element of a product.
#[derive(Serialize)]
pub struct Page {
    element: [usize; 3],
    k: usize,
    k_step: usize,
    events: Vec<Happens>,
    exact: Option<Exact>,
    d: Coded,
    error: Option<Exact>,
    departure: Option<Departs>,
    computed_by: Option<By>,
}

/// What computes all of the D that was given.
#[derive(Serialize)]
struct By {
    target: String,
    chips: Vec<&'static str>,
    order: String,
    step: Option<usize>,
    here: Option<Coded>,
    there: Option<Coded>,
}

impl By {
    fn new(other: &Other, ours: &Element) -> By {
        let steps = other.steps(ours);
        By {
            target: other.name.clone(),
            chips: other.chips.clone(),
            order: other.order.clone(),
            step: steps.map(|(step, ..)| step),
            here: steps.map(|(_, here, _)| Coded::new(&ours.own, here.result)),
            there: steps.map(|(.., there)| Coded::new(&other.element.own, there.result)),
        }
    }
}

/// As people say it.
pub fn what(what: What) -> String {
    match what {
        What::Chain => "promoted sum".to_owned(),
        What::Part(part) => format!("part {}", part + 1),
        What::C => "C".to_owned(),
    }
}

fn step(step: &Step, model: &Model) -> Happens {
    let Step { part, elements, case, accumulator, result, account, trace, total_error } = step;
    let operands = (0..case.a.len()).filter(|&at| (case.a[at], case.b[at]) != (0, 0)).map(|at| Pair {
        k: elements.start + at,
        a: Coded::new(&model.a, case.a[at]),
        b: Coded::new(&model.b, case.b[at]),
    });
    let scales = |codes: &[u64]| match model.scale {
        Some(scale) => codes.iter().map(|code| hex(&scale.format, *code)).collect(),
        None => vec![],
    };
    let flushes = |source| source == crate::error_source::Source::InputFlush;
    let flushed = account.losses.iter().filter(|loss| flushes(loss.source));
    let losses = account.losses.iter().map(|loss| Lost {
        source: loss.source.name(),
        term: loss.term.clone(),
        exact: (&loss.exact).into(),
        kept: (&loss.kept).into(),
    });
    Happens::Step(Box::new(Taken {
        part: *part,
        first: elements.start,
        last: elements.end - 1,
        accumulator: Coded::new(accumulator, case.c),
        operands: operands.collect(),
        scale_a: scales(&case.scale_a),
        scale_b: scales(&case.scale_b),
        flushed: flushed.map(|loss| loss.term.clone()).collect(),
        exact: account.exact.as_ref().map(Exact::from),
        result: Coded::new(&model.d, *result),
        error: account.error().as_ref().map(Exact::from),
        total_error: total_error.as_ref().map(Exact::from),
        losses: losses.collect(),
        trace: trace.iter().map(Written::from).collect(),
    }))
}

impl Page {
    /// Everything that is known of an element, and of what computes the D that departs.
    pub fn new(element: &Element, model: &Model, other: Option<&Other>) -> Page {
        let (block, row, column) = element.place;
        let coded = |code| Coded::new(&element.working, code);
        let event = |event: &Event| match event {
            Event::Step(one) => step(one, model),
            Event::Addition(Addition { what: of, left, right, result }) => {
                let (left, right, result) = (coded(*left), coded(*right), coded(*result));
                Happens::Addition(Box::new(Added { what: what(*of), left, right, result }))
            }
        };
        let departure = element.departure.as_ref().map(|departure| Departs {
            observed: Coded::new(&element.d_format, departure.observed),
            agrees: departure.agrees,
            step: departure.first.map(|(step, _)| step),
            instead: departure.first.map(|(_, code)| Coded::new(&element.own, code)),
            steps_alike: departure.steps,
            complete: departure.complete,
        });
        Page {
            element: [block, row, column],
            k: element.k,
            k_step: element.step,
            events: element.events.iter().map(event).collect(),
            exact: element.exact.as_ref().map(Exact::from),
            d: Coded::new(&element.d_format, element.d),
            error: element.error().as_ref().map(Exact::from),
            departure,
            computed_by: other.map(|other| By::new(other, element)),
        }
    }
}
