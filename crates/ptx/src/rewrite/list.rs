//! What a rewriting did, and how it inserts instructions.

use std::collections::HashMap;
use std::fmt;

use crate::error::Doubt;
use crate::text::{Function, Instruction};

/// What was rewritten.
#[derive(Clone, Debug, Default)]
pub struct Rewrites {
    /// Lines of the multiplication (or division) and of the addition that are one operation.
    pub fused: Vec<(u32, u32)>,
    /// Lines of operations on constants that are computed at compile time, correctly rounded.
    pub folded: Vec<u32>,
    /// How it is known what is fused and folded.
    pub fusion: Fusion,
    pub(crate) doubts: Vec<Doubt>,
}

/// How it is known what of a text is fused.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Fusion {
    /// The text runs as it is written.
    #[default]
    Text,
    /// It is compiled without fusion.
    Off,
    /// As this ptxas compiles it, such as `ptxas 12.9.86`.
    Asked(String),
    /// As the rule says; why ptxas was not asked, where it should have been.
    Predicted(Option<String>),
}

impl Fusion {
    /// One word: text, off, asked, predicted.
    pub fn word(&self) -> &'static str {
        match self {
            Fusion::Text => "text",
            Fusion::Off => "off",
            Fusion::Asked(_) => "asked",
            Fusion::Predicted(_) => "predicted",
        }
    }

    /// The ptxas that was asked, or why none was; empty where there is nothing to say.
    pub fn remark(&self) -> &str {
        match self {
            Fusion::Asked(remark) | Fusion::Predicted(Some(remark)) => remark,
            _ => "",
        }
    }
}

impl fmt::Display for Fusion {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.remark() {
            "" => formatter.write_str(self.word()),
            remark => write!(formatter, "{} ({remark})", self.word()),
        }
    }
}

/// Inserts instructions before others; branches to those go to the first of them.
pub(super) fn insert_before(function: &mut Function, mut before: HashMap<usize, Vec<Instruction>>) {
    if before.is_empty() {
        return;
    }
    let mut places = vec![];
    let mut all = vec![];
    for (at, instruction) in std::mem::take(&mut function.instructions).into_iter().enumerate() {
        places.push(all.len());
        all.extend(before.remove(&at).unwrap_or_default());
        all.push(instruction);
    }
    places.push(all.len());
    for instruction in &mut all {
        let place = |target: usize| places.get(target).copied().unwrap_or(target);
        instruction.operands.iter_mut().for_each(|operand| operand.retarget(&place));
    }
    function.instructions = all;
}
