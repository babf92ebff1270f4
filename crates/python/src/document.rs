//! A result as people read it: what the command prints, and what a notebook or a page shows.

use bitmma_document as document;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::error::OptionError;

/// A result as people read it.
#[pyclass(frozen, module = "bitmma._bitmma")]
pub(crate) struct Document(document::Document);

impl From<document::Document> for Document {
    fn from(document: document::Document) -> Document {
        Document(document)
    }
}

#[pymethods]
impl Document {
    /// From what `__reduce__` gives.
    #[new]
    fn new(json: &str) -> PyResult<Document> {
        serde_json::from_str(json).map(Document).map_err(|error| OptionError::new_err(error.to_string()))
    }

    /// The lines that the command prints, without color; folded to so many columns, if a width is given.
    #[pyo3(signature = (width = None))]
    fn text(&self, width: Option<usize>) -> String {
        self.0.plain(width)
    }

    /// The body of a page.
    fn html(&self) -> String {
        self.0.html()
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        let json =
            serde_json::to_string(&slf.get().0).map_err(|error| OptionError::new_err(error.to_string()))?;
        Ok((slf.get_type().into_any(), PyTuple::new(slf.py(), [json])?))
    }
}
