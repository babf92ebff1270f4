//! A configuration, the GPU it is of, and what the library was asked for.

use std::fmt;

use bitmma_engine::Architecture;
use bitmma_engine::catalogue::chips::{Target, target};
use bitmma_engine::formats::{E4M3, E5M2, Format};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::error::Error;

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
        let wrong = |problem| Error::Plan(format!("configuration of cuBLASLt: {problem}"));
        serde_json::from_str(text).map_err(|error| wrong(problem(text).unwrap_or_else(|| error.to_string())))
    }
}

/// What is wrong with the first field that is.
fn problem(text: &str) -> Option<String> {
    let Ok(fields) = serde_json::from_str::<Map<String, Value>>(text) else {
        return Some(format!(
            "it is {text}; a JSON object was expected, as in {{\"id\": 66, \"splitk\": 8}}"
        ));
    };
    fields.into_iter().find_map(|(name, value)| {
        let field =
            |value: Value| Config::deserialize(Value::Object(Map::from_iter([(name.clone(), value)])));
        match (field(Value::Null), field(value.clone())) {
            (Err(_), _) => Some(format!("unknown field '{name}'; one of {}", FIELDS.join(", "))),
            (Ok(_), Err(_)) if name.contains("kernel") => Some(format!("{name} is {value}; it is a text")),
            (Ok(_), Err(_)) => Some(format!("{name} is {value}; it is an integer")),
            (Ok(_), Ok(_)) => None,
        }
    })
}

/// The fields as they are printed; cuBLASLt's names for them are read too.
const FIELDS: [&str; 10] = [
    "id",
    "tile",
    "splitk",
    "reduction",
    "swizzling",
    "custom",
    "stages",
    "inner_shape",
    "cluster_shape",
    "kernel",
];

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

    /// Its row in the catalogue's table of chips.
    fn target(self) -> &'static Target {
        target(self.name()).unwrap_or_else(|| unreachable!("the catalogue knows {}", self.name()))
    }

    /// The architecture with whose instructions its calls are computed: the catalogue's table of chips decides.
    pub fn architecture(self) -> Architecture {
        let of_calls = self.target().of_calls();
        of_calls.unwrap_or_else(|| unreachable!("the calls of {} are computed", self.name()))
    }

    /// Of a chip that is not modeled: what it is, and why its calls are computed with another architecture's
    /// instructions. The catalogue says the same where it is asked for an instruction.
    pub fn remark(self) -> Option<String> {
        let Target { name, about, compared, .. } = self.target();
        compared.map(|compared| format!("{name} ({about}) is not modeled; {compared}"))
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

/// What a user takes on himself; each shows in the result.
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
    /// A call without a recorded decision is not split.
    pub unsplit: bool,
}

impl Assume {
    /// The names for `--assume`.
    pub const NAMES: [&'static str; 5] = ["version", "empty-parts", "envelope", "unsplit", "block-scales"];

    /// Adds one by name.
    pub fn add(&mut self, name: &str) -> Result<(), Error> {
        match name {
            "version" => self.version = true,
            "empty-parts" => self.empty_parts = true,
            "envelope" => self.envelope = true,
            "unsplit" => self.unsplit = true,
            "block-scales" => self.block_scales = true,
            other => {
                let known = Assume::NAMES.join(", ");
                return Err(Error::Operands(format!("unknown assumption '{other}'; one of {known}")));
            }
        }
        Ok(())
    }
}

/// What may be assumed, and what was, in sentences.
pub(crate) struct Assumed {
    pub(crate) allowed: Assume,
    pub(crate) taken: Vec<String>,
}

impl Assumed {
    /// Nothing so far.
    pub(crate) fn new(allowed: Assume) -> Assumed {
        Assumed { allowed, taken: Vec::new() }
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
