//! Loops whose number of turns is a constant, which ptxas unrolls before it fuses.
//!
//! Observed with ptxas 12.9 (sm_80) and 13.4 (sm_90a, sm_100a): a loop is unrolled wholly if its counter starts from a constant, a
//! constant is added to it in each turn, and it is compared with a constant at the loop's only exit; how many turns depends on the
//! size of the body. Products of turns and instructions up to [`SURE`] were always unrolled, those above [`NEVER`] never.

use std::collections::HashMap;

use super::constants::value;
use super::dead::is_nothing;
use super::evaluate::evaluate;
use super::loops::Loop;
use super::uses::Uses;
use crate::flow::{Flow, effects};
use crate::text::{Function, Instruction, Operand, RegisterId};

const SURE: usize = 250;
const NEVER: usize = 20_000;
/// Turns that are counted, at most.
const MOST_TURNS: usize = 10_000;

/// What ptxas does with a loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// The header is executed that often, and each time it is a copy of its own.
    Unrolled(usize),
    /// Some turns are one after the other in the loop, and others behind it.
    Partly,
    Kept,
    Unknown,
}

/// The counter of a loop while its turns are counted.
struct Count<'c> {
    function: &'c Function,
    flow: &'c Flow,
    uses: &'c Uses,
    one: &'c Loop,
    /// Registers that a turn takes from the one before, each with its value in this turn and its definition in the loop.
    carried: HashMap<RegisterId, (u64, usize)>,
    /// Whether all of them only grow by constants.
    linear: bool,
}

impl Count<'_> {
    fn inside(&self, at: usize) -> bool {
        self.one.has(self.flow.block(at))
    }

    /// An operand in this turn.
    fn operand(&mut self, at: usize, operand: &Operand, depth: usize) -> Option<u64> {
        let Operand::Register(id) = operand else { return value(self.function, self.uses, at, operand) };
        if depth > 32 {
            return None;
        }
        let reaching = self.uses.reaching.get(&(at, *id))?.clone();
        let (inner, outer): (Vec<usize>, Vec<usize>) = reaching.iter().partition(|one| self.inside(**one));
        match (inner.as_slice(), outer.as_slice()) {
            ([], _) => value(self.function, self.uses, at, operand),
            ([definition], []) => self.result(*definition, depth + 1),
            ([definition], [start]) => {
                if let Some((value, _)) = self.carried.get(id) {
                    return Some(*value);
                }
                let start = &self.function.instructions[*start];
                match start.operands.as_slice() {
                    [_, constant] if start.name() == "mov" && start.guard.is_none() => {
                        let first = value(self.function, self.uses, at, constant)?;
                        self.carried.insert(*id, (first, *definition));
                        Some(first)
                    }
                    _ => None,
                }
            }
            _ => None,
        }
    }

    /// What an instruction of the loop computes in this turn.
    fn result(&mut self, at: usize, depth: usize) -> Option<u64> {
        let instruction = &self.function.instructions[at];
        if instruction.guard.is_some() {
            return None;
        }
        self.linear &= matches!(instruction.name(), "add" | "sub" | "mov" | "setp");
        let values: Option<Vec<u64>> =
            instruction.operands[1..].iter().map(|operand| self.operand(at, operand, depth)).collect();
        evaluate(instruction, &values?)
    }

    fn next_turn(&mut self) -> Option<()> {
        let mut next = HashMap::new();
        let carried: Vec<(RegisterId, usize)> =
            self.carried.iter().map(|(id, (_, definition))| (*id, *definition)).collect();
        for (id, definition) in carried {
            next.insert(id, (self.result(definition, 0)?, definition));
        }
        // those that were found only now start their second turn with the next one, too
        let missing: Vec<(RegisterId, usize)> = self
            .carried
            .iter()
            .filter(|(id, _)| !next.contains_key(*id))
            .map(|(id, (_, definition))| (*id, *definition))
            .collect();
        for (id, definition) in missing {
            next.insert(id, (self.result(definition, 0)?, definition));
        }
        self.carried = next;
        Some(())
    }
}

