//! `bitmma.verify`: a unit compared with its model, block by block.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use bitmma_engine::{Error, Model};
use bitmma_hardware::process::Limits;
use bitmma_verify::campaign::{self, Block, Bounds, Identity, Plan, Shard, State, Summary};
use bitmma_verify::open::{AnyUnit, OpenError, model_for, open};
use pyo3::prelude::*;
use serde_json::json;

use crate::error::{OptionError, Raised, RecordingError, in_python, of_file};
use crate::instruction::revision;
use crate::listener::long;

/// A unit, the model it is compared with, and what it is asked.
#[pyclass(frozen, module = "bitmma._bitmma")]
pub(crate) struct Campaign {
    unit: AnyUnit,
    model: Model,
    plan: Plan,
    identity: Identity,
}

/// The exception for a unit that cannot be opened, by the kind of its cause.
fn not_opened(py: Python<'_>, error: OpenError) -> PyErr {
    match error {
        OpenError::Unit(error) => Raised::from(error).into(),
        OpenError::Within { context, error } => Raised::from(error).within(py, in_python(&context)),
        other => OptionError::new_err(in_python(&other.to_string())),
    }
}

#[pymethods]
impl Campaign {
    /// Opens the unit; the model is that of the TOML text, or of the instruction `against`, or of the one that
    /// the unit names. The limits are seconds.
    #[new]
    #[pyo3(signature = (
        unit, *, tests = 1_000_000, seed = 0, model = None, against = None, revision_name = "hardware",
        strict_nan = false, start_limit = 30.0, batch_limit = 120.0
    ))]
    fn new(
        py: Python<'_>,
        unit: &str,
        tests: u64,
        seed: u64,
        model: Option<&str>,
        against: Option<&str>,
        revision_name: &str,
        strict_nan: bool,
        start_limit: f64,
        batch_limit: f64,
    ) -> PyResult<Campaign> {
        let revision = revision(revision_name)?;
        if tests > 1_000_000_000_000_000 {
            return Err(OptionError::new_err(format!("tests is {tests}; at most 10^15 can be asked")));
        }
        let limits = Limits {
            start: seconds("start_limit", start_limit)?,
            batch: seconds("batch_limit", batch_limit)?,
        };
        let opened = py.detach(|| {
            let unit = open(unit, revision, limits)?;
            let given = model.map(Model::from_toml).transpose().map_err(Error::from)?;
            let model = model_for(unit.signature(), given, against, revision)?;
            Ok((unit, model))
        });
        let (unit, model) = opened.map_err(|error| not_opened(py, error))?;
        let plan = Plan::new(unit.signature(), tests, seed).map_err(Raised::from)?;
        let identity = Identity::of(&plan, &model, strict_nan);
        Ok(Campaign { unit, model, plan, identity })
    }

    /// What two campaigns must have in common to be one, as JSON.
    #[getter]
    fn identity(&self) -> PyResult<String> {
        serde_json::to_string(&self.identity).map_err(unreadable)
    }

    /// Dot products, directed and random.
    #[getter]
    fn dot_products(&self) -> u64 {
        self.plan.dot_products()
    }

    /// Device and driver, where the unit says them.
    #[getter]
    fn about(&self) -> (Option<String>, Option<String>) {
        let about = self.unit.about();
        (about.device, about.driver)
    }

    /// Asks the unit these blocks; `each` gets what came of one, as a line of JSON, as soon as it exists.
    /// What it raises ends the run.
    fn run(&self, py: Python<'_>, blocks: Vec<u64>, each: Bound<'_, PyAny>) -> PyResult<()> {
        if let Some(block) = blocks.iter().find(|block| **block >= self.plan.blocks()) {
            let text = format!("block {block}; the campaign has {}, counted from 0", self.plan.blocks());
            return Err(OptionError::new_err(text));
        }
        let each = each.unbind();
        let Campaign { plan, unit, model, identity } = self;
        let ended = long(py, |calls| {
            let tell = |block: Block| {
                let line = serde_json::to_string(&block).map_err(|error| calls.raise(unreadable(error)))?;
                calls.call(&each, (line,)).map(drop)
            };
            campaign::run(plan, &**unit, model, identity.strict_nan, blocks.into_iter(), tell)
        })?;
        Ok(ended.map_err(Raised::from)?)
    }
}

