//! A function as ptxas has it when it fuses: constants computed, copies looked through, what is dead gone, loops of constant turns
//! unrolled.

use std::collections::{HashMap, HashSet};

use super::constants::{Replacement, decide_guards, simpler, value};
use super::copies::forward;
use super::dead::{drop_branches, drop_dead, drop_empty_loops};
use super::evaluate::is_approximate;
use super::loops::{Loop, loops};
use super::unroll::{Fate, fate, unroll};
use super::uses::Uses;
use crate::flow::Flow;
use crate::instruction::row;
use crate::program::Type;
use crate::text::{Function, Instruction, Operand};

/// Instructions that a function may grow to.
const MOST_INSTRUCTIONS: usize = 1 << 16;

const INVERSE: &str =
    "ptxas may drop a reciprocal of a reciprocal, and negate the exponent for one of a power";
const HALFWAY: &str =
    "a sum of constants halfway between two numbers: ptxas 12 rounds it towards zero, ptxas 13 to even";

const NAN: &str = "ptxas may compute it, and give the NaN other bits";

/// An operation of which ptxas computed something.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Folded {
    /// In which order it was found.
    pub(super) order: usize,
    pub(super) form: String,
    pub(super) operands: Vec<Operand>,
}

pub(super) struct Normal {
    pub(super) function: Function,
    /// The instruction of the text that each is a copy of.
    pub(super) origin: Vec<usize>,
    /// What each has become, where its results differ from those of the text.
    pub(super) folded: Vec<Option<Folded>>,
    pub(super) flow: Flow,
    pub(super) uses: Uses,
    /// Loops that ptxas may unroll, and those that it unrolls in part.
    pub(super) loops: Vec<(Loop, Fate)>,
    /// Instructions of the text that others depend on that are never executed.
    pub(super) shadows: HashSet<usize>,
    /// Branches of the text that turned out to lead where control goes anyway.
    pub(super) merges: Vec<usize>,
    /// Instructions of the text that ptxas may compute in another way, with why.
    pub(super) unsure: Vec<(usize, &'static str)>,
}

impl Normal {
    /// `None` if the function is too large.
    pub(super) fn of(text: &Function) -> Option<Normal> {
        let mut function = text.clone();
        let mut origin: Vec<usize> = (0..function.instructions.len()).collect();
        let mut folded = vec![None; function.instructions.len()];
        let (mut shadows, mut merges, mut unsure) = (HashSet::new(), vec![], vec![]);
        loop {
            let flow = Flow::of(&function.instructions);
            let uses = Uses::of(&function, &flow)?;
            unsure.extend(inverses(&function, &uses).map(|at| (origin[at], INVERSE)));
            let simplified =
                simplify(&mut function, &uses, &mut folded, |at, why| unsure.push((origin[at], why)));
            let mut hidden = HashSet::new();
            let decided = decide_guards(&mut function, &uses, &mut hidden);
            shadows.extend(hidden.into_iter().map(|at| origin[at]));
            if simplified | decided {
                continue;
            }
            if forward(&mut function, &flow, &uses) {
                continue;
            }
            if drop_dead(&mut function, &uses) | drop_branches(&mut function, |at| merges.push(origin[at])) {
                continue;
            }
            if drop_empty_loops(&mut function, &flow, &uses) {
                continue;
            }
            let mut kept = vec![];
            let mut next = None;
            for one in loops(&flow) {
                match fate(&function, &flow, &uses, &one, |at| text.rolled.contains(&origin[at])) {
                    Fate::Unrolled(turns) if function.instructions.len() < MOST_INSTRUCTIONS => {
                        next = Some((one, turns));
                        break;
                    }
                    Fate::Kept => {}
                    Fate::Unrolled(_) => kept.push((one, Fate::Unknown)),
                    fate => kept.push((one, fate)),
                }
            }
            match next {
                Some((one, turns)) => {
                    unroll(&mut function, &mut origin, &flow, &one, turns);
                    let copies: Vec<_> = origin.iter().skip(folded.len()).copied().collect();
                    // what was folded before the copy is so in each
                    let before: HashMap<usize, Folded> = (0..folded.len())
                        .filter_map(|at| folded[at].clone().map(|known| (origin[at], known)))
                        .collect();
                    folded.extend(copies.iter().map(|at| before.get(at).cloned()));
                }
                None => {
                    return Some(Normal {
                        function,
                        origin,
                        folded,
                        flow,
                        uses,
                        loops: kept,
                        shadows,
                        merges,
                        unsure,
                    });
                }
            }
        }
    }
}

/// Reciprocals of reciprocals and of powers.
fn inverses<'f>(function: &'f Function, uses: &'f Uses) -> impl Iterator<Item = usize> + 'f {
    (0..function.instructions.len()).filter(|at| {
        let instruction = &function.instructions[*at];
        let [_, Operand::Register(id)] = instruction.operands.as_slice() else { return false };
        let Some([definition]) = uses.reaching.get(&(*at, *id)).map(Vec::as_slice) else { return false };
        let before = &function.instructions[*definition];
        instruction.name() == "rcp"
            && matches!(before.name(), "rcp" | "ex2")
            && [instruction, before].iter().all(|one| is_approximate(one) && one.has("ftz"))
    })
}

/// Whether a sum of constants of different signs is halfway between two FP32 numbers.
fn is_halfway(function: &Function, uses: &Uses, at: usize) -> bool {
    let instruction = &function.instructions[at];
    let ([_, a, b], true) = (
        instruction.operands.as_slice(),
        matches!(instruction.name(), "add" | "sub") && instruction.form.ends_with(".f32"),
    ) else {
        return false;
    };
    let known = |operand: &Operand| {
        value(function, uses, at, operand).map(|bits| f64::from(f32::from_bits(bits as u32)))
    };
    let (Some(a), Some(b)) = (known(a), known(b)) else { return false };
    let b = if instruction.name() == "sub" { -b } else { b };
    // both are exact, and so is the sum of such as come near a half
    let sum = a + b;
    let near = sum as f32;
    let rest = sum - f64::from(near);
    let other = if rest > 0.0 { near.next_up() } else { near.next_down() };
    a * b < 0.0 && rest != 0.0 && (f64::from(other) - sum).abs().to_bits() == rest.abs().to_bits()
}

/// Whether an operation on constants gives NaN: the unit has one, and ptxas may have others.
fn is_nan(instruction: &Instruction, found: &Replacement) -> bool {
    let bits = match found.operands.as_slice() {
        [_, Operand::Integer(bits)] => *bits,
        [_, Operand::Single(bits)] => u64::from(*bits),
        _ => return false,
    };
    let half = |bits: u64, infinity: u64| bits & 0x7fff > infinity;
    instruction.name() != "mov"
        && !is_approximate(instruction)
        && match row::types(instruction).next() {
            Some(Type::F32) => bits & 0x7fff_ffff > 0x7f80_0000,
            Some(Type::F64) => bits & (u64::MAX >> 1) > 0x7ff << 52,
            Some(Type::F16) => half(bits, 0x7c00),
            Some(Type::BF16) => half(bits, 0x7f80),
            Some(Type::F16x2) => half(bits, 0x7c00) || half(bits >> 16, 0x7c00),
            Some(Type::BF16x2) => half(bits, 0x7f80) || half(bits >> 16, 0x7f80),
            _ => false,
        }
}

/// Makes instructions simpler whose operands are known. Whether any was. `unsure` is told of those that ptxas may compute in another
/// way, and why.
fn simplify(
    function: &mut Function,
    uses: &Uses,
    folded: &mut [Option<Folded>],
    mut unsure: impl FnMut(usize, &'static str),
) -> bool {
    let mut changed = false;
    let mut order = folded.iter().flatten().map(|one| one.order + 1).max().unwrap_or(0);
    for at in 0..function.instructions.len() {
        while let Some(found) = simpler(function, uses, at) {
            if is_halfway(function, uses, at) {
                unsure(at, HALFWAY);
            }
            if is_nan(&function.instructions[at], &found) {
                unsure(at, NAN);
            }
            let instruction: &mut Instruction = &mut function.instructions[at];
            debug_assert!(found.rounds <= is_approximate(instruction));
            if found.rounds {
                folded[at] =
                    Some(Folded { order, form: found.form.clone(), operands: found.operands.clone() });
                order += 1;
            }
            instruction.form = found.form;
            instruction.operands = found.operands;
            changed = true;
        }
    }
    changed
}
