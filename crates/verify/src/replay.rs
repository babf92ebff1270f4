//! Recordings compared with models, on the reference path and on the kernels.

use std::sync::Arc;

use bitmma_engine::arithmetic::Model;
use bitmma_engine::catalogue::Revision;
use bitmma_engine::kernel::has_kernel;
use bitmma_engine::threads::prelude::*;
use bitmma_engine::{Case, Error, FastSimulator, Simulator, on_diagonals};

use crate::origin::Origin;
use crate::recording::{Answer, Record};

/// What recordings are compared with.
#[derive(Clone, Debug, Default)]
pub struct Rules {
    /// Which revision of the instructions' models.
    pub revision: Revision,
    /// Whether two NaNs of different codes differ even where the vendor does not specify the code.
    pub strict_nan: bool,
    /// This model instead of the instructions' own.
    pub model: Option<Model>,
}

/// A record that the model answers otherwise.
#[derive(Clone, Debug)]
pub struct Mismatch {
    /// The record.
    pub record: Record,
    /// The model's result.
    pub actual: u64,
    /// Whether a kernel answered so; the reference path agrees with the record then.
    pub by_kernel: bool,
}

/// What became of the records of one instruction.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// What answered.
    pub origin: Arc<Origin>,
    /// Records compared with the model on the reference path.
    pub total: usize,
    /// How many of them were compared with its kernel, too: all, or none where there is no kernel.
    pub by_kernel: usize,
    /// How many differ.
    pub mismatches: usize,
    /// The first that differs, in the order of the recording.
    pub first: Option<Mismatch>,
}

/// What became of the records of one instruction, over several recordings.
#[derive(Clone, Debug)]
pub struct Joined {
    /// All of it.
    pub outcome: Outcome,
    /// Which recording its first mismatch stands in, from 0; without one, the first that has the instruction.
    pub recording: usize,
}

/// Takes the outcomes of the next part of a recording into account.
pub fn join(all: &mut Vec<Joined>, recording: usize, outcomes: Vec<Outcome>) {
    for outcome in outcomes {
        match all.iter_mut().find(|joined| joined.outcome.origin == outcome.origin) {
            Some(joined) => {
                joined.outcome.total += outcome.total;
                joined.outcome.by_kernel += outcome.by_kernel;
                joined.outcome.mismatches += outcome.mismatches;
                if joined.outcome.first.is_none() && outcome.first.is_some() {
                    (joined.outcome.first, joined.recording) = (outcome.first, recording);
                }
            }
            None => all.push(Joined { outcome, recording }),
        }
    }
}

/// Holds records against models, in parallel; one outcome for each instruction, in the order in which
/// they first appear.
pub fn replay(records: &[Record], rules: &Rules) -> Result<Vec<Outcome>, Error> {
    let mut groups: Vec<(&Arc<Origin>, Vec<&Record>)> = Vec::new();
    for record in records {
        let same = |origin: &Arc<Origin>| Arc::ptr_eq(origin, &record.origin) || *origin == record.origin;
        // recordings come sorted: the group is nearly always the last one
        match groups.iter_mut().rev().find(|(origin, _)| same(origin)) {
            Some((_, group)) => group.push(record),
            None => groups.push((&record.origin, vec![record])),
        }
    }
    groups.into_par_iter().map(|(origin, group)| hold(origin, &group, rules)).collect()
}

fn hold(origin: &Arc<Origin>, group: &[&Record], rules: &Rules) -> Result<Outcome, Error> {
    let own;
    let model = match &rules.model {
        Some(model) => {
            fits(model, origin)?;
            model
        }
        None => {
            own = origin.model(rules.revision)?;
            &own
        }
    };
    let answers: Vec<u64> = group
        .par_iter()
        .map(|record| Ok(model.dot(&record.case.operands())?))
        .collect::<Result<_, Error>>()?;
    let kernel = by_kernel(model, group)?;
    let differing = group.iter().enumerate().filter_map(|(index, record)| {
        let differs = |actual: u64| !agrees(model, record.d, actual, rules.strict_nan);
        let of_kernel = kernel.as_ref().map(|answers| answers[index]);
        let (actual, by_kernel) = match (answers[index], of_kernel) {
            (actual, _) if differs(actual) => (actual, false),
            (_, Some(actual)) if differs(actual) => (actual, true),
            _ => return None,
        };
        Some((record, actual, by_kernel))
    });
    let mut differing = differing.peekable();
    let first = differing.peek().map(|&(record, actual, by_kernel)| Mismatch {
        record: (*record).clone(),
        actual,
        by_kernel,
    });
    Ok(Outcome {
        origin: Arc::clone(origin),
        total: group.len(),
        by_kernel: kernel.as_ref().map_or(0, Vec::len),
        mismatches: differing.count(),
        first,
    })
}

/// Dot products on the diagonal of one product of a kernel.
const DIAGONAL: usize = 64;

/// What the model's kernel returns, if it has one.
fn by_kernel(model: &Model, group: &[&Record]) -> Result<Option<Vec<u64>>, Error> {
    let k = group[0].case.a.len();
    if !has_kernel(model, k) {
        return Ok(None);
    }
    let size = group.len().min(DIAGONAL);
    let unit = FastSimulator::new(Simulator::model(model.clone(), (size, size, k))?);
    let cases: Vec<Case> = group.iter().map(|record| record.case.clone()).collect();
    on_diagonals(&unit, &cases).map(Some)
}

fn agrees(model: &Model, expected: Answer, actual: u64, strict_nan: bool) -> bool {
    match expected {
        Answer::Code(expected) => model.agrees(expected, actual, strict_nan),
        Answer::Nan => model.d.is_nan(actual),
    }
}

/// A model instead of an instruction's own must take the instruction's formats.
fn fits(model: &Model, origin: &Origin) -> Result<(), Error> {
    let row = origin.signature();
    let formats =
        [("A", row.a, model.a), ("B", row.b, model.b), ("C", row.c, model.c), ("D", row.d, model.d)];
    for (operand, given, expected) in formats {
        if given != expected {
            return Err(Error::Format {
                operand,
                given: given.name,
                unit: format!("the model replayed against {}", origin.instruction()),
                expected: expected.name,
            });
        }
    }
    Ok(())
}
