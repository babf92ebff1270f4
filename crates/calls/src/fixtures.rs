//! The planner's fixtures: configurations of cuBLASLt with the plan that bitequiv makes of them.
//!
//! `plans.csv` holds no results of hardware; it says how another reader of the same rules reads a configuration.

use std::path::Path;

use bitmma_engine::formats::{BF16, E4M3, F16};

use crate::cublaslt::{Assume, Capability, Config, Query, plan};
use crate::error::{Error, text_of};
use crate::plan::{MergeType, Plan, SimtFamily};

/// One line of `plans.csv`.
#[derive(Clone, Debug)]
pub struct Fixture {
    /// Its name.
    pub id: String,
    query: Query,
    config: Option<Config>,
    mode: String,
    /// k_chunk, block_k, k_per_dot, leading_group_k, merge_scheme.
    numbers: [Option<usize>; 5],
    simt: String,
    gemv: String,
    declined: String,
}

/// The result of a fixture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Both make the same plan.
    Agrees,
    /// Neither makes one.
    BothDecline,
    /// Declined here alone, because contiguous parts would be empty.
    EmptyParts,
    /// Anything else.
    Differs(String),
}

const HEADER: &str = "id,profile,kind,m,n,k,config,mode,k_chunk,block_k,k_per_dot,leading_group_k,merge_scheme,simt,gemv,declined";

/// Reads `plans.csv`.
pub fn read(path: &Path) -> Result<Vec<Fixture>, Error> {
    let text = text_of(path, "a file of fixtures (CSV)")?;
    if !is_fixtures(&text) {
        return Err(Error::file(path, format!("the header is not {HEADER}")));
    }
    let lines = csv::ReaderBuilder::new().comment(Some(b'#')).flexible(true).from_reader(text.as_bytes());
    lines
        .into_records()
        .map(|record| {
            let record = record.map_err(|error| Error::file(path, error))?;
            let line = record.position().map_or(0, csv::Position::line);
            fixture(&record.iter().collect::<Vec<_>>())
                .map_err(|what| Error::file(path, format!("line {line}: {what}")))
        })
        .collect()
}

/// Whether a file is one of fixtures, by its header.
pub fn is_fixtures(text: &str) -> bool {
    text.lines().find(|line| !line.starts_with('#')) == Some(HEADER)
}

fn fixture(fields: &[&str]) -> Result<Fixture, String> {
    let [id, profile, kind, m, n, k, config, mode, chunk, block, dot, leading, merge, simt, gemv, declined] =
        fields
    else {
        return Err(format!("{} fields; there are 16", fields.len()));
    };
    let number = |text: &str| text.parse::<usize>().map_err(|_| format!("'{text}' is not a number"));
    let optional = |text: &str| if text.is_empty() { Ok(None) } else { number(text).map(Some) };
    let (capability, version, multiprocessors) = match *profile {
        "sm90_lt13_1" => (Capability::Sm90, "13.1.1", 132),
        "sm100_lt12_8" => (Capability::Sm100, "12.8.5", 152),
        "sm100_lt13_1" => (Capability::Sm100, "13.1.1", 152),
        "sm103_lt13_1" => (Capability::Sm103, "13.1.1", 152),
        other => return Err(format!("unknown profile {other}")),
    };
    let (operands, out) = match *kind {
        "fp8" => (E4M3, BF16),
        "fp16" => (F16, F16),
        "bf16" => (BF16, BF16),
        other => return Err(format!("unknown kind {other}")),
    };
    let value = |text: &str| match text {
        "-" => Ok(None),
        _ => text.parse::<i64>().map(Some).map_err(|_| format!("'{text}' is not a field")),
    };
    let config = if config.is_empty() {
        None
    } else {
        let values: Vec<Option<i64>> = config.split(' ').map(value).collect::<Result<_, _>>()?;
        let [id, tile, splitk, reduction, swizzling, custom, stages, inner_shape, cluster_shape] = values[..]
        else {
            return Err(format!("{} fields of a configuration; there are 9", values.len()));
        };
        Some(Config {
            id,
            tile,
            splitk,
            reduction,
            swizzling,
            custom,
            stages,
            inner_shape,
            cluster_shape,
            kernel: None,
        })
    };
    Ok(Fixture {
        id: (*id).to_owned(),
        query: Query {
            capability,
            version: version.to_owned(),
            multiprocessors: Some(multiprocessors),
            shape: (number(m)?, number(n)?, number(k)?),
            a: operands,
            b: operands,
            out,
            fast: false,
        },
        config,
        mode: (*mode).to_owned(),
        numbers: [optional(chunk)?, optional(block)?, optional(dot)?, optional(leading)?, optional(merge)?],
        simt: (*simt).to_owned(),
        gemv: (*gemv).to_owned(),
        declined: (*declined).to_owned(),
    })
}

