//! One input, as every instruction takes it.

use std::fmt;

use bitmma_engine::formats::word::read;
use bitmma_engine::formats::{BlockScale, Format};
use bitmma_engine::{Case, Instruction, Model, Revision};
use bitmma_verify::inputs::zero;
use serde::{Serialize, Serializer};

use crate::account::{Account, account, dot};
use crate::error::{Error, option};

/// What goes in, as text that every format reads for itself: decimals, hexadecimal floats, `inf`, `nan`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Input<'a> {
    /// Elements of A along K; zeros after them.
    pub a: Vec<&'a str>,
    /// Elements of B along K; zeros after them.
    pub b: Vec<&'a str>,
    /// The element of C.
    pub c: &'a str,
    /// Whether numbers that a format does not have are rounded to nearest, ties to even.
    #[serde(skip)]
    pub round: bool,
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
    /// More values than K.
    Short {
        /// Of the instruction.
        k: usize,
        /// In the longer of A and B.
        given: usize,
    },
    /// The compiler makes it of other instructions, which was not asked for.
    Composed,
    /// It is not known how it computes.
    Unknown,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reason::Value { operand, format, word } => write!(f, "{format} cannot hold {operand} = {word}"),
            Reason::Short { k, given } => write!(f, "K = {k}, and {given} values were given"),
            Reason::Composed => f.write_str("composed of other instructions, which were not asked for"),
            Reason::Unknown => f.write_str("it is not known how it computes"),
        }
    }
}

impl Serialize for Reason {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
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
            return Err(Reason::Short { k: row.products(), given: self.given() });
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
                    option("an element", word, &format!("{format} cannot hold it"))
                }
                _ => option("K", k, "the model does not take it"),
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
