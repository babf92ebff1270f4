//! Instructions of the text that compute the same: ptxas keeps one of them, under its number.

use std::collections::{BTreeSet, HashMap};

use super::super::dead::is_nothing;
use super::super::normal::Normal;
use super::super::uses::Uses;
use crate::flow::effects;
use crate::text::{Base, Function, Operand};

/// Of each instruction the first that computes the same; itself where there is none.
pub(super) fn alike(function: &Function, uses: &Uses) -> Vec<usize> {
    let count = function.instructions.len();
    let mut first: Vec<usize> = (0..count).collect();
    let mut known: HashMap<String, usize> = HashMap::new();
    for at in 0..count {
        let instruction = &function.instructions[at];
        if instruction.guard.is_some() || effects(instruction).0.is_empty() {
            continue;
        }
        let results = usize::from(!instruction.operands.is_empty());
        let mut parts = vec![];
        let mut sources: Vec<String> = vec![];
        for operand in &instruction.operands[results..] {
            sources.push(named(uses, &first, at, operand, function));
        }
        if matches!(instruction.name(), "mul" | "add" | "min" | "max") && sources.len() == 2 {
            sources.sort_unstable();
        }
        // which of its results a register is, is where it is among them
        if let Operand::Vector(all) = &instruction.operands[0] {
            parts.push(format!("{}", all.len()));
        }
        parts.extend(sources);
        let key = format!("{} {}", instruction.form, parts.join(","));
        first[at] = *known.entry(key).or_insert(at);
    }
    first
}

/// Of each instruction of the text in an unrolled loop how many turns it has, and the other instructions that compute the same as it
/// does in one of them.
pub(super) fn alike_in_turns(normal: &Normal) -> HashMap<usize, (usize, BTreeSet<usize>)> {
    let first = alike(&normal.function, &normal.uses);
    let mut classes: HashMap<usize, BTreeSet<usize>> = HashMap::new();
    let mut turns: HashMap<usize, (usize, BTreeSet<usize>)> = HashMap::new();
    for (copy, origin) in normal.origin.iter().enumerate() {
        if !is_nothing(&normal.function.instructions[copy]) {
            classes.entry(first[copy]).or_default().insert(*origin);
            turns.entry(*origin).or_default().0 += 1;
        }
    }
    turns.retain(|_, (count, _)| *count > 1);
    for class in classes.values().filter(|class| class.len() > 1) {
        for origin in class {
            if let Some((_, others)) = turns.get_mut(origin) {
                others.extend(class.iter().filter(|other| *other != origin));
            }
        }
    }
    turns
}

/// What an operand is: the same name is the same value.
pub(super) fn named(
    uses: &Uses,
    first: &[usize],
    at: usize,
    operand: &Operand,
    function: &Function,
) -> String {
    match operand {
        Operand::Register(id) | Operand::Not(id) | Operand::Address(Base::Register(id), _) => {
            let mut reaching: Vec<usize> = uses
                .reaching
                .get(&(at, *id))
                .into_iter()
                .flatten()
                .map(|one| through(uses, first, *one, function))
                .collect();
            reaching.sort_unstable();
            reaching.dedup();
            // of several results it matters which
            let one_result = |definition: &usize| effects(&function.instructions[*definition]).0.len() < 2;
            let register =
                if reaching.iter().all(one_result) && reaching.len() == 1 { None } else { Some(*id) };
            let rest = match operand {
                Operand::Address(_, offset) => format!("+{offset}"),
                Operand::Not(_) => "!".to_owned(),
                _ => String::new(),
            };
            format!("{reaching:?}{register:?}{rest}")
        }
        Operand::Vector(all) => {
            let all: Vec<String> = all.iter().map(|one| named(uses, first, at, one, function)).collect();
            format!("{{{}}}", all.join(","))
        }
        other => format!("{other:?}"),
    }
}

/// Through moves.
fn through(uses: &Uses, first: &[usize], definition: usize, function: &Function) -> usize {
    let mut at = definition;
    for _ in 0..16 {
        let instruction = &function.instructions[at];
        let [Operand::Register(_), Operand::Register(source)] = instruction.operands.as_slice() else {
            break;
        };
        if instruction.name() != "mov" || instruction.guard.is_some() {
            break;
        }
        match uses.reaching.get(&(at, *source)).map(Vec::as_slice) {
            Some([one]) => at = *one,
            _ => break,
        }
    }
    first[at]
}
