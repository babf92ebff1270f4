//! From a cuBLASLt configuration to a plan (rules 10 to 19 and 30 to 33; section 8 of the specification).
//!
//! A configuration has nine fields, which `scripts/collect-calls` prints, and the kernel's name where those are not
//! enough. Tile, swizzling, cluster and inner shape never change bits and are ignored.

mod config;
mod gemv;
mod nvjet;
mod recipe;

use bitmma_engine::formats::{BF16, E4M3, E5M2, F16};

use crate::error::{Error, measured};
use crate::plan::{Deal, DealKind, Evidence, MOST_PARTS, Merge, MergeOrder, Plan, ScaleResult};

use Capability::{Sm89, Sm90, Sm100, Sm103};
use Evidence::{Measured, Recorded};
pub(crate) use config::Assumed;
pub use config::{Assume, Capability, Config, Query};
pub(crate) use nvjet::contiguous;
pub use recipe::block_k;
use recipe::{SLOW, base, promotion};
pub(crate) use recipe::{host, instruction};

/// A plan, and what was assumed to get it.
#[derive(Clone, Debug, PartialEq)]
pub struct Planned {
    /// The plan.
    pub plan: Plan,
    /// Assumptions that were needed, in sentences.
    pub assumed: Vec<String>,
}

/// Libraries whose configurations were measured: capability, FP8 or 16-bit, version, how well, who says so.
const LIBRARIES: [(Capability, bool, &str, Evidence, &str); 12] = [
    (Sm89, true, "12.8.3.14", Recorded, BY_RTX4060),
    (Sm90, true, "12.8.3.14", Measured, "H100 PCIe, cuBLASLt 12.8.3.14, torch 2.7.1 (mmaemu 0.1.0)"),
    (Sm90, true, OF_H100, Recorded, BY_H100),
    (Sm90, false, OF_H100, Recorded, BY_H100),
    (Sm90, true, "13.1.1", Measured, "H100 SXM, cuBLASLt 13.1.1 (bitequiv/cublas_match)"),
    (Sm90, false, "13.1.1", Measured, "H100 SXM, cuBLASLt 13.1.1 (bitequiv/cublas_match)"),
    (Sm100, true, "12.8.5", Measured, "GB200, cuBLASLt 12.8.5 (bitequiv/cublas_match)"),
    (Sm100, false, "12.8.5", Measured, "GB200, cuBLASLt 12.8.5 (bitequiv/cublas_match)"),
    (Sm100, true, "13.1.1", Measured, "GB200, cuBLASLt 13.1.1 (bitequiv/cublas_match)"),
    (Sm100, false, "13.1.1", Measured, "GB200, cuBLASLt 13.1.1 (bitequiv/cublas_match)"),
    (Sm103, true, "13.1.1", Measured, "GB300, cuBLASLt 13.1.1 (bitequiv/cublas_match)"),
    (Sm103, false, "13.1.1", Measured, "GB300, cuBLASLt 13.1.1 (bitequiv/cublas_match)"),
];
/// Who recorded FP8 on an RTX 4060.
const BY_RTX4060: &str =
    "RTX 4060, cuBLASLt 12.8.3.14, torch 2.7.1 (mmaemu 0.1.0); replayed in recordings/calls";
/// The version that was recorded on an H100 SXM.
pub(crate) const OF_H100: &str = "13.1.0.3";
/// Who recorded it.
pub(crate) const BY_H100: &str = "H100 SXM, cuBLASLt 13.1.0.3, torch 2.11.0; replayed in recordings/calls";
/// Who measured kernels that are known by name.
const BY_NAME: &str =
    "BF16 recipe by kernel name (Cankaya, arXiv 2606.00279), library version not stated there";

/// Whether a version is the known one: equal in every number that the known one states.
fn same_version(known: &str, given: &str) -> bool {
    let mut given = given.trim().split('.');
    known.split('.').all(|number| given.next() == Some(number))
}

