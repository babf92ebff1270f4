//! What came of a probe, as text, as a page, as a model file.

mod html;
pub(crate) mod names;
pub mod parameters;
mod svg;
mod text;

use crate::outcome::{Outcome, Verdict};

impl Outcome {
    /// The model file, where a model was found.
    pub fn to_toml(&self) -> Option<String> {
        match &self.verdict {
            Verdict::Found(found) => Some(found.model.to_toml()),
            _ => None,
        }
    }
}
