//! One input, several plans: whose call differs, by how much, and which rule is the cause.

use bitmma_engine::Matrix;
use bitmma_engine::formats::{Format, decode};
use serde::Serialize;

use crate::call::Call;
use crate::error::Error;
use crate::execute::execute;
use crate::plan::{DealKind, Plan};

/// A call compared with the first one.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Comparison {
    /// Elements of D.
    pub elements: usize,
    /// Elements that differ.
    pub differing: usize,
    /// Their share of all, 0 to 1.
    pub share: f64,
    /// The largest difference of two finite elements, in units of the format's codes between them (ULP).
    pub largest_ulp: u64,
    /// The first of them: row, column, the code here and there.
    pub first: Option<(usize, usize, u64, u64)>,
    /// What is left of the difference if one thing alone is exchanged, for everything in which the plans differ.
    pub causes: Vec<Cause>,
}

/// One part of the plan taken from the other.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Cause {
    /// Which part.
    pub exchanged: &'static str,
    /// Elements that still differ.
    pub differing: usize,
}

/// What two plans can differ in, and how one takes it from the other.
type Exchange = fn(&mut Plan, &Plan);

const EXCHANGES: [(&str, Exchange); 5] = [
    ("instruction", |plan, other| {
        (plan.arch, plan.instruction, plan.model, plan.loaded) =
            (other.arch, other.instruction.clone(), other.model.clone(), other.loaded.clone());
        plan.simt = other.simt.clone();
    }),
    ("deal", |plan, other| {
        let merge = plan.merge.clone();
        plan.deal = other.deal.clone();
        plan.merge = if plan.deal.kind == DealKind::None || merge.order == Default::default() {
            other.merge.clone()
        } else {
            merge
        };
    }),
    ("promotion", |plan, other| {
        plan.promote = other.promote.clone();
        plan.blocks = other.blocks.clone();
    }),
    ("merge", |plan, other| plan.merge = other.merge.clone()),
    ("epilogue", |plan, other| plan.epilogue = other.epilogue.clone()),
];

/// How far two codes of a format are apart, in codes; `None` where one is not finite.
fn apart(format: &Format, x: u64, y: u64) -> Option<u64> {
    let place = |code: u64| decode(format, code).is_finite().then(|| format.place(code));
    Some(place(x)?.abs_diff(place(y)?) as u64)
}

fn differing(x: &Matrix, y: &Matrix) -> usize {
    x.iter().zip(y.iter()).filter(|(x, y)| x != y).count()
}

/// Runs `call` under both plans and says how their results differ.
pub fn compare(plan: &Plan, other: &Plan, call: &Call<'_>) -> Result<Comparison, Error> {
    let (ours, theirs) = (execute(plan, call)?, execute(other, call)?);
    let format = call.out;
    let pairs = || ours.iter().zip(theirs.iter()).enumerate().filter(|(_, (x, y))| x != y);
    let columns = ours.columns();
    let mut causes = Vec::new();
    for (exchanged, exchange) in EXCHANGES {
        let mut changed = plan.clone();
        exchange(&mut changed, other);
        if changed == *plan || changed.check().is_err() {
            continue;
        }
        // an instruction of other operands cannot be exchanged alone
        if let Ok(d) = execute(&changed, call) {
            causes.push(Cause { exchanged, differing: differing(&ours, &d) });
        }
    }
    let (elements, differing) = (ours.codes().len(), pairs().count());
    Ok(Comparison {
        elements,
        differing,
        share: differing as f64 / elements.max(1) as f64,
        first: pairs().next().map(|(index, (x, y))| (index / columns, index % columns, x, y)),
        largest_ulp: pairs().filter_map(|(_, (x, y))| apart(&format, x, y)).max().unwrap_or(0),
        causes,
    })
}
