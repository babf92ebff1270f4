//! Registers of `wgmma`: what must come between it and other instructions that access them (PTX ISA, "wgmma.fence",
//! "wgmma.wait_group").
//!
//! Moves are not counted as accesses: compilers put them anywhere, and ptxas removes them.

use crate::program::{AccumulatorSet, Op, Step, Wgmma, accumulator_bit, is_told_apart};

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

    /// An instruction accesses accumulators in another way than by adding to them; [`InFlight::multiply`] checks `wgmma` itself.
    pub(super) fn touch(&mut self, step: &Step) -> Result<(), &'static str> {
        if matches!(step.op, Op::Wgmma(_)) || step.op.moves() {
            return Ok(());
        }
        self.touched |= step.settles;
        self.access(step.settles)
    }

    /// An error if accumulators that an instruction accesses are in flight.
    fn access(&self, set: AccumulatorSet) -> Result<(), &'static str> {
        match self.products.iter().any(|(number, _)| set & accumulator_bit(*number) != 0) {
            true => {
                Err("accesses accumulators of a wgmma that was not waited for: wgmma.wait_group is missing")
            }
            false => Ok(()),
        }
    }

    /// `wgmma.fence`
    pub(super) fn fence(&mut self) {
        self.touched = 0;
    }

    /// `wgmma`, of a group.
    pub(super) fn multiply(&mut self, wgmma: &Wgmma, group: u32) -> Result<(), &'static str> {
        self.access(wgmma.reads)?;
        let number = wgmma.number;
        let is_told_apart = is_told_apart(number);
        if is_told_apart && self.touched & accumulator_bit(number) != 0 {
            return Err(
                "wgmma.fence is missing before this wgmma: its accumulators were accessed after the last one, or there was none",
            );
        }
        if is_told_apart {
            self.products.retain(|(other, _)| *other != number);
            self.products.push((number, group));
        }
        // a product that adds to what this one reads needs a fence before it
        self.touched |= wgmma.reads;
        Ok(())
    }

    /// `wgmma.wait_group`: groups up to one are over.
    pub(super) fn wait(&mut self, group: u32) {
        self.products.retain(|(_, other)| *other > group);
    }
}
