//! A part of the report.

use serde::{Deserialize, Serialize};

use crate::plot::Figure;
use crate::table::Table;

/// What the report opens with.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Finding {
    /// A sentence to remember.
    pub headline: String,
    /// The numbers behind it.
    pub text: String,
}

/// What a part of the report says.
#[derive(Default)]
pub(crate) struct Content {
    pub(crate) finding: Option<Finding>,
    pub(crate) text: Vec<String>,
    pub(crate) tables: Vec<Table>,
    pub(crate) figures: Vec<Figure>,
}

/// A part of the report: what was asked, its tables and pictures, and what they say.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Section {
    /// File name and anchor.
    pub name: String,
    /// Its heading.
    pub title: String,
    /// What the report says of it first.
    #[serde(default)]
    pub finding: Option<Finding>,
    /// Paragraphs.
    pub text: Vec<String>,
    /// Tables.
    pub tables: Vec<Table>,
    /// Pictures.
    pub figures: Vec<Figure>,
}
