//! `bitmma.analysis.section`, `report`: tables, figures and words, as the command makes them.

use std::path::PathBuf;

use bitmma_analysis::Error;
use bitmma_analysis::data::Draw;
use bitmma_analysis::plot::Figure;
use bitmma_analysis::report::write;
use bitmma_analysis::sections::{Effort, Options, Part, UserData, section};
use pyo3::prelude::*;

use super::{Failed, long};
use crate::error::{OptionError, ReportError};
use crate::instruction::revision;
use crate::operands::Arrays;
use crate::unit::Unit;

/// A part of the report.
#[pyclass(frozen, module = "bitmma._bitmma")]
pub(crate) struct Section {
    section: bitmma_analysis::section::Section,
}

impl Section {
    fn figure(&self, name: &str) -> PyResult<&Figure> {
        let found = self.section.figures.iter().find(|figure| figure.name == name);
        found.ok_or_else(|| OptionError::new_err(format!("{} has no figure {name}", self.section.name)))
    }
}

#[pymethods]
impl Section {
    /// Everything as JSON: what `bitmma analyze --json` prints.
    fn json(&self) -> PyResult<String> {
        serde_json::to_string(&self.section).map_err(|error| ReportError::new_err(error.to_string()))
    }

    /// The part as HTML, for a notebook.
    fn html(&self) -> String {
        bitmma_document::html::fragment(&self.section.html())
    }

    /// A figure, drawn.
    fn svg(&self, figure: &str) -> PyResult<String> {
        Ok(self.figure(figure)?.svg())
    }

    /// A figure as a PNG file.
    fn png(&self, figure: &str) -> PyResult<Vec<u8>> {
        Ok(self.figure(figure)?.png())
    }
}

/// What a report is made with.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Choices<'py> {
    seed: u64,
    revision: String,
    quick: bool,
    /// The user's unit and its heading.
    unit: Option<(Bound<'py, Unit>, String)>,
    /// Its operands; random ones where there are none.
    operands: Option<Arrays<'py>>,
    distribution: String,
    scale: f64,
    k: usize,
}

impl Choices<'_> {
    fn options(&self) -> PyResult<Options> {
        let draw = Draw::named(&self.distribution, self.scale, self.k).map_err(Failed::from)?;
        let data = match &self.unit {
            None => None,
            Some((unit, name)) => Some(self.data(unit.get(), name, &draw)?),
        };
        Ok(Options {
            seed: self.seed,
            revision: revision(&self.revision)?,
            effort: if self.quick { Effort::Quick } else { Effort::Full },
            data,
            link: bitmma_web::link,
        })
    }

    fn data(&self, unit: &Unit, name: &str, draw: &Draw) -> PyResult<UserData> {
        let product = match &self.operands {
            None => None,
            Some(operands) => Some(operands.read(unit)?.product(unit, "A and B from Python")),
        };
        let architecture = unit.row.map(|row| row.architecture);
        let data =
            UserData::new(unit.target.clone(), name.to_owned(), architecture, product.is_some(), |target| {
                product.map_or_else(|| draw.operands(target.model(), self.seed, 0), Ok::<_, Error>)
            });
        Ok(data.map_err(Failed::from)?)
    }
}

/// The names of the report's parts, in its order.
#[pyfunction]
pub(crate) fn report_parts() -> Vec<&'static str> {
    Part::ALL.map(Part::name).to_vec()
}

fn part(name: &str) -> PyResult<Part> {
    Part::ALL.into_iter().find(|part| part.name() == name).ok_or_else(|| {
        let names = Part::ALL.map(Part::name).join(", ");
        OptionError::new_err(format!("part is '{name}'; one of {names}"))
    })
}

/// One part.
#[pyfunction]
#[pyo3(signature = (name, choices, *, threads = None, progress = None))]
pub(crate) fn report_section(
    py: Python<'_>,
    name: &str,
    choices: Choices<'_>,
    threads: Option<usize>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Section> {
    let (part, options) = (part(name)?, choices.options()?);
    let section = long(py, threads, progress, |listener| section(part, &options, listener))?;
    Ok(Section { section })
}

/// The folder with these parts; finished ones of the same build and options are taken as they are.
#[pyfunction]
#[pyo3(signature = (out, names, choices, build, *, threads = None, progress = None))]
pub(crate) fn write_report(
    py: Python<'_>,
    out: PathBuf,
    names: Vec<String>,
    choices: Choices<'_>,
    build: &str,
    threads: Option<usize>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Vec<Section>> {
    let parts = names.iter().map(|name| part(name)).collect::<PyResult<Vec<_>>>()?;
    let options = choices.options()?;
    let sections =
        long(py, threads, progress, |listener| write(&out, &parts, &options, build, |_, _| *listener))?;
    Ok(sections.into_iter().map(|section| Section { section }).collect())
}
