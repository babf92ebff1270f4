//! Every step of one dot product.

use bitmma_arithmetic::run::Operands as DotOperands;
use bitmma_arithmetic::{Model, Step};

use crate::error::Error;
use crate::unit::Operands;

/// One dot product and the steps that led to its answer.
#[derive(Clone, Debug)]
pub struct Explanation {
    /// The steps, in order; each elementary operation opens with [`Step::Begin`].
    pub steps: Vec<Step>,
    /// The code of D.
    pub d: u64,
}

/// The steps of one dot product.
pub fn explain(model: &Model, operands: &DotOperands<'_>) -> Result<Explanation, Error> {
    let mut steps = Vec::new();
    let d = model.dot_traced(operands, &mut steps)?;
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
    let shape = operands.c.shape();
    if block >= shape.0 || row >= shape.1 || column >= shape.2 {
        return Err(Error::Shape {
            operand: "element",
            given: format!("block {block}, row {row}, column {column}"),
            unit: "D".to_owned(),
            expected: format!("below {}", crate::matrix::shape_text(shape)),
        });
    }
    let a: Vec<u64> = operands.a.row(block, row).collect();
    let b: Vec<u64> = operands.b.column(block, column).collect();
    let scale_a: Vec<u64> = operands.scale_a.map_or(Vec::new(), |scale| scale.row(block, row).collect());
    let scale_b: Vec<u64> =
        operands.scale_b.map_or(Vec::new(), |scale| scale.column(block, column).collect());
    let c = operands.c.get(block, row, column);
    explain(model, &DotOperands { a: &a, b: &b, c, scale_a: &scale_a, scale_b: &scale_b })
}
