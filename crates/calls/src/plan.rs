//! A library's call as data: `bitmma-plan/1`.
//!
//! A plan names an instruction, how K is dealt to parts, when a sum is moved to FP32, how the parts are merged, and
//! what happens to the result. Files are TOML or JSON. Unknown keys, unknown values and contradictions are errors;
//! sections that are left out have the values of [`Default`]: one part, one chain, D stored from FP32 without a factor.

mod check;
mod record;

use std::path::Path;

use bitmma_engine::arithmetic::Model;
use bitmma_engine::gemm::Target;
use bitmma_engine::{Architecture, Revision};

pub use bitmma_engine::gemm::schedule::{
    First, Fold, Merge, MergeOrder, MergeType, Multiply, Simt, SimtFamily,
};
pub use check::{BLOCK_LINES, MOST_PARTS};
pub use record::{
    Alpha, Bias, BlockOrder, Blocks, Deal, DealKind, Epilogue, Evidence, FormatTag, NanCode, Plan, Promote,
    ScaleResult, Tail, Through, Zero,
};

use crate::error::{Error, text_of};

impl Plan {
    /// One chain of an instruction along K, with the epilogue of `torch._scaled_mm`.
    pub fn chain(arch: Architecture, instruction: impl Into<String>) -> Plan {
        Plan {
            format: FormatTag::Only,
            arch,
            instruction: Some(instruction.into()),
            model: None,
            evidence: Evidence::Derived,
            source: String::new(),
            deal: Deal::default(),
            promote: Promote::default(),
            merge: Merge::default(),
            epilogue: Epilogue::default(),
            blocks: None,
            simt: None,
            loaded: None,
        }
    }

    /// Reads a plan from TOML and checks it. A `model` is not loaded; see [`Plan::read`].
    pub fn from_toml(text: &str) -> Result<Plan, Error> {
        let plan: Plan = toml::from_str(text).map_err(|error| Error::Plan(error.to_string()))?;
        plan.check()?;
        Ok(plan)
    }

    /// Reads a plan from JSON and checks it. A `model` is not loaded; see [`Plan::read`].
    pub fn from_json(text: &str) -> Result<Plan, Error> {
        let plan: Plan = serde_json::from_str(text).map_err(|error| Error::Plan(error.to_string()))?;
        plan.check()?;
        Ok(plan)
    }

    /// Reads a plan file, JSON if its first character is `{` and TOML otherwise. A `model` is a path relative to
    /// the plan's folder and is read as well.
    pub fn read(path: &Path) -> Result<Plan, Error> {
        let within = |error: Error| match error {
            Error::Plan(problem) => Error::file(path, problem),
            other => other,
        };
        let text = text_of(path, "a plan (TOML or JSON)")?;
        let mut plan = if text.trim_start().starts_with('{') {
            serde_json::from_str::<Plan>(&text).map_err(|error| Error::file(path, error))?
        } else {
            toml::from_str::<Plan>(&text).map_err(|error| Error::file(path, error))?
        };
        if let Some(model) = &plan.model {
            let file = path.parent().unwrap_or(Path::new(".")).join(model);
            let text = text_of(&file, "a model file (TOML)")?;
            let model = Model::from_toml(&text).map_err(|error| Error::file(&file, error))?;
            plan.loaded = Some(model);
        }
        plan.check().map_err(within)?;
        Ok(plan)
    }

    /// The plan as TOML that [`Plan::from_toml`] reads back.
    pub fn to_toml(&self) -> String {
        toml::to_string(self).unwrap_or_else(|error| unreachable!("a plan always serialises: {error}"))
    }

    /// The plan as JSON that [`Plan::from_json`] reads back.
    pub fn to_json(&self) -> serde_json::Value {
        serde_json::to_value(self).unwrap_or_else(|error| unreachable!("a plan always serialises: {error}"))
    }

    /// Every field that decides a bit, as `deal.parts` and its value: all but the version of the record, evidence and source.
    pub fn fields(&self) -> Vec<(String, String)> {
        let mut all = vec![];
        let json = self.to_json();
        for (key, value) in json.as_object().into_iter().flatten() {
            if ["format", "evidence", "source"].contains(&key.as_str()) {
                continue;
            }
            let text =
                |value: &serde_json::Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            match value.as_object() {
                Some(section) => {
                    all.extend(section.iter().map(|(name, value)| (format!("{key}.{name}"), text(value))));
                }
                None => all.push((key.clone(), text(value))),
            }
        }
        all
    }

    /// Whether everything around the instruction is that of another plan.
    pub fn is_alike(&self, other: &Plan) -> bool {
        let around = |plan: &Plan| {
            let Plan { deal, promote, merge, epilogue, blocks, simt, .. } = plan.clone();
            (deal, promote, merge, epilogue, blocks, simt)
        };
        around(self) == around(other)
    }

    /// What goes along K; `None` where [`Plan::simt`] takes the place of an instruction.
    pub fn target(&self) -> Result<Option<Target>, Error> {
        match (&self.instruction, &self.model, &self.loaded) {
            (Some(name), ..) => Ok(Some(Target::instruction(self.arch, name, Revision::Hardware)?)),
            (None, _, Some(model)) => Ok(Some(Target::of_model(model.clone(), None)?)),
            (None, Some(path), None) => Err(Error::Plan(format!(
                "model {path} is a path; a plan with a model must be read from a file"
            ))),
            (None, None, None) => Ok(None),
        }
    }
}
