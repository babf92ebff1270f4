//! `bitmma.catalogue`: which instruction of which architecture uses which model.

use bitmma::catalogue::library::{self, Product, choose as choose_row};
use bitmma::catalogue::{Evidence, Filter, Found, find as find_row, model_family};
use bitmma::{Architecture, Error, Revision};
use pyo3::prelude::*;

use crate::error::Raised;
use crate::format;

/// An instruction of one architecture, with an M and an N that it has.
#[pyclass(frozen, module = "bitmma.catalogue")]
pub(crate) struct Instruction {
    pub(crate) found: Found,
}

#[pymethods]
impl Instruction {
    /// The architecture's name: `hopper`.
    #[getter]
    fn architecture(&self) -> &'static str {
        self.found.instruction.architecture.name()
    }

    /// The instruction's name for this M and N.
    #[getter]
    fn name(&self) -> String {
        self.found.name()
    }

    /// The name with ranges where M or N has one: `wgmma.m64n{8..256}k16.f32.f16.f16`.
    #[getter]
    fn row(&self) -> String {
        self.found.instruction.name()
    }

    /// The family, as its vendor names it: `wgmma.mma_async`.
    #[getter]
    fn family(&self) -> &'static str {
        self.found.instruction.family.name()
    }

    /// Rows of A and D.
    #[getter]
    fn m(&self) -> usize {
        self.found.m
    }

    /// Columns of B and D.
    #[getter]
    fn n(&self) -> usize {
        self.found.n
    }

    /// Columns of A, rows of B.
    #[getter]
    fn k(&self) -> usize {
        self.found.instruction.k
    }

    /// Independent products that one instruction computes.
    #[getter]
    fn blocks(&self) -> usize {
        self.found.instruction.blocks
    }

    /// The format of A.
    #[getter]
    fn a(&self) -> &'static str {
        self.found.instruction.a.name
    }

    /// The format of B.
    #[getter]
    fn b(&self) -> &'static str {
        self.found.instruction.b.name
    }

    /// The format of C.
    #[getter]
    fn c(&self) -> &'static str {
        self.found.instruction.c.name
    }

    /// The format of D.
    #[getter]
    fn d(&self) -> &'static str {
        self.found.instruction.d.name
    }

    /// Format of the scale factors and how many elements share one; None where there are none.
    #[getter]
    fn scale(&self) -> Option<(&'static str, usize)> {
        self.found.instruction.scale.map(|scale| (scale.format.name, scale.size))
    }

    /// Whether the hardware has it as one instruction.
    #[getter]
    fn native(&self) -> bool {
        self.found.instruction.is_native()
    }

    /// `recorded`, `printed` or `inferred`.
    #[getter]
    fn evidence(&self) -> &'static str {
        match self.found.instruction.evidence {
            Evidence::Recorded { .. } => "recorded",
            Evidence::Printed { .. } => "printed",
            Evidence::Inferred { .. } => "inferred",
        }
    }

    /// The evidence for the model in words.
    #[getter]
    fn evidence_text(&self) -> String {
        self.found.instruction.evidence.to_string()
    }

    /// Further spellings: full PTX, SASS, HIP builtin, older names.
    #[getter]
    fn aliases(&self) -> Vec<String> {
        self.found.instruction.aliases()
    }

    /// Why the model is not known; None where it is.
    #[getter]
    fn unknown(&self) -> Option<&'static str> {
        self.found.instruction.unknown
    }

    /// The internal precision in one line: what is exact, what is cut where, how results are rounded.
    #[pyo3(signature = (revision = "hardware"))]
    fn precision(&self, revision: &str) -> PyResult<String> {
        Ok(self.found.instruction.precision_line(self::revision(revision)?))
    }

    /// The model as TOML, to be edited and run like any other.
    #[pyo3(signature = (revision = "hardware"))]
    fn model(&self, revision: &str) -> PyResult<String> {
        let model = bitmma::model_of(&self.found, self::revision(revision)?);
        Ok(model.map_err(Raised::from)?.to_toml())
    }

    fn __repr__(&self) -> String {
        format!("bitmma.catalogue.find({:?}, {:?})", self.architecture(), self.name())
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
    let found = find_row(parsed(architecture)?, instruction).map_err(Raised::from)?;
    Ok(Instruction { found })
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
    Ok(rows.map(|found| Instruction { found }).collect())
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
    Ok(Instruction { found: found.map_err(|error| Raised::from(Error::from(error)))? })
}
