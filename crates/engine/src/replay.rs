//! Recordings held against models.

use bitmma_arithmetic::Model;
use bitmma_arithmetic::run::Operands;
use bitmma_catalogue::Revision;
use bitmma_formats::{Class, decode};
use rayon::prelude::*;
use std::sync::Arc;

use crate::error::Error;
use crate::origin::Origin;
use crate::recording::{Answer, Record};

/// What recordings are held against.
#[derive(Clone, Debug, Default)]
pub struct Rules {
    /// Which revision of the instructions' models.
    pub revision: Revision,
    /// Whether two NaNs of different codes differ even where the vendor does not specify the code.
    pub strict_nan: bool,
    /// This model in place of the instructions' own.
    pub model: Option<Model>,
}

/// A record that the model answers otherwise.
#[derive(Clone, Debug)]
pub struct Mismatch {
    /// The record.
    pub record: Record,
    /// The model's answer.
    pub actual: u64,
}

/// What became of the records of one instruction.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// What answered.
    pub origin: Arc<Origin>,
    /// Records held against the model.
    pub total: usize,
    /// How many differ.
    pub mismatches: usize,
    /// The first that differs, in the order of the recording.
    pub first: Option<Mismatch>,
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
        .map(|record| {
            let Record { a, b, c, scale_a, scale_b, .. } = record;
            Ok(model.dot(&Operands { a, b, c: *c, scale_a, scale_b })?)
        })
        .collect::<Result<_, Error>>()?;
    let differs = |(record, actual): &(&&Record, &u64)| !agrees(model, record.d, **actual, rules.strict_nan);
    let mut differing = group.iter().zip(&answers).filter(differs);
    let first = differing.next().map(|(record, &actual)| Mismatch { record: (*record).clone(), actual });
    let mismatches = usize::from(first.is_some()) + differing.count();
    Ok(Outcome { origin: Arc::clone(origin), total: group.len(), mismatches, first })
}

fn agrees(model: &Model, expected: Answer, actual: u64, strict_nan: bool) -> bool {
    match expected {
        Answer::Code(expected) => model.agrees(expected, actual, strict_nan),
        Answer::Nan => decode(&model.d, actual).class == Class::Nan,
    }
}

/// A model in place of an instruction's own must take the instruction's formats.
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
