//! The graph of basic blocks: where lanes join again, and which registers may be read before they are written.

use std::collections::HashMap;

use crate::instruction::table;
use crate::text::{Function, Instruction, Operand, RegisterId};

pub(crate) struct Flow {
    /// First instruction of each block, in order.
    starts: Vec<usize>,
    /// Block of each instruction.
    block: Vec<usize>,
    successors: Vec<Vec<usize>>,
    /// Immediate post-dominator of each block; the number of blocks stands for the end.
    after: Vec<usize>,
    count: usize,
}

/// Whether an instruction ends a block.
fn ends(instruction: &Instruction) -> bool {
    matches!(instruction.name(), "bra" | "ret" | "exit" | "trap" | "brx")
}

fn targets(instruction: &Instruction) -> impl Iterator<Item = usize> {
    instruction.operands.iter().flat_map(Operand::labels)
}

impl Flow {
    pub(crate) fn of(instructions: &[Instruction]) -> Flow {
        let count = instructions.len();
        let mut leads = vec![false; count + 1];
        leads[0] = true;
        for (index, instruction) in instructions.iter().enumerate() {
            if ends(instruction) {
                leads[index + 1] = true;
            }
            targets(instruction).for_each(|target| leads[target.min(count)] = true);
        }
        let starts: Vec<usize> = (0..count).filter(|index| leads[*index]).collect();
        let mut block = vec![0; count + 1];
        for (number, start) in starts.iter().enumerate() {
            let end = starts.get(number + 1).copied().unwrap_or(count);
            block[*start..end].fill(number);
        }
        block[count] = starts.len();
        let end = starts.len();
        let successors: Vec<Vec<usize>> = (0..starts.len())
            .map(|number| {
                let last = starts.get(number + 1).copied().unwrap_or(count) - 1;
                let instruction = &instructions[last];
                let always = instruction.guard.is_none();
                let mut next = vec![];
                match instruction.name() {
                    "bra" | "brx" => next.extend(targets(instruction).map(|target| block[target.min(count)])),
                    "ret" | "exit" | "trap" => next.push(end),
                    _ => {}
                }
                if !ends(instruction) || !always {
                    next.push(block[last + 1]);
                }
                next
            })
            .collect();
        let after = post_dominators(&successors, end);
        Flow { starts, block, successors, after, count }
    }

    /// Where lanes that a branch parts join again.
    pub(crate) fn reconverge(&self, instruction: usize) -> u32 {
        let after = self.after[self.block[instruction]];
        self.starts.get(after).copied().unwrap_or(self.count) as u32
    }

    pub(crate) fn blocks(&self) -> usize {
        self.starts.len()
    }

    /// Instructions of a block.
    pub(crate) fn range(&self, block: usize) -> std::ops::Range<usize> {
        self.starts[block]..self.starts.get(block + 1).copied().unwrap_or(self.count)
    }

    /// Blocks that may follow a block.
    pub(crate) fn successors(&self, block: usize) -> impl Iterator<Item = usize> {
        let end = self.starts.len();
        self.successors[block].iter().copied().filter(move |next| *next < end)
    }

    /// The block of an instruction.
    pub(crate) fn block(&self, instruction: usize) -> usize {
        self.block[instruction]
    }

