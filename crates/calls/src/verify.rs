//! Holds recorded calls against the rules.

use std::collections::BTreeMap;

use bitmma_engine::threads::prelude::*;
use serde::Serialize;

use crate::call::Call;
use crate::cublaslt::{self, Assume};
use crate::error::Error;
use crate::execute::{element, execute};
use crate::plan::{DealKind, MergeOrder, MergeType, Multiply, Plan, ScaleResult, Through};
use crate::platform::config_of;
use crate::recorded::{Case, Function, Recording};
use crate::scaled::{self, Recipe};

/// The result of a recording.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Report {
    /// Calls in the recording.
    pub calls: usize,
    /// Calls with bits that agree.
    pub agree: usize,
    /// Values compared.
    pub values: usize,
    /// Values that differ.
    pub differing_values: usize,
    /// Calls that were rejected and would be, by reason.
    pub rejected: BTreeMap<&'static str, usize>,
    /// Calls that ran without a result kept, and would run.
    pub ran: usize,
    /// Calls that have no plan.
    pub declined: Vec<Declined>,
    /// Calls that differ, each with its first difference.
    pub differences: Vec<Difference>,
}

/// A call that has no plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Declined {
    /// The case.
    pub id: String,
    /// Why.
    pub reason: String,
}

/// The first difference of a call.
#[derive(Clone, Debug, Serialize)]
pub struct Difference {
    /// The case.
    pub id: String,
    /// What differs, with numbers.
    pub what: String,
    /// The rule that decides it, where one alone explains it.
    pub rule: Option<u32>,
    /// What would agree in that rule's place.
    pub instead: Option<String>,
    /// Values of the call that differ.
    pub values: usize,
    /// Where the first one is, and what was recorded.
    #[serde(skip)]
    place: Option<RecordedElement>,
}

/// An element of D, and the code that was recorded.
type RecordedElement = ((usize, usize), u64);

impl Difference {
    fn new(case: &Case, what: String, values: usize, place: Option<RecordedElement>) -> Difference {
        Difference { id: case.id.clone(), what, rule: None, instead: None, values, place }
    }
}

