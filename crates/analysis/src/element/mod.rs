//! One element of a whole product: every step along K, what each loses, and the step at which another D departs.

mod departure;
mod document;
mod other;

use std::fmt;
use std::ops::Range;

use bitmma_engine::arithmetic::Step as Trace;
use bitmma_engine::arithmetic::run::{Prepared, Side, Start};
use bitmma_engine::explain::json::{Coded, Written};
use bitmma_engine::formats::Format;
use bitmma_engine::formats::text::hex;
use bitmma_engine::gemm::schedule::{AddC, Chain, Schedule, Sums};
use bitmma_engine::gemm::{Given, OutputConversion, Target, element, exact};
use bitmma_engine::{Case, GemmOptions, Matrix, Model, Operands};
use bitmma_verify::apart::Rules;
use serde::{Serialize, Serializer};

use crate::account::{self, Loss, account_prepared};
use crate::dyadic::Dyadic;
use crate::error::{Error, option};
use crate::error_source::Source;

pub use departure::Departure;
pub use other::Other;

/// Steps along K, at most: each is held with everything that happens in it.
pub const MOST_STEPS: usize = 1 << 14;
/// Elements along K, at most, padding counted.
pub const MOST_ELEMENTS: usize = 1 << 18;

/// Operands of a step that are not both zero.
#[derive(Clone, Debug, Serialize)]
pub struct Pair {
    /// Where along K.
    pub k: usize,
    /// Of A.
    pub a: Coded,
    /// Of B.
    pub b: Coded,
}

/// One step of the instruction along K. Errors are a result minus what is exact.
#[derive(Clone, Debug, Serialize)]
pub struct Step {
    /// The part of K, from 0.
    pub part: usize,
    /// The first element of K.
    pub first: usize,
    /// The last one; beyond K's end is padding.
    pub last: usize,
    /// The accumulator.
    pub accumulator: Coded,
    /// The operands that are not zero.
    pub operands: Vec<Pair>,
    /// Scale factors of A, as codes in hex.
    pub scale_a: Vec<String>,
    /// Scale factors of B.
    pub scale_b: Vec<String>,
    /// Terms with an operand that is read as zero.
    pub flushed: Vec<String>,
    /// The accumulator and all products, exactly; `None` where something is not finite.
    pub exact: Option<Dyadic>,
    /// The result, of the instruction's D.
    pub result: Coded,
    /// The result minus `exact`.
    pub error: Option<Dyadic>,
    /// The result minus the exact sum of everything that went into the chain up to here.
    pub total_error: Option<Dyadic>,
    /// What was lost.
    #[serde(serialize_with = "lost")]
    pub losses: Vec<Loss>,
    /// Every step of the operation.
    #[serde(serialize_with = "written")]
    pub trace: Vec<Trace>,
    /// The operands, with the accumulator as C.
    #[serde(skip)]
    case: Case,
    /// The code of the result.
    #[serde(skip)]
    code: u64,
}

/// Where and what, as exact numbers.
fn lost<S: Serializer>(losses: &[Loss], to: S) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    struct Lost<'l> {
        source: &'static str,
        term: &'l str,
        exact: &'l Dyadic,
        kept: &'l Dyadic,
    }
    to.collect_seq(losses.iter().map(|Loss { source, term, exact, kept, .. }| Lost {
        source: source.name(),
        term,
        exact,
        kept,
    }))
}

fn written<S: Serializer>(trace: &[Trace], to: S) -> Result<S::Ok, S::Error> {
    to.collect_seq(trace.iter().map(Written::from))
}

/// A sum around the instruction, in FP32 or FP64.
#[derive(Clone, Debug, Serialize)]
pub struct Addition {
    /// What is added.
    #[serde(serialize_with = "words")]
    pub what: What,
    /// The sum so far.
    pub left: Coded,
    /// What is added to it.
    pub right: Coded,
    /// Both.
    pub result: Coded,
    /// The result minus the exact sum.
    #[serde(skip)]
    error: Option<Dyadic>,
}

