//! `bitmma.simulate`: an instruction or a model as something that multiplies.

use bitmma::gemm::Target;
use bitmma::kernel::has_kernel;
use bitmma::{Matrix, MmaUnit, Model, Operands, Simulator};
use pyo3::prelude::*;

use crate::arrays;
use crate::error::{Raised, ScaleError};
use crate::instruction::{Instruction, revision};

/// An instruction that is simulated by its model, or a model without an instruction.
#[pyclass(frozen, module = "bitmma._bitmma")]
pub(crate) struct Unit {
    /// What answers for one instruction; None for a model, which takes any shape.
    simulator: Option<Simulator>,
    pub(crate) target: Target,
}

impl Unit {
    pub(crate) fn model(&self) -> &Model {
        self.target.model()
    }
}

#[pymethods]
impl Unit {
    /// The unit of an instruction.
    #[staticmethod]
    fn of_instruction(instruction: &Instruction, revision_name: &str) -> PyResult<Unit> {
        let revision = revision(revision_name)?;
        let simulator = Simulator::found(&instruction.found, revision).map_err(Raised::from)?;
        let target = Target::found(&instruction.found, revision).map_err(Raised::from)?;
        Ok(Unit { simulator: Some(simulator), target })
    }

    /// The unit of a model in TOML, `step` elements along K at a time.
    #[staticmethod]
    #[pyo3(signature = (toml, step = None))]
    fn of_model(toml: &str, step: Option<usize>) -> PyResult<Unit> {
        let model = Model::from_toml(toml).map_err(Raised::from)?;
        let target = Target::of_model(model, step).map_err(Raised::from)?;
        Ok(Unit { simulator: None, target })
    }

    /// The instruction, or the model's family.
    #[getter]
    fn name(&self) -> &str {
        match &self.simulator {
            Some(simulator) => &simulator.signature().name,
            None => self.target.name(),
        }
    }

    /// Format of A.
    #[getter]
    fn a(&self) -> &'static str {
        self.model().a.name
    }

    /// Format of B.
    #[getter]
    fn b(&self) -> &'static str {
        self.model().b.name
    }

    /// Format of C.
    #[getter]
    fn c(&self) -> &'static str {
        self.model().c.name
    }

    /// Format of D.
    #[getter]
    fn d(&self) -> &'static str {
        self.model().d.name
    }

    /// Format of the scale factors and how many elements share one; None where there are none.
    #[getter]
    fn scale(&self) -> Option<(&'static str, usize)> {
        self.model().scale.map(|scale| (scale.format.name, scale.size))
    }

    /// Elements along K at a time.
    #[getter]
    fn step(&self) -> usize {
        self.target.step()
    }

    /// The format in which partial results of a GEMM are added: f32, or f64.
    #[getter]
    fn working_format(&self) -> &'static str {
        self.target.working_format().name
    }

    /// Whether a fast kernel computes it; else the reference path does.
    #[getter]
    fn has_kernel(&self) -> bool {
        has_kernel(self.model(), self.target.step())
    }

    /// The model as TOML.
    #[getter]
    fn model_toml(&self) -> String {
        self.model().to_toml()
    }

    /// Blocks, M, N and K of the instruction; None for a model, which takes any.
    #[getter]
    fn shape(&self) -> Option<(usize, usize, usize, usize)> {
        let signature = self.simulator.as_ref()?.signature();
        Some((signature.blocks, signature.m, signature.n, signature.k))
    }
}

/// A, B, C and scale factors as they came from Python, made matrices of the unit's formats.
pub(crate) struct Given {
    a: Matrix,
    b: Matrix,
    c: Matrix,
    scale_a: Option<Matrix>,
    scale_b: Option<Matrix>,
}

impl Given {
    pub(crate) fn new(
        unit: &Unit,
        [a, b]: [&Bound<'_, PyAny>; 2],
        c: Option<&Bound<'_, PyAny>>,
        scales: [Option<&Bound<'_, PyAny>>; 2],
    ) -> PyResult<Given> {
        let model = unit.model();
        let (a, b) = (arrays::matrix("A", model.a, a)?, arrays::matrix("B", model.b, b)?);
        let c = match c {
            Some(c) => arrays::matrix("C", model.c, c)?,
            None => Matrix::zeros(model.c, (a.blocks(), a.rows(), b.columns())).map_err(Raised::from)?,
        };
        let [scale_a, scale_b] = self::scales(model, unit.name(), scales)?;
        Ok(Given { a, b, c, scale_a, scale_b })
    }

    pub(crate) fn operands(&self) -> Operands<'_> {
        let Given { a, b, c, scale_a, scale_b } = self;
        Operands { a, b, c, scale_a: scale_a.as_ref(), scale_b: scale_b.as_ref() }
    }
}

/// The scale factors of A and of B.
pub(crate) fn scales(
    model: &Model,
    name: &str,
    given: [Option<&Bound<'_, PyAny>>; 2],
) -> PyResult<[Option<Matrix>; 2]> {
    match model.scale {
        Some(scale) => Ok([
            arrays::optional("scale A", scale.format, given[0])?,
            arrays::optional("scale B", scale.format, given[1])?,
        ]),
        None if given.iter().any(Option::is_some) => {
            Err(ScaleError::new_err(format!("{name} takes no scale factors")))
        }
        None => Ok([None, None]),
    }
}

/// D of one instruction.
#[pyfunction]
#[pyo3(signature = (unit, a, b, c = None, scale_a = None, scale_b = None))]
pub(crate) fn multiply<'py>(
    unit: &Unit,
    a: &Bound<'py, PyAny>,
    b: &Bound<'py, PyAny>,
    c: Option<&Bound<'py, PyAny>>,
    scale_a: Option<&Bound<'py, PyAny>>,
    scale_b: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = a.py();
    let given = Given::new(unit, [a, b], c, [scale_a, scale_b])?;
    let d = py.detach(|| match &unit.simulator {
        Some(simulator) => simulator.multiply(&given.operands()),
        None => bitmma::simulate(unit.model(), &given.operands()),
    });
    arrays::result(py, d.map_err(Raised::from)?, arrays::is_blocked(a)?)
}

/// D by the unit's model on the reference path, for any M and N and any K that the model takes.
#[pyfunction]
#[pyo3(signature = (unit, a, b, c = None, scale_a = None, scale_b = None))]
pub(crate) fn simulate<'py>(
    unit: &Unit,
    a: &Bound<'py, PyAny>,
    b: &Bound<'py, PyAny>,
    c: Option<&Bound<'py, PyAny>>,
    scale_a: Option<&Bound<'py, PyAny>>,
    scale_b: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = a.py();
    let given = Given::new(unit, [a, b], c, [scale_a, scale_b])?;
    let d = py.detach(|| bitmma::simulate(unit.model(), &given.operands()));
    arrays::result(py, d.map_err(Raised::from)?, arrays::is_blocked(a)?)
}
