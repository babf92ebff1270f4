//! The reference path: the plain definition, one dot product for each element of D.

use bitmma_arithmetic::line::{Line, chain};
use bitmma_arithmetic::{Model, ModelError, Prepared};
use bitmma_catalogue::lookup::Found;
use bitmma_catalogue::{Architecture, Revision, find};
use bitmma_threads::mapped;
use bitmma_threads::prelude::*;

use crate::case::{Case, Operands};
use crate::check::Expected;
use crate::error::Error;
use crate::matrix::Matrix;
use crate::signature::Signature;
use crate::unit::MmaUnit;

/// D = A·B + C by `model`: A M×K, B K×N, C M×N, for any M and N and any K the model takes, in parallel
/// over the rows of D.
pub fn simulate(model: &Model, operands: &Operands<'_>) -> Result<Matrix, Error> {
    simulate_steps(model, operands.a.columns(), operands)
}

/// As [`simulate`], the model applied to `step` elements along K at a time, each step going on from the
/// result of the one before. K must be a multiple of `step`.
pub fn simulate_steps(model: &Model, step: usize, operands: &Operands<'_>) -> Result<Matrix, Error> {
    model.validate()?;
    if !check(model, operands)? {
        return Matrix::zeros(model.d, operands.shape());
    }
    let prepared = Prepared::new(model, step)?;
    check_length(model, step, operands.a.columns())?;
    by_definition(&prepared, &operands.views())
}

/// D, element by element; the operands were checked.
pub(crate) fn by_definition(
    prepared: &Prepared<'_>,
    operands: &bitmma_kernel::Operands<'_>,
) -> Result<Matrix, Error> {
    let (blocks, m, n) = operands.shape();
    let k = operands.a.columns;
    let columns: Vec<Line> =
        mapped(blocks * n, |index| operands.column(prepared, (index / n, index % n), 0..k));
    let rows = mapped(blocks * m, |index| -> Vec<u64> {
        let (block, row) = (index / m, index % m);
        let line = operands.row(prepared, (block, row), 0..k);
        let element = |column: usize| {
            bitmma_threads::check();
            let c = operands.c_code(block, row, column);
            chain(prepared, &line, &columns[block * n + column], c)
        };
        (0..n).map(element).collect()
    });
    Matrix::new(prepared.model().d, (blocks, m, n), rows.into_iter().flatten())
}

/// Checks the operands against the model, and says whether D has elements.
pub(crate) fn check(model: &Model, operands: &Operands<'_>) -> Result<bool, Error> {
    let (blocks, m, n) = operands.shape();
    let Model { a, b, c, scale, .. } = *model;
    let shape = (blocks, m, n, operands.a.columns());
    Expected::of(model.operation.name(), [a, b, c], scale, shape).check(operands)?;
    Ok(![blocks, m, n].contains(&0))
}

/// Whether K is whole steps, one or more.
pub(crate) fn check_length(model: &Model, step: usize, k: usize) -> Result<(), Error> {
    if !k.is_multiple_of(step) || k == 0 {
        let model = model.operation.name();
        return Err(ModelError::Length { k, model, multiple: step }.into());
    }
    Ok(())
}

/// What the model takes where M, N and K are those of the operands.
pub(crate) fn signature_of(model: &Model, operands: &Operands<'_>) -> Signature {
    let (blocks, m, n) = operands.shape();
    let signature =
        Signature::of_model(model.operation.name().to_owned(), model, (m, n, operands.a.columns()));
    Signature { blocks, ..signature }
}

/// An instruction that is simulated by its model.
#[derive(Clone, Debug)]
pub struct Simulator {
    signature: Signature,
    model: Model,
}

impl Simulator {
    /// The instruction of that name, with the smallest N it has where the name leaves N open.
    pub fn instruction(
        architecture: Architecture,
        name: &str,
        revision: Revision,
    ) -> Result<Simulator, Error> {
        Simulator::found(&find(architecture, name)?, revision)
    }

    /// An instruction that was looked up.
    pub fn found(found: &Found, revision: Revision) -> Result<Simulator, Error> {
        let model = model_of(found, revision)?;
        let signature = Signature::of(found);
        Ok(Simulator { signature, model })
    }

    /// A model as if it were an instruction of that shape.
    pub fn model(model: Model, shape: (usize, usize, usize)) -> Result<Simulator, Error> {
        Prepared::new(&model, shape.2)?;
        let signature = Signature::of_model(model.operation.name().to_owned(), &model, shape);
        Ok(Simulator { signature, model })
    }

    /// How it computes.
    pub fn own_model(&self) -> &Model {
        &self.model
    }
}

/// The model of an instruction that was looked up; an error where it is not known.
pub fn model_of(found: &Found, revision: Revision) -> Result<Model, Error> {
    let row = found.instruction;
    row.model(revision).ok_or_else(|| Error::NoModel {
        instruction: found.name(),
        architecture: row.architecture.name(),
        reason: row.unknown.unwrap_or("none is known").to_owned(),
    })
}

impl MmaUnit for Simulator {
    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn multiply(&self, operands: &Operands<'_>) -> Result<Matrix, Error> {
        self.signature.check(operands)?;
        simulate(&self.model, operands)
    }

    fn dot_products(&self, cases: &[Case]) -> Result<Vec<u64>, Error> {
        let dot = |case: &Case| self.model.dot(&case.operands());
        Ok(cases.par_iter().with_min_len(64).map(dot).collect::<Result<_, _>>()?)
    }
}