/// The plan of a configuration; declined with the reason where nobody has measured it.
pub fn plan(query: &Query, config: &Config, assume: Assume) -> Result<Planned, Error> {
    let formats = [E4M3, E5M2, F16, BF16];
    for (name, format) in [("A", query.a), ("B", query.b)] {
        measured(
            formats.contains(&format),
            format_args!("{name} in {format}: nothing is published about FP32, TF32, FP64 and others"),
        )?;
    }
    measured(
        query.is_fp8() || query.a == query.b,
        format_args!("{} times {}: mixed 16-bit operands were never measured", query.a, query.b),
    )?;
    let Some(id) = config.id else {
        return Err(Error::declined("the configuration has no ALGO_ID: the library found no algorithm"));
    };
    match config.splitk {
        Some(parts) if parts < 1 => {
            return Err(Error::declined(format!(
                "SPLITK_NUM is {parts}; below 1 it means stream-K, which nobody has published"
            )));
        }
        Some(parts) if parts > MOST_PARTS as i64 => {
            return Err(Error::Plan(format!("SPLITK_NUM is {parts}; it is at most {MOST_PARTS}")));
        }
        _ => {}
    }
    let mut assumed = Assumed::new(assume);
    let mut plan = match id {
        35 | 60 if query.capability == Capability::Sm89 && query.is_fp8() => xmma(query, config)?,
        66 => nvjet::nvjet(query, config, &mut assumed)?,
        _ if by_name(query, config) => nvjet::by_name(query, config)?,
        12 | 21 | 23 | 24 => nvjet::cutlass(query, config, &mut assumed)?,
        11 | 13 | 14 | 16 => gemv::simt(query, config, id)?,
        _ => {
            return Err(Error::declined(format!(
                "ALGO_ID {id} has no recipe on {}",
                query.capability.name()
            )));
        }
    };
    if query.is_fp8() && query.version == OF_H100 {
        plan.epilogue.scale_result = ScaleResult::Never; // torch 2.11 does not hand it on (rule 23)
    }
    let named = by_name(query, config) && id != 66;
    let source = source(query, named, &mut assumed)?;
    plan.evidence = if plan.evidence == Evidence::Derived { Evidence::Derived } else { source.0 };
    if !assumed.taken.is_empty() {
        plan.evidence = Evidence::Derived;
    }
    plan.source = format!("{}; {config}", source.1);
    plan.check()?;
    Ok(Planned { plan, assumed: assumed.taken })
}

/// Whether a recipe goes by the kernel's name.
fn by_name(query: &Query, config: &Config) -> bool {
    let capable = matches!(query.capability, Capability::Sm80 | Capability::Sm89 | Capability::Sm90);
    capable && query.a == BF16 && config.kernel.is_some()
}

/// Who measured this library on this GPU.
fn source(query: &Query, by_name: bool, assumed: &mut Assumed) -> Result<(Evidence, String), Error> {
    let rows = LIBRARIES.iter().filter(|row| row.0 == query.capability && row.1 == query.is_fp8());
    let mut known: Vec<(&str, Evidence, &str)> = rows.map(|row| (row.2, row.3, row.4)).collect();
    if by_name {
        known = vec![("", Measured, BY_NAME)];
    }
    if known.is_empty() {
        return Err(Error::declined(format!(
            "{} operands on {} are known by the kernel's name only",
            query.a,
            query.capability.name()
        )));
    }
    if let Some((_, evidence, source)) =
        known.iter().find(|row| !row.0.is_empty() && same_version(row.0, &query.version))
    {
        return Ok((*evidence, (*source).to_owned()));
    }
    let versions: Vec<&str> = known.iter().map(|row| row.0).filter(|version| !version.is_empty()).collect();
    let versions = if versions.is_empty() { "not stated".to_owned() } else { versions.join(", ") };
    if !assumed.allowed.version {
        return Err(Error::declined(format!(
            "cuBLASLt {} on {}: measured versions are {versions}; `--assume version` takes what those do",
            query.version,
            query.capability.name()
        )));
    }
    assumed
        .taken
        .push(format!("cuBLASLt {} does what the measured version ({versions}) does", query.version));
    Ok((Evidence::Derived, known[known.len() - 1].2.to_owned()))
}

/// Parts of K that recorded calls of these kernels have at most (rule 16).
const RECORDED_PARTS: usize = 32;

/// FP8 kernels of sm_89: ALGO_ID 35 is always slow, 60 always fast (rules 8 to 10, 15, 16).
fn xmma(query: &Query, config: &Config) -> Result<Plan, Error> {
    let slow = config.id == Some(35);
    measured(
        slow != query.fast,
        format_args!(
            "ALGO_ID {} with fast accumulation {}: 35 was seen slow and 60 fast only",
            config.id.unwrap_or(0),
            query.fast
        ),
    )?;
    if !matches!(config.stages, Some(15..=18)) {
        return Err(Error::declined(format!(
            "STAGES_ID {}; 15 to 18 were measured",
            config.stages.map_or("not set".to_owned(), |stages| stages.to_string())
        )));
    }
    let mut plan = base(query, None)?;
    if slow {
        plan.promote = promotion(SLOW);
    }
    let parts = config.splitk.unwrap_or(1) as usize;
    let (reduction, custom) = (config.reduction.unwrap_or(0), config.custom.unwrap_or(0));
    if parts == 1 {
        if reduction != 0 {
            return Err(Error::declined(format!(
                "REDUCTION_SCHEME {reduction} without a split; 0 was measured"
            )));
        }
        return Ok(plan);
    }
    if reduction != 2 {
        return Err(Error::declined(format!("REDUCTION_SCHEME {reduction} with a split; 2 was measured")));
    }
    let order = match custom {
        0 | 2 => MergeOrder::Serial,
        1 => MergeOrder::Pairwise,
        other => {
            return Err(Error::declined(format!(
                "CUSTOM_OPTION {other} with a split; 0, 1 and 2 were measured"
            )));
        }
    };
    if parts > RECORDED_PARTS {
        plan.evidence = Evidence::Derived;
    }
    plan.deal = Deal { kind: DealKind::Interleaved, grain: 64, parts, ..Deal::default() };
    plan.merge = Merge { order, ..Merge::default() };
    Ok(plan)
}