impl Fixture {
    /// Makes the plan of the configuration and compares it.
    pub fn check(&self, assume: Assume) -> Outcome {
        let made = plan(&self.query, &self.config.clone().unwrap_or_default(), assume);
        match (made, self.declined.is_empty()) {
            (Ok(planned), true) => {
                let (ours, theirs) = (self.describe(&planned.plan), self.expected());
                if ours == theirs {
                    Outcome::Agrees
                } else {
                    Outcome::Differs(format!("{ours}; the fixture says {theirs}"))
                }
            }
            (Ok(planned), false) => Outcome::Differs(format!(
                "{}; the fixture declines: {}",
                self.describe(&planned.plan),
                self.declined
            )),
            (Err(Error::Declined { .. }), false) => Outcome::BothDecline,
            (Err(Error::Declined { reason, .. }), true) if reason.contains("parts empty") => {
                Outcome::EmptyParts
            }
            (Err(error), _) => Outcome::Differs(format!("{error}; the fixture says {}", self.expected())),
        }
    }

    fn expected(&self) -> String {
        let numbers = self.numbers.map(|number| number.map_or("-".to_owned(), |number| number.to_string()));
        format!("{} {} {}{}", self.mode, numbers.join(" "), self.simt, self.gemv)
    }

    /// A plan in the fixture's words.
    fn describe(&self, plan: &Plan) -> String {
        let k = self.query.shape.2;
        let (deal, every) = (&plan.deal, plan.promote.every);
        let mut numbers = [None; 5];
        let mut tree = String::new();
        let size = match (deal.chunk, deal.grain) {
            (0, 0) => k,
            (0, grain) => k.div_ceil(grain).div_ceil(deal.parts) * grain,
            (chunk, _) => chunk,
        };
        let mode = if let Some(simt) = &plan.simt {
            match simt.family {
                SimtFamily::Chains => {
                    tree = format!("[{}, {}]", simt.threads, simt.block);
                    "gemmsn"
                }
                SimtFamily::Gemv => {
                    let down = simt.fold == crate::plan::Fold::Halves;
                    tree = format!(
                        "[[{}, {}, {}, {down}], {}]",
                        simt.vector, simt.lanes, simt.tiles, simt.slices
                    );
                    "gemv13"
                }
                SimtFamily::GemvSlices => {
                    tree = format!("[{}, {}]", simt.lanes, simt.block);
                    "gemv_cslice"
                }
                SimtFamily::Dot => {
                    tree = format!("[{}, {}]", simt.slices, simt.vector);
                    "gemv14"
                }
            }
        } else if deal.dot > 0 && deal.kind == crate::plan::DealKind::None {
            (numbers[2], numbers[3]) = (Some(deal.dot), Some(k % deal.residue_block));
            "k_per_dot"
        } else if deal.dot > 0 {
            let merge = match plan.merge.kind {
                MergeType::F32 => 0,
                MergeType::DPartials => 2,
                MergeType::D => 3,
            };
            numbers = [Some(size), Some(deal.residue_block), Some(deal.dot), None, Some(merge)];
            "splitk_groups"
        } else if every > 0 {
            (numbers[0], numbers[1]) = (Some(size), Some(every));
            "split_blocks"
        } else if size == k {
            "plain"
        } else {
            numbers[0] = Some(size);
            "split"
        };
        let numbers = numbers.map(|number| number.map_or("-".to_owned(), |number| number.to_string()));
        format!("{mode} {} {tree}", numbers.join(" "))
    }
}
