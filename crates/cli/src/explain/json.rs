//! Everything that `explain` knows, as JSON.

use bitmma_engine::Signature;
use bitmma_engine::catalogue::Found;
use bitmma_engine::explain::Explanation;
use bitmma_engine::explain::json::{Coded, Written};
use serde::Serialize;

use crate::json::{Operands, computes, object, options};
use crate::target::{Arguments, Target};
use crate::values::Inputs;

/// Everything `explain` knows.
pub(super) fn page(
    target: &Target,
    arguments: &Arguments,
    inputs: &Inputs,
    explanation: &Explanation,
) -> impl Serialize + use<> {
    let signature = Signature::of_model(target.name.clone(), &target.model, (1, 1, inputs.k()));
    object! {
        #[serde(flatten)]
        computes: computes(target, arguments, inputs.k(), Found::name),
        options: options(&target.options),
        #[serde(flatten)]
        operands: Operands::new(&inputs.case, &signature),
        steps: explanation.steps.iter().map(Written::from).collect::<Vec<_>>(),
        d: Coded::new(&target.model.d, explanation.d),
    }
}
