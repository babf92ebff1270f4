//! Blocks asked of a unit, the next one prepared meanwhile.

use std::sync::mpsc;
use std::thread;

use bitmma_engine::arithmetic::Model;
use bitmma_engine::kernel;
use bitmma_engine::threads::prelude::*;
use bitmma_engine::{Error, Fault, Matrices, MmaUnit};

use super::block::{Asked, Block};
use super::plan::{Plan, Source};

/// Asks the unit block by block and tells `each` what came of it; ends with the first error, the unit's
/// or that of `each`.
pub fn run<E: From<Error>>(
    plan: &Plan,
    unit: &dyn MmaUnit,
    model: &Model,
    strict_nan: bool,
    blocks: impl Iterator<Item = u64> + Send,
    mut each: impl FnMut(Block) -> Result<(), E>,
) -> Result<(), E> {
    thread::scope(|scope| {
        let (ready, asked) = mpsc::sync_channel::<Result<Asked, Error>>(1);
        scope.spawn(move || {
            for block in blocks {
                if ready.send(prepare(plan, model, block)).is_err() {
                    return; // the unit failed
                }
            }
        });
        for asked in asked {
            let asked = asked?;
            let operands: Vec<_> = asked.matrices.iter().map(Matrices::operands).collect();
            let answers = unit.multiply_many(&operands)?;
            let shape = (plan.signature.blocks, plan.signature.m, plan.signature.n);
            if answers.len() != operands.len() || answers.iter().any(|d| d.shape() != shape) {
                let problem = format!("{} results for {} instructions", answers.len(), operands.len());
                return Err(Error::unit(&plan.signature.name, Fault::Short, problem).into());
            }
            each(asked.compare(plan, model, strict_nan, &answers))?;
        }
        Ok(())
    })
}

fn prepare(plan: &Plan, model: &Model, block: u64) -> Result<Asked, Error> {
    let sources: Vec<Source> = plan.range(block).map(|instruction| plan.source(instruction)).collect();
    let k = plan.signature.k;
    let both: Vec<_> = sources
        .par_iter()
        .with_min_len(8)
        .map(|source| {
            let matrices = plan.matrices(*source)?;
            let expected = kernel::multiply(model, k, &matrices.operands(), None)?;
            Ok((matrices, expected))
        })
        .collect::<Result<_, Error>>()?;
    let (matrices, expected) = both.into_iter().unzip();
    Ok(Asked { block, sources, matrices, expected })
}
