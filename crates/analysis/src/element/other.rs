//! What computes all of a D that was observed, and where its way parts from another's.

use bitmma_engine::explain::json::Coded;
use bitmma_engine::gemm::Target;
use bitmma_engine::{GemmOptions, Matrix, Operands, Revision};
use bitmma_verify::apart::Rules;
use serde::Serialize;

use super::{Element, follow, parting};
use crate::error::Error;
use crate::which::{Observed, Order, which};

/// A model that computes all of D, and the first step at which it parts.
#[derive(Clone, Debug, Serialize)]
pub struct Other {
    /// Architecture and instruction.
    pub target: String,
    /// The chips that compute so.
    pub chips: Vec<&'static str>,
    /// The order along K, in words.
    pub order: String,
    /// The first step whose result is another, where both have one that ends there.
    pub step: Option<usize>,
    /// The result that was computed.
    pub here: Option<Coded>,
    /// The other's.
    pub there: Option<Coded>,
}

impl Other {
    /// The first model and order that compute D, if one does.
    pub(super) fn of(
        given: &Operands<'_>,
        d: &Matrix,
        ours: &Element,
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
            let [block, line, column] = ours.element;
            let theirs = follow(&along, given, &options, (block, line, column), None)?;
            let parts = parting(ours, &theirs);
            let result = |of: &Element, step: usize| of.steps().nth(step).map(|step| step.result.clone());
            return Ok(Some(Other {
                target: instruction.target(),
                chips: row.units(),
                order: order.to_string(),
                step: parts.map(|(step, _)| step),
                here: parts.and_then(|(step, _)| result(ours, step)),
                there: parts.and_then(|(_, step)| result(&theirs, step)),
            }));
        }
        Ok(None)
    }
}
