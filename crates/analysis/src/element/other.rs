//! What computes all of a D that was observed, and where its way parts from another's.

use bitmma_engine::gemm::{Schedule, Shapes, Target};
use bitmma_engine::{GemmOptions, Matrix, Operands, Revision};
use bitmma_verify::apart::Rules;

use super::{Element, Step, follow, parting};
use crate::error::Error;
use crate::which::{Observed, Order, which};

/// A model that computes all of D, and its way to one element.
#[derive(Clone, Debug)]
pub struct Other {
    /// Architecture and instruction.
    pub name: String,
    /// The chips that compute so.
    pub chips: Vec<&'static str>,
    /// The order along K, in words.
    pub order: String,
    /// The element, step by step.
    pub element: Element,
}

impl Other {
    /// The first model and order that compute D, if one does.
    pub fn of(
        given: &Operands<'_>,
        d: &Matrix,
        place: (usize, usize, usize),
        shapes: &Shapes,
        rules: &Rules,
    ) -> Result<Option<Other>, Error> {
        let Operands { a, b, c, scale_a, scale_b } = *given;
        let found = which(&Observed { a, b, c, scale_a, scale_b, d }, vec![], Revision::Hardware, rules)?;
        for row in found.rows.iter().filter(|row| !row.matching.is_empty()) {
            let order = &row.matching[0];
            let Order { k_step: Some(k_step), split_k, promote_every, output: None, .. } = *order else {
                continue;
            };
            let Some(instruction) = row.instructions.iter().find(|one| one.products() == k_step) else {
                continue;
            };
            let Some(model) = instruction.model(Revision::Hardware) else { continue };
            let along = Target::of_model(model, Some(k_step))?;
            let c_last = order.c_last == Some(true);
            let options = GemmOptions { split_k, promote_every, c_last, ..GemmOptions::default() };
            let schedule = Schedule::new(&along, shapes, &options)?;
            let element = follow(&along, &schedule, given, place, None)?;
            let (name, chips) = (instruction.target(), row.units());
            return Ok(Some(Other { name, chips, order: order.to_string(), element }));
        }
        Ok(None)
    }

    /// The step at which both part: its index in `ours`, and the step of each.
    pub fn steps<'e>(&'e self, ours: &'e Element) -> Option<(usize, &'e Step, &'e Step)> {
        let (here, there) = parting(ours, &self.element)?;
        Some((here, ours.steps().nth(here)?, self.element.steps().nth(there)?))
    }
}