/// The instructions that lead out of a loop, each a branch.
fn exits(function: &Function, flow: &Flow, one: &Loop) -> Vec<usize> {
    let leaves =
        |block: &usize| flow.successors(*block).any(|next| !one.has(next)) || ends(function, flow, *block);
    one.blocks.iter().filter(|block| leaves(block)).map(|block| flow.range(*block).end - 1).collect()
}

fn ends(function: &Function, flow: &Flow, block: usize) -> bool {
    let last = &function.instructions[flow.range(block).end - 1];
    matches!(last.name(), "ret" | "exit" | "trap" | "brx")
}

/// What ptxas does with a loop. `rolled`: whether a pragma before an instruction forbids to unroll the loop that starts with it.
pub(super) fn fate(
    function: &Function,
    flow: &Flow,
    uses: &Uses,
    one: &Loop,
    rolled: impl Fn(usize) -> bool,
) -> Fate {
    // what was dropped before the header started with it
    let nothing = |at: &usize| is_nothing(&function.instructions[*at]);
    let header = flow.range(one.header);
    let before = (0..header.start).rev().take_while(nothing);
    let dropped = header.clone().take_while(nothing).count();
    if before.chain(header.take(dropped + 1)).any(rolled) {
        return Fate::Kept;
    }
    let exits = exits(function, flow, one);
    // a loop that is entered in its middle of the text is not copied here
    let falls = |latch: &usize| flow.range(*latch).end == flow.range(one.header).start;
    let mut unknown = false;
    for exit in &exits {
        match turns(function, flow, uses, one, *exit) {
            Some((count, linear)) => {
                // a loop of one turn is none
                let sure = linear
                    && exits.len() == 1
                    && once_a_turn(flow, one, *exit)
                    && !one.latches.iter().any(falls);
                let size = cost(function, flow, one) * count;
                if sure && (size <= SURE || count == 1) {
                    return Fate::Unrolled(count);
                }
                unknown |= size <= NEVER;
            }
            None => continue,
        }
    }
    if unknown {
        return Fate::Unknown;
    }
    let waits = one.blocks.iter().flat_map(|block| flow.range(*block)).any(|at| {
        let instruction = &function.instructions[at];
        matches!(instruction.name(), "bar" | "barrier") && !instruction.has("warp")
    });
    let counted = exits.iter().any(|exit| is_counted(function, flow, uses, one, *exit));
    if counted && !waits { Fate::Partly } else { Fate::Kept }
}

/// Whether an exit depends on a register to which each turn adds what no turn changes.
fn is_counted(function: &Function, flow: &Flow, uses: &Uses, one: &Loop, exit: usize) -> bool {
    let Some((guard, _)) = function.instructions[exit].guard else { return true };
    let inside = |at: &usize| one.has(flow.block(*at));
    let reaching = |at: usize, id: RegisterId| uses.reaching.get(&(at, id)).map_or(&[][..], Vec::as_slice);
    let mut pending: Vec<(usize, usize)> =
        reaching(exit, guard).iter().filter(|at| inside(at)).map(|at| (*at, 0)).collect();
    while let Some((at, depth)) = pending.pop() {
        let registers = effects(&function.instructions[at]).1;
        let steps = matches!(function.instructions[at].name(), "add" | "sub");
        let fixed = |id: &RegisterId| !reaching(at, *id).iter().any(inside);
        let moving = registers.iter().filter(|id| !fixed(id)).count();
        if steps && moving == 1 {
            return true;
        }
        if depth < 4 && (depth == 0 || function.instructions[at].name() == "mov") {
            let all = registers.iter().flat_map(|id| reaching(at, *id));
            pending.extend(all.filter(|at| inside(at)).map(|at| (*at, depth + 1)));
        }
    }
    false
}

/// Whether an exit is passed in every turn.
fn once_a_turn(flow: &Flow, one: &Loop, exit: usize) -> bool {
    let block = flow.block(exit);
    one.latches.len() == 1 && (block == one.header || block == one.latches[0])
}

