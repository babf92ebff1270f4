//! Whatever computes D for A, B and C.

use crate::case::{Case, Operands};
use crate::error::Error;
use crate::matrices::Matrices;
use crate::matrix::Matrix;
use crate::signature::Signature;

/// What a unit says about itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct About {
    /// The device that computes.
    pub device: Option<String>,
    /// What stands between it and us, with its version.
    pub driver: Option<String>,
}

/// A unit that multiplies matrices: a simulator, a recording, a GPU.
pub trait MmaUnit {
    /// What it takes and gives.
    fn signature(&self) -> &Signature;

    /// What it says about itself.
    fn about(&self) -> About {
        About::default()
    }

    /// D, or why there is none. Operands that do not fit the signature are an error, never a panic.
    fn multiply(&self, operands: &Operands<'_>) -> Result<Matrix, Error>;

    /// One D for each of the operands; a unit far away answers many in one exchange.
    fn multiply_many(&self, batch: &[Operands<'_>]) -> Result<Vec<Matrix>, Error> {
        batch.iter().map(|operands| self.multiply(operands)).collect()
    }

    /// One code of D for each dot product, asked on the diagonals of as many instructions as it takes.
    fn dot_products(&self, cases: &[Case]) -> Result<Vec<u64>, Error> {
        on_diagonals(self, cases)
    }
}

/// One code of D for each dot product, from the diagonals of as many products of the unit as it takes.
pub fn on_diagonals<U: MmaUnit + ?Sized>(unit: &U, cases: &[Case]) -> Result<Vec<u64>, Error> {
    let signature = unit.signature();
    let size = signature.m.min(signature.n);
    let packed = cases
        .chunks((signature.blocks * size).max(1))
        .map(|chunk| Matrices::diagonal(signature, chunk))
        .collect::<Result<Vec<_>, _>>()?;
    let operands: Vec<_> = packed.iter().map(Matrices::operands).collect();
    let answers = unit.multiply_many(&operands)?;
    Ok(answers
        .iter()
        .flat_map(|d| {
            (0..d.blocks()).flat_map(move |block| (0..size).map(move |line| d.get(block, line, line)))
        })
        .take(cases.len())
        .collect())
}
