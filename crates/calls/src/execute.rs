//! Runs a plan on the fast kernels.
//!
//! The answer is that of [`crate::reference`] in every bit: chains run on the engine's kernels, sums, factors and the
//! last rounding on all threads. D is made in tiles, so that what is held beside A, B and D stays small.

mod blocks;
mod gather;

use std::ops::Range;

use bitmma_engine::formats::F32;
use bitmma_engine::gemm::Target;
use bitmma_engine::{Codes, GemmOptions, Matrix, gemm};

use crate::call::Call;
use crate::deal::{Chain, Layout, Slice};
use crate::epilogue::{Finish, empty};
use crate::error::Error;
use crate::merge::{Merger, add_all};
use crate::plan::{BLOCK_LINES, Blocks, Deal, Merge, Plan};
use crate::simt;
use gather::Operand;

/// Elements of a tile of D for which sums are held beside it.
const TILE: usize = 1 << 21;
/// Columns of such a tile.
const TILE_COLUMNS: usize = 2048;

/// D of a call under a plan: M×N codes of `call.out`.
///
/// K = 0 gives +0 for any scales (rule 25).
pub fn execute(plan: &Plan, call: &Call<'_>) -> Result<Matrix, Error> {
    within(call, || {
        let run = Run::new(plan, call)?;
        let finish = Finish::new(&plan.epilogue, call.scales, call.out)?;
        let (m, n, k) = call.shape();
        let mut d = empty(&call.out, m, n)?;
        if k > 0 {
            if let Some(words) = run.whole()? {
                return finish.matrix(&words, m, n);
            }
            for (rows, columns) in run.tiles() {
                let words = run.merged(&finish, &rows, &columns)?;
                finish.write(&words, columns.len(), &mut d, (rows.start, columns.start), n);
            }
        }
        Ok(Matrix::with_codes(call.out, (1, m, n), d)?)
    })
}

/// The value of every part, as FP32 codes, M×N each.
pub fn parts(plan: &Plan, call: &Call<'_>) -> Result<Vec<Vec<u32>>, Error> {
    within(call, || {
        let run = Run::new(plan, call)?;
        if plan.blocks.is_some()
            && let Some(words) = run.whole()?
        {
            return Ok(vec![words]);
        }
        let (m, n, _) = call.shape();
        run.layout
            .iter()
            .flat_map(|layout| &layout.parts)
            .map(|part| run.part(part, &(0..m), &(0..n)))
            .collect()
    })
}

/// The layout of a call's K under a plan; `None` for SIMT sums.
pub fn layout(plan: &Plan, k: usize) -> Result<Option<Layout>, Error> {
    plan.target()?.map(|target| Layout::new(plan, k, target.step())).transpose()
}

fn within<T: Send>(call: &Call<'_>, work: impl FnOnce() -> Result<T, Error> + Send) -> Result<T, Error> {
    match call.threads {
        None => bitmma_engine::threads::run(work),
        Some(threads) => bitmma_engine::threads::pool(threads)?.install(work),
    }
}

/// A call that was checked.
struct Run<'r> {
    plan: &'r Plan,
    call: &'r Call<'r>,
    target: Option<Target>,
    layout: Option<Layout>,
}

