//! GPUs and libraries by name, and where a call's plan comes from.

use std::path::PathBuf;

use bitmma_engine::formats::Format;
use miniz_oxide::inflate::decompress_to_vec;
use serde::ser::{Serialize, SerializeStruct, Serializer};

use crate::cublaslt::{self, Assume, Capability, Config, Planned, Query};
use crate::error::Error;
use crate::plan::{MergeOrder, Plan};
use crate::table::{Answer, Table};

/// A GPU with a version of cuBLASLt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Platform {
    /// As in `rtx4060`.
    pub device: &'static str,
    /// Its compute capability.
    pub capability: Capability,
    /// Its multiprocessors, where known.
    pub multiprocessors: Option<usize>,
    /// The library's version.
    pub version: String,
    /// Bytes of workspace that torch gives cuBLASLt for `_scaled_mm`.
    pub workspace: u64,
}

/// Bytes of workspace that torch gives cuBLAS for `torch.mm` on sm_90 (recorded with torch 2.11).
const WORKSPACE_MM: u64 = 32 << 20;

/// What is known of one device.
struct KnownDevice {
    device: &'static str,
    aliases: &'static [&'static str],
    capability: Capability,
    multiprocessors: Option<usize>,
    /// Versions whose configurations were measured.
    versions: &'static [&'static str],
    known: &'static str,
}

// columns: device, aliases, capability, multiprocessors, versions, what is known
#[rustfmt::skip]
const ROWS: [KnownDevice; 8] = [
    KnownDevice { device: "rtx4060", aliases: &[], capability: Capability::Sm89, multiprocessors: Some(24), versions: &["12.8.3.14"], known: "FP8: recorded and replayed here" },
    KnownDevice { device: "h100-pcie", aliases: &["h100"], capability: Capability::Sm90, multiprocessors: Some(114), versions: &["12.8.3.14"], known: "FP8: measured by others; 121 decisions built in" },
    KnownDevice { device: "h100-sxm", aliases: &[], capability: Capability::Sm90, multiprocessors: Some(132), versions: &["13.1.0.3", "13.1.1"], known: "FP8, FP16, BF16, scales of rows and blocks: recorded and replayed here; 1,456 decisions built in" },
    KnownDevice { device: "h200", aliases: &[], capability: Capability::Sm90, multiprocessors: Some(132), versions: &["13.1.0.3"], known: "as h100-sxm: 1,029 calls compared on it, none kept; 1,456 decisions built in" },
    KnownDevice { device: "gb200", aliases: &["b200"], capability: Capability::Sm100, multiprocessors: Some(152), versions: &["13.1.1", "12.8.5"], known: "FP8, FP16, BF16: measured by others" },
    KnownDevice { device: "gb300", aliases: &["b300"], capability: Capability::Sm103, multiprocessors: Some(152), versions: &["13.1.1"], known: "FP8, FP16, BF16: measured by others" },
    KnownDevice { device: "a100", aliases: &[], capability: Capability::Sm80, multiprocessors: Some(108), versions: &[], known: "BF16 by the kernel's name: measured by others, version not stated" },
    KnownDevice { device: "l40s", aliases: &[], capability: Capability::Sm89, multiprocessors: Some(142), versions: &[], known: "BF16 by the kernel's name: measured by others, version not stated" },
];

/// The platform of which nothing is known but a plan.
const UNKNOWN: &str = "plan";

