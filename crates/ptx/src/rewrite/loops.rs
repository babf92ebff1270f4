//! Loops of a function.

use crate::flow::Flow;

/// A natural loop.
pub(super) struct Loop {
    /// The block that it is entered by.
    pub(super) header: usize,
    /// In order of the text.
    pub(super) blocks: Vec<usize>,
    /// Those that go back to the header.
    pub(super) latches: Vec<usize>,
}

impl Loop {
    pub(super) fn has(&self, block: usize) -> bool {
        self.blocks.binary_search(&block).is_ok()
    }
}

/// Which blocks the first one leads to.
pub(super) fn reached(flow: &Flow) -> Vec<bool> {
    let mut reached = vec![false; flow.blocks()];
    let mut pending: Vec<usize> = (0..flow.blocks().min(1)).collect();
    while let Some(block) = pending.pop() {
        if !std::mem::replace(&mut reached[block], true) {
            pending.extend(flow.successors(block));
        }
    }
    reached
}

/// The blocks before each, but those that nothing leads to.
pub(super) fn predecessors(flow: &Flow) -> Vec<Vec<usize>> {
    let mut before = vec![vec![]; flow.blocks()];
    let reached = reached(flow);
    for block in (0..flow.blocks()).filter(|block| reached[*block]) {
        for next in flow.successors(block) {
            if !before[next].contains(&block) {
                before[next].push(block);
            }
        }
    }
    before
}

/// Immediate dominators; `None` for blocks that nothing reaches, the first block's is itself.
fn dominators(flow: &Flow, before: &[Vec<usize>]) -> (Vec<Option<usize>>, Vec<usize>) {
    let count = flow.blocks();
    let mut order = vec![];
    let mut seen = vec![false; count];
    let mut stack: Vec<(usize, Vec<usize>)> = vec![];
    if count > 0 {
        seen[0] = true;
        stack.push((0, flow.successors(0).collect()));
    }
    while let Some((block, next)) = stack.last_mut() {
        match next.pop() {
            Some(next) if !seen[next] => {
                seen[next] = true;
                stack.push((next, flow.successors(next).collect()));
            }
            Some(_) => {}
            None => {
                order.push(*block);
                stack.pop();
            }
        }
    }
    order.reverse();
    let mut rank = vec![usize::MAX; count];
    order.iter().enumerate().for_each(|(place, block)| rank[*block] = place);
    let mut above: Vec<Option<usize>> = vec![None; count];
    if count > 0 {
        above[0] = Some(0);
    }
    let mut changed = true;
    while changed {
        changed = false;
        for block in order.iter().copied().skip(1) {
            let mut best: Option<usize> = None;
            for from in before[block].iter().copied().filter(|from| above[*from].is_some()) {
                best = Some(match best {
                    None => from,
                    Some(mut other) => {
                        let mut from = from;
                        while from != other {
                            while rank[from] > rank[other] {
                                from = above[from].unwrap_or(0);
                            }
                            while rank[other] > rank[from] {
                                other = above[other].unwrap_or(0);
                            }
                        }
                        from
                    }
                });
            }
            if above[block] != best {
                above[block] = best;
                changed = true;
            }
        }
    }
    (above, order)
}

/// All loops, those that lie within others first.
pub(super) fn loops(flow: &Flow) -> Vec<Loop> {
    let before = predecessors(flow);
    let (above, order) = dominators(flow, &before);
    let dominates = |a: usize, b: usize| {
        let mut at = b;
        loop {
            if at == a {
                return true;
            }
            match above[at] {
                Some(next) if next != at => at = next,
                _ => return false,
            }
        }
    };
    let mut found = vec![];
    for header in order {
        let latches: Vec<usize> = before[header]
            .iter()
            .copied()
            .filter(|from| above[*from].is_some() && dominates(header, *from))
            .collect();
        if latches.is_empty() {
            continue;
        }
        let mut blocks = vec![header];
        let mut pending = latches.clone();
        while let Some(block) = pending.pop() {
            if !blocks.contains(&block) {
                blocks.push(block);
                pending.extend(before[block].iter().copied().filter(|from| above[*from].is_some()));
            }
        }
        blocks.sort_unstable();
        found.push(Loop { header, blocks, latches });
    }
    found.sort_by_key(|one| one.blocks.len());
    found
}
