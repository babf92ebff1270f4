//! What a model from a file returns beside the instructions.

use std::path::Path;

use bitmma_analysis::compare::{Comparison, Input};
use bitmma_document::style;
use serde::Serialize;

use crate::failure::{Failure, Within};
use crate::{json, target};

/// What a model from a file returns.
#[derive(Serialize)]
pub(super) struct OwnAnswer {
    file: String,
    #[serde(flatten)]
    answer: json::Coded,
    /// Instructions with the same code of D in the same format.
    same: Vec<String>,
}

impl OwnAnswer {
    /// The model in `path` on the input that all have answered.
    pub(super) fn new(path: &Path, input: &Input<'_>, comparison: &Comparison) -> Result<OwnAnswer, Failure> {
        let model = target::read_model(path)?;
        let d = input.answer(&model).within(path.display())?;
        let same = comparison.answers.iter().filter(|answer| answer.row.d == model.d && answer.d == d);
        Ok(OwnAnswer {
            file: path.display().to_string(),
            answer: json::Coded::new(&model.d, d),
            same: same.map(|answer| answer.row.target()).collect(),
        })
    }

    /// `mine.toml: -0.75 (0xbf400000); also returned by hopper … and 11 more`.
    pub(super) fn text(&self) -> String {
        let code = serde_json::to_value(&self.answer).unwrap_or_default();
        let word = |key: &str| code[key].as_str().map_or_else(|| code[key].to_string(), str::to_owned);
        let first: Vec<&str> = self.same.iter().take(3).map(String::as_str).collect();
        let more = self.same.len().saturating_sub(first.len());
        let tail = if more > 0 { format!(" and {more} more") } else { String::new() };
        let who = match first.is_empty() {
            true => "no other instruction returns this".to_owned(),
            false => format!("also returned by {}{tail}", first.join(", ")),
        };
        format!("{}: {} ({}); {who}", self.file, style::strong(&word("value")), word("code"))
    }
}
