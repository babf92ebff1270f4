//! A recording as a unit: it answers what was recorded, and nothing else.

use std::collections::HashMap;
use std::sync::Arc;

use bitmma_engine::{Case, Error, Fault, Matrix, MmaUnit, Operands, Signature};

use crate::origin::Origin;
use crate::recording::{Answer, Record, hex};

/// The dot products of one instruction that stand in a recording.
#[derive(Clone, Debug)]
pub struct Playback {
    signature: Signature,
    answers: HashMap<Case, u64>,
}

impl Playback {
    /// The records of what is named `ARCH/INSTRUCTION`; all of them where the recording has but one and none is
    /// named. A result that is any NaN is given as the format's quiet one.
    pub fn new(records: &[Record], wanted: Option<&str>) -> Result<Playback, Error> {
        let refused = |problem: String| Error::unit("the recording", Fault::Unavailable, problem);
        let mut origins: Vec<&Arc<Origin>> = Vec::new();
        for record in records {
            if !origins.iter().any(|known| Arc::ptr_eq(known, &record.origin) || **known == record.origin) {
                origins.push(&record.origin);
            }
        }
        let name = |origin: &Origin| format!("{}/{}", origin.architecture(), origin.instruction());
        let names = || origins.iter().map(|origin| name(origin)).collect::<Vec<_>>().join(", ");
        let origin = match wanted {
            Some(text) => {
                let other = text.split_once('/').and_then(|(architecture, instruction)| {
                    Origin::named(architecture, instruction).ok() // by another of its names
                });
                let is = |origin: &Origin| {
                    name(origin).eq_ignore_ascii_case(text)
                        || other.as_ref().is_some_and(|other| other == origin)
                };
                origins
                    .iter()
                    .find(|origin| is(origin))
                    .copied()
                    .ok_or_else(|| refused(format!("it holds nothing of {text}; it holds {}", names())))?
            }
            None if origins.len() == 1 => origins[0],
            None if origins.is_empty() => return Err(refused("it holds no dot product".to_owned())),
            None => {
                let count = origins.len();
                return Err(refused(format!("it holds {count} instructions; name one of them: {}", names())));
            }
        };
        let signature = origin.signature().clone();
        let mut answers = HashMap::new();
        for record in records.iter().filter(|record| record.origin == *origin) {
            let code = match record.d {
                Answer::Code(code) => code,
                Answer::Nan => signature.d.nan_code().ok_or_else(|| {
                    refused(format!(
                        "D of {} is NaN in a record, but {} has no NaN",
                        signature.name, signature.d
                    ))
                })?,
            };
            answers.entry(record.case.clone()).or_insert(code);
        }
        Ok(Playback { signature, answers })
    }

    fn answer(&self, case: &Case) -> Result<u64, Error> {
        self.answers.get(case).copied().ok_or_else(|| {
            let problem = format!(
                "a {}, b {}, c {} is none of its {} dot products",
                hex(&self.signature.a, &case.a),
                hex(&self.signature.b, &case.b),
                hex(&self.signature.c, &[case.c]),
                self.answers.len()
            );
            Error::unit(format!("the recording of {}", self.signature.name), Fault::Refused, problem)
        })
    }
}

impl MmaUnit for Playback {
    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn multiply(&self, operands: &Operands<'_>) -> Result<Matrix, Error> {
        self.signature.check(operands)?;
        let Signature { m, n, blocks, d, .. } = self.signature;
        let mut codes = Vec::with_capacity(blocks * m * n);
        for index in 0..blocks * m * n {
            codes.push(self.answer(&operands.case(index / (m * n), index / n % m, index % n))?);
        }
        Matrix::new(d, (blocks, m, n), codes)
    }

    fn dot_products(&self, cases: &[Case]) -> Result<Vec<u64>, Error> {
        cases.iter().map(|case| self.answer(case)).collect()
    }
}
