//! `bitmma.catalogue`: which instruction of which architecture uses which model.

use bitmma_engine::catalogue::library::{self, Product, choose as choose_row};
use bitmma_engine::catalogue::{Evidence, Filter, Found, find as find_row, model_family};
use bitmma_engine::{Architecture, Error, Revision};
use pyo3::prelude::*;

use crate::error::Raised;
use crate::format;
use crate::page::shown;

/// An instruction of one architecture, with an M and an N that it has.
#[pyclass(frozen, module = "bitmma.catalogue")]
pub(crate) struct Instruction {
    pub(crate) found: Found,
    /// The architecture's name: `hopper`.
    #[pyo3(get)]
    architecture: &'static str,
    /// The instruction's name for this M and N.
    #[pyo3(get)]
    name: String,
    /// The name with ranges where M or N has one: `wgmma.m64n{8..256}k16.f32.f16.f16`.
    #[pyo3(get)]
    row: String,
    /// The family, as its vendor names it: `wgmma.mma_async`.
    #[pyo3(get)]
    family: &'static str,
    /// Rows of A and D.
    #[pyo3(get)]
    m: usize,
    /// Columns of B and D.
    #[pyo3(get)]
    n: usize,
    /// Columns of A, rows of B.
    #[pyo3(get)]
    k: usize,
    /// Independent products that one instruction computes.
    #[pyo3(get)]
    blocks: usize,
    /// The format of A.
    #[pyo3(get)]
    a: &'static str,
    /// The format of B.
    #[pyo3(get)]
    b: &'static str,
    /// The format of C.
    #[pyo3(get)]
    c: &'static str,
    /// The format of D.
    #[pyo3(get)]
    d: &'static str,
    /// Format of the scale factors and how many elements share one; None where there are none.
    #[pyo3(get)]
    scale: Option<(&'static str, usize)>,
    /// Whether the hardware has it as one instruction.
    #[pyo3(get)]
    native: bool,
    /// `recorded`, `printed`, `defined` (by the vendor's manual) or `inferred`.
    #[pyo3(get)]
    evidence: &'static str,
    /// The evidence for the model in words.
    #[pyo3(get)]
    evidence_text: String,
    /// Further spellings: full PTX, SASS, HIP builtin, older names.
    #[pyo3(get)]
    aliases: Vec<String>,
    /// Why the model is not known; None where it is.
    #[pyo3(get)]
    unknown: Option<&'static str>,
}

impl From<Found> for Instruction {
    fn from(found: Found) -> Instruction {
        let row = found.instruction;
        Instruction {
            architecture: row.architecture.name(),
            name: found.name(),
            row: row.name(),
            family: row.family.name(),
            m: found.m,
            n: found.n,
            k: row.k,
            blocks: row.blocks,
            a: row.a.name,
            b: row.b.name,
            c: row.c.name,
            d: row.d.name,
            scale: row.scale.map(|scale| (scale.format.name, scale.size)),
            native: row.is_native(),
            evidence: match row.evidence {
                Evidence::Recorded { .. } => "recorded",
                Evidence::Printed { .. } => "printed",
                Evidence::Defined { .. } => "defined",
                Evidence::Inferred { .. } => "inferred",
            },
            evidence_text: row.evidence.to_string(),
            aliases: row.aliases(),
            unknown: row.unknown,
            found,
        }
    }
}

impl Instruction {
    /// What `bitmma show` prints, as HTML.
    pub(crate) fn html(&self, revision: Revision) -> String {
        shown(&bitmma_cli::pictures::instruction(&self.found, revision))
    }
}

#[pymethods]
impl Instruction {
    /// The internal precision in one line: what is exact, what is cut where, how results are rounded.
    #[pyo3(signature = (revision = "hardware"))]
    fn precision(&self, revision: &str) -> PyResult<String> {
        Ok(self.found.instruction.precision_line(self::revision(revision)?))
    }

    /// The model as TOML, to be edited and run like any other.
    #[pyo3(signature = (revision = "hardware"))]
    fn model(&self, revision: &str) -> PyResult<String> {
        let model = bitmma_engine::model_of(&self.found, self::revision(revision)?);
        Ok(model.map_err(Raised::from)?.to_toml())
    }

    fn _repr_html_(&self) -> String {
        self.html(Revision::Hardware)
    }

    fn __repr__(&self) -> String {
        format!("bitmma.catalogue.find({:?}, {:?})", self.architecture, self.name)
    }
}

pub(crate) fn revision(name: &str) -> PyResult<Revision> {
    Ok(name.parse::<Revision>().map_err(Raised::from)?)
}

fn parsed(name: &str) -> PyResult<Architecture> {
    Ok(name.parse::<Architecture>().map_err(Raised::from)?)
}

/// The architectures' names, by vendor and age.
#[pyfunction]
pub(crate) fn architectures() -> Vec<&'static str> {
    Architecture::ALL.map(Architecture::name).to_vec()
}

/// The architecture that a name, a compiler target or a chip means: `hopper` for `h100` and `sm_90a`.
#[pyfunction]
pub(crate) fn architecture(name: &str) -> PyResult<&'static str> {
    Ok(parsed(name)?.name())
}

/// The instruction that a name or an alias means.
#[pyfunction]
pub(crate) fn find(architecture: &str, instruction: &str) -> PyResult<Instruction> {
    Ok(find_row(parsed(architecture)?, instruction).map_err(Raised::from)?.into())
}

/// The rows of the catalogue that have this architecture, this format, this model family.
#[pyfunction]
#[pyo3(signature = (architecture = None, format = None, model = None))]
pub(crate) fn instructions(
    architecture: Option<&str>,
    format: Option<&str>,
    model: Option<&str>,
) -> PyResult<Vec<Instruction>> {
    let filter = Filter {
        architecture: architecture.map(parsed).transpose()?,
        format: format.map(self::format::row).transpose()?,
        model: model.map(model_family).transpose().map_err(Raised::from)?,
    };
    let rows = filter.rows().map(|row| Found { instruction: row, m: row.m.first, n: row.n.first });
    Ok(rows.map(Instruction::from).collect())
}

/// The elements along K after which a library without fast accumulation moves the sum to FP32.
#[pyfunction]
pub(crate) fn promotion(architecture: &str) -> PyResult<Option<usize>> {
    Ok(library::promotion(parsed(architecture)?))
}

/// The instruction a library would take for these formats; `accumulate` and the size of blocks are a library's own
/// where nothing is said.
#[pyfunction]
#[pyo3(signature = (architecture, a, b, accumulate = None, scale = None))]
pub(crate) fn choose(
    architecture: &str,
    a: &str,
    b: &str,
    accumulate: Option<&str>,
    scale: Option<(String, Option<usize>)>,
) -> PyResult<Instruction> {
    let scale = scale.map(|(format, size)| PyResult::Ok((format::row(&format)?, size))).transpose()?;
    let formats = (format::row(a)?, format::row(b)?);
    let product = Product::new(formats, accumulate.map(format::row).transpose()?, scale);
    let found = choose_row(parsed(architecture)?, &product);
    Ok(found.map_err(|error| Raised::from(Error::from(error)))?.into())
}
