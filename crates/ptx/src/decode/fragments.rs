//! Fragments of A that `wgmma` takes from registers: a `wgmma.fence` must come after what writes them (PTX ISA, "wgmma.fence").

use std::collections::HashSet;

use crate::program::{Effects, Op, Step, WgmmaA};
use crate::text::{Register, Width};

/// Notes where the fence is missing: no label is between the two, so that both always run.
pub(super) fn unfenced(steps: &mut [Step], effects: &[Effects], registers: &[Register]) {
    let in_registers =
        |step: &Step| matches!(&step.op, Op::Wgmma(wgmma) if matches!(wgmma.a, WgmmaA::Registers(_)));
    let products: Vec<usize> = (0..steps.len()).filter(|at| in_registers(&steps[*at])).collect();
    if products.is_empty() {
        return;
    }
    let targets: HashSet<u32> = steps
        .iter_mut()
        .filter_map(|step| step.op.branch())
        .flat_map(|(targets, ..)| targets.to_vec())
        .collect();
    let writer = |at: usize| {
        let own = &effects[at];
        let is_word = |id: u32| matches!(registers[id as usize].width, Width::Word(_));
        let is_a = |id: &u32| own.reads.contains(id) && !own.writes.contains(id) && is_word(*id);
        let before = (0..at).rev().take_while(|before| {
            !targets.contains(&(*before as u32 + 1)) && !matches!(steps[*before].op, Op::FenceForProducts)
        });
        let mut always = before.filter(|before| steps[*before].guard.is_none() && !steps[*before].op.moves());
        let writer = always.find(|before| effects[*before].writes.iter().any(is_a))?;
        Some(steps[writer].line)
    };
    let found: Vec<Option<u32>> = products.iter().map(|at| writer(*at)).collect();
    for (at, line) in products.into_iter().zip(found) {
        if let Op::Wgmma(wgmma) = &mut steps[at].op {
            wgmma.unfenced = line;
        }
    }
}
