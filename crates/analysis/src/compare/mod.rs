//! One input through every instruction: results by architecture, and what each lost on the way.

mod class;
mod document;
mod input;

use bitmma_engine::catalogue::of;
use bitmma_engine::explain::json::Coded;
use bitmma_engine::{Architecture, Instruction, Model, Revision};
use serde::Serialize;

use self::class::Class;
use crate::account::{Loss, dot};
use crate::error::Error;

pub use input::{Input, Reason};

/// An instruction by its names.
#[derive(Clone, Debug, Serialize)]
pub struct Named {
    /// Architecture and instruction.
    pub target: String,
    /// The architecture.
    pub architecture: &'static str,
    /// The instruction.
    pub instruction: String,
}

impl From<&Instruction> for Named {
    fn from(row: &Instruction) -> Named {
        Named { target: row.target(), architecture: row.architecture.name(), instruction: row.name() }
    }
}

/// What one instruction returns.
#[derive(Clone, Debug, Serialize)]
pub struct Answer {
    /// The instruction.
    #[serde(skip)]
    pub row: &'static Instruction,
    /// The code of D.
    #[serde(skip)]
    pub d: u64,
    /// Its names.
    #[serde(flatten)]
    pub named: Named,
    /// Its column in the paper's table.
    pub class: &'static str,
    /// Whether the hardware has it.
    pub kind: &'static str,
    /// D.
    #[serde(flatten)]
    pub answer: Coded,
    /// What it lost, in the order of its steps, where that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub losses: Option<Vec<Loss>>,
}

/// An instruction that does not take the input.
#[derive(Clone, Debug, Serialize)]
pub struct LeftOut {
    /// The instruction.
    #[serde(skip)]
    row: &'static Instruction,
    /// Its names.
    #[serde(flatten)]
    pub named: Named,
    /// Why it does not.
    pub reason: Reason,
}

/// What a model from a file returns.
#[derive(Clone, Debug, Serialize)]
pub struct OwnAnswer {
    /// The file.
    pub file: String,
    /// D.
    #[serde(flatten)]
    pub answer: Coded,
    /// Instructions with the same code of D in the same format.
    pub same: Vec<String>,
}

/// Results by architecture.
#[derive(Clone, Debug, Serialize)]
pub struct Comparison<'i> {
    /// The revision of the models.
    pub revision: &'static str,
    /// What went in.
    pub input: Input<'i>,
    /// What a model from a file returns.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<OwnAnswer>,
    /// In the catalogue's order.
    pub answers: Vec<Answer>,
    /// The others.
    pub left_out: Vec<LeftOut>,
    #[serde(skip)]
    architectures: Vec<Architecture>,
    #[serde(skip)]
    composed: bool,
}

impl Comparison<'_> {
    /// What a model from a file returns on the input.
    ///
    /// # Errors
    ///
    /// As for [`Input::answer`].
    pub fn add(&mut self, file: String, model: &Model) -> Result<(), Error> {
        let d = self.input.answer(model)?;
        let same = self.answers.iter().filter(|answer| answer.row.d == model.d && answer.d == d);
        let same = same.map(|answer| answer.named.target.clone()).collect();
        self.model = Some(OwnAnswer { file, answer: Coded::new(&model.d, d), same });
        Ok(())
    }
}

/// Which instructions are asked, and what for.
#[derive(Clone, Debug)]
pub struct Scope {
    /// Those of these architectures.
    pub architectures: Vec<Architecture>,
    /// The revision of their models.
    pub revision: Revision,
    /// Also those that a compiler makes of others.
    pub composed: bool,
    /// Also what each lost.
    pub why: bool,
}

/// The input through every instruction of a scope; those on integers only where the input is of integers that they take.
pub fn compare(input: Input<'_>, scope: Scope) -> Result<Comparison<'_>, Error> {
    let Scope { architectures, revision, composed, why } = scope;
    let (mut answers, mut left_out) = (vec![], vec![]);
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
            Ok((model, case)) => {
                let d = dot(model, &case)?;
                let account = if why { input.account(row, revision)? } else { None };
                answers.push(Answer {
                    row,
                    d,
                    named: row.into(),
                    class: Class::of(row).name(),
                    kind: row.kind(),
                    answer: Coded::new(&row.d, d),
                    losses: account.map(|account| account.losses),
                });
            }
            Err(reason) => left_out.push(LeftOut { row, named: row.into(), reason }),
        }
    }
    let revision = revision.name();
    Ok(Comparison { revision, input, model: None, answers, left_out, architectures, composed })
}
