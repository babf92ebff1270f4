//! Any number of dot products asked of a unit, as many at a time as fit a little memory.

use bitmma_engine::{Case, Error, Fault, MmaUnit, Signature};

/// Elements of A and of B that are held at a time, about.
const ELEMENTS: usize = 1 << 20;

/// Asks the unit `count` dot products, case by case those that `case` makes; `each` gets some of them at a time, in
/// order, with the unit's results.
pub fn ask<E: From<Error>>(
    unit: &dyn MmaUnit,
    count: u64,
    case: impl Fn(u64) -> Case,
    mut each: impl FnMut(&[Case], Vec<u64>) -> Result<(), E>,
) -> Result<(), E> {
    let signature = unit.signature();
    let step = at_a_time(signature);
    let mut first = 0;
    while first < count {
        let cases: Vec<Case> = (first..count.min(first + step)).map(&case).collect();
        let answers = unit.dot_products(&cases)?;
        if answers.len() != cases.len() {
            let problem = format!("{} results for {} dot products", answers.len(), cases.len());
            return Err(Error::unit(&signature.name, Fault::Short, problem).into());
        }
        each(&cases, answers)?;
        first += step;
    }
    Ok(())
}

/// Dot products of whole instructions that take about [`ELEMENTS`] elements of each operand.
fn at_a_time(signature: &Signature) -> u64 {
    let Signature { m, n, k, blocks, .. } = *signature;
    let diagonal = (blocks * m.min(n)).max(1);
    let instructions = ELEMENTS / (blocks * m.max(n)).saturating_mul(k).max(1);
    (diagonal * instructions.max(1)) as u64
}
