//! `torch._scaled_mm` with more scales than one for each operand: row-wise, and FP32 scales of blocks.
//!
//! The shapes of the scales decide, as torch reads them (pytorch at 0174dfa, `aten/src/ATen/native/cuda/ScaledBlas.cpp`,
//! `get_joint_scaling` and its caller `_scaled_mm_out_cuda`). What cuBLASLt 13.1.0.3 then computes on an H100 is recorded.
//! What torch's own kernel for row-wise scales computes on sm_90 before cuBLASLt 12.9 follows from published source, and is
//! "derived". All else is declined, or assumed to be as recorded where the user says so.

use crate::call::Call;
use crate::cublaslt::{self, Assume, Assumed, BY_H100, Capability, Config, OF_H100, Planned, Query};
use crate::error::Error;
use crate::plan::{BlockOrder, Blocks, Evidence, Plan};
use crate::platform::{Decision, Platform, Sources, config_of, decide};
use crate::torch::{Rejection, Scaling};
use bitmma_engine::Matrix;
use bitmma_engine::formats::{BF16, E4M3, F16, F32};
use bitmma_engine::gemm::ScaleBlocks;

/// What scales of these shapes mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recipe {
    /// One scale for each operand.
    Tensor,
    /// [M, 1] and [1, N].
    Row,
    /// Blocks of 128 elements along K: of `rows` rows of A and `columns` columns of B, each 1 or 128.
    Blocks {
        /// Rows of A that share a scale.
        rows: usize,
        /// Columns of B that share a scale.
        columns: usize,
    },
}

/// Elements of K in a block.
const BLOCK: usize = 128;

/// The blocks of 128 elements along K whose scales have these shapes, for M, N, K: of 128 rows or columns of one operand or of none,
/// as torch looks, then of both, which torch rejects.
pub fn blocks((m, n, k): (usize, usize, usize), a: (usize, usize), b: (usize, usize)) -> Option<ScaleBlocks> {
    let along = k.div_ceil(BLOCK);
    let fits = |(rows, columns): &(usize, usize)| {
        a == (m.div_ceil(*rows), along) && b == (along, n.div_ceil(*columns))
    };
    let found = [(BLOCK, 1), (1, BLOCK), (1, 1), (BLOCK, BLOCK)].into_iter().find(fits);
    found.map(|(rows, columns)| ScaleBlocks::new(rows, columns, BLOCK))
}

impl Recipe {
    /// The recipe of scales of these shapes (rows, columns) for M, N, K; the first that fits, as torch looks. `None`
    /// for shapes that torch rejects.
    pub fn of(shape: (usize, usize, usize), a: (usize, usize), b: (usize, usize)) -> Option<Recipe> {
        let tensor =
            (a.0.checked_mul(a.1) == Some(1) && b.0.checked_mul(b.1) == Some(1)).then_some(Recipe::Tensor);
        let row = (a == (shape.0, 1) && b == (1, shape.1)).then_some(Recipe::Row);
        let blocks = || match blocks(shape, a, b)? {
            ScaleBlocks { rows: BLOCK, columns: BLOCK, .. } => None,
            ScaleBlocks { rows, columns, .. } => Some(Recipe::Blocks { rows, columns }),
        };
        tensor.or(row).or_else(blocks)
    }

    /// The recipe of a call.
    pub fn of_call(call: &Call<'_>) -> Option<Recipe> {
        let sizes = |matrix: &Matrix| (matrix.rows(), matrix.columns());
        match call.blocks {
            None => Some(Recipe::Tensor),
            Some((a, b)) => Recipe::of(call.shape(), sizes(a), sizes(b)),
        }
    }

