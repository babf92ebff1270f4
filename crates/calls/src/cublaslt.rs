//! From a cuBLASLt configuration to a plan (rules 10 to 19 and 30 to 33; section 8 of the specification).
//!
//! A configuration has nine fields, which `scripts/collect-calls` prints, and the kernel's name where those are not
//! enough. Tile, swizzling, cluster and inner shape never change bits and are ignored.

mod gemv;
mod nvjet;

use std::fmt;

use bitmma::formats::{BF16, E4M3, E5M2, F16, Format};
use bitmma::{Architecture, formats};
use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::plan::{
    Alpha, Deal, DealKind, Epilogue, Evidence, Merge, MergeOrder, MergeType, Multiply, Plan, Promote,
};

/// The nine fields of a cuBLASLt algorithm, and the kernel's name. A field that is not set is left out.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// CUBLASLT_ALGO_CONFIG_ID (0).
    #[serde(alias = "ALGO_ID", alias = "algo", alias = "ID")]
    pub id: Option<i64>,
    /// TILE_ID (1); ignored.
    #[serde(alias = "TILE_ID", alias = "TILE")]
    pub tile: Option<i64>,
    /// SPLITK_NUM (2).
    #[serde(alias = "SPLITK_NUM", alias = "SPLITK", alias = "splitk_num")]
    pub splitk: Option<i64>,
    /// REDUCTION_SCHEME (3): 0 none, 1 in place, 2 FP32 workspace, 4 workspace in D's type.
    #[serde(alias = "REDUCTION_SCHEME", alias = "REDUCTION", alias = "reduction_scheme")]
    pub reduction: Option<i64>,
    /// CTA_SWIZZLING (4); ignored.
    #[serde(alias = "CTA_SWIZZLING", alias = "SWIZZLING", alias = "cta_swizzling")]
    pub swizzling: Option<i64>,
    /// CUSTOM_OPTION (5).
    #[serde(alias = "CUSTOM_OPTION", alias = "CUSTOM", alias = "custom_option")]
    pub custom: Option<i64>,
    /// STAGES_ID (6).
    #[serde(alias = "STAGES_ID", alias = "STAGES", alias = "stages_id")]
    pub stages: Option<i64>,
    /// INNER_SHAPE_ID (7); ignored.
    #[serde(alias = "INNER_SHAPE_ID", alias = "INNER_SHAPE", alias = "inner_shape_id")]
    pub inner_shape: Option<i64>,
    /// CLUSTER_SHAPE_ID (8); ignored.
    #[serde(alias = "CLUSTER_SHAPE_ID", alias = "CLUSTER_SHAPE", alias = "cluster_shape_id")]
    pub cluster_shape: Option<i64>,
    /// The kernel's name, as a profiler shows it.
    #[serde(alias = "kernel_name")]
    pub kernel: Option<String>,
}

impl Config {
    /// Reads the fields from JSON; unknown keys are errors.
    pub fn from_json(text: &str) -> Result<Config, Error> {
        serde_json::from_str(text).map_err(|error| Error::Plan(format!("cuBLASLt configuration: {error}")))
    }
}

impl fmt::Display for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let fields = [
            ("ALGO_ID", self.id),
            ("SPLITK_NUM", self.splitk),
            ("REDUCTION_SCHEME", self.reduction),
            ("CUSTOM_OPTION", self.custom),
            ("STAGES_ID", self.stages),
        ];
        let set = fields.iter().filter_map(|(name, value)| value.map(|value| format!("{name} {value}")));
        f.write_str(&set.collect::<Vec<_>>().join(", "))?;
        self.kernel.iter().try_for_each(|kernel| write!(f, ", kernel {kernel}"))
    }
}

/// Compute capabilities for which configurations have a meaning here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Capability {
    /// sm_80: A100.
    Sm80,
    /// sm_89: RTX 4060, L40S.
    Sm89,
    /// sm_90: H100.
    Sm90,
    /// sm_100: GB200.
    Sm100,
    /// sm_103: GB300.
    Sm103,
}

impl Capability {
    /// Every one.
    pub const ALL: [Capability; 5] =
        [Capability::Sm80, Capability::Sm89, Capability::Sm90, Capability::Sm100, Capability::Sm103];

    /// As in `sm_90`.
    pub const fn name(self) -> &'static str {
        match self {
            Capability::Sm80 => "sm_80",
            Capability::Sm89 => "sm_89",
            Capability::Sm90 => "sm_90",
            Capability::Sm100 => "sm_100",
            Capability::Sm103 => "sm_103",
        }
    }

    /// The architecture whose instructions it has.
    pub const fn architecture(self) -> Architecture {
        match self {
            Capability::Sm80 => Architecture::Ampere,
            Capability::Sm89 => Architecture::Ada,
            Capability::Sm90 => Architecture::Hopper,
            Capability::Sm100 | Capability::Sm103 => Architecture::Blackwell,
        }
    }

    /// `sm_90`, `sm90`, `9.0` or `90`; an error names those that are known.
    pub fn parse(text: &str) -> Result<Capability, Error> {
        let digits: String = text.chars().filter(char::is_ascii_digit).collect();
        Capability::ALL.into_iter().find(|one| one.name()[3..] == digits).ok_or_else(|| {
            Error::unrecorded(format!(
                "nothing is published about cuBLASLt on {text}; known are sm_80, sm_89, sm_90, sm_100 and sm_103"
            ))
        })
    }
}