fn seconds(option: &str, value: f64) -> PyResult<Duration> {
    match Duration::try_from_secs_f64(value) {
        Ok(time) if !time.is_zero() => Ok(time),
        _ => Err(OptionError::new_err(format!("{option} is {value}; seconds above 0 are expected"))),
    }
}

fn unreadable(error: serde_json::Error) -> PyErr {
    RecordingError::new_err(error.to_string())
}

/// What came of the blocks of a campaign so far, in memory or in a file.
#[pyclass(module = "bitmma._bitmma")]
pub(crate) struct Blocks {
    identity: Identity,
    bounds: Bounds,
    shard: Shard,
    known: BTreeMap<u64, Block>,
    state: Option<State>,
}

#[pymethods]
impl Blocks {
    /// Of a campaign or one shard of it; with a folder, those that are in its file, to which more will be written.
    #[new]
    #[pyo3(signature = (identity, folder = None, shard = "1/1", resume = false))]
    fn new(identity: &str, folder: Option<PathBuf>, shard: &str, resume: bool) -> PyResult<Blocks> {
        let identity: Identity = serde_json::from_str(identity).map_err(unreadable)?;
        let bounds = identity.bounds().map_err(RecordingError::new_err)?;
        let shard = self::shard(shard)?;
        let Some(folder) = folder else {
            if resume {
                return Err(OptionError::new_err("resume needs state, the folder with the blocks so far"));
            }
            return Ok(Blocks { identity, bounds, shard, known: BTreeMap::new(), state: None });
        };
        std::fs::create_dir_all(&folder)?;
        let path = folder.join(campaign::file_name(&identity.unit, shard));
        let state = State::open(&path, &identity, resume).map_err(of_file)?;
        Ok(Blocks { identity, bounds, shard, known: state.done().clone(), state: Some(state) })
    }

    /// Those of several files of one campaign.
    #[staticmethod]
    fn merge(paths: Vec<PathBuf>) -> PyResult<Blocks> {
        let (identity, known) = campaign::merge(&paths).map_err(of_file)?;
        let bounds = identity.bounds().map_err(RecordingError::new_err)?;
        Ok(Blocks { identity, bounds, shard: Shard::WHOLE, known, state: None })
    }

    /// The numbers of the shard's blocks that are not there yet, `count` at most, from block `first` on.
    fn missing(&self, first: u64, count: usize) -> Vec<u64> {
        let behind = self.shard.blocks(self.identity.blocks).skip(self.shard.share(first) as usize);
        behind.filter(|block| !self.known.contains_key(block)).take(count).collect()
    }

    /// Takes a line that a campaign gave. A block that it has already must be the same.
    fn add(&mut self, line: &str) -> PyResult<()> {
        let block: Block = serde_json::from_str(line).map_err(unreadable)?;
        self.bounds.check(&block).map_err(RecordingError::new_err)?;
        match self.known.get(&block.block) {
            Some(known) if *known == block => return Ok(()),
            Some(known) => {
                let Block { block, digest, .. } = &block;
                let text = format!("block {block} has digest {digest}, before it had {}", known.digest);
                return Err(RecordingError::new_err(text));
            }
            None => {}
        }
        if let Some(state) = &mut self.state {
            state.append(block.clone()).map_err(of_file)?;
        }
        self.known.insert(block.block, block);
        Ok(())
    }

    /// Blocks that are there, of how many, their dot products, and how many of these differ.
    fn counts(&self) -> (u64, u64, u64, u64) {
        let sum = |count: fn(&Block) -> u64| self.known.values().map(count).sum();
        let mismatches = sum(|block| block.mismatches.values().sum());
        (self.known.len() as u64, self.identity.blocks, sum(|block| block.dot_products), mismatches)
    }

    /// All taken together, as JSON.
    fn summary(&self) -> String {
        let identity = &self.identity;
        let summary = Summary::of(identity, &self.known, self.shard);
        json!({
            "unit": identity.unit,
            "takes": identity.takes,
            "model": identity.model,
            "seed": identity.seed,
            "strict_nan": identity.strict_nan,
            "directed": identity.directed,
            "verdict": summary.verdict.name(),
            "blocks": summary.blocks,
            "of": summary.of,
            "missing": summary.missing,
            "dot_products": summary.dot_products,
            "mismatches": summary.mismatches(),
            "by_kind": summary.mismatches,
            "digest": summary.digest,
            "first": summary.kept,
        })
        .to_string()
    }
}

fn shard(text: &str) -> PyResult<Shard> {
    text.parse().map_err(OptionError::new_err)
}