    /// How torch sees it: before cuBLASLt 12.9 it knows no blocks, and later it takes them on sm_90.
    pub fn scaling(recipe: Option<Recipe>, capability: Capability, version: &str) -> Scaling {
        let (hopper, new) = (capability == Capability::Sm90, since_12_9(version));
        match recipe {
            None => Scaling::Invalid,
            Some(Recipe::Tensor) => Scaling::Tensor,
            Some(Recipe::Row) => Scaling::Row { by_library: hopper && new },
            Some(Recipe::Blocks { .. }) if !new => Scaling::Invalid,
            Some(Recipe::Blocks { .. }) => Scaling::Blocks { supported: hopper },
        }
    }
}

/// Whether a version of cuBLASLt is 12.9 or later.
fn since_12_9(version: &str) -> bool {
    let mut numbers = version.split('.').map(|number| number.trim().parse::<u32>().unwrap_or(0));
    let (major, minor) = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
    (major, minor) >= (12, 9)
}

/// The plan of a call whose scales follow a recipe, or none that torch knows.
pub fn decide_scaled(
    platform: &Platform,
    query: &Query,
    recipe: Option<Recipe>,
    sources: &Sources,
) -> Result<Decision, Error> {
    let recipe = match recipe {
        Some(recipe) if sources.plan.is_none() && recipe != Recipe::Tensor => recipe,
        _ => return decide(platform, query, sources),
    };
    let split = match sources.split {
        Some((parts, order)) => Some(config_of(query, parts, order)?),
        None => None,
    };
    let config = sources.config.as_ref().or(split.as_ref());
    let Planned { plan, assumed } = plan(query, recipe, config, sources.assume)?;
    let origin = match (plan.evidence, recipe) {
        (Evidence::Recorded, _) => "what was recorded",
        (_, Recipe::Row) if assumed.is_empty() => "torch's CUTLASS kernel for row-wise scales",
        _ => "an assumption",
    };
    Ok(Decision { plan, origin: origin.to_owned(), assumed, remark: query.capability.remark() })
}

/// The plan of several scales for each operand. Without the library's configuration K is one part with row-wise scales, as in
/// every recorded call, and with scales of blocks only where that is assumed (`unsplit`).
pub fn plan(
    query: &Query,
    recipe: Recipe,
    config: Option<&Config>,
    assume: Assume,
) -> Result<Planned, Error> {
    let (hopper, new) = (query.capability == Capability::Sm90, since_12_9(&query.version));
    match recipe {
        Recipe::Tensor => Err(Error::Plan("one scale for each operand is a call's own plan".to_owned())),
        Recipe::Row if hopper && !new => by_torch(query),
        Recipe::Row | Recipe::Blocks { .. } if hopper && new => by_library(query, recipe, config, assume),
        Recipe::Row if query.capability == Capability::Sm89 => Err(Error::unrecorded(
            "row-wise scales on sm_89 run CUTLASS with stream-K, whose parts depend on the GPU's multiprocessors",
        )),
        Recipe::Row => Err(Error::unrecorded(format!(
            "nothing is published about row-wise scales with cuBLASLt {} on {}; a plan with [blocks] k = 0 runs them",
            query.version,
            query.capability.name()
        ))),
        Recipe::Blocks { .. } => Err(Error::Rejected(Rejection::BlockScales)),
    }
}

fn base(query: &Query, blocks: Blocks, source: &str) -> Result<Plan, Error> {
    let mut plan = Plan::chain(query.capability.architecture(), cublaslt::instruction(query, None)?);
    plan.epilogue = cublaslt::host();
    plan.evidence = Evidence::Derived;
    plan.source = source.to_owned();
    plan.blocks = Some(blocks);
    Ok(plan)
}