/// The result of one case.
enum Outcome {
    Agrees(usize),
    Rejected(&'static str),
    Ran,
    Declined(String),
    Differs(Difference, usize),
}

/// The plan of a recorded case: from its configuration, or from what the library's log said.
pub fn plan_of(recording: &Recording, case: &Case, assume: Assume) -> Result<Plan, Error> {
    let query = recording.query(case)?;
    match recording.recipe(case)? {
        None | Some(Recipe::Tensor) => {}
        Some(recipe) => {
            let assume = Assume { unsplit: true, ..assume };
            return Ok(scaled::plan(&query, recipe, case.config.as_ref(), assume)?.plan);
        }
    }
    if let Some(config) = &case.config {
        return Ok(cublaslt::plan(&query, config, assume)?.plan);
    }
    match &case.plan {
        Some(split) => {
            let config = config_of(&query, split.parts, split.order)?;
            Ok(cublaslt::plan(&query, &config, Assume::default())?.plan)
        }
        None => Err(Error::declined("the recording says neither plan nor config")),
    }
}

/// Holds every case against the rules, on all threads; the first differences say which rule decides them.
pub fn verify(recording: &Recording, assume: Assume) -> Result<Report, Error> {
    let mut report = verify_with(recording, |case| plan_of(recording, case, assume))?;
    for difference in report.differences.iter_mut().take(EXPLAINED) {
        let case = recording.index.cases.iter().find(|case| case.id == difference.id);
        let (Some(case), Some((place, expected))) = (case, difference.place) else { continue };
        let loaded = recording.load(case)?;
        let call = loaded.call();
        let plan = plan_of(recording, case, assume)?;
        (difference.rule, difference.instead) = cause(&plan, &call, place, expected)?.unzip();
    }
    Ok(report)
}

/// Differences for which the rule is looked for; each takes some hundred reference elements.
const EXPLAINED: usize = 20;

/// The same with plans from elsewhere; no rule is looked for.
pub fn verify_with(
    recording: &Recording,
    plan: impl Fn(&Case) -> Result<Plan, Error> + Sync,
) -> Result<Report, Error> {
    let cases = &recording.index.cases;
    let outcomes: Vec<Result<Outcome, Error>> =
        cases.par_iter().map(|case| one(recording, case, &plan)).collect();
    let mut report = Report { calls: cases.len(), ..Report::default() };
    for (case, outcome) in cases.iter().zip(outcomes) {
        match outcome? {
            Outcome::Agrees(values) => {
                report.agree += 1;
                report.values += values;
            }
            Outcome::Rejected(kind) => *report.rejected.entry(kind).or_default() += 1,
            Outcome::Ran => report.ran += 1,
            Outcome::Declined(reason) => report.declined.push(Declined { id: case.id.clone(), reason }),
            Outcome::Differs(difference, values) => {
                report.values += values;
                report.differing_values += difference.values;
                report.differences.push(difference);
            }
        }
    }
    Ok(report)
}

fn one(
    recording: &Recording,
    case: &Case,
    plan: &(impl Fn(&Case) -> Result<Plan, Error> + Sync),
) -> Result<Outcome, Error> {
    let differs = |what: String| Outcome::Differs(Difference::new(case, what, 0, None), 0);
    let rejection = match case.call.function {
        Function::ScaledMm => recording.request(case)?.rejection(),
        Function::Mm => None,
    };
    Ok(match (case.expect.as_str(), rejection) {
        ("rejected", Some(rejection)) => Outcome::Rejected(rejection.kind()),
        ("rejected", None) => match plan(case) {
            Err(Error::Rejected(rejection)) => Outcome::Rejected(rejection.kind()),
            _ => differs("the library rejected it; no rule does".to_owned()),
        },
        (_, Some(rejection)) => {
            differs(format!("the library ran it; rule {} rejects it: {rejection}", rejection.rule()))
        }
        ("ran", None) => Outcome::Ran,
        (_, None) => {
            if case.call.bias.is_some() {
                return Ok(Outcome::Declined("a bias was never recorded (rule 26)".to_owned()));
            }
            if case.call.scaling.as_deref() == Some("row") && case.scales.is_none() {
                return Ok(Outcome::Declined("the recording does not hold its row-wise scales".to_owned()));
            }
            match plan(case) {
                Ok(plan) => bits(recording, case, &plan)?,
                Err(Error::Declined { reason, .. }) => Outcome::Declined(reason),
                Err(error) => return Err(error),
            }
        }
    })
}

fn bits(recording: &Recording, case: &Case, plan: &Plan) -> Result<Outcome, Error> {
    let loaded = recording.load(case)?;
    let call = loaded.call();
    let d = execute(plan, &call)?;
    let columns = d.columns();
    let places: Vec<(usize, usize)> = match case.call.select.as_deref() {
        Some(_) => (0..d.rows().min(columns)).map(|index| (index, index)).collect(), // the diagonal
        None => (0..d.rows()).flat_map(|row| (0..columns).map(move |column| (row, column))).collect(),
    };
    let mut wrong = places
        .iter()
        .zip(&loaded.expected)
        .filter(|&(&(row, column), &expected)| d.get(0, row, column) != expected);
    let Some((&(row, column), &expected)) = wrong.next() else { return Ok(Outcome::Agrees(places.len())) };
    let digits = loaded.out.hex_digits();
    let actual = d.get(0, row, column);
    let what = format!("D[{row}, {column}] is {actual:0digits$x}; recorded was {expected:0digits$x}");
    let difference = Difference::new(case, what, 1 + wrong.count(), Some(((row, column), expected)));
    Ok(Outcome::Differs(difference, places.len()))
}

/// The one rule that explains why an element is not `expected`, and what in its place makes it so.
pub fn cause(
    plan: &Plan,
    call: &Call<'_>,
    (row, column): (usize, usize),
    expected: u64,
) -> Result<Option<(u32, String)>, Error> {
    for (rule, instead, plan) in changes(plan) {
        if plan.check().is_ok() && element(&plan, call, row, column)?.code == expected {
            return Ok(Some((rule, instead)));
        }
    }
    Ok(None)
}

/// Plans that differ from one in one rule, likely ones first.
pub fn changes(plan: &Plan) -> Vec<(u32, String, Plan)> {
    let mut all = Vec::new();
    let mut change = |rule: u32, instead: &str, edit: &dyn Fn(&mut Plan)| {
        let mut changed = plan.clone();
        edit(&mut changed);
        if changed != *plan {
            all.push((rule, instead.to_owned(), changed));
        }
    };
    for every in [0, 64, 128, 256] {
        change(9, &format!("promotion every {every} elements (0: never)"), &|plan| {
            plan.promote.every = every;
        });
    }
    for (kind, name) in [(DealKind::Contiguous, "contiguous"), (DealKind::Interleaved, "interleaved")] {
        for grain in [32, 64, 128] {
            let rule = if kind == DealKind::Contiguous { 11 } else { 10 };
            change(rule, &format!("a deal that is {name} in tiles of {grain}"), &|plan| {
                if plan.deal.kind != DealKind::None && plan.deal.chunk == 0 {
                    (plan.deal.kind, plan.deal.grain) = (kind, grain);
                }
            });
        }
    }
    for parts in (2..=32).filter(|_| plan.deal.kind != DealKind::None && plan.deal.chunk == 0) {
        change(10, &format!("{parts} parts"), &|plan| plan.deal.parts = parts);
    }
    change(10, "one part", &|plan| {
        (plan.deal, plan.merge) = (Default::default(), Default::default());
    });
    for (order, rule, name) in [(MergeOrder::Serial, 15, "serial"), (MergeOrder::Pairwise, 16, "pairwise")] {
        change(rule, &format!("a {name} merge"), &|plan| {
            if plan.merge.order != MergeOrder::None {
                plan.merge.order = order;
            }
        });
    }
    for (kind, rule) in [(MergeType::D, 17), (MergeType::DPartials, 18), (MergeType::F32, 19)] {
        change(rule, &format!("a merge of type {kind:?}"), &|plan| plan.merge.kind = kind);
    }
    for (multiply, name) in [
        (Multiply::FmaZero, "fma onto +0"),
        (Multiply::Mul, "a product"),
        (Multiply::MulAdd, "a product, then + (+0)"),
    ] {
        change(21, &format!("{name} for the factor"), &|plan| plan.epilogue.multiply = multiply);
    }
    change(22, "one rounding into D", &|plan| plan.epilogue.through = Through::None);
    change(23, "no scale_result", &|plan| plan.epilogue.scale_result = ScaleResult::Never);
    change(23, "no saturation", &|plan| plan.epilogue.saturate = !plan.epilogue.saturate);
    all
}
