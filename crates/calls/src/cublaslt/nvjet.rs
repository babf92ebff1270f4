//! Kernels of matrix instructions: nvjet and CUTLASS (rules 8, 9, 11 to 14, 17 to 19).

use super::config::{Assume, Assumed, Capability, Config, Query};
use super::recipe::{SLOW, base, block_k, promotion, reduction};
use crate::error::{Error, measured};
use crate::plan::{Deal, DealKind, Evidence, Merge, MergeOrder, MergeType, Plan, Tail};

/// Whether contiguous parts of K would be empty.
fn empty_parts(parts: usize, size: usize, tiles: usize, assumed: &mut Assumed) -> Result<bool, Error> {
    if parts.saturating_sub(1).saturating_mul(size) < tiles {
        return Ok(false);
    }
    if !assumed.allowed.empty_parts {
        return Err(Error::unrecorded(format!(
            "SPLITK_NUM {parts} leaves contiguous parts empty, which was never recorded; `--assume empty-parts` leaves them out"
        )));
    }
    assumed.taken.push(format!("of {parts} parts those without an element are left out"));
    Ok(true)
}

/// ALGO_ID 66: contiguous tiles of block_k, FP32 partial sums added in order (rules 8, 9, 11, 12).
pub(super) fn nvjet(query: &Query, config: &Config, assumed: &mut Assumed) -> Result<Plan, Error> {
    measured(
        matches!(query.capability, Capability::Sm90 | Capability::Sm100 | Capability::Sm103),
        format_args!("ALGO_ID 66 has no recipe on {}", query.capability.name()),
    )?;
    let stages = config.stages.unwrap_or(0);
    let Some(grain) = block_k(stages).filter(|_| matches!(stages, 35 | 36)) else {
        return Err(Error::declined(format!("STAGES_ID {stages} with ALGO_ID 66; 35 and 36 were measured")));
    };
    let mut plan = base(query, None)?;
    // STAGES_ID 36 closes an accumulator every 128 elements on sm_90 unless FP8 accumulates fast
    if query.capability == Capability::Sm90 && stages == 36 && !(query.is_fp8() && query.fast) {
        plan.promote = promotion(SLOW);
    }
    let parts = config.splitk.unwrap_or(1) as usize;
    let scheme = config.reduction.unwrap_or(0);
    if !matches!(scheme, 0 | 2) {
        return Err(Error::declined(format!(
            "REDUCTION_SCHEME {scheme} with ALGO_ID 66; 0 and 2 were measured"
        )));
    }
    if parts > 1 {
        contiguous(&mut plan, query.shape.2, (grain, parts), assumed)?;
    }
    Ok(plan)
}

/// K in contiguous parts of whole tiles of `grain` elements, added in order (rules 11, 12, 15).
pub(crate) fn contiguous(
    plan: &mut Plan,
    k: usize,
    (grain, parts): (usize, usize),
    assumed: &mut Assumed,
) -> Result<(), Error> {
    let tiles = k.div_ceil(grain);
    let size = tiles.div_ceil(parts);
    let (whole, rest) = (k / grain, k % grain);
    let lost = rest != 0 && whole.is_multiple_of(parts) && parts > rest && whole > 0;
    if !lost && empty_parts(parts, size, tiles, assumed)? {
        if tiles < 2 {
            return Err(Error::unrecorded(format!("SPLITK_NUM {parts} for a K of {k}, one tile")));
        }
        plan.deal = Deal { kind: DealKind::Contiguous, chunk: size * grain, ..Deal::default() };
    } else {
        let tail = if lost { Tail::Lost } else { Tail::Kept };
        plan.deal = Deal { kind: DealKind::Contiguous, grain, parts, tail, ..Deal::default() };
    }
    plan.merge = Merge { order: MergeOrder::Serial, ..Merge::default() };
    Ok(())
}

/// Elements in a block and in a dot product of a CUTLASS kernel, by STAGES_ID.
fn cutlass_blocks(stages: i64) -> Option<(usize, usize)> {
    match stages {
        7..=12 | 25 => Some((32, 16)),
        13..=18 => Some((64, 16)),
        19..=20 => Some((128, 16)),
        0 => Some((32, 8)),
        _ => None,
    }
}

/// ALGO_ID 12, 21, 23, 24: chunks of K, dot products with a residue first (rule 13).
pub(super) fn cutlass(query: &Query, config: &Config, assumed: &mut Assumed) -> Result<Plan, Error> {
    measured(
        matches!(query.capability, Capability::Sm90 | Capability::Sm100 | Capability::Sm103),
        format_args!("CUTLASS kernels on {} are known by the kernel's name only", query.capability.name()),
    )?;
    measured(!query.is_fp8(), format_args!("FP8 on a CUTLASS kernel was never measured"))?;
    let stages = config.stages.unwrap_or(0);
    let Some((block, dot)) = cutlass_blocks(stages) else {
        return Err(Error::declined(format!("STAGES_ID {stages} with a CUTLASS kernel has no recipe")));
    };
    let mut plan = base(query, Some(dot))?;
    if matches!(stages, 11 | 17) {
        plan.evidence = Evidence::Derived; // never seen
    }
    let (k, parts) = (query.shape.2, config.splitk.unwrap_or(1) as usize);
    let merge = reduction(config.reduction.unwrap_or(0))?;
    plan.deal = Deal { dot, residue_block: block, ..Deal::default() };
    if parts == 1 {
        return Ok(plan);
    }
    let grain = if k.is_multiple_of(64) { 64 } else { 8 };
    let tiles = k.div_ceil(grain);
    let size = tiles.div_ceil(parts);
    // parts without an element are left out: recorded on an H100 with 33×17×65 in 16 parts of 9 tiles
    if query.capability != Capability::Sm90 {
        empty_parts(parts, size, tiles, assumed)?;
    }
    plan.deal = Deal { kind: DealKind::Contiguous, chunk: size * grain, ..plan.deal };
    plan.merge = Merge { order: MergeOrder::Serial, kind: merge, ..Merge::default() };
    Ok(plan)
}

/// BF16 kernels of sm_80, sm_89 and sm_90 by name: block 64, merged by the reduction scheme (rules 8, 14, 17 to 19).
pub(super) fn by_name(query: &Query, config: &Config) -> Result<Plan, Error> {
    let kernel = config.kernel.as_deref().unwrap_or("");
    let step = (query.capability != Capability::Sm90).then_some(16);
    let mut plan = base(query, step)?;
    let sliced = kernel.contains("sliced1x2") || kernel.contains("_128x64_32x6_");
    let parts = config.splitk.unwrap_or(1) as usize;
    if sliced {
        plan.deal = Deal { slices: 2, slice: 32, ..Deal::default() };
    }
    if parts == 1 {
        return Ok(plan);
    }
    let k = query.shape.2;
    let tiles = k.div_ceil(64);
    let size = tiles.div_ceil(parts);
    empty_parts(parts, size, tiles, &mut Assumed::new(Assume::default()))?;
    plan.deal = Deal { kind: DealKind::Contiguous, grain: 64, parts, ..plan.deal };
    let kind = if sliced { MergeType::D } else { reduction(config.reduction.unwrap_or(0))? };
    plan.merge = Merge { order: MergeOrder::Serial, kind, ..Merge::default() };
    Ok(plan)
}