/// Every device with its versions and what is known, for a page and for `--help`.
pub fn known() -> impl Iterator<Item = (&'static str, Capability, &'static [&'static str], &'static str)> {
    ROWS.iter().map(|row| (row.device, row.capability, row.versions, row.known))
}

impl Platform {
    /// `rtx4060/cublaslt-12.8.3.14`; the version may be left out where one is known. `plan` is a GPU of which nothing
    /// is known but the plan that is given.
    pub fn parse(text: &str) -> Result<Platform, Error> {
        if text == UNKNOWN {
            let capability = Capability::Sm90; // never asked
            let (version, workspace) = (String::new(), 0);
            return Ok(Platform { device: UNKNOWN, capability, multiprocessors: None, version, workspace });
        }
        let (device, library) =
            text.split_once('/').map_or((text, None), |(device, rest)| (device, Some(rest)));
        let name = device.to_ascii_lowercase().replace(['_', ' '], "-");
        let row = ROWS.iter().find(|row| row.device == name || row.aliases.contains(&name.as_str()));
        let Some(row) = row else {
            let devices: Vec<&str> = ROWS.iter().map(|row| row.device).collect();
            return Err(Error::unrecorded(format!(
                "nothing is published about calls on '{device}'; known are {}",
                devices.join(", ")
            )));
        };
        let version = match library {
            Some(library) => library.strip_prefix("cublaslt-").ok_or_else(|| {
                Error::Operands(format!("platform '{text}': write cublaslt-VERSION after the slash"))
            })?,
            None => row.versions.first().copied().unwrap_or("unknown"),
        };
        if version.is_empty() {
            return Err(Error::Operands(format!("platform '{text}': the version is empty")));
        }
        Ok(Platform {
            device: row.device,
            capability: row.capability,
            multiprocessors: row.multiprocessors,
            version: version.to_owned(),
            workspace: 1 << 20,
        })
    }

    /// As [`Platform::parse`] reads it.
    pub fn name(&self) -> String {
        if self.device == UNKNOWN {
            return UNKNOWN.to_owned();
        }
        format!("{}/cublaslt-{}", self.device, self.version)
    }

    /// What the library is asked for a call.
    pub fn query(
        &self,
        shape: (usize, usize, usize),
        (a, b, out): (Format, Format, Format),
        fast: bool,
    ) -> Query {
        let (capability, version) = (self.capability, self.version.clone());
        Query { capability, version, multiprocessors: self.multiprocessors, shape, a, b, out, fast }
    }

    /// Decisions of this device and library that are built in.
    pub fn table(&self) -> Option<Table> {
        /// A file of the folder `platform`, as `build.rs` packed it.
        macro_rules! packed {
            ($name:literal) => {
                include_bytes!(concat!(env!("OUT_DIR"), "/", $name, ".deflate"))
            };
        }
        let packed: &[u8] = match (self.device, self.version.as_str()) {
            ("h100-pcie", "12.8.3.14") => packed!("h100-pcie.csv"),
            ("h100-sxm", "13.1.0.3") => packed!("h100-sxm.csv"),
            ("h200", "13.1.0.3") => packed!("h200.csv"),
            _ => return None,
        };
        let text =
            decompress_to_vec(packed).unwrap_or_else(|error| unreachable!("a built-in table: {error}"));
        let table = Table::from_csv(&String::from_utf8_lossy(&text));
        Some(table.unwrap_or_else(|error| unreachable!("a built-in table: {error}")))
    }
}

/// What a user gives beside the platform.
#[derive(Clone, Debug, Default)]
pub struct Sources {
    /// A plan, which decides alone.
    pub plan: Option<Plan>,
    /// The library's configuration for the call.
    pub config: Option<Config>,
    /// Parts and their order, as a log of the library says.
    pub split: Option<(usize, MergeOrder)>,
    /// A table of decisions.
    pub table: Option<PathBuf>,
    /// Workspace in bytes, instead of the platform's.
    pub workspace: Option<u64>,
    /// What the user takes on himself.
    pub assume: Assume,
}

/// A plan, where it came from, and what was assumed.
#[derive(Clone, Debug, PartialEq)]
pub struct Decision {
    /// The plan.
    pub plan: Plan,
    /// Where it came from, in words.
    pub origin: String,
    /// Assumptions that were needed, in sentences.
    pub assumed: Vec<String>,
    /// Of a GPU that is not modeled: with which instructions the call is computed all the same, and why.
    pub remark: Option<String>,
}

/// With evidence and source of the plan beside it.
impl Serialize for Decision {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let Decision { plan, origin, assumed, remark } = self;
        let mut fields = to.serialize_struct("Decision", 6)?;
        fields.serialize_field("origin", origin)?;
        fields.serialize_field("evidence", plan.evidence.name())?;
        fields.serialize_field("source", &plan.source)?;
        fields.serialize_field("assumed", assumed)?;
        fields.serialize_field("remark", remark)?;
        fields.serialize_field("plan", plan)?;
        fields.end()
    }
}

impl Decision {
    fn of(planned: Planned, origin: impl Into<String>) -> Decision {
        Decision { plan: planned.plan, origin: origin.into(), assumed: planned.assumed, remark: None }
    }
}

