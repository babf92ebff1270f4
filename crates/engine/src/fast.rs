//! A simulated instruction that takes the fast kernels.

use std::fmt;
use std::sync::{Arc, OnceLock};

use bitmma_arithmetic::{Prepared, run};
use bitmma_threads::prelude::*;

use crate::case::{Case, Operands};
use crate::check::Expected;
use crate::error::Error;
use crate::kernel::Executor;
use crate::matrix::Matrix;
use crate::signature::Signature;
use crate::simulate::Simulator;
use crate::unit::MmaUnit;

/// A [`Simulator`] whose products take the kernels, batches on all cores. Its results are those of the
/// reference path; what has no kernel takes that path itself.
#[derive(Clone)]
pub struct FastSimulator {
    simulator: Simulator,
    signature: Signature,
    /// Worked out when it is first needed.
    plan: Arc<OnceLock<Executor<'static>>>,
}

impl fmt::Debug for FastSimulator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FastSimulator").field("simulator", &self.simulator).finish_non_exhaustive()
    }
}

impl FastSimulator {
    /// The same instruction by the kernels.
    pub fn new(simulator: Simulator) -> FastSimulator {
        FastSimulator { signature: simulator.signature().clone(), simulator, plan: Arc::default() }
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

    /// The model, prepared for dot products of the instruction's K.
    pub fn prepared(&self) -> Result<&Prepared<'static>, Error> {
        Ok(self.plan()?.prepared())
    }

    /// The code of D of one dot product of the instruction's K, on this thread.
    pub fn dot(&self, operands: &run::Operands<'_>) -> Result<u64, Error> {
        self.plan()?.dot(operands)
    }

    /// D of matrices of any number of blocks, any M and N, and K of whole instructions, by one plan.
    pub fn multiply_blocks(&self, operands: &Operands<'_>) -> Result<Matrix, Error> {
        self.plan()?.multiply(operands)
    }

    /// D of one product of any M and N and K of whole instructions; `b` has B by its columns, N×K, and so has the second of the
    /// scale factors its own.
    pub fn multiply_columns(
        &self,
        a: &Matrix,
        b: &Matrix,
        c: &Matrix,
        scales: Option<[&Matrix; 2]>,
    ) -> Result<Matrix, Error> {
        let model = self.model();
        let n = b.rows();
        let expected = Expected::of(
            &self.signature.name,
            [model.a, model.b, model.c],
            model.scale,
            (1, a.rows(), n, a.columns()),
        );
        let described = |matrix: &Matrix| (matrix.format(), matrix.shape());
        let turned = |matrix: &Matrix| {
            let (blocks, lines, along) = matrix.shape();
            (matrix.format(), (blocks, along, lines))
        };
        let [scale_a, scale_b] = [0, 1].map(|at| scales.map(|scales| scales[at]));
        let others = [Some(described(c)), scale_a.map(described), scale_b.map(turned)];
        expected.check_each([described(a), turned(b)], others)?;
        if [a.rows(), n].contains(&0) {
            return Matrix::zeros(model.d, c.shape());
        }
        let operands = bitmma_kernel::Operands {
            a: a.view(),
            b: b.view().transposed(),
            c: Some(c.view()),
            scale_a: scale_a.map(Matrix::view),
            scale_b: scale_b.map(|scale| scale.view().transposed()),
        };
        self.plan()?.of_checked(&operands, None)
    }

    fn plan(&self) -> Result<&Executor<'static>, Error> {
        if let Some(plan) = self.plan.get() {
            return Ok(plan);
        }
        let prepared = Prepared::owned(self.model().clone(), self.signature.k)?;
        Ok(self.plan.get_or_init(|| Executor::of(prepared, None)))
    }
}

impl MmaUnit for FastSimulator {
    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn multiply(&self, operands: &Operands<'_>) -> Result<Matrix, Error> {
        self.signature.check(operands)?;
        self.multiply_blocks(operands)
    }

    fn multiply_many(&self, batch: &[Operands<'_>]) -> Result<Vec<Matrix>, Error> {
        batch.par_iter().with_min_len(8).map(|operands| self.multiply(operands)).collect()
    }

    fn dot_products(&self, cases: &[Case]) -> Result<Vec<u64>, Error> {
        self.simulator.dot_products(cases)
    }
}