/// What a user takes on himself; each shows in the answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Assume {
    /// Another version of the library does what the known one does.
    pub version: bool,
    /// Contiguous parts without an element are left out.
    pub empty_parts: bool,
    /// A shape beyond the envelope of a decision table is not split.
    pub envelope: bool,
    /// Block scales are applied as open kernels apply them.
    pub block_scales: bool,
}

impl Assume {
    /// The names for `--assume`.
    pub const NAMES: [&'static str; 4] = ["version", "empty-parts", "envelope", "block-scales"];

    /// Adds one by name.
    pub fn add(&mut self, name: &str) -> Result<(), Error> {
        match name {
            "version" => self.version = true,
            "empty-parts" => self.empty_parts = true,
            "envelope" => self.envelope = true,
            "block-scales" => self.block_scales = true,
            other => {
                let known = Assume::NAMES.join(", ");
                return Err(Error::Operands(format!("unknown assumption '{other}'; one of {known}")));
            }
        }
        Ok(())
    }
}

/// What the library was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Query {
    /// The GPU's compute capability.
    pub capability: Capability,
    /// cublasLtGetVersion, as in `12.8.3.14`.
    pub version: String,
    /// Multiprocessors, where known.
    pub multiprocessors: Option<usize>,
    /// Rows of D, columns of D, and K, as torch counts them (row-major D).
    pub shape: (usize, usize, usize),
    /// Format of A.
    pub a: Format,
    /// Format of B.
    pub b: Format,
    /// Format of D.
    pub out: Format,
    /// CUBLASLT_MATMUL_DESC_FAST_ACCUM; means nothing but for FP8.
    pub fast: bool,
}

impl Query {
    /// Whether the operands are FP8.
    pub(crate) fn is_fp8(&self) -> bool {
        [self.a, self.b].iter().all(|format| [E4M3, E5M2].contains(format))
    }
}

/// A plan, and what was assumed to get it.
#[derive(Clone, Debug, PartialEq)]
pub struct Planned {
    /// The plan.
    pub plan: Plan,
    /// Assumptions that were needed, in sentences.
    pub assumed: Vec<String>,
}

/// Libraries whose configurations were measured: capability, FP8 or 16-bit, version, who says so.
const LIBRARIES: [(Capability, bool, &str, Evidence, &str); 8] = [
    (
        Capability::Sm89,
        true,
        "12.8.3.14",
        Evidence::Recorded,
        "RTX 4060, cuBLASLt 12.8.3.14, torch 2.7.1 (mmaemu 0.1.0); replayed in recordings/calls",
    ),
    (
        Capability::Sm90,
        true,
        "12.8.3.14",
        Evidence::Measured,
        "H100 PCIe, cuBLASLt 12.8.3.14, torch 2.7.1 (mmaemu 0.1.0)",
    ),
    (
        Capability::Sm90,
        true,
        "13.1.1",
        Evidence::Measured,
        "H100 SXM, cuBLASLt 13.1.1 (bitequiv/cublas_match)",
    ),
    (
        Capability::Sm90,
        false,
        "13.1.1",
        Evidence::Measured,
        "H100 SXM, cuBLASLt 13.1.1 (bitequiv/cublas_match)",
    ),
    (Capability::Sm100, true, "12.8.5", Evidence::Measured, "GB200, cuBLASLt 12.8.5 (bitequiv/cublas_match)"),
    (
        Capability::Sm100,
        false,
        "12.8.5",
        Evidence::Measured,
        "GB200, cuBLASLt 12.8.5 (bitequiv/cublas_match)",
    ),
    (Capability::Sm100, true, "13.1.1", Evidence::Measured, "GB200, cuBLASLt 13.1.1 (bitequiv/cublas_match)"),
    (
        Capability::Sm100,
        false,
        "13.1.1",
        Evidence::Measured,
        "GB200, cuBLASLt 13.1.1 (bitequiv/cublas_match)",
    ),
];
/// The same of sm_103, which has one version.
const SM103: (&str, &str) = ("13.1.1", "GB300, cuBLASLt 13.1.1 (bitequiv/cublas_match)");
/// The same of kernels known by name.
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
        if !formats.contains(&format) {
            return Err(Error::declined(format!(
                "{name} in {format}: nothing is published about FP32, TF32, FP64 and others"
            )));
        }
    }
    if !query.is_fp8() && query.a != query.b {
        return Err(Error::declined(format!(
            "{} times {}: mixed 16-bit operands were never measured",
            query.a, query.b
        )));
    }
    let Some(id) = config.id else {
        return Err(Error::declined("the configuration has no ALGO_ID: the library found no algorithm"));
    };
    if let Some(parts) = config.splitk
        && (parts < 1 || parts > crate::plan::MOST_PARTS as i64)
    {
        return Err(Error::declined(format!(
            "SPLITK_NUM is {parts}; below 1 it means stream-K, which nobody has published"
        )));
    }
    let mut assumed = Vec::new();
    let mut plan = match id {
        35 | 60 if query.capability == Capability::Sm89 && query.is_fp8() => xmma(query, config)?,
        66 => nvjet::nvjet(query, config, assume, &mut assumed)?,
        _ if by_name(query, config) => nvjet::by_name(query, config)?,
        12 | 21 | 23 | 24 => nvjet::cutlass(query, config, assume, &mut assumed)?,
        11 | 13 | 14 | 16 => gemv::simt(query, config, id)?,
        _ => {
            return Err(Error::declined(format!(
                "ALGO_ID {id} has no recipe on {}",
                query.capability.name()
            )));
        }
    };
    let named = by_name(query, config) && id != 66;
    let source = source(query, named, assume, &mut assumed)?;
    plan.evidence = if plan.evidence == Evidence::Derived { Evidence::Derived } else { source.0 };
    if !assumed.is_empty() {
        plan.evidence = Evidence::Derived;
    }
    plan.source = format!("{}; {config}", source.1);
    plan.check()?;
    Ok(Planned { plan, assumed })
}

