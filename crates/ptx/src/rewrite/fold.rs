//! Operations on constants, which ptxas computes correctly rounded instead of leaving them to the multi-function unit.

use bitmma_engine::formats::F32;
use bitmma_functions::Function as Special;
use bitmma_functions::nearest::nearest;

use super::uses::Uses;
use super::{Rewrites, too_large};
use crate::flow::Flow;
use crate::instruction::{double, single};
use crate::program::Mode;
use crate::text::{Function, Instruction, Operand};

/// The constant of an operand at an instruction, if every definition that reaches it is a move of one.
fn constant(function: &Function, uses: &Uses, at: usize, operand: &Operand, depth: usize) -> Option<u32> {
    match operand {
        Operand::Single(bits) => Some(*bits),
        Operand::Integer(value) => u32::try_from(*value).ok(),
        Operand::Register(id) if depth < 16 => {
            let [definition] = uses.reaching.get(&(at, *id))?.as_slice() else { return None };
            let instruction = &function.instructions[*definition];
            let moves = matches!(instruction.form.as_str(), "mov.b32" | "mov.f32" | "mov.u32" | "mov.s32");
            match instruction.operands.as_slice() {
                [_, source] if moves && instruction.guard.is_none() => {
                    constant(function, uses, *definition, source, depth + 1)
                }
                _ => None,
            }
        }
        _ => None,
    }
}

pub(super) fn fold(function: &mut Function, rewrites: &mut Rewrites) {
    let candidates = ["rcp", "div", "ex2", "sqrt", "rsqrt", "lg2"];
    let folds = |instruction: &Instruction| {
        candidates.contains(&instruction.name())
            && instruction.form.ends_with(".f32")
            && (instruction.has("approx") || instruction.has("full"))
    };
    // what is folded is a constant of what follows
    loop {
        let Some(first) = function.instructions.iter().find(|instruction| folds(instruction)) else { return };
        let flow = Flow::of(&function.instructions);
        let Some(uses) = Uses::of(function, &flow) else {
            rewrites.doubts.push(too_large(first, "operations on constants ptxas computes"));
            return;
        };
        let mut changed = false;
        for at in 0..function.instructions.len() {
            let instruction = &function.instructions[at];
            if !folds(instruction) {
                continue;
            }
            let mut sources = instruction.operands[1..].iter();
            let values: Option<Vec<u32>> =
                sources.by_ref().map(|source| constant(function, &uses, at, source, 0)).collect();
            let Some(values) = values else { continue };
            let mode = Mode { flush: instruction.has("ftz"), ..Mode::NEAREST };
            let x = match (values.first(), mode.flush) {
                (Some(x), true) => single::flush(*x),
                (Some(x), false) => *x,
                (None, _) => continue,
            };
            let folded = match (instruction.name(), values.as_slice()) {
                ("div", [x, y]) => double::divide(&F32, mode, (*x).into(), (*y).into()) as u32,
                ("rcp", _) => nearest(Special::Rcp, x),
                ("sqrt", _) => nearest(Special::Sqrt, x),
                ("rsqrt", _) => nearest(Special::Rsqrt, x),
                ("ex2", _) => nearest(Special::Ex2, x),
                ("lg2", _) => nearest(Special::Lg2, x),
                _ => continue,
            };
            let line = instruction.line;
            let folded = if mode.flush { single::flush(folded) } else { folded };
            let d = instruction.operands[0].clone();
            let instruction = &mut function.instructions[at];
            instruction.form = "mov.b32".to_owned();
            instruction.operands = vec![d, Operand::Single(folded)];
            rewrites.folded.push(line);
            changed = true;
        }
        if !changed {
            return;
        }
    }
}
