//! A part of the report.

use serde::{Deserialize, Serialize};

use crate::plot::Figure;
use crate::table::Table;

/// What a part of the report says.
pub(crate) struct Content {
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
    /// Paragraphs.
    pub text: Vec<String>,
    /// Tables.
    pub tables: Vec<Table>,
    /// Pictures.
    pub figures: Vec<Figure>,
}
