//! What the code says of special functions: those of constants ptxas has computed, of the others each is there.

use std::collections::{BTreeSet, HashMap};

use super::super::Rewrites;
use super::super::dead::live;
use super::super::evaluate::is_approximate;
use super::super::normal::{Folded, Normal};
use super::super::uses::Uses;
use super::alike::{alike, named};
use super::dropped;
use super::sass::Listing;
use crate::error::Doubt;
use crate::flow::{Flow, effects};
use crate::instruction::table::is_pure;
use crate::text::{Function, Instruction, Operand};

/// Folds what the code has folded, with the values that are known to be the text's. Doubts about what it has not, and is not known,
/// and about functions that it does not have.
pub(super) fn fold<'n>(
    function: &mut Function,
    listing: &Listing<'_>,
    normal: &dyn Fn() -> Option<&'n Normal>,
    rewrites: &mut Rewrites,
) -> Vec<Doubt> {
    let special = |at: usize, number: usize| {
        let unit = unit(&function.instructions[at]);
        listing.of(number).iter().any(|one| {
            let code = &listing.code[*one];
            matches!(code.name(), "MUFU" | "UMUFU") && unit.iter().any(|name| code.has(name))
        })
    };
    let mut candidates: Vec<usize> = (0..function.instructions.len())
        .filter(|at| is_approximate(&function.instructions[*at]) && !special(*at, *at))
        .collect();
    if candidates.is_empty() {
        return vec![];
    }
    let flow = Flow::of(&function.instructions);
    let mut varying = BTreeSet::new();
    if let Some(uses) = Uses::of(function, &flow) {
        let live = live(function, &uses);
        let alike = alike(function, &uses);
        let operand = |at: usize| {
            decisive(&function.instructions[at]).map(|operand| named(&uses, &alike, at, operand, function))
        };
        // the code may have one for several of the same operand: a reciprocal for a division, too
        let merged = |at: usize| {
            (0..alike.len()).any(|other| {
                unit(&function.instructions[other]) == unit(&function.instructions[at])
                    && special(at, other)
                    && operand(other) == operand(at)
            })
        };
        candidates.retain(|at| live[*at]);
        varying = candidates.iter().copied().filter(|at| varies(function, &uses, *at)).collect();
        candidates.retain(|at| !varying.contains(at) || !merged(*at));
    }
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
            None if varying.contains(&at) => {
                let why = "the code that ptxas makes of the text has another function in its place, or none";
                doubts.push(Doubt {
                    line: instruction.line,
                    form: instruction.form.clone(),
                    why: why.to_owned(),
                });
            }
            None => {
                let why = "ptxas computes it without the special function".to_owned();
                doubts.push(Doubt { line: instruction.line, form: instruction.form.clone(), why });
            }
        }
    }
    doubts
}

/// The operations of the special function unit, one of which each function becomes.
fn unit(instruction: &Instruction) -> &'static [&'static str] {
    match instruction.name() {
        "rcp" | "div" => &["RCP"],
        "sqrt" => &["SQRT", "RSQ"],
        "rsqrt" => &["RSQ"],
        "ex2" => &["EX2"],
        "lg2" => &["LG2"],
        "sin" => &["SIN"],
        "cos" => &["COS"],
        _ => &[],
    }
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

/// The operand that decides if an instruction can be folded: a function's, or the divisor.
fn decisive(instruction: &Instruction) -> Option<&Operand> {
    instruction.operands.get(if instruction.name() == "div" { 2 } else { 1 })
}

/// Whether what decides if an instruction can be folded is no constant, but comes from a load or from the thread's place.
fn varies(function: &Function, uses: &Uses, at: usize) -> bool {
    let Some(Operand::Register(id)) = decisive(&function.instructions[at]) else { return false };
    let mut seen = BTreeSet::new();
    let mut pending = vec![(at, *id)];
    while let Some((at, id)) = pending.pop() {
        for definition in uses.reaching.get(&(at, id)).into_iter().flatten() {
            if !seen.insert(*definition) {
                continue;
            }
            let instruction = &function.instructions[*definition];
            let special = |operand: &Operand| matches!(operand, Operand::Special(_));
            if !is_pure(instruction) || instruction.operands.iter().any(special) {
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
