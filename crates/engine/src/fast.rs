//! A simulated instruction that takes the fast kernels.

use rayon::prelude::*;

use crate::case::Case;
use crate::case::Operands;
use crate::error::Error;
use crate::kernel::{self, Options};
use crate::matrix::Matrix;
use crate::signature::Signature;
use crate::simulate::Simulator;
use crate::unit::MmaUnit;

/// A [`Simulator`] whose products take the kernels, batches on all cores. Its answers are those of the
/// reference path; what has no kernel takes that path itself.
#[derive(Clone, Debug)]
pub struct FastSimulator {
    simulator: Simulator,
    signature: Signature,
}

impl FastSimulator {
    /// The same instruction by the kernels.
    pub fn new(simulator: Simulator) -> FastSimulator {
        FastSimulator { signature: simulator.signature().clone(), simulator }
    }

    /// The same under another name.
    pub fn named(mut self, name: impl Into<String>) -> FastSimulator {
        self.signature.name = name.into();
        self
    }

    /// How it computes.
    pub fn model(&self) -> &bitmma_arithmetic::Model {
        self.simulator.own_model()
    }
}

impl MmaUnit for FastSimulator {
    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn multiply(&self, operands: &Operands<'_>) -> Result<Matrix, Error> {
        self.signature.check(operands)?;
        kernel::multiply(self.model(), self.signature.k, operands, Options::default())
    }

    fn multiply_many(&self, batch: &[Operands<'_>]) -> Result<Vec<Matrix>, Error> {
        batch.par_iter().with_min_len(8).map(|operands| self.multiply(operands)).collect()
    }

    fn dot_products(&self, cases: &[Case]) -> Result<Vec<u64>, Error> {
        self.simulator.dot_products(cases)
    }
}
