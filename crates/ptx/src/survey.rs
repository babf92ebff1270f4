//! What is known of each form of an entry before it runs.

use std::collections::BTreeMap;

use bitmma_engine::catalogue::{Architecture, find, function_evidence};
use bitmma_functions::Function;

use crate::decode::architecture;
use crate::decode::decoder::Decoder;
use crate::error::Error;
use crate::program::{Op, Region};
use crate::text::{Function as Entry, Module, expanded, inlined};

/// How the result of a form is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Standing {
    /// Defined by IEEE 754 or the PTX manual.
    Exact,
    /// By the table of a function: which, and what is known of it on the target.
    Function(Function, String),
    /// By the model of a matrix instruction, and what is known of it.
    Matrix(String),
    /// Exact, but the order in which blocks come is not defined, and the result depends on it.
    Unordered,
    /// Not supported, with the reason.
    Refused(String),
}

impl Standing {
    /// One word: exact, table, model, unordered, refused.
    pub fn word(&self) -> &'static str {
        match self {
            Standing::Exact => "exact",
            Standing::Function(..) => "table",
            Standing::Matrix(_) => "model",
            Standing::Unordered => "unordered",
            Standing::Refused(_) => "refused",
        }
    }

    /// What there is to say besides; empty where there is nothing.
    pub fn remark(&self) -> String {
        match self {
            Standing::Exact => String::new(),
            Standing::Function(function, evidence) => format!("{function}: {evidence}"),
            Standing::Matrix(evidence) => evidence.clone(),
            Standing::Unordered => "a sum of floats depends on the order of blocks".to_owned(),
            Standing::Refused(why) => why.clone(),
        }
    }
}

/// A form with the lines that it is on.
#[derive(Clone, Debug)]
pub struct FormUse {
    /// As the text has it.
    pub form: String,
    /// From 1, in order.
    pub lines: Vec<u32>,
    /// How its result is known.
    pub standing: Standing,
}

/// All forms of an entry.
#[derive(Clone, Debug)]
pub struct Survey {
    /// The entry.
    pub name: String,
    /// The architecture, as in `sm_90a`.
    pub target: String,
    /// By name.
    pub forms: Vec<FormUse>,
}

pub(crate) fn survey(module: &Module, entry: &Entry, target: Option<&str>) -> Result<Survey, Error> {
    let target = target.unwrap_or(&module.target);
    let architecture = architecture(target)?;
    // where a call is refused, so is what is passed by it
    let (mut function, refused) = match inlined(module, entry) {
        Ok(function) => (function, None),
        Err(Error::Unsupported { why, .. }) => (entry.clone(), Some(why)),
        Err(other) => return Err(other),
    };
    // what is not expanded is refused below
    match expanded(&mut function) {
        Ok(()) | Err(Error::Unsupported { .. }) => {}
        Err(other) => return Err(other),
    }
    let mut decoder = Decoder::new(module, &function, architecture)?;
    let mut forms: BTreeMap<&str, FormUse> = BTreeMap::new();
    for instruction in &function.instructions {
        let standing = match (decoder.operation(instruction), &refused) {
            (_, Some(why)) if instruction.name() == "call" || instruction.is_passing() => {
                Standing::Refused(why.clone())
            }
            (Ok(op), _) => standing(&op, architecture, &instruction.form),
            (Err(Error::Unsupported { why, .. }), _) => Standing::Refused(why),
            (Err(Error::Engine { error, .. }), _) => Standing::Refused(error.to_string()),
            (Err(other), _) => return Err(other),
        };
        let known = forms.entry(instruction.written()).or_insert_with(|| FormUse {
            form: instruction.written().to_owned(),
            lines: vec![],
            standing: standing.clone(),
        });
        // a function may be called from several places
        if !known.lines.contains(&instruction.line) {
            known.lines.push(instruction.line);
        }
        if matches!(standing, Standing::Refused(_)) {
            known.standing = standing;
        }
    }
    let forms = forms.into_values().collect();
    Ok(Survey { name: entry.name.clone(), target: target.to_owned(), forms })
}

fn standing(op: &Op, architecture: Architecture, form: &str) -> Standing {
    let table = |function: Function| {
        Standing::Function(function, function_evidence(architecture, function).to_string())
    };
    match op {
        Op::Computed(computed) => computed.computation.table.map_or(Standing::Exact, table),
        Op::Mma(_) | Op::Nest(..) | Op::OfNest(_) | Op::Wgmma(_) => match find(architecture, form) {
            Ok(found) if !found.instruction.d.is_integer() => {
                Standing::Matrix(found.instruction.evidence.to_string())
            }
            _ => Standing::Exact, // integers
        },
        Op::Atomic(atomic) if atomic.kind.float().is_some() => match (atomic.region, atomic.op) {
            (Region::Global | Region::Generic, crate::program::AtomicOp::Add) => Standing::Unordered,
            _ => Standing::Exact,
        },
        _ => Standing::Exact,
    }
}