/// torch's own CUTLASS kernel on sm_90: (accumulator · one scale) · the other, then a bias of +0.
fn by_torch(query: &Query) -> Result<Planned, Error> {
    if query.b != E4M3 {
        return Err(Error::unrecorded(format!(
            "row-wise scales with B in {}; the kernel takes e4m3",
            query.b
        )));
    }
    let (m, n, _) = query.shape;
    let order = if transposed(m, n) { BlockOrder::BFirst } else { BlockOrder::AFirst };
    let blocks = Blocks { k: 0, rows: 1, columns: 1, order, fma: true };
    let source = "pytorch at 01386a0, RowwiseScaledMM.cu: EVT of two products and a bias of +0, \
                  transposed by shape; CUTLASS promotes every 128 without fast accumulation; nobody has recorded it";
    let mut plan = base(query, blocks, source)?;
    plan.promote.every = if query.fast { 0 } else { BLOCK };
    plan.check()?;
    Ok(Planned { plan, assumed: vec![] })
}

/// Whether torch asks its row-wise kernel for D^T, where B's scale is applied first (`RowwiseScaledMM.cu` at 01386a0,
/// `dispatch_fp8_rowwise_kernel_on_cluster_size_and_transpose`).
fn transposed(m: usize, n: usize) -> bool {
    let (m, n) = (m.next_multiple_of(64), n.next_multiple_of(64));
    let area = m.saturating_mul(n);
    let (odd_m, odd_n) = (!m.is_multiple_of(256), !n.is_multiple_of(256));
    match () {
        () if m == 64 && n >= 3072 => false,
        () if n == 64 && m >= 3072 => true,
        () if m == 192 && n >= 4096 => true,
        () if n == 192 && m >= 4096 => false,
        () if area <= 4096 * 4096 && odd_m && !odd_n => true,
        () if area <= 4096 * 4096 && odd_n && !odd_m => false,
        () if odd_m && odd_n => (m <= n) != (area <= 1024 * 1024),
        () if m >= 4096 && n >= 4096 => m < n,
        () => true,
    }
}

/// Elements of K in a tile of the kernels for 128×128 scales, whose rows lie 16 bytes or more apart.
const TILE: usize = 4 * BLOCK;

/// cuBLASLt's own kernels on sm_90. K is dealt as without scales, but in tiles of 512 where one side has 128×128.
///
/// - Row-wise: (accumulator · scale of B) · scale of A.
/// - Blocks, where one side has 128 rows or columns: the accumulator of each 128 of K times the product of both scales, added
///   by one FMA.
/// - Blocks of one row and of one column: (accumulator · scale of A) · scale of B, the second product and the sum one FMA.
fn by_library(
    query: &Query,
    recipe: Recipe,
    config: Option<&Config>,
    assume: Assume,
) -> Result<Planned, Error> {
    if ![F32, BF16, F16].contains(&query.out) {
        return Err(Error::unrecorded(format!("several scales for each operand with D in {}", query.out)));
    }
    let mut assumed = Assumed::new(assume);
    if query.version != OF_H100 {
        if !assume.block_scales {
            return Err(Error::unrecorded(format!(
                "row-wise and block scales of cuBLASLt {}: recorded is {OF_H100}; `--assume block-scales` takes what that \
                 does",
                query.version
            )));
        }
        assumed.taken.push(format!("cuBLASLt {} applies scales as {OF_H100} does", query.version));
    }
    let (blocks, grain) = match recipe {
        Recipe::Blocks { rows, columns } => {
            taken(query, rows, columns)?;
            let (order, grain) =
                if rows == columns { (BlockOrder::AFirst, BLOCK) } else { (BlockOrder::Product, TILE) };
            (Blocks { k: BLOCK, rows, columns, order, fma: true }, grain)
        }
        _ => (Blocks { k: 0, rows: 1, columns: 1, order: BlockOrder::BFirst, fma: true }, TILE),
    };
    let row_wise = blocks.k == 0;
    let mut plan = base(query, blocks, BY_H100)?;
    match config {
        Some(config) => {
            cublaslt::plan(query, config, Assume { version: true, ..assume })?; // an algorithm that is known
            let parts = config.splitk.unwrap_or(1) as usize;
            if parts > 1 {
                cublaslt::contiguous(&mut plan, query.shape.2, (grain, parts), &mut assumed)?;
            }
        }
        None if row_wise => {
            assumed.taken.push("K is not split, as in every recorded call with row-wise scales".to_owned());
        }
        None if assume.unsplit => assumed.taken.push("K is not split".to_owned()),
        None => {
            return Err(Error::declined(
                "the library splits K of some calls with block scales, and no configuration is given; `--assume unsplit` \
                 takes one part",
            ));
        }
    }
    if assumed.taken.is_empty() {
        plan.evidence = Evidence::Recorded;
    }
    plan.promote.every = if row_wise && !query.fast { BLOCK } else { 0 };
    plan.check()?;
    Ok(Planned { plan, assumed: assumed.taken })
}

