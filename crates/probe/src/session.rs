//! The conversation with a unit: questions, answers, the log of both.

use bitmma_engine::{Case, Matrices, MmaUnit, Progress, Signature};

use crate::error::Error;
use crate::log::{Log, dot_question, from_runs, runs, short};

/// Dot products asked in one exchange.
const BATCH: usize = 512;
/// Instructions asked in one exchange.
const INSTRUCTIONS: usize = 16;

/// A unit being asked.
pub(crate) struct Session<'u> {
    unit: &'u dyn MmaUnit,
    log: Log,
    progress: &'u dyn Progress,
    answered: u64,
    stage: &'static str,
    /// How much of the stage is done, and of how much; 0 where nobody knows.
    done: (u64, u64),
}

impl<'u> Session<'u> {
    pub(crate) fn new(unit: &'u dyn MmaUnit, log: Log, progress: &'u dyn Progress) -> Session<'u> {
        Session { unit, log, progress, answered: 0, stage: "", done: (0, 0) }
    }

    pub(crate) fn signature(&self) -> &'u Signature {
        self.unit.signature()
    }

    /// Dot products answered so far.
    pub(crate) fn answered(&self) -> u64 {
        self.answered
    }

    /// Says how far a stage has come.
    pub(crate) fn progress(&mut self, stage: &'static str, done: u64, total: u64) -> Result<(), Error> {
        (self.stage, self.done) = (stage, (done, total));
        self.tell()
    }

    /// Tells who listens; of a stage whose length nobody knows the dot products answered in all.
    fn tell(&self) -> Result<(), Error> {
        let (done, total) = self.done;
        let done = if total == 0 { self.answered } else { done };
        self.progress.step(self.stage, done, total).map_err(|_| Error::Stopped)
    }

    /// One code of D for each dot product.
    pub(crate) fn dots(&mut self, purpose: &'static str, cases: &[Case]) -> Result<Vec<u64>, Error> {
        let signature = self.signature();
        let digits = signature.d.hex_digits();
        let mut answers = Vec::with_capacity(cases.len());
        for case in cases {
            match self.log.earlier(&dot_question(signature, purpose, case))? {
                None => break,
                Some(answer) => answers.push(self.read_code(&answer)?),
            }
        }
        self.answered += answers.len() as u64;
        for batch in cases[answers.len()..].chunks(BATCH) {
            let given = self.unit.dot_products(batch).map_err(|source| self.failed(purpose, source))?;
            self.check(purpose, &given, batch.len())?;
            let mut lines = String::new();
            for (case, &answer) in batch.iter().zip(&given) {
                lines.push_str(&dot_question(signature, purpose, case));
                lines.push_str(&format!(",{answer:0digits$x}\n"));
            }
            self.log.write(&lines)?;
            self.answered += batch.len() as u64;
            answers.extend(given);
            self.tell()?;
        }
        Ok(answers)
    }

    /// All codes of D, row-major, block after block, for each instruction.
    pub(crate) fn instructions(
        &mut self,
        purpose: &'static str,
        asked: &[Matrices],
    ) -> Result<Vec<Vec<u64>>, Error> {
        let (d, elements) = (self.signature().d, self.elements());
        let mut answers = Vec::with_capacity(asked.len());
        for matrices in asked {
            match self.log.earlier(&matrix_question(purpose, matrices))? {
                None => break,
                Some(answer) => {
                    let codes =
                        from_runs(&answer).filter(|codes| self.check(purpose, codes, elements).is_ok());
                    let problem = || format!("'{}' is not {elements} codes of {d}", short(&answer));
                    answers.push(codes.ok_or_else(|| self.damaged(problem()))?);
                }
            }
        }
        let done = answers.len();
        for batch in asked[done..].chunks(INSTRUCTIONS) {
            let given = self.multiply(purpose, batch)?;
            let mut lines = String::new();
            for (matrices, codes) in batch.iter().zip(&given) {
                lines.push_str(&matrix_question(purpose, matrices));
                lines.push_str(&format!(",{}\n", runs(codes, d.hex_digits())));
            }
            self.log.write(&lines)?;
            answers.extend(given);
        }
        self.answered += (asked.len() * elements) as u64;
        Ok(answers)
    }

    /// Elements of D of one instruction.
    pub(crate) fn elements(&self) -> usize {
        let Signature { m, n, blocks, .. } = *self.signature();
        m * n * blocks
    }

    /// As [`Session::instructions`], not logged.
    pub(crate) fn multiply(&self, purpose: &'static str, asked: &[Matrices]) -> Result<Vec<Vec<u64>>, Error> {
        let operands: Vec<_> = asked.iter().map(Matrices::operands).collect();
        let given = self.unit.multiply_many(&operands).map_err(|source| self.failed(purpose, source))?;
        if given.len() != asked.len() {
            let (given, expected) =
                (format!("{} matrices", given.len()), format!("{} instructions", asked.len()));
            return Err(Error::Answer { purpose, given, expected });
        }
        given
            .iter()
            .map(|d| {
                let codes: Vec<u64> = d.iter().collect();
                self.check(purpose, &codes, self.elements())?;
                Ok(codes)
            })
            .collect()
    }

    /// Something asked in many instructions, of which only the result is logged.
    pub(crate) fn summarised(
        &mut self,
        question: &str,
        elements: u64,
        ask: impl FnOnce(&mut Self) -> Result<String, Error>,
    ) -> Result<String, Error> {
        let answer = match self.log.earlier(question)? {
            Some(answer) => answer,
            None => {
                let answer = ask(self)?;
                self.log.write(&format!("{question},{answer}\n"))?;
                answer
            }
        };
        self.answered += elements;
        Ok(answer)
    }

    /// As [`Session::dots`], not logged.
    pub(crate) fn dots_unlogged(&self, purpose: &'static str, cases: &[Case]) -> Result<Vec<u64>, Error> {
        let given = self.unit.dot_products(cases).map_err(|source| self.failed(purpose, source))?;
        self.check(purpose, &given, cases.len())?;
        Ok(given)
    }

    /// That what the log gave last makes no sense.
    pub(crate) fn damaged(&self, problem: String) -> Error {
        self.log.wrong(problem)
    }

    fn failed(&self, purpose: &'static str, source: bitmma_engine::Error) -> Error {
        Error::Unit { answered: self.answered, purpose, source }
    }

    fn check(&self, purpose: &'static str, given: &[u64], expected: usize) -> Result<(), Error> {
        let d = self.signature().d;
        if given.len() != expected {
            let (given, expected) = (format!("{} codes", given.len()), format!("{expected} elements of D"));
            return Err(Error::Answer { purpose, given, expected });
        }
        match given.iter().find(|&&code| code > d.max_code()) {
            None => Ok(()),
            Some(code) => {
                let expected = format!("codes of {}, which have {} bits", d.name, d.bits());
                Err(Error::Answer { purpose, given: format!("{code:#x}"), expected })
            }
        }
    }

    fn read_code(&self, text: &str) -> Result<u64, Error> {
        u64::from_str_radix(text, 16)
            .ok()
            .filter(|&code| code <= self.signature().d.max_code())
            .ok_or_else(|| self.damaged(format!("'{text}' is not a code of {}", self.signature().d)))
    }
}

/// An instruction as the log has it: by a fingerprint of its operands (FNV-1a).
fn matrix_question(purpose: &str, matrices: &Matrices) -> String {
    let scales = matrices.scales.iter().flat_map(|(a, b)| a.iter().chain(b.iter()));
    let codes = matrices.a.iter().chain(matrices.b.iter()).chain(matrices.c.iter()).chain(scales);
    let fingerprint = codes.flat_map(u64::to_le_bytes).fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    format!("matrix,{purpose},{fingerprint:016x}")
}
