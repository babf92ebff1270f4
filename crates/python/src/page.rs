//! Pages and what notebooks show: the style, tables and figures of the report, for Python's own results.

use bitmma_analysis::plot::Figure;
use bitmma_document::html::{Heading, Heat, Section, typeset};
use pyo3::prelude::*;

use crate::error::OptionError;

/// A page: its title, what comes first, and sections (anchor, title, body); bodies are HTML.
#[pyfunction]
pub(crate) fn html_document(title: &str, lead: &str, sections: Vec<(String, String, String)>) -> String {
    let sections = sections.into_iter().map(|(id, title, body)| Section { id, title, body });
    bitmma_document::html::document(title, lead, &sections.collect::<Vec<_>>())
}

/// A piece of HTML with the style of the pages, for a notebook.
#[pyfunction]
pub(crate) fn html_fragment(body: &str) -> String {
    bitmma_document::html::fragment(body)
}

/// A table of texts; columns after the first hold numbers, unless `words`.
#[pyfunction]
#[pyo3(signature = (head, rows, *, words = false))]
pub(crate) fn html_table(head: Vec<String>, rows: Vec<Vec<String>>, words: bool) -> String {
    let set = |(column, text): (usize, &String)| (typeset(text), column > 0 && !words);
    let headings: Vec<Heading> = head.iter().enumerate().map(set).collect();
    bitmma_document::html::table(
        &headings,
        rows.iter().map(|row| row.iter().map(|text| typeset(text)).collect()),
    )
}

/// Of a cell how hot it is, its text, and what a pointer is told.
type Cell = (f64, String, String);

/// A heat map of texts: the name of a row, and of each cell how hot it is (0 to 100), its text, and what a pointer is told.
#[pyfunction]
pub(crate) fn html_heat(head: Vec<String>, rows: Vec<(String, Vec<Cell>)>) -> String {
    let cell = |(percent, text, tip): Cell| Heat { percent, body: typeset(&text), tip };
    let rows = rows.into_iter().map(|(name, cells)| (typeset(&name), cells.into_iter().map(cell).collect()));
    bitmma_document::html::heat(&head.iter().map(|text| typeset(text)).collect::<Vec<_>>(), rows)
}

/// What the command prints, in a notebook.
pub(crate) fn shown(text: &str) -> String {
    bitmma_document::html::fragment(&bitmma_document::html::terminal(text))
}

/// What a terminal shows, as HTML.
#[pyfunction]
pub(crate) fn html_terminal(text: &str) -> String {
    bitmma_document::html::terminal(text)
}

/// A figure, drawn; given as the JSON of one in a report.
#[pyfunction]
pub(crate) fn figure_svg(json: &str) -> PyResult<String> {
    let figure: Figure =
        serde_json::from_str(json).map_err(|error| OptionError::new_err(error.to_string()))?;
    Ok(figure.svg())
}
