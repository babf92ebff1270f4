//! Runs a plan: its schedule, which the engine executes.

use bitmma_engine::formats::{F32, Format};
use bitmma_engine::gemm::schedule::{AddC, Sums};
use bitmma_engine::gemm::{self, Element, Given, How, Schedule, Target};
use bitmma_engine::{Codes, Matrix};

use crate::call::{Call, Scales};
use crate::deal::Layout;
use crate::epilogue::{factors, output};
use crate::error::Error;
use crate::plan::{Blocks, Plan};

/// D of a call under a plan: M×N codes of `call.out`.
///
/// K = 0 gives +0 for any scales (rule 25).
pub fn execute(plan: &Plan, call: &Call<'_>) -> Result<Matrix, Error> {
    let run = Run::new(plan, call)?;
    let (m, n, k) = call.shape();
    if k == 0 {
        return Ok(Matrix::zeros(call.out, (1, m, n))?);
    }
    Ok(gemm::execute(run.target.as_ref(), &run.schedule, &run.given, &run.how)?)
}

/// The value of every part, as FP32 codes, M×N each.
pub fn parts(plan: &Plan, call: &Call<'_>) -> Result<Vec<Vec<u32>>, Error> {
    let run = Run::new(plan, call)?;
    let parts = gemm::parts(run.target.as_ref(), &run.schedule, &run.given, &run.how)?;
    let canonical =
        |word: u32| if f32::from_bits(word).is_nan() { gemm::nan_code(&F32) as u32 } else { word };
    let words = |codes: Codes| match codes {
        Codes::U32(words) => words.into_iter().map(canonical).collect(),
        other => unreachable!("parts are FP32, not {} bytes each", other.bytes()),
    };
    Ok(parts.into_iter().map(words).collect())
}

/// One element of D by definition, and the numbers on the way.
pub fn element(plan: &Plan, call: &Call<'_>, row: usize, column: usize) -> Result<Element, Error> {
    let run = Run::new(plan, call)?;
    if call.a.columns() == 0 {
        return Ok(Element { chains: vec![], parts: vec![], merged: 0, code: 0 });
    }
    Ok(gemm::element(run.target.as_ref(), &run.schedule, &run.given, (0, row, column))?)
}

/// The layout of a call's K under a plan; `None` for SIMT sums.
pub fn layout(plan: &Plan, k: usize) -> Result<Option<Layout>, Error> {
    plan.target()?.map(|target| Layout::new(plan, k, target.step())).transpose()
}

/// What goes along K, `None` where it is sums of threads, and the order around it, of operands with this many elements of K,
/// scales of one and D in `out`.
pub fn schedule(plan: &Plan, k: usize, out: Format) -> Result<(Option<Target>, Schedule), Error> {
    plan.check()?;
    let target = plan.target()?;
    let schedule = scheduled(plan, target.as_ref(), (k, Scales::ONE, out))?;
    Ok((target, schedule))
}

/// The schedule of a plan that was checked.
pub(crate) fn scheduled(
    plan: &Plan,
    target: Option<&Target>,
    (k, scales, out): (usize, Scales, Format),
) -> Result<Schedule, Error> {
    let sums = match (target, &plan.simt) {
        (_, Some(simt)) => Sums::Threads(simt.clone()),
        (Some(target), None) => {
            let layout = Layout::new(plan, k.max(1), target.step())?;
            Sums::Chains { parts: layout.parts, promoted: layout.promoted }
        }
        (None, None) => unreachable!("a plan that was checked has an instruction, a model or SIMT sums"),
    };
    Ok(Schedule {
        working: F32,
        sums,
        merge: plan.merge.clone(),
        c: AddC::Never,
        scale_blocks: plan.blocks.as_ref().map(Blocks::sizes),
        factors: factors(&plan.epilogue, scales, out)?,
        output: Some(output(&plan.epilogue, out)?),
    })
}

/// A call that was checked.
struct Run<'r> {
    target: Option<Target>,
    schedule: Schedule,
    given: Given<'r>,
    how: How<'r>,
}

impl<'r> Run<'r> {
    fn new(plan: &Plan, call: &Call<'r>) -> Result<Run<'r>, Error> {
        plan.check()?;
        let target = plan.target()?;
        let (scale_a, scale_b) = call.blocks.unzip();
        let given = Given { a: call.a.into(), b: call.b.into(), c: None, scale_a, scale_b };
        let scale_blocks = plan.blocks.as_ref().map(Blocks::sizes);
        if call.a.blocks() != 1 || call.a.columns() != call.b.rows() {
            return Err(Error::Operands(format!(
                "A is {}×{}, B {}×{}; A has as many columns as B has rows, and both are one matrix",
                call.a.rows(),
                call.a.columns(),
                call.b.rows(),
                call.b.columns()
            )));
        }
        if let (Some(target), None) = (&target, &plan.simt) {
            gemm::check(target, &given.shapes(), scale_blocks)?;
        }
        let schedule = scheduled(plan, target.as_ref(), (call.a.columns(), call.scales, call.out))?;
        Ok(Run { target, schedule, given, how: How { threads: call.threads, ..How::default() } })
    }
}
