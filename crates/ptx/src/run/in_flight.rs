//! Registers of `wgmma`: what must come between it and other instructions that access them (PTX ISA, "wgmma.fence",
//! "wgmma.wait_group").
//!
//! Moves are not counted as accesses: compilers put them anywhere, and ptxas removes them.

use std::collections::{BTreeMap, HashSet};

use crate::instruction::compute::Spread;
use crate::program::{AccumulatorSet, Kernel, Op, Step, WgmmaA, accumulator_bit, is_told_apart};
use crate::text::Width;

/// Accumulators of `wgmma` of a warp.
#[derive(Default)]
pub(super) struct InFlight {
    /// Those that instructions have accessed since the last `wgmma.fence`; before the first one all.
    touched: AccumulatorSet,
    /// Those of products that were not waited for, by number, and the group of each.
    products: Vec<(usize, u32)>,
}

impl InFlight {
    /// For the next block.
    pub(super) fn start(&mut self) {
        self.touched = AccumulatorSet::MAX;
        self.products.clear();
    }

    /// An instruction accesses accumulators in another way than by adding to them.
    pub(super) fn touch(&mut self, step: &Step) -> Result<(), &'static str> {
        if matches!(step.op, Op::Wgmma(_)) || moves(&step.op) {
            return Ok(());
        }
        self.touched |= step.settles;
        match self.products.iter().any(|(number, _)| step.settles & accumulator_bit(*number) != 0) {
            true => {
                Err("accesses accumulators of a wgmma that was not waited for: wgmma.wait_group is missing")
            }
            false => Ok(()),
        }
    }

    /// `wgmma.fence`, or a hint, which looks like one.
    pub(super) fn fence(&mut self) {
        self.touched = 0;
    }

    /// `wgmma`, of a group.
    pub(super) fn multiply(&mut self, number: usize, group: u32) -> Result<(), &'static str> {
        if !is_told_apart(number) {
            return Ok(());
        }
        self.products.retain(|(other, _)| *other != number);
        self.products.push((number, group));
        match self.touched & accumulator_bit(number) {
            0 => Ok(()),
            _ => Err(
                "wgmma.fence is missing before this wgmma: its accumulators were accessed after the last one, or there was none",
            ),
        }
    }

    /// `wgmma.wait_group`: groups up to one are over.
    pub(super) fn wait(&mut self, group: u32) {
        self.products.retain(|(_, other)| *other > group);
    }
}

fn moves(op: &Op) -> bool {
    match op {
        Op::Computed(computed) => computed.computation.spread == Spread::Moves(1) && computed.a.len() == 1,
        Op::Copy { .. } | Op::Pack { .. } | Op::Unpack { .. } => true,
        _ => false,
    }
}

/// By step, `wgmma` without a `wgmma.fence` after the instruction that writes a fragment of A, and the line of that one. No branch
/// or label is between the two, so that both always run.
pub(super) fn unfenced_fragments(kernel: &Kernel) -> BTreeMap<usize, u32> {
    let Kernel { steps, effects, .. } = kernel;
    let targets = |step: &Step| match &step.op {
        Op::Branch { target, .. } => vec![*target],
        Op::BranchTable { targets, .. } => targets.to_vec(),
        _ => vec![],
    };
    let targets: HashSet<u32> = steps.iter().flat_map(targets).collect();
    let writer = |at: usize| {
        let own = &effects[at];
        let is_word = |id: u32| matches!(kernel.registers[id as usize].width, Width::Word(_));
        let is_a = |id: &u32| own.reads.contains(id) && !own.writes.contains(id) && is_word(*id);
        let before = (0..at).rev().take_while(|before| {
            !targets.contains(&(*before as u32 + 1)) && !matches!(steps[*before].op, Op::Nothing)
        });
        let mut always = before.filter(|before| steps[*before].guard.is_none() && !moves(&steps[*before].op));
        let writer = always.find(|before| effects[*before].writes.iter().any(is_a))?;
        Some((at, steps[writer].line))
    };
    let has_fragments =
        |at: &usize| matches!(&steps[*at].op, Op::Wgmma(wgmma) if matches!(wgmma.a, WgmmaA::Registers(_)));
    (0..effects.len()).filter(has_fragments).filter_map(writer).collect()
}
