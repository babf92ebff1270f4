//! Everything that `explain` knows, as JSON.

use bitmma::Signature;
use bitmma::catalogue::Found;
use bitmma::explain::Explanation;
use bitmma::explain::json::{Coded, Written};
use serde::Serialize;

use crate::json::{Computes, Operands};
use crate::target::{Arguments, Target};
use crate::values::Inputs;

/// Everything `explain` knows.
#[derive(Serialize)]
pub(super) struct Page {
    #[serde(flatten)]
    computes: Computes,
    #[serde(flatten)]
    operands: Operands,
    steps: Vec<Written>,
    d: Coded,
}

impl Page {
    pub(super) fn new(
        target: &Target,
        arguments: &Arguments,
        inputs: &Inputs,
        explanation: &Explanation,
    ) -> Page {
        let signature = Signature::of_model(target.name.clone(), &target.model, (1, 1, inputs.k()));
        Page {
            computes: Computes::new(target, arguments, inputs.k(), Found::name),
            operands: Operands::new(&inputs.case, &signature),
            steps: explanation.steps.iter().map(Written::from).collect(),
            d: Coded::new(&target.model.d, explanation.d),
        }
    }
}