impl<'r> Run<'r> {
    fn new(plan: &'r Plan, call: &'r Call<'r>) -> Result<Run<'r>, Error> {
        plan.check()?;
        let target = plan.target()?;
        check(plan, call, target.as_ref())?;
        let layout = match &target {
            Some(target) => Some(Layout::new(plan, call.a.columns().max(1), target.step())?),
            None => None,
        };
        Ok(Run { plan, call, target, layout })
    }

    /// The numbers of a call whose K is one part in order, which needs no tiles.
    fn whole(&self) -> Result<Option<Vec<u32>>, Error> {
        let Some(target) = &self.target else { return Ok(None) };
        if self.plan.deal != Deal::default() || self.plan.merge != Merge::default() {
            return Ok(None);
        }
        let (scale_a, scale_b) = self.call.blocks.unzip();
        let scale_blocks = self.plan.blocks.as_ref().map(Blocks::sizes);
        let options = GemmOptions { scale_a, scale_b, scale_blocks, ..self.promoted() };
        Ok(Some(words(gemm(target, self.call.a, self.call.b, None, &options)?)))
    }

    /// The plan's promotion.
    fn promoted<'o>(&self) -> GemmOptions<'o> {
        let every = self.plan.promote.every;
        GemmOptions { promote_every: (every > 0).then_some(every), ..GemmOptions::default() }
    }

    /// D in tiles whose sums fit; none where D has no elements.
    fn tiles(&self) -> impl Iterator<Item = (Range<usize>, Range<usize>)> + use<> {
        let (m, n, _) = self.call.shape();
        let count = self.layout.as_ref().map_or(1, |layout| layout.parts.len());
        let held = Merger::held(&self.plan.merge, count);
        // a tile has whole blocks of scales
        let lines = if self.plan.blocks.is_some() { BLOCK_LINES } else { 1 };
        let elements = (2 * TILE / held).max(1);
        let columns = n.clamp(1, TILE_COLUMNS).min(elements).next_multiple_of(lines);
        let rows = (elements / columns).max(1).next_multiple_of(lines);
        let cut = |size: usize, step: usize| (0..size).step_by(step).map(move |i| i..(i + step).min(size));
        cut(n, columns).flat_map(move |columns| cut(m, rows).map(move |rows| (rows, columns.clone())))
    }

    /// The merged numbers of a tile.
    fn merged(
        &self,
        finish: &Finish,
        rows: &Range<usize>,
        columns: &Range<usize>,
    ) -> Result<Vec<u32>, Error> {
        if let Some(simt) = &self.plan.simt {
            return Ok(simt::tile(simt, self.call, rows, columns));
        }
        let parts = self.layout.as_ref().map_or(&[][..], |layout| &layout.parts);
        let narrow = crate::epilogue::Narrow::new(finish.out(), false)?;
        let mut merger = Merger::new(&self.plan.merge, &narrow, parts.len());
        for part in parts {
            merger.take(self.part(part, rows, columns)?);
        }
        Ok(merger.finish().unwrap_or_else(|| vec![0; rows.len() * columns.len()]))
    }

    /// The value of one part in a tile.
    fn part(&self, part: &[Slice], rows: &Range<usize>, columns: &Range<usize>) -> Result<Vec<u32>, Error> {
        let mut total: Option<Vec<u32>> = None;
        for slice in part {
            let value = self.slice(slice, rows, columns)?;
            match &mut total {
                None => total = Some(value),
                Some(total) => add_all(total, &value),
            }
        }
        Ok(total.unwrap_or_else(|| vec![0; rows.len() * columns.len()]))
    }

    /// A slice's chains in one product: each starts from +0 and is added to the sum where the plan promotes.
    fn slice(&self, slice: &Slice, rows: &Range<usize>, columns: &Range<usize>) -> Result<Vec<u32>, Error> {
        let (Some(target), false) = (&self.target, slice.is_empty()) else {
            return Ok(vec![0; rows.len() * columns.len()]);
        };
        let chain: Chain = slice.iter().flatten().cloned().collect();
        let a = Operand::A.gather(self.call.a, rows, &chain)?;
        let b = Operand::B.gather(self.call.b, columns, &chain)?;
        let scale_blocks = self.plan.blocks.as_ref().map(Blocks::sizes);
        let scales = match (&self.plan.blocks, self.call.blocks) {
            (Some(sizes), Some(scales)) => Some(blocks::of(sizes, scales, slice, rows, columns)?),
            _ => None,
        };
        let (scale_a, scale_b) = scales.as_ref().map(|(a, b)| (a, b)).unzip();
        let options = GemmOptions { scale_a, scale_b, scale_blocks, ..self.promoted() };
        Ok(words(gemm(target, &*a, &*b, None, &options)?))
    }
}

/// FP32 codes of a product.
fn words(d: Matrix) -> Vec<u32> {
    debug_assert_eq!(d.format(), F32);
    match d.into_codes() {
        Codes::U32(words) => words,
        other => (0..other.len()).map(|index| other.get(index) as u32).collect(),
    }
}

/// Whether the operands fit the plan.
fn check(plan: &Plan, call: &Call<'_>, target: Option<&Target>) -> Result<(), Error> {
    let (a, b) = (call.a, call.b);
    if a.blocks() != 1 || b.blocks() != 1 || a.columns() != b.rows() {
        return Err(Error::Operands(format!(
            "A is {}×{}, B {}×{}; A has as many columns as B has rows, and both are one matrix",
            a.rows(),
            a.columns(),
            b.rows(),
            b.columns()
        )));
    }
    if let Some(target) = target {
        let model = target.model();
        for (name, matrix, format) in [("A", a, model.a), ("B", b, model.b)] {
            if matrix.format() != format {
                let (given, unit) = (matrix.format().name, target.name());
                return Err(Error::Operands(format!("{name} is {given}; {unit} takes {format}")));
            }
        }
    }
    blocks::check(plan, call)
}