/// Whether torch and cuBLASLt take scales of blocks of that many rows and columns, and read them where they lie (rule 40).
fn taken(query: &Query, rows: usize, columns: usize) -> Result<(), Error> {
    let ((m, n, k), along) = (query.shape, query.shape.2.div_ceil(BLOCK));
    let several = |lines: usize, each: usize| each > 1 && lines > each;
    if query.fast {
        return Err(Error::Rejected(Rejection::FastBlocks));
    }
    if rows == 1 && !m.is_multiple_of(4) {
        return Err(Error::Rejected(Rejection::BlockRows(m)));
    }
    if (several(m, rows) || several(n, columns)) && !along.is_multiple_of(4) {
        return Err(Error::declined(format!(
            "several rows of 128×128 scales and K = {k}: torch lays them {along} apart, and cuBLASLt reads them a multiple \
             of four apart"
        )));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_decide_as_in_torch() {
        let of = |a, b| Recipe::of((300, 256, 384), a, b);
        let blocks = |rows, columns| Some(Recipe::Blocks { rows, columns });
        assert_eq!(of((1, 1), (1, 1)), Some(Recipe::Tensor));
        assert_eq!(of((300, 1), (1, 256)), Some(Recipe::Row));
        assert_eq!(of((300, 3), (3, 2)), blocks(1, 128));
        assert_eq!(of((300, 3), (3, 256)), blocks(1, 1));
        assert_eq!(of((3, 3), (3, 256)), blocks(128, 1));
        for (a, b) in
            [((3, 3), (3, 2)), ((300, 2), (3, 2)), ((1, 1), (1, 256)), ((300, 3), (2, 3)), ((0, 0), (0, 0))]
        {
            assert_eq!(of(a, b), None, "{a:?} {b:?}");
        }
        // one block of K: a scale for each row is row-wise, and comes first
        assert_eq!(Recipe::of((300, 256, 128), (300, 1), (1, 256)), Some(Recipe::Row));
        assert_eq!(Recipe::of((1, 1, 128), (1, 1), (1, 1)), Some(Recipe::Tensor));
    }

    #[test]
    fn versions() {
        for (version, new) in
            [("12.8.3.14", false), ("12.9", true), ("13.1.1", true), ("unknown", false), ("11.99", false)]
        {
            assert_eq!(since_12_9(version), new, "{version}");
        }
    }

    /// Rows worked out from the source by hand.
    #[test]
    fn transposition_by_shape() {
        for ((m, n), expected) in [
            ((1, 4096), false), // 64 × 4096
            ((4096, 16), true), // 4096 × 64
            ((192, 4096), true),
            ((4096, 192), false),
            ((320, 512), true), // M an odd multiple of 64, N of 256
            ((512, 320), false),
            ((64, 64), false),    // both odd, M ≤ N, small
            ((128, 64), true),    // M > N, small
            ((1088, 1088), true), // both odd, M ≤ N, large
            ((1152, 1088), false),
            ((4096, 4096), false),
            ((4096, 8192), true),
            ((1024, 1024), true),
        ] {
            assert_eq!(transposed(m, n), expected, "{m}×{n}");
        }
    }
}
