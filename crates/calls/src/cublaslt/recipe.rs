//! What recipes share: the instruction, the epilogue, block_k, promotion, reductions.

use bitmma_engine::formats::{self, BF16, F16};

use super::config::{Capability, Query};
use crate::error::{Error, measured};
use crate::plan::{Alpha, Epilogue, Evidence, MergeType, Multiply, Plan, Promote};

/// The instruction of a kernel family on a GPU.
pub(crate) fn instruction(query: &Query, step: Option<usize>) -> Result<String, Error> {
    let (a, b) = (query.a.name, query.b.name);
    let hmma = |step: usize| format!("mma.m16n8k{step}.f32.{a}.{b}.f32");
    Ok(match (query.capability, query.is_fp8(), step) {
        (_, false, Some(step)) => hmma(step),
        (Capability::Sm89, true, _) => format!("mma.m16n8k32.f32.{a}.{b}.f32"),
        (Capability::Sm90, true, _) => format!("wgmma.m64n256k32.f32.{a}.{b}"),
        (Capability::Sm90, false, None) => format!("wgmma.m64n256k16.f32.{a}.{b}"),
        (Capability::Sm100 | Capability::Sm103, true, _) => {
            format!("tcgen05.mma.m128n256k32.kind::f8f6f4.f32.{a}.{b}")
        }
        (Capability::Sm100 | Capability::Sm103, false, None) => {
            format!("tcgen05.mma.m128n256k16.kind::f16.f32.{a}.{b}")
        }
        (Capability::Sm80 | Capability::Sm89, false, None) => hmma(16),
        (Capability::Sm80, true, _) => return Err(Error::declined("sm_80 has no FP8 instruction")),
    })
}

/// A plan of one part with the epilogue of its caller: scales for FP8, one rounding on the store for 16 bits.
pub(super) fn base(query: &Query, step: Option<usize>) -> Result<Plan, Error> {
    let mut plan = Plan::chain(query.capability.architecture(), instruction(query, step)?);
    plan.evidence = Evidence::Measured;
    if !query.is_fp8() {
        plan.epilogue = host();
        measured(
            [F16, BF16, formats::F32].contains(&query.out),
            format_args!("{} operands with D in {}", query.a, query.out),
        )?;
    }
    Ok(plan)
}

/// alpha = 1 and beta = 0 from the host: D is rounded once on the store (rule 26).
pub(crate) fn host() -> Epilogue {
    Epilogue { alpha: Alpha::Host, multiply: Multiply::None, ..Epilogue::default() }
}

/// block_k of a STAGES_ID (rule 30); `None` where it names none.
pub fn block_k(stages: i64) -> Option<usize> {
    match stages {
        1..=24 => Some(16 << ((stages - 1) / 6)),
        25 => Some(32),
        32..=37 => Some(8 << (stages - 32)),
        _ => None,
    }
}

/// Elements of K after which slow accumulation moves to an FP32 sum (rule 9).
pub(super) const SLOW: usize = 128;

pub(super) fn promotion(every: usize) -> Promote {
    Promote { every, ..Promote::default() }
}

/// How parts are merged by REDUCTION_SCHEME (rules 17 to 19).
pub(super) fn reduction(scheme: i64) -> Result<MergeType, Error> {
    match scheme {
        0 | 1 => Ok(MergeType::D),
        2 => Ok(MergeType::F32),
        4 => Ok(MergeType::DPartials),
        other => Err(Error::declined(format!("REDUCTION_SCHEME {other}; 0, 1, 2 and 4 are known"))),
    }
}
