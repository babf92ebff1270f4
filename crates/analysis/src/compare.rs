//! One input through every instruction: results by architecture, and what each lost on the way.

use bitmma_engine::catalogue::of;
use bitmma_engine::formats::word::read;
use bitmma_engine::formats::{BlockScale, Format};
use bitmma_engine::{Architecture, Case, Instruction, Model, Revision};
use bitmma_verify::inputs::zero;

use crate::account::{Account, account, dot};
use crate::error::Error;

/// What goes in, as text that every format reads for itself: decimals, hexadecimal floats, `inf`, `nan`.
#[derive(Clone, Debug)]
pub struct Input<'a> {
    /// Elements of A along K; zeros after them.
    pub a: Vec<&'a str>,
    /// Elements of B along K; zeros after them.
    pub b: Vec<&'a str>,
    /// The element of C.
    pub c: &'a str,
    /// Whether numbers that a format does not have are rounded to nearest, ties to even.
    pub round: bool,
}

/// What one instruction returns.
#[derive(Clone, Copy, Debug)]
pub struct Answer {
    /// The instruction.
    pub row: &'static Instruction,
    /// The code of D.
    pub d: u64,
}

/// Why an instruction is left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reason {
    /// A value that the format of an operand does not have.
    Value {
        /// `a`, `b` or `c`.
        operand: char,
        /// The operand's format.
        format: &'static str,
        /// The value.
        word: String,
    },
    /// More values than K, which this is.
    Short(usize),
    /// The compiler makes it of other instructions, which was not asked for.
    Composed,
    /// It is not known how it computes.
    Unknown,
}

/// Results by architecture.
#[derive(Clone, Debug)]
pub struct Comparison {
    /// In the catalogue's order.
    pub answers: Vec<Answer>,
    /// The others.
    pub left_out: Vec<(&'static Instruction, Reason)>,
    /// Values in the longer of A and B.
    pub given: usize,
}

impl Comparison {
    /// A reason in words.
    pub fn text(&self, reason: &Reason) -> String {
        match reason {
            Reason::Value { operand, format, word } => format!("{format} cannot hold {operand} = {word}"),
            Reason::Short(k) => format!("K = {k}, and {} values were given", self.given),
            Reason::Composed => "composed of other instructions, which were not asked for".to_owned(),
            Reason::Unknown => "it is not known how it computes".to_owned(),
        }
    }
}

impl Input<'_> {
    /// The paper's Equation 1, exactly −0.875.
    pub fn equation_1() -> Input<'static> {
        let (a, b) = (["-8192", "-0.5", "-0.25", "-0.125"], ["1024", "1", "1", "1"]);
        Input { a: a.to_vec(), b: b.to_vec(), c: "8388608", round: false }
    }

    /// Values in the longer of A and B.
    pub fn given(&self) -> usize {
        self.a.len().max(self.b.len())
    }

    /// The input as an instruction takes it: zeros after it, scale factors of one.
    pub fn case(&self, row: &Instruction) -> Result<Case, Reason> {
        if self.given() > row.products() {
            return Err(Reason::Short(row.products()));
        }
        self.case_of([row.a, row.b, row.c], row.scale, row.products())
    }

    /// D of a model on the input, K being as many elements as were given, in whole blocks.
    ///
    /// # Errors
    ///
    /// A value that a format does not have, or a K that the model does not take.
    pub fn answer(&self, model: &Model) -> Result<u64, Error> {
        let k = self.given().next_multiple_of(model.scale.map_or(1, |scale| scale.size));
        let case =
            self.case_of([model.a, model.b, model.c], model.scale, k).map_err(|reason| match reason {
                Reason::Value { format, word, .. } => {
                    crate::error::option("an element", word, &format!("{format} cannot hold it"))
                }
                _ => crate::error::option("K", k, "the model does not take it"),
            })?;
        dot(model, &case)
    }

    fn case_of(&self, formats: [Format; 3], scale: Option<BlockScale>, k: usize) -> Result<Case, Reason> {
        let one = |operand: char, format: &Format, word: &str| {
            let missing = |_| Reason::Value { operand, format: format.name, word: word.to_owned() };
            read(format, word, self.round).map_err(missing)
        };
        let list = |operand: char, format: &Format, words: &[&str]| {
            let codes: Result<Vec<u64>, Reason> =
                words.iter().map(|word| one(operand, format, word)).collect();
            codes.map(|mut codes| {
                codes.resize(k, zero(format));
                codes
            })
        };
        let (a, b) = (list('a', &formats[0], &self.a)?, list('b', &formats[1], &self.b)?);
        let c = one('c', &formats[2], self.c)?;
        let scales = match scale {
            Some(scale) => vec![scale.format.one_code(); k / scale.size],
            None => Vec::new(),
        };
        Ok(Case { a, b, c, scale_a: scales.clone(), scale_b: scales })
    }

    /// What one instruction loses on it; `None` where it does not take it, and of sums of integers, which lose nothing.
    pub fn account(&self, row: &Instruction, revision: Revision) -> Result<Option<Account>, Error> {
        let (Some(model), Ok(case)) = (row.model_ref(revision), self.case(row)) else { return Ok(None) };
        if model.is_integer() {
            return Ok(None);
        }
        account(model, &case, true).map(Some)
    }
}

/// The input through every instruction of these architectures; those that a compiler makes of others only
/// where `composed` says so, those on integers only where the input is of integers that they take.
pub fn compare(
    input: &Input<'_>,
    architectures: &[Architecture],
    revision: Revision,
    composed: bool,
) -> Result<Comparison, Error> {
    let mut comparison = Comparison { answers: Vec::new(), left_out: Vec::new(), given: input.given() };
    for row in architectures.iter().flat_map(|architecture| of(*architecture)) {
        // fractions and large numbers are not meant for integers
        if row.d.is_integer() && input.case(row).is_err() {
            continue;
        }
        let case = match row.model_ref(revision) {
            None => Err(Reason::Unknown),
            Some(_) if row.composed_of.is_some() && !composed => Err(Reason::Composed),
            Some(model) => input.case(row).map(|case| (model, case)),
        };
        match case {
            Ok((model, case)) => comparison.answers.push(Answer { row, d: dot(model, &case)? }),
            Err(reason) => comparison.left_out.push((row, reason)),
        }
    }
    Ok(comparison)
}