    /// Registers that may be read before they are written, each with the line of the first such read.
    pub(crate) fn unwritten(&self, function: &Function) -> Vec<(String, u32)> {
        let instructions = &function.instructions;
        let words = function.registers.len().div_ceil(64);
        if self.starts.is_empty() {
            return vec![];
        }
        let set = |bits: &mut [u64], id: RegisterId| bits[id as usize / 64] |= 1 << (id % 64);
        // what each block writes in any case
        let written: Vec<Vec<u64>> = (0..self.starts.len())
            .map(|block| {
                let mut bits = vec![0; words];
                for instruction in &instructions[self.range(block)] {
                    if instruction.guard.is_none() {
                        effects(instruction).0.into_iter().for_each(|id| set(&mut bits, id));
                    }
                }
                bits
            })
            .collect();
        // what is written on every path to a block
        let mut before = vec![vec![u64::MAX; words]; self.starts.len()];
        before[0].fill(0);
        let mut changed = true;
        while changed {
            changed = false;
            for block in 0..self.starts.len() {
                for next in self.successors[block].iter().copied().filter(|next| *next < self.starts.len()) {
                    for word in 0..words {
                        let value = before[next][word] & (before[block][word] | written[block][word]);
                        changed |= value != before[next][word];
                        before[next][word] = value;
                    }
                }
            }
        }
        let mut found: HashMap<RegisterId, u32> = HashMap::new();
        for block in 0..self.starts.len() {
            let mut bits = before[block].clone();
            // a guarded write and a guarded read by the same predicate belong together until it changes
            let mut guarded: HashMap<(RegisterId, bool), Vec<RegisterId>> = HashMap::new();
            for instruction in &instructions[self.range(block)] {
                let (writes, reads) = effects(instruction);
                for id in reads {
                    let here = bits[id as usize / 64] >> (id % 64) & 1 == 1;
                    let with_guard = instruction
                        .guard
                        .is_some_and(|guard| guarded.get(&guard).is_some_and(|ids| ids.contains(&id)));
                    if !here && !with_guard {
                        let line = found.entry(id).or_insert(instruction.line);
                        *line = (*line).min(instruction.line);
                    }
                }
                for id in writes {
                    guarded.retain(|(predicate, _), _| *predicate != id);
                    match instruction.guard {
                        None => set(&mut bits, id),
                        Some(guard) => guarded.entry(guard).or_default().push(id),
                    }
                }
            }
        }
        let mut found: Vec<_> = found
            .into_iter()
            .map(|(id, line)| (function.registers[id as usize].name.clone(), line))
            .collect();
        found.sort_by_key(|(_, line)| *line);
        found
    }
}

/// Immediate post-dominators; `end` follows every block that leaves.
fn post_dominators(successors: &[Vec<usize>], end: usize) -> Vec<usize> {
    // order: reverse post-order of the reversed graph, from the end
    let mut predecessors = vec![vec![]; end + 1];
    for (block, next) in successors.iter().enumerate() {
        for next in next {
            predecessors[*next].push(block);
        }
    }
    let mut order = vec![];
    let mut seen = vec![false; end + 1];
    let mut stack = vec![(end, 0)];
    seen[end] = true;
    while let Some((block, child)) = stack.pop() {
        match predecessors[block].get(child) {
            Some(next) => {
                stack.push((block, child + 1));
                if !seen[*next] {
                    seen[*next] = true;
                    stack.push((*next, 0));
                }
            }
            None => order.push(block),
        }
    }
    order.reverse();
    let mut rank = vec![usize::MAX; end + 1];
    for (place, block) in order.iter().enumerate() {
        rank[*block] = place;
    }
    // blocks that never reach the end join there
    let mut after = vec![None; end + 1];
    after[end] = Some(end);
    let mut changed = true;
    while changed {
        changed = false;
        for block in order.iter().copied().filter(|block| *block != end) {
            let mut best: Option<usize> = None;
            for next in successors[block].iter().copied().filter(|next| rank[*next] != usize::MAX) {
                if after[next].is_none() {
                    continue;
                }
                best = Some(match best {
                    None => next,
                    Some(mut other) => {
                        let mut next = next;
                        while next != other {
                            while rank[next] > rank[other] {
                                next = after[next].unwrap_or(end);
                            }
                            while rank[other] > rank[next] {
                                other = after[other].unwrap_or(end);
                            }
                        }
                        next
                    }
                });
            }
            if best.is_some() && after[block] != best {
                after[block] = best;
                changed = true;
            }
        }
    }
    (0..end).map(|block| after[block].unwrap_or(end)).collect()
}

/// Registers that an instruction writes and that it reads.
pub(crate) fn effects(instruction: &Instruction) -> (Vec<RegisterId>, Vec<RegisterId>) {
    let (mut writes, mut reads) = (vec![], vec![]);
    let results = table::results(instruction);
    for (index, operand) in instruction.operands.iter().enumerate() {
        let list = if index < results { &mut writes } else { &mut reads };
        // the address of a load is read, wherever it is
        gather(operand, list);
    }
    if instruction.name() == "wgmma" && instruction.has("mma_async") {
        let zero = matches!(instruction.operands.get(3), Some(Operand::Integer(0)));
        if !zero {
            reads.extend(writes.iter().copied());
        }
    }
    if let Some((guard, _)) = instruction.guard {
        reads.push(guard);
    }
    (writes, reads)
}

fn gather(operand: &Operand, list: &mut Vec<RegisterId>) {
    match operand {
        Operand::Register(id) | Operand::Not(id) => list.push(*id),
        Operand::Address(crate::text::Base::Register(id), _) => list.push(*id),
        Operand::Vector(all) => all.iter().for_each(|operand| gather(operand, list)),
        Operand::Pair(a, b) => {
            gather(a, list);
            gather(b, list);
        }
        _ => {}
    }
}