/// Whether a recipe goes by the kernel's name.
fn by_name(query: &Query, config: &Config) -> bool {
    let capable = matches!(query.capability, Capability::Sm80 | Capability::Sm89 | Capability::Sm90);
    capable && query.a == BF16 && config.kernel.is_some()
}

/// Who measured this library on this GPU.
fn source(
    query: &Query,
    by_name: bool,
    assume: Assume,
    assumed: &mut Vec<String>,
) -> Result<(Evidence, String), Error> {
    let rows = LIBRARIES.iter().filter(|row| row.0 == query.capability && row.1 == query.is_fp8());
    let mut known: Vec<(&str, Evidence, &str)> = rows.map(|row| (row.2, row.3, row.4)).collect();
    if query.capability == Capability::Sm103 {
        known.push((SM103.0, Evidence::Measured, SM103.1));
    }
    if by_name {
        known = vec![("", Evidence::Measured, BY_NAME)];
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
    if !assume.version {
        return Err(Error::declined(format!(
            "cuBLASLt {} on {}: measured versions are {versions}; `--assume version` takes what those do",
            query.version,
            query.capability.name()
        )));
    }
    assumed.push(format!("cuBLASLt {} does what the measured version ({versions}) does", query.version));
    Ok((Evidence::Derived, known[known.len() - 1].2.to_owned()))
}

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
fn base(query: &Query, step: Option<usize>) -> Result<Plan, Error> {
    let mut plan = Plan::chain(query.capability.architecture(), instruction(query, step)?);
    plan.evidence = Evidence::Measured;
    if !query.is_fp8() {
        plan.epilogue = host();
        if ![F16, BF16, formats::F32].contains(&query.out) {
            return Err(Error::declined(format!("{} operands with D in {}", query.a, query.out)));
        }
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
const SLOW: usize = 128;

fn promotion(every: usize) -> Promote {
    Promote { every, ..Promote::default() }
}

/// FP8 kernels of sm_89: ALGO_ID 35 is always slow, 60 always fast (rules 8 to 10, 15, 16).
fn xmma(query: &Query, config: &Config) -> Result<Plan, Error> {
    let slow = config.id == Some(35);
    if slow == query.fast {
        return Err(Error::declined(format!(
            "ALGO_ID {} with fast accumulation {}: 35 was seen slow and 60 fast only",
            config.id.unwrap_or(0),
            query.fast
        )));
    }
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
    plan.deal = Deal { kind: DealKind::Interleaved, grain: 64, parts, ..Deal::default() };
    plan.merge = Merge { order, ..Merge::default() };
    Ok(plan)
}

/// The FP8 plan of an RTX 4060 for a split into `parts` (rules 8 to 10, 15, 16).
pub fn ada_fp8(query: &Query, parts: usize, order: MergeOrder) -> Result<Planned, Error> {
    let config = Config {
        id: Some(if query.fast { 60 } else { 35 }),
        splitk: Some(parts as i64),
        reduction: Some(if parts > 1 { 2 } else { 0 }),
        custom: Some(i64::from(order == MergeOrder::Pairwise)),
        stages: Some(15),
        ..Config::default()
    };
    plan(query, &config, Assume::default())
}

/// How parts are merged by REDUCTION_SCHEME (rules 17 to 19).
fn reduction(scheme: i64) -> Result<MergeType, Error> {
    match scheme {
        0 | 1 => Ok(MergeType::D),
        2 => Ok(MergeType::F32),
        4 => Ok(MergeType::DPartials),
        other => Err(Error::declined(format!("REDUCTION_SCHEME {other}; 0, 1, 2 and 4 are known"))),
    }
}
