//! `bitmma.simulate`: an instruction or a model as something that multiplies.

use bitmma_cli::pictures;
use bitmma_engine::formats::F64;
use bitmma_engine::gemm::{OutputConversion, Target};
use bitmma_engine::kernel::{self, has_kernel};
use bitmma_engine::{
    FastSimulator, Instruction as Row, Matrix, MmaUnit, Model, Operands, Revision, Simulator,
};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;

use crate::arrays;
use crate::error::Raised;
use crate::instruction::{Instruction, revision};
use crate::listener::{computed, products};
use crate::model::Model as Parts;
use crate::operands::Arrays;
use crate::page::shown;

/// An instruction that is simulated by its model, or a model without an instruction.
#[pyclass(frozen, subclass, module = "bitmma._bitmma")]
pub(crate) struct Unit {
    /// What answers for one instruction; None for a model, which takes any shape.
    simulator: Option<FastSimulator>,
    pub(crate) target: Target,
    /// Made when it is asked for.
    parts: PyOnceLock<Py<Parts>>,
    /// The row of the catalogue; None for a model.
    pub(crate) row: Option<&'static Row>,
    /// The row of the catalogue; None for a model.
    #[pyo3(get)]
    instruction: Option<Py<Instruction>>,
    /// `hardware` or `paper`.
    #[pyo3(get, name = "_revision")]
    revision: String,
}

impl Unit {
    pub(crate) fn model(&self) -> &Model {
        self.target.model()
    }
}

#[pymethods]
impl Unit {
    /// The same unit as an object of `bitmma.Unit`.
    #[new]
    #[pyo3(signature = (native, instruction = None, revision = "hardware".to_owned()))]
    fn new(native: &Unit, instruction: Option<Py<Instruction>>, revision: String) -> Unit {
        let Unit { simulator, target, row, .. } = native;
        let parts = PyOnceLock::new();
        Unit { simulator: simulator.clone(), target: target.clone(), parts, row: *row, instruction, revision }
    }

    /// The unit of an instruction.
    #[staticmethod]
    fn of_instruction(instruction: Py<Instruction>, revision_name: String) -> PyResult<Unit> {
        let (found, revision) = (&instruction.get().found, revision(&revision_name)?);
        let simulator = Simulator::found(found, revision).map_err(Raised::from)?;
        let simulator = Some(FastSimulator::new(simulator));
        let target = Target::found(found, revision).map_err(Raised::from)?;
        let row = Some(found.instruction);
        let parts = PyOnceLock::new();
        Ok(Unit { simulator, target, parts, row, instruction: Some(instruction), revision: revision_name })
    }

    /// The unit of a model in TOML, `step` elements along K at a time.
    #[staticmethod]
    #[pyo3(signature = (toml, step = None))]
    fn of_model(toml: &str, step: Option<usize>) -> PyResult<Unit> {
        let model = Model::from_toml(toml).map_err(Raised::from)?;
        let target = Target::of_model(model, step).map_err(Raised::from)?;
        Ok(Unit {
            simulator: None,
            target,
            parts: PyOnceLock::new(),
            row: None,
            instruction: None,
            revision: "hardware".to_owned(),
        })
    }

    /// The instruction, or the model's family.
    #[getter]
    pub(crate) fn name(&self) -> &str {
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

    /// The format in which a GEMM adds partial results: f32, or f64.
    #[getter]
    fn working_format(&self) -> &'static str {
        self.target.working_format().name
    }

    /// alpha and beta of a GEMM, rounded to the working format; one by default.
    #[pyo3(signature = (alpha, beta))]
    fn factors(&self, alpha: Option<f64>, beta: Option<f64>) -> PyResult<(f64, f64)> {
        let to_double = OutputConversion::nearest(F64).of(self.target.working_format(), 1);
        let rounded = |name, value: Option<f64>| {
            let code = self.target.factor(name, value.unwrap_or(1.0).to_bits()).map_err(Raised::from)?;
            PyResult::Ok(f64::from_bits(to_double(code)))
        };
        Ok((rounded("alpha", alpha)?, rounded("beta", beta)?))
    }

    /// The model, as kernels on a GPU take it.
    #[getter(model)]
    fn shared_model(&self, py: Python<'_>) -> PyResult<Py<Parts>> {
        self.parts
            .get_or_try_init(py, || Py::new(py, Parts::new(py, &self.target)?))
            .map(|model| model.clone_ref(py))
    }

    /// Whether a fast kernel computes GEMMs of it; else the reference path does.
    #[getter]
    fn has_kernel(&self) -> bool {
        has_kernel(self.model(), self.target.step())
    }

    /// The model as data: edit it, and run it like any other.
    #[getter]
    fn toml(&self) -> String {
        self.model().to_toml()
    }

    fn _repr_html_(&self) -> String {
        match &self.instruction {
            Some(instruction) => {
                instruction.get().html(revision(&self.revision).unwrap_or(Revision::Hardware))
            }
            None => shown(&pictures::model(self.target.name(), self.model())),
        }
    }

    /// Blocks, M, N and K of the instruction; None for a model, which takes any.
    #[getter]
    fn shape(&self) -> Option<(usize, usize, usize, usize)> {
        let signature = self.simulator.as_ref()?.signature();
        Some((signature.blocks, signature.m, signature.n, signature.k))
    }
}

/// D of one instruction.
#[pyfunction]
pub(crate) fn multiply<'py>(
    py: Python<'py>,
    unit: &Unit,
    operands: Arrays<'py>,
) -> PyResult<Bound<'py, PyAny>> {
    answer(py, unit, &operands, |operands| match &unit.simulator {
        Some(simulator) => simulator.multiply(operands),
        None => kernel::multiply(unit.model(), operands.a.columns(), operands, None),
    })
}

/// D by the unit's model for any M and N and any K that the model takes, by its kernel or on the reference path.
#[pyfunction]
pub(crate) fn simulate<'py>(
    py: Python<'py>,
    unit: &Unit,
    operands: Arrays<'py>,
    reference: bool,
) -> PyResult<Bound<'py, PyAny>> {
    answer(py, unit, &operands, |operands| match reference {
        true => bitmma_engine::simulate(unit.model(), operands),
        false => kernel::multiply(unit.model(), operands.a.columns(), operands, None),
    })
}

fn answer<'py>(
    py: Python<'py>,
    unit: &Unit,
    operands: &Arrays<'py>,
    work: impl FnOnce(&Operands<'_>) -> Result<Matrix, bitmma_engine::Error> + Send,
) -> PyResult<Bound<'py, PyAny>> {
    let given = operands.read(unit)?;
    let products = products(given.a.shape(), given.b.shape());
    let d = computed(py, products, false, || work(&given.operands()))?.map_err(Raised::from)?;
    arrays::result(py, d, given.blocked)
}