/// Instructions of a turn; accesses of memory are two.
fn cost(function: &Function, flow: &Flow, one: &Loop) -> usize {
    let of = |instruction: &Instruction| match instruction.name() {
        _ if is_nothing(instruction) => 0,
        "ld" | "st" | "atom" | "red" => 2,
        "div" | "rem" | "sqrt" | "rcp" | "sin" | "cos" => 10,
        _ => 1,
    };
    let all = one.blocks.iter().flat_map(|block| flow.range(*block));
    all.map(|at| of(&function.instructions[at])).sum::<usize>().max(1)
}

/// How often the header is executed until an exit is taken, and whether the counter only grows by constants.
fn turns(function: &Function, flow: &Flow, uses: &Uses, one: &Loop, exit: usize) -> Option<(usize, bool)> {
    let branch = &function.instructions[exit];
    let ((guard, negated), [Operand::Label(target)]) = (branch.guard?, branch.operands.as_slice()) else {
        return None;
    };
    let leaves = *target >= function.instructions.len() || !one.has(flow.block(*target));
    let mut count = Count { function, flow, uses, one, carried: HashMap::new(), linear: true };
    for turn in 1..=MOST_TURNS {
        let predicate = count.operand(exit, &Operand::Register(guard), 0)? & 1 == 1;
        if count.carried.is_empty() {
            return None;
        }
        let taken = predicate != negated;
        if taken == leaves {
            // a comparison for equality is one that ptxas follows only where it leads back
            let equality = negated || leaves;
            let compared = uses.reaching.get(&(exit, guard))?.first()?;
            let linear = count.linear && !(equality && function.instructions[*compared].has("eq"));
            return Some((turn, linear));
        }
        count.next_turn()?;
    }
    None
}

/// Makes each execution of a loop's header one of its own copy. `origin`: the instruction of the text of each.
pub(super) fn unroll(
    function: &mut Function,
    origin: &mut Vec<usize>,
    flow: &Flow,
    one: &Loop,
    turns: usize,
) {
    let header = flow.range(one.header).start;
    // behind the text: its end, which copies must not be entered from, and a place that is never reached
    let last = function.instructions.len() - 1;
    let end = function.instructions.len();
    for form in ["ret", "trap"] {
        let instruction = &function.instructions[last];
        let added =
            Instruction { form: form.to_owned(), guard: None, operands: vec![], ..instruction.clone() };
        function.instructions.push(added);
        origin.push(origin[last]);
    }
    let (nowhere, base) = (end + 1, end + 2);
    // where each instruction of the loop is within a copy; behind each block there is a branch to where it goes on
    let mut place = HashMap::new();
    let mut body: Vec<(usize, bool)> = vec![];
    for block in &one.blocks {
        for at in flow.range(*block) {
            place.insert(at, body.len());
            body.push((at, false));
        }
        body.push((flow.range(*block).end - 1, true));
    }
    let target_in = |copy: usize, target: usize| match place.get(&target) {
        Some(_) if target == header && copy + 1 == turns => nowhere,
        Some(place) if target == header => base + copy * body.len() + place,
        Some(place) if copy > 0 => base + (copy - 1) * body.len() + place,
        _ => target,
    };
    for copy in 1..turns {
        for (at, goes_on) in &body {
            let mut instruction = function.instructions[*at].clone();
            if *goes_on {
                instruction.form = "bra".to_owned();
                instruction.guard = None;
                instruction.operands = vec![Operand::Label(target_in(copy, at + 1))];
            } else {
                retarget(&mut instruction, |target| target_in(copy, target));
            }
            function.instructions.push(instruction);
            origin.push(origin[*at]);
        }
    }
    for at in one.blocks.iter().flat_map(|block| flow.range(*block)) {
        retarget(&mut function.instructions[at], |target| target_in(0, target));
    }
}

fn retarget(instruction: &mut Instruction, to: impl Fn(usize) -> usize) {
    instruction.operands.iter_mut().for_each(|operand| operand.retarget(&to));
}