/// What is added around the instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// The result of a chain, to the promoted sum.
    Chain,
    /// The value of a part, to those before it.
    Part(usize),
    /// C.
    C,
}

impl fmt::Display for What {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            What::Chain => f.write_str("promoted sum"),
            What::Part(part) => write!(f, "part {}", part + 1),
            What::C => f.write_str("C"),
        }
    }
}

fn words<S: Serializer>(what: &What, to: S) -> Result<S::Ok, S::Error> {
    to.collect_str(what)
}

/// What happens, in order.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "event", rename_all = "lowercase")]
pub enum Event {
    /// A step of the instruction.
    Step(Box<Step>),
    /// A sum around it.
    Addition(Box<Addition>),
}

/// One element of a product.
#[derive(Clone, Debug, Serialize)]
pub struct Element {
    /// Block, row and column of D.
    pub element: [usize; 3],
    /// Elements along K.
    pub k: usize,
    /// Elements of one step.
    pub k_step: usize,
    /// What happens, in order.
    pub events: Vec<Event>,
    /// C and all products, exactly; `None` where something is not finite.
    pub exact: Option<Dyadic>,
    /// D.
    pub d: Coded,
    /// D minus the exact result.
    pub error: Option<Dyadic>,
    /// Where the D that was given departs, if one was.
    pub departure: Option<Departure>,
    /// What computes all of the D that departs, where something is known to.
    pub computed_by: Option<Other>,
    /// How the instruction computes.
    #[serde(skip)]
    model: Model,
    /// Blocks, rows and columns of D.
    #[serde(skip)]
    shape: (usize, usize, usize),
    /// Format and code of D.
    #[serde(skip)]
    code: (Format, u64),
}

impl Element {
    /// The steps of the instruction.
    pub fn steps(&self) -> impl Iterator<Item = &Step> {
        self.events.iter().filter_map(|event| match event {
            Event::Step(step) => Some(&**step),
            Event::Addition(_) => None,
        })
    }

    /// Whether a D was given that is another one.
    pub fn departs(&self) -> bool {
        self.departure.as_ref().is_some_and(|departure| !departure.agrees)
    }
}

/// Operands as a product takes them.
fn lent<'m>(given: &Operands<'m>) -> Given<'m> {
    let Operands { a, b, c, scale_a, scale_b } = *given;
    Given { a: a.into(), b: b.into(), c, scale_a, scale_b }
}

/// One element of a product by an instruction; where another D is given, the step at which that departs, and what computes
/// it.
///
/// Orders are those of [`gemm`](bitmma_engine::gemm()) without scales of blocks and factors.
pub fn explain(
    target: &Target,
    given: &Operands<'_>,
    options: &GemmOptions,
    place: (usize, usize, usize),
    d: Option<&Matrix>,
    rules: &Rules,
) -> Result<Element, Error> {
    let mut found = follow(target, given, options, place, d)?;
    if let Some(d) = d.filter(|_| found.departs()) {
        found.computed_by = Other::of(given, d, &found, rules)?;
    }
    Ok(found)
}

