//! `bitmma.prepare`: an operand B that is packed once.

use bitmma_engine::{MatrixRef, Prepared as Operand};
use pyo3::prelude::*;

use crate::arrays::Held;
use crate::error::{OptionError, Raised};
use crate::operands::scale;
use crate::unit::Unit;

/// An operand B, K×N, prepared for a unit.
#[pyclass(frozen, module = "bitmma._bitmma")]
pub(crate) struct Prepared {
    pub(crate) operand: Operand,
}

#[pymethods]
impl Prepared {
    /// K and N.
    #[getter]
    fn shape(&self) -> (usize, usize) {
        self.operand.shape()
    }

    /// The bytes it takes.
    #[getter]
    fn nbytes(&self) -> usize {
        self.operand.bytes()
    }

    /// Whether a kernel streams it; else its codes are kept, and packed for each product.
    #[getter]
    fn is_streamed(&self) -> bool {
        self.operand.is_streamed()
    }
}

/// B, K×N, prepared for a unit, with its scale factors.
#[pyfunction]
#[pyo3(signature = (unit, b, scale_b = None, threads = None))]
pub(crate) fn prepare(
    py: Python<'_>,
    unit: &Unit,
    b: &Bound<'_, PyAny>,
    scale_b: Option<&Bound<'_, PyAny>>,
    threads: Option<usize>,
) -> PyResult<Prepared> {
    let held = Held::new("B", unit.model().b, b)?;
    let scale = scale("scale B", unit, unit.model(), scale_b)?;
    let (lent, target) = (held.lent()?, &unit.target);
    let operand = py.detach(|| Operand::new(target, lent, scale.as_ref(), (threads, None)));
    Ok(Prepared { operand: operand.map_err(Raised::from)? })
}

/// A matrix where it is, or one that was prepared.
pub(crate) enum Factor<'py> {
    Held(Held<'py>),
    Prepared(Bound<'py, Prepared>),
}

impl<'py> Factor<'py> {
    /// What an array, or a prepared operand instead of B, is for a unit.
    pub(crate) fn new(name: &str, unit: &Unit, array: &Bound<'py, PyAny>) -> PyResult<Factor<'py>> {
        let Ok(prepared) = array.cast::<Prepared>() else {
            let format = if name == "A" { unit.model().a } else { unit.model().b };
            return Held::new(name, format, array).map(Factor::Held);
        };
        let target = prepared.get().operand.target();
        if name != "B" {
            let text = format!("{name} is a prepared operand; B may be one");
            return Err(OptionError::new_err(text));
        }
        if target.model() != unit.model() || target.step() != unit.target.step() {
            let (own, other) = (unit.target.name(), target.name());
            let text = format!("B was prepared for {other}; prepare it for {own}");
            return Err(OptionError::new_err(text));
        }
        Ok(Factor::Prepared(prepared.clone()))
    }

    /// The matrix that is lent.
    pub(crate) fn lent(&self) -> PyResult<Option<MatrixRef<'_>>> {
        match self {
            Factor::Held(held) => held.lent().map(Some),
            Factor::Prepared(_) => Ok(None),
        }
    }
}
