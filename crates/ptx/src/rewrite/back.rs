//! Takes what was decided on the normal function back to the text.
//!
//! Where all copies of an instruction agree, the instruction of the text is rewritten. Where turns of an unrolled loop differ, the
//! unrolled function runs instead.

use std::collections::{HashMap, HashSet};

use super::Rewrites;
use super::contract::Decisions;
use super::dead::is_nothing;
use super::fuse::{Place, fuse};
use super::normal::{Folded, Normal};
use crate::error::Doubt;
use crate::flow::Flow;
use crate::text::{Function, Instruction, Operand, Register};

/// Rewrites a function as it was decided.
pub(super) fn rewrite(
    function: &mut Function,
    normal: &Normal,
    decisions: &Decisions,
    rewrites: &mut Rewrites,
) {
    let mut folded: Vec<(&Folded, usize)> = normal
        .folded
        .iter()
        .enumerate()
        .filter_map(|(at, one)| Some((one.as_ref()?, normal.origin[at])))
        .collect();
    folded.sort_by_key(|(one, _)| one.order);
    let line = |at: usize| function.instructions[at].line;
    for (_, origin) in &folded {
        if !rewrites.folded.contains(&line(*origin)) {
            rewrites.folded.push(line(*origin));
        }
    }
    for (product, addition) in &decisions.doubtful {
        let instruction = &function.instructions[normal.origin[*product]];
        let why = format!(
            "whether ptxas fuses its result with the addition of line {} is not known: one is in another turn of a loop \
             or in a branch, or the result has uses that decide. A kernel that is compiled without fusion has no such \
             doubt (Triton: enable_fp_fusion=False, nvcc: -fmad=false)",
            line(normal.origin[*addition])
        );
        let doubt = Doubt { line: instruction.line, form: instruction.form.clone(), why };
        if !rewrites.doubts.contains(&doubt) {
            rewrites.doubts.push(doubt);
        }
    }
    for (at, why) in &normal.unsure {
        let instruction = &function.instructions[*at];
        let doubt = Doubt { line: instruction.line, form: instruction.form.clone(), why: (*why).to_owned() };
        if !rewrites.doubts.contains(&doubt) {
            rewrites.doubts.push(doubt);
        }
    }
    if agree(normal, decisions) {
        for (one, origin) in folded {
            let instruction = &mut function.instructions[origin];
            (instruction.form, instruction.operands) = (one.form.clone(), one.operands.clone());
        }
        let origin = |one: &Place| Place {
            product: normal.origin[one.product],
            addition: normal.origin[one.addition],
            ..*one
        };
        let mut fused: Vec<Place> = decisions.fused.iter().map(origin).collect();
        fused.sort_unstable_by_key(|one| (one.product, one.addition, one.operand));
        fused.dedup();
        // one that a single copy needs stays
        let gone = |at: &usize| {
            is_nothing(&normal.function.instructions[*at])
                || decisions.fused.iter().any(|one| one.product == *at) && !decisions.kept.contains(at)
        };
        let needed: HashSet<usize> =
            (0..normal.origin.len()).filter(|at| !gone(at)).map(|at| normal.origin[at]).collect();
        let mut kept: Vec<usize> =
            fused.iter().map(|one| one.product).filter(|at| needed.contains(at)).collect();
        kept.dedup();
        apply(function, &fused, &kept, |at| at, rewrites);
    } else {
        *function = normal.function.clone();
        apply(function, &decisions.fused, &decisions.kept, |at| normal.origin[at], rewrites);
    }
}

/// Whether all copies of each instruction come to the same.
fn agree(normal: &Normal, decisions: &Decisions) -> bool {
    let fused: HashMap<usize, &Place> = decisions.fused.iter().map(|one| (one.addition, one)).collect();
    let mut known: HashMap<usize, _> = HashMap::new();
    (0..normal.origin.len()).all(|at| {
        let dropped = is_nothing(&normal.function.instructions[at]);
        let fold = normal.folded[at].as_ref().map(|one| (&one.form, &one.operands));
        if dropped && fold.is_none() {
            return true;
        }
        let fused = fused.get(&at).map(|one| (normal.origin[one.product], one.operand, one.negated));
        let what = (fold, fused);
        *known.entry(normal.origin[at]).or_insert(what) == what
    })
}

/// Fuses. `text`: the instruction of the text that each is a copy of.
fn apply(
    function: &mut Function,
    fused: &[Place],
    kept: &[usize],
    text: impl Fn(usize) -> usize,
    rewrites: &mut Rewrites,
) {
    let flow = Flow::of(&function.instructions);
    let mut pairs = vec![];
    let mut insertions: Vec<(usize, Vec<Instruction>)> = vec![];
    // what each product is fused with, with whether it stays, and whether its factors must be held
    let mut groups = vec![];
    for group in fused.chunk_by(|a, b| a.product == b.product) {
        let product = group[0].product;
        let lines =
            |one: &Place| (function.instructions[one.product].line, function.instructions[one.addition].line);
        for one in group {
            let pair = (text(one.product), text(one.addition), one.operand);
            if !pairs.contains(&pair) {
                pairs.push(pair);
                rewrites.fused.push(lines(one));
            }
        }
        let straight =
            group.iter().all(|one| flow.block(one.addition) == flow.block(product) && one.addition > product);
        let stays = kept.contains(&product);
        let mut added = vec![];
        let original = function.instructions[product].clone();
        let mut clone = original.clone();
        if !straight && original.name() == "mul" {
            for operand in &mut clone.operands[1..] {
                let Operand::Register(id) = operand else { continue };
                let width = function.registers[*id as usize].width;
                function.registers.push(Register { name: "%factor".to_owned(), width });
                let held = Operand::Register(function.registers.len() as u32 - 1);
                let form = match width {
                    crate::text::Width::Wide => "mov.b64",
                    crate::text::Width::Word(16) => "mov.b16",
                    _ => "mov.b32",
                };
                added.push(Instruction {
                    form: form.to_owned(),
                    operands: vec![held.clone(), operand.clone()],
                    ..original.clone()
                });
                *operand = held;
            }
        }
        if stays {
            added.push(clone);
        } else {
            function.instructions[product] = clone;
        }
        groups.push((product, added.len(), stays, group.to_vec()));
        if !added.is_empty() {
            insertions.push((product, added));
        }
    }
    insert(function, &insertions);
    let moved = |at: usize| {
        at + insertions.iter().filter(|(before, _)| *before <= at).map(|(_, all)| all.len()).sum::<usize>()
    };
    for (product, _, stays, group) in groups {
        let product = moved(product) - usize::from(stays);
        let places: Vec<Place> =
            group.iter().map(|one| Place { product, addition: moved(one.addition), ..*one }).collect();
        fuse(function, product, &places, &mut Rewrites::default());
    }
}

/// Puts instructions before others. Who branches there meets them.
fn insert(function: &mut Function, insertions: &[(usize, Vec<Instruction>)]) {
    if insertions.is_empty() {
        return;
    }
    let shift = |target: usize| {
        target
            + insertions
                .iter()
                .filter(|(before, _)| *before < target)
                .map(|(_, all)| all.len())
                .sum::<usize>()
    };
    for instruction in &mut function.instructions {
        instruction.operands.iter_mut().for_each(|operand| operand.retarget(&shift));
    }
    for (before, all) in insertions.iter().rev() {
        function.instructions.splice(*before..*before, all.iter().cloned());
    }
}