/// The same without what computes another D.
fn follow(
    target: &Target,
    given: &Operands<'_>,
    options: &GemmOptions,
    place: (usize, usize, usize),
    d: Option<&Matrix>,
) -> Result<Element, Error> {
    let (block, row, column) = place;
    let (blocks, rows, columns) = given.shape();
    let shape_text = bitmma_engine::shape_text;
    let lent = lent(given);
    let schedule = &Schedule::new(target, &lent.shapes(), options)?;
    if block >= blocks || row >= rows || column >= columns {
        let shape = shape_text((blocks, rows, columns));
        let given = if blocks == 1 { format!("{row},{column}") } else { format!("{block},{row},{column}") };
        return Err(option("element", given, &format!("D is {shape}")));
    }
    if let Some(d) = d.filter(|d| d.shape() != given.shape()) {
        let product = format!("A·B is {}", shape_text(given.shape()));
        return Err(option("D", shape_text(d.shape()), &product));
    }
    let (k, steps) = (given.a.columns(), given.a.columns().div_ceil(target.step()));
    if steps > MOST_STEPS || steps.saturating_mul(target.step()) > MOST_ELEMENTS {
        let allowed = format!(
            "it takes {steps} steps of {}; up to {MOST_STEPS} steps and {MOST_ELEMENTS} elements are shown",
            target.step()
        );
        return Err(option("K", k, &allowed));
    }
    let code = element(Some(target), schedule, &lent, place)?.code;
    let walk = Walk::new(target, schedule, given, place)?;
    let format = schedule.output.map_or(target.model().d, |output| output.conversion.container());
    let exact = walk.exact();
    let mut found = Element {
        element: [block, row, column],
        k,
        k_step: target.step(),
        events: walk.events(),
        error: Dyadic::of_code(&format, code).zip(exact.as_ref()).map(|(d, exact)| &d - exact),
        exact,
        d: Coded::new(&format, code),
        departure: None,
        computed_by: None,
        model: target.model().clone(),
        shape: given.shape(),
        code: (format, code),
    };
    found.departure = d.map(|d| departure::departure(&walk, &found, d.get(block, row, column)));
    Ok(found)
}

/// The result of a chain of a part; what happens is added to the events.
type OfChain<'o> = dyn FnMut((usize, &Chain), &mut Vec<Event>) -> u64 + 'o;

/// A product's operands along one element.
struct Walk<'w> {
    prepared: Prepared<'w>,
    schedule: &'w Schedule,
    parts: &'w [Vec<Vec<Chain>>],
    promoted: bool,
    a: Vec<u64>,
    b: Vec<u64>,
    scale_a: Vec<u64>,
    scale_b: Vec<u64>,
    c: u64,
    c_format: Format,
    has_c: bool,
}

