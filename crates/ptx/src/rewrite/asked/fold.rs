//! Operations on constants that ptxas has computed: the code has no special function for them.

use std::collections::{BTreeSet, HashMap};

use super::super::Rewrites;
use super::super::dead::{computes, live};
use super::super::evaluate::is_approximate;
use super::super::normal::{Folded, Normal};
use super::super::uses::Uses;
use super::dropped;
use super::sass::Listing;
use crate::error::Doubt;
use crate::flow::{Flow, effects};
use crate::text::{Function, Instruction, Operand};

/// Folds what the code has folded, with the values that are known to be the text's. Doubts about what it has not, and is not known.
pub(super) fn fold<'n>(
    function: &mut Function,
    listing: &Listing<'_>,
    normal: &dyn Fn() -> Option<&'n Normal>,
    rewrites: &mut Rewrites,
) -> Vec<Doubt> {
    let special =
        |at: usize| listing.of(at).iter().any(|one| matches!(listing.code[*one].name(), "MUFU" | "UMUFU"));
    let candidates: Vec<usize> = (0..function.instructions.len())
        .filter(|at| is_approximate(&function.instructions[*at]) && !special(*at))
        .collect();
    if candidates.is_empty() {
        return vec![];
    }
    let flow = Flow::of(&function.instructions);
    let varying: Option<Vec<bool>> = Uses::of(function, &flow).map(|uses| {
        let live = live(function, &uses);
        (0..function.instructions.len()).map(|at| !live[at] || varies(function, &uses, at)).collect()
    });
    let is_constant = |at: &usize| varying.as_ref().is_none_or(|varying| !varying[*at]);
    let candidates: Vec<usize> = candidates.into_iter().filter(is_constant).collect();
    if candidates.is_empty() {
        return vec![];
    }
    let normal = normal();
    let folds = normal.map(folds).unwrap_or_default();
    let mut doubts = vec![];
    for at in candidates {
        let gone = dropped(normal, at);
        let instruction = &mut function.instructions[at];
        match folds.get(&at) {
            Some(Some(folded)) => {
                (instruction.form, instruction.operands) = (folded.form.clone(), folded.operands.clone());
                rewrites.folded.push(instruction.line);
            }
            Some(None) => {
                let why = "ptxas computes it, in each turn of a loop another value".to_owned();
                doubts.push(Doubt { line: instruction.line, form: instruction.form.clone(), why });
            }
            None if gone || divides_by_one(instruction) => {}
            None => {
                let why = "ptxas computes it without the special function".to_owned();
                doubts.push(Doubt { line: instruction.line, form: instruction.form.clone(), why });
            }
        }
    }
    doubts
}

/// What the normal function has folded; None where its copies differ.
fn folds(normal: &Normal) -> HashMap<usize, Option<&Folded>> {
    let mut folds: HashMap<usize, Option<&Folded>> = HashMap::new();
    for (at, folded) in normal.folded.iter().enumerate() {
        let Some(folded) = folded else { continue };
        let known = folds.entry(normal.origin[at]).or_insert(Some(folded));
        if known.is_some_and(|known| (&known.form, &known.operands) != (&folded.form, &folded.operands)) {
            *known = None;
        }
    }
    folds
}

/// Whether what decides if an instruction can be folded is no constant: its operand, or its divisor, comes from a load or from the
/// thread's place.
fn varies(function: &Function, uses: &Uses, at: usize) -> bool {
    let instruction = &function.instructions[at];
    let decisive = match instruction.name() {
        "div" => instruction.operands.get(2),
        _ => instruction.operands.get(1),
    };
    let Some(Operand::Register(id)) = decisive else { return false };
    let mut seen = BTreeSet::new();
    let mut pending = vec![(at, *id)];
    while let Some((at, id)) = pending.pop() {
        for definition in uses.reaching.get(&(at, id)).into_iter().flatten() {
            if !seen.insert(*definition) {
                continue;
            }
            let instruction = &function.instructions[*definition];
            let special = |operand: &Operand| matches!(operand, Operand::Special(_));
            if !computes(instruction) || instruction.operands.iter().any(special) {
                return true;
            }
            pending.extend(effects(instruction).1.into_iter().map(|register| (*definition, register)));
        }
    }
    false
}

/// A division by one is no division.
fn divides_by_one(instruction: &Instruction) -> bool {
    instruction.name() == "div" && matches!(instruction.operands.get(2), Some(Operand::Single(0x3f80_0000)))
}