/// The configuration that an explicit split has on a GPU.
pub(crate) fn config_of(query: &Query, parts: usize, order: MergeOrder) -> Result<Config, Error> {
    let (id, stages) = match query.capability {
        Capability::Sm89 if query.is_fp8() => (if query.fast { 60 } else { 35 }, 15),
        Capability::Sm90 | Capability::Sm100 | Capability::Sm103 => {
            (66, if query.is_fp8() { 36 } else { 35 })
        }
        other => {
            return Err(Error::declined(format!(
                "{} operands on {} need the library's configuration and the kernel's name",
                query.a,
                other.name()
            )));
        }
    };
    if order == MergeOrder::Pairwise && query.capability != Capability::Sm89 {
        return Err(Error::unrecorded("a pairwise merge was seen on sm_89 only"));
    }
    Ok(Config {
        id: Some(id),
        splitk: Some(parts as i64),
        reduction: Some(if parts > 1 { 2 } else { 0 }),
        custom: Some(i64::from(order == MergeOrder::Pairwise)),
        stages: Some(stages),
        ..Config::default()
    })
}

/// The plan of a call: from a plan, a configuration, an explicit split, a table, or what is built in.
pub fn decide(platform: &Platform, query: &Query, sources: &Sources) -> Result<Decision, Error> {
    let decision = decided(platform, query, sources)?;
    let remark = query.capability.remark().filter(|_| platform.device != UNKNOWN);
    Ok(Decision { remark, ..decision })
}

fn decided(platform: &Platform, query: &Query, sources: &Sources) -> Result<Decision, Error> {
    if let Some(plan) = &sources.plan {
        let of_platform = query.capability.architecture();
        if platform.device != UNKNOWN && plan.arch != of_platform {
            return Err(Error::Plan(format!(
                "it is of {}; {} is {of_platform}. The platform `plan` takes any plan",
                plan.arch,
                platform.name()
            )));
        }
        return Ok(Decision {
            plan: plan.clone(),
            origin: "the plan that was given".to_owned(),
            assumed: vec![],
            remark: None,
        });
    }
    if platform.device == UNKNOWN {
        return Err(Error::Plan(
            "the platform `plan` is for calls with a plan, and none is given".to_owned(),
        ));
    }
    if let Some(config) = &sources.config {
        return Ok(Decision::of(
            cublaslt::plan(query, config, sources.assume)?,
            "the configuration that was given",
        ));
    }
    if let Some((parts, order)) = sources.split {
        let config = config_of(query, parts, order)?;
        return Ok(Decision::of(cublaslt::plan(query, &config, sources.assume)?, "the split that was given"));
    }
    let table = match &sources.table {
        Some(path) => Some(Table::read(path)?),
        None => platform.table(),
    };
    let of_torch = match query.capability {
        Capability::Sm90 if !query.is_fp8() => WORKSPACE_MM,
        _ => platform.workspace,
    };
    let workspace = sources.workspace.unwrap_or(of_torch);
    let (m, n, k) = query.shape;
    let unsplit = |origin: String, assumption: String| {
        let config = config_of(query, 1, MergeOrder::None)?;
        let mut decision = Decision::of(cublaslt::plan(query, &config, sources.assume)?, origin);
        decision.assumed.push(assumption);
        decision.plan.evidence = crate::plan::Evidence::Derived;
        Ok(decision)
    };
    let mut looked = "no table of decisions was given".to_owned();
    if let Some(table) = table {
        if table.capability != query.capability || (table.version != query.version && !sources.assume.version)
        {
            return Err(Error::declined(format!(
                "the table is of {}, cuBLASLt {}; the call is on {}, cuBLASLt {}",
                table.device,
                table.version,
                query.capability.name(),
                query.version
            )));
        }
        let from = format!("the decisions of {}, cuBLASLt {} ({})", table.device, table.version, table.by);
        match table.answer(query, workspace, sources.assume.envelope) {
            Answer::Recorded(config) => {
                return Ok(Decision::of(cublaslt::plan(query, &config, sources.assume)?, from));
            }
            Answer::Unsplit => {
                return unsplit(
                    from,
                    "inferred: beyond every shape that was split in this setting (rule 35)".into(),
                );
            }
            Answer::Missing => looked = format!("{m}×{n}×{k} is not in {from}"),
        }
    }
    if sources.assume.unsplit {
        return unsplit("an assumption".to_owned(), format!("K is not split ({looked})"));
    }
    Err(Error::declined(format!(
        "{looked}, and whether the library splits K does not follow from the shape; `--assume unsplit` takes one part"
    )))
}