impl<'w> Walk<'w> {
    fn new(
        target: &'w Target,
        schedule: &'w Schedule,
        given: &Operands<'_>,
        (block, row, column): (usize, usize, usize),
    ) -> Result<Walk<'w>, Error> {
        let Sums::Chains { parts, promoted } = &schedule.sums else {
            return Err(option("schedule", "of threads", "one of an instruction is needed"));
        };
        let model = target.model();
        let codes = |of: Option<&Matrix>, line: &dyn Fn(&Matrix) -> Vec<u64>| of.map_or(vec![], line);
        let c = given.c.filter(|_| schedule.reads_c());
        Ok(Walk {
            prepared: Prepared::new(model, target.step())?,
            schedule,
            parts,
            promoted: *promoted,
            a: given.a.row(block, row).collect(),
            b: given.b.column(block, column).collect(),
            scale_a: codes(given.scale_a, &|scale| scale.row(block, row).collect()),
            scale_b: codes(given.scale_b, &|scale| scale.column(block, column).collect()),
            c: c.map_or(0, |c| c.get(block, row, column)),
            c_format: c.map_or(model.c, Matrix::format),
            has_c: c.is_some(),
        })
    }

    /// C and all products, exactly.
    fn exact(&self) -> Option<Dyadic> {
        let c = if self.has_c { Dyadic::of_code(&self.c_format, self.c)? } else { Dyadic::ZERO };
        let mut pieces = self.parts.iter().flatten().flatten().flatten();
        let model = self.prepared.model();
        pieces.try_fold(c, |mut sum, piece| {
            for index in piece.range.clone() {
                let mut product =
                    &Dyadic::of_code(&model.a, self.a[index])? * &Dyadic::of_code(&model.b, self.b[index])?;
                if let Some(scale) = model.scale {
                    for scales in [&self.scale_a, &self.scale_b] {
                        product = &product * &Dyadic::of_code(&scale.format, scales[index / scale.size])?;
                    }
                }
                sum += &product;
            }
            Some(sum)
        })
    }

    /// The operands of every step of a chain, with its elements.
    fn cases(&self, chain: &Chain) -> Vec<(Range<usize>, Case)> {
        let step = self.prepared.k();
        let model = self.prepared.model();
        let first = chain.first().map_or(0, |piece| piece.range.start);
        let (mut a, mut b, mut places) = (vec![], vec![], vec![]);
        for piece in chain {
            a.extend_from_slice(&self.a[piece.range.clone()]);
            b.extend_from_slice(&self.b[piece.range.clone()]);
            places.extend(piece.range.start..piece.range.start + piece.padded);
            a.resize(places.len(), 0);
            b.resize(places.len(), 0);
        }
        let whole = a.len().next_multiple_of(step);
        a.resize(whole, 0);
        b.resize(whole, 0);
        let last = places.last().map_or(first, |place| place + 1);
        places.extend(last..last + whole - places.len());
        let scales = |codes: &[u64], from: usize| match model.scale {
            Some(scale) => (from / scale.size..(from + step) / scale.size)
                .map(|place| codes.get(place).copied().unwrap_or(scale.format.one_code()))
                .collect(),
            None => vec![],
        };
        let case = |index: usize| {
            let range = index * step..(index + 1) * step;
            let from = first + range.start;
            let elements = places[range.start]..places[range.end - 1] + 1;
            let (scale_a, scale_b) = (scales(&self.scale_a, from), scales(&self.scale_b, from));
            (elements, Case { a: a[range.clone()].to_vec(), b: b[range].to_vec(), c: 0, scale_a, scale_b })
        };
        (0..whole / step).map(case).collect()
    }

    /// A step from where the one before ended.
    fn run(&self, case: &Case, start: Start, trace: &mut Vec<Trace>) -> u64 {
        let model = self.prepared.model();
        if matches!(start, Start::C(_)) || model.c == model.d {
            return self.prepared.dot_of_codes(&case.operands(), trace);
        }
        let [a, b] = [(Side::A, &case.a), (Side::B, &case.b)]
            .map(|(side, codes)| self.prepared.vector(side, codes.iter().copied()));
        let [scale_a, scale_b] =
            [&case.scale_a, &case.scale_b].map(|codes| self.prepared.scales(codes.iter().copied()));
        self.prepared.dot(&a, &b, start, &scale_a, &scale_b, trace)
    }

    /// The steps of a chain and its result.
    fn chain(&self, part: usize, chain: &Chain, from: u64, events: &mut Vec<Event>) -> u64 {
        let model = self.prepared.model();
        let mut d = from;
        let mut sum: Option<Dyadic> = None;
        for (index, (elements, mut case)) in self.cases(chain).into_iter().enumerate() {
            case.c = d;
            let (start, of_account, accumulator) = match index {
                0 => (Start::C(d), account::Start::C, model.c),
                _ => (Start::D(d), account::Start::D, model.d),
            };
            let mut account = account_prepared(&self.prepared, &case, of_account, true);
            for loss in &mut account.losses {
                loss.term = counted_from(elements.start, &loss.term);
            }
            let mut trace = vec![];
            let code = self.run(&case, start, &mut trace);
            // the exact sum so far: what the step is exactly, without what the accumulator had lost before
            let exact = match (index, &sum) {
                (0, _) => account.exact.clone(),
                (_, Some(sum)) => account.exact.as_ref().and_then(|exact| {
                    let before = Dyadic::of_code(&accumulator, d)?;
                    Some(&(exact - &before) + sum)
                }),
                (_, None) => None,
            };
            let value = Dyadic::of_code(&model.d, code);
            let total_error = value.zip(exact.as_ref()).map(|(value, exact)| &value - exact);
            sum = exact;
            d = code;
            let used = (0..case.a.len()).filter(|&at| (case.a[at], case.b[at]) != (0, 0));
            let operands = used.map(|at| Pair {
                k: elements.start + at,
                a: Coded::new(&model.a, case.a[at]),
                b: Coded::new(&model.b, case.b[at]),
            });
            let scales = |codes: &[u64]| match model.scale {
                Some(scale) => codes.iter().map(|code| hex(&scale.format, *code)).collect(),
                None => vec![],
            };
            let flushed = account.losses.iter().filter(|loss| loss.source == Source::InputFlush);
            let step = Step {
                part,
                first: elements.start,
                last: elements.end - 1,
                accumulator: Coded::new(&accumulator, case.c),
                operands: operands.collect(),
                scale_a: scales(&case.scale_a),
                scale_b: scales(&case.scale_b),
                flushed: flushed.map(|loss| loss.term.clone()).collect(),
                error: account.error(),
                exact: account.exact,
                result: Coded::new(&model.d, code),
                total_error,
                losses: account.losses,
                trace,
                case,
                code,
            };
            events.push(Event::Step(Box::new(step)));
        }
        d
    }

    fn addition(&self, what: What, left: u64, right: u64, events: &mut Vec<Event>) -> u64 {
        let format = self.schedule.working;
        let result = exact::add(format, left, right);
        let [x, y, sum] = [left, right, result].map(|code| Dyadic::of_code(&format, code));
        let error = x.zip(y).zip(sum).map(|((x, y), sum)| &sum - &(&x + &y));
        let [left, right, sum] = [left, right, result].map(|code| Coded::new(&format, code));
        events.push(Event::Addition(Box::new(Addition { what, left, right, result: sum, error })));
        result
    }

    /// The accumulator that the chains start from.
    fn accumulator(&self) -> u64 {
        if self.schedule.c == AddC::First { self.c } else { 0 }
    }

    /// What happens, in order.
    fn events(&self) -> Vec<Event> {
        let mut events = vec![];
        let mut of_chain = |(part, chain): (usize, &Chain), events: &mut Vec<Event>| {
            self.chain(part, chain, self.accumulator(), events)
        };
        self.resolve(&mut of_chain, &mut events);
        events
    }

    /// The code of D, from the results of all chains in order.
    fn resolve(&self, of_chain: &mut OfChain<'_>, events: &mut Vec<Event>) -> u64 {
        let (working, model) = (self.schedule.working, self.prepared.model());
        let output = self.schedule.output;
        let lift = |code| exact::lift(working, &model.d, code);
        let of_c = || exact::lift(working, &self.c_format, self.c);
        if self.schedule.c == AddC::First {
            let d = match self.parts.iter().flatten().flatten().next() {
                Some(chain) => of_chain((0, chain), events),
                None => return OutputConversion::nearest(model.d).of(self.c_format, 1)(self.c),
            };
            return output.map_or(d, |output| output.of(model.d, 1)(d));
        }
        let start = if self.schedule.c == AddC::Sum && self.has_c { of_c() } else { 0 };
        let mut merged: Option<u64> = None;
        for (index, part) in self.parts.iter().enumerate() {
            let mut value = start;
            for chain in part.iter().flatten() {
                let result = lift(of_chain((index, chain), events));
                value = match self.promoted {
                    true => self.addition(What::Chain, value, result, events),
                    false => result,
                };
            }
            merged = Some(match merged {
                None => value,
                Some(sum) => self.addition(What::Part(index), sum, value, events),
            });
        }
        let mut word = merged.unwrap_or(start);
        if self.schedule.c == AddC::Last && self.has_c {
            word = self.addition(What::C, word, of_c(), events);
        }
        output.unwrap_or(OutputConversion::nearest(model.d)).of(working, 1)(word)
    }
}

/// A term of a step, its elements counted along all of K: `a3*b3` of the step from 16 on is `a19*b19`.
fn counted_from(start: usize, term: &str) -> String {
    let product = term.strip_prefix('a').and_then(|rest| rest.split_once("*b"));
    match product.and_then(|(a, b)| Some((a.parse::<usize>().ok()?, b.parse::<usize>().ok()?))) {
        Some((a, b)) => format!("a{}*b{}", start + a, start + b),
        None => term.to_owned(),
    }
}

/// The first step at which two elements of one product part: its index in each, where both end at the same element.
fn parting(one: &Element, other: &Element) -> Option<(usize, usize)> {
    let others: Vec<&Step> = other.steps().collect();
    one.steps().enumerate().find_map(|(index, step)| {
        let same_end = |other: &&Step| (other.part, other.last) == (step.part, step.last);
        let place = others.iter().position(same_end)?;
        (step.result.value != others[place].result.value).then_some((index, place))
    })
}
