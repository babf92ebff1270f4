//! A recording as a unit: it answers what was recorded, and nothing else.

use std::collections::HashMap;

use bitmma_catalogue::lookup::Found;

use crate::error::{Error, Fault};
use crate::inputs::{Case, Matrices};
use crate::matrix::Matrix;
use crate::recording::{Answer, Record, hex};
use crate::unit::{MmaUnit, Operands, Signature};

/// The dot products of one instruction that stand in a recording.
#[derive(Clone, Debug)]
pub struct Playback {
    signature: Signature,
    answers: HashMap<Case, u64>,
}

impl Playback {
    /// The records of one instruction; all of them where the recording has but one and none is named. An
    /// answer that is any NaN is given as the format's quiet one.
    pub fn new(records: &[Record], wanted: Option<&Found>) -> Result<Playback, Error> {
        let same = |one: &Found, other: &Found| {
            std::ptr::eq(one.instruction, other.instruction) && (one.m, one.n) == (other.m, other.n)
        };
        let refused = |problem: String| Error::Unit {
            unit: "the recording".to_owned(),
            fault: Fault::Unavailable,
            problem,
        };
        let mut names: Vec<String> = Vec::new();
        for record in records {
            let name = name_of(&record.found);
            if !names.contains(&name) {
                names.push(name);
            }
        }
        let found = match wanted {
            Some(found) => *found,
            None if names.len() == 1 => records[0].found,
            None => {
                return Err(refused(format!(
                    "it holds {} instructions; name one of them: {}",
                    names.len(),
                    names.join(", ")
                )));
            }
        };
        let nan = found.instruction.d.nan_code().unwrap_or(0);
        let mut answers = HashMap::new();
        for record in records.iter().filter(|record| same(&record.found, &found)) {
            let Record { a, b, c, scale_a, scale_b, d, .. } = record.clone();
            let code = match d {
                Answer::Code(code) => code,
                Answer::Nan => nan,
            };
            answers.entry(Case { a, b, c, scale_a, scale_b }).or_insert(code);
        }
        if answers.is_empty() {
            return Err(refused(format!(
                "it holds nothing of {}; it holds {}",
                name_of(&found),
                names.join(", ")
            )));
        }
        let signature = Signature::with_architecture(&found);
        Ok(Playback { signature, answers })
    }

    fn answer(&self, case: &Case) -> Result<u64, Error> {
        self.answers.get(case).copied().ok_or_else(|| Error::Unit {
            unit: format!("the recording of {}", self.signature.name),
            fault: Fault::Refused,
            problem: format!(
                "a {}, b {}, c {} is none of its {} dot products",
                hex(&self.signature.a, &case.a),
                hex(&self.signature.b, &case.b),
                hex(&self.signature.c, &[case.c]),
                self.answers.len()
            ),
        })
    }
}

fn name_of(found: &Found) -> String {
    format!("{}/{}", found.instruction.architecture, found.name())
}

impl MmaUnit for Playback {
    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn multiply(&self, operands: &Operands<'_>) -> Result<Matrix, Error> {
        self.signature.check(operands)?;
        let Signature { m, n, blocks, d, .. } = self.signature;
        let matrices = Matrices {
            a: operands.a.clone(),
            b: operands.b.clone(),
            c: operands.c.clone(),
            scales: operands.scale_a.cloned().zip(operands.scale_b.cloned()),
        };
        let mut codes = Vec::with_capacity(blocks * m * n);
        for index in 0..blocks * m * n {
            codes.push(self.answer(&matrices.case(index / (m * n), index / n % m, index % n))?);
        }
        Matrix::new(d, (blocks, m, n), codes)
    }

    fn dot_products(&self, cases: &[Case]) -> Result<Vec<u64>, Error> {
        cases.iter().map(|case| self.answer(case)).collect()
    }
}
