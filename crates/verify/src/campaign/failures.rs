//! Mismatches made as small as they go.

use bitmma_engine::arithmetic::Model;
use bitmma_engine::{Case, Error, Matrices, MmaUnit, Signature};

use super::block::Kept;
use crate::shrink;

/// A mismatch and the least of it that was found.
#[derive(Clone, Debug)]
pub struct Failing {
    /// As it was met.
    pub kept: Kept,
    /// The least operands.
    pub least: Case,
    /// The model's result for them.
    pub expected: u64,
    /// The unit's.
    pub actual: u64,
    /// Whether the unit still answered otherwise when it was asked again.
    pub repeats: bool,
}

/// Shrinks a mismatch, every element of the instruction being the same dot product, the result taken
/// where the mismatch was met.
pub fn least(unit: &dyn MmaUnit, model: &Model, kept: &Kept, strict_nan: bool) -> Result<Failing, Error> {
    let signature = unit.signature().clone();
    let expected = |case: &Case| -> Result<u64, Error> { Ok(model.dot(&case.operands())?) };
    let differ = |cases: &[Case]| -> Result<Vec<bool>, Error> {
        let answers = ask(unit, &signature, kept.place, cases)?;
        cases
            .iter()
            .zip(answers)
            .map(|(case, actual)| Ok(!model.agrees(expected(case)?, actual, strict_nan)))
            .collect()
    };
    let met = kept.case.clone();
    let repeats = differ(std::slice::from_ref(&met))?.first() == Some(&true);
    if !repeats {
        let (expected, actual) = (kept.expected, kept.actual);
        return Ok(Failing { kept: kept.clone(), least: met, expected, actual, repeats });
    }
    let least = shrink::shrink(&signature, &met, differ)?;
    let actual = ask(unit, &signature, kept.place, std::slice::from_ref(&least))?.first().copied();
    Ok(Failing {
        kept: kept.clone(),
        expected: expected(&least)?,
        actual: actual.unwrap_or(kept.actual),
        least,
        repeats,
    })
}

/// The unit's result for each case at one place of D.
fn ask(
    unit: &dyn MmaUnit,
    signature: &Signature,
    (block, row, column): (usize, usize, usize),
    cases: &[Case],
) -> Result<Vec<u64>, Error> {
    let packed = cases
        .iter()
        .map(|case| Matrices::diagonal(signature, std::slice::from_ref(case)))
        .collect::<Result<Vec<_>, _>>()?;
    let operands: Vec<_> = packed.iter().map(Matrices::operands).collect();
    Ok(unit.multiply_many(&operands)?.iter().map(|d| d.get(block, row, column)).collect())
}
