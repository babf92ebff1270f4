//! What came of a probe, as text, as a page, as a model file.

mod html;
pub(crate) mod names;
pub mod parameters;
mod svg;
mod text;

use crate::outcome::{Outcome, Verdict};

impl Outcome {
    /// The report for people.
    pub fn to_text(&self) -> String {
        text::report(self)
    }

    /// What came out, in some lines.
    pub fn summary(&self) -> String {
        text::summary(self)
    }

    /// The report as a page that needs nothing else.
    pub fn to_html(&self) -> String {
        html::page(self)
    }

    /// The model file, where a model was found.
    pub fn to_toml(&self) -> Option<String> {
        match &self.verdict {
            Verdict::Found(found) => Some(found.model.to_toml()),
            _ => None,
        }
    }
}
