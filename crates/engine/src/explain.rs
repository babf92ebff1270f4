//! Every step of one dot product.

pub mod json;

use bitmma_arithmetic::run::Operands as DotOperands;
use bitmma_arithmetic::{Model, Step};

use crate::case::Operands;
use crate::error::Error;

/// One dot product and the steps that led to its result.
#[derive(Clone, Debug)]
pub struct Explanation {
    /// The steps, in order; each elementary operation opens with [`Step::Begin`].
    pub steps: Vec<Step>,
    /// The code of D.
    pub d: u64,
}

/// The steps of one dot product.
pub fn explain(model: &Model, operands: &DotOperands<'_>) -> Result<Explanation, Error> {
    let (d, steps) = model.explain(operands)?;
    Ok(Explanation { steps, d })
}

/// The steps of one element of D; `element` is block, row, column.
pub fn explain_element(
    model: &Model,
    operands: &Operands<'_>,
    (block, row, column): (usize, usize, usize),
) -> Result<Explanation, Error> {
    model.validate()?;
    crate::simulate::signature_of(model, operands).check(operands)?;
    let shape = operands.shape();
    if block >= shape.0 || row >= shape.1 || column >= shape.2 {
        return Err(Error::Shape {
            operand: "element",
            given: format!("block {block}, row {row}, column {column}"),
            unit: "D".to_owned(),
            expected: format!("below {}", crate::matrix::shape_text(shape)),
        });
    }
    explain(model, &operands.case(block, row, column).operands())
}
