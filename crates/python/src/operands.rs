//! The operands of a product as they come from Python, made matrices of a unit's formats.

use bitmma_analysis::data::{Product, ScaleFactors};
use bitmma_engine::formats::{BlockScale, Format};
use bitmma_engine::{Matrix, Model, Operands};
use pyo3::prelude::*;

use crate::arrays;
use crate::error::ScaleError;
use crate::unit::Unit;

/// A, B, C, scale factors of A and of B: codes, C and scale factors where there are some.
#[derive(FromPyObject)]
pub(crate) struct Arrays<'py>(
    pub(crate) Bound<'py, PyAny>,
    pub(crate) Bound<'py, PyAny>,
    pub(crate) Option<Bound<'py, PyAny>>,
    pub(crate) Option<Bound<'py, PyAny>>,
    pub(crate) Option<Bound<'py, PyAny>>,
);

/// The same as matrices: A and B as whatever holds them.
pub(crate) struct Given<Factor = Matrix> {
    pub(crate) a: Factor,
    pub(crate) b: Factor,
    pub(crate) c: Option<Matrix>,
    pub(crate) scale_a: Option<Matrix>,
    pub(crate) scale_b: Option<Matrix>,
    /// Whether A counts blocks in a dimension of its own, and so will D.
    pub(crate) blocked: bool,
}

impl Arrays<'_> {
    /// All of them copied.
    pub(crate) fn read(&self, unit: &Unit) -> PyResult<Given> {
        self.read_with(unit, None, |name, array| {
            let format = if name == "A" { unit.model().a } else { unit.model().b };
            arrays::matrix(name, format, array)
        })
    }
}

impl<'py> Arrays<'py> {
    /// A and B as `factor` makes them; scale factors of a format that the unit itself does not take, if one is given.
    pub(crate) fn read_with<Factor>(
        &self,
        unit: &Unit,
        scales: Option<Format>,
        factor: impl Fn(&str, &Bound<'py, PyAny>) -> PyResult<Factor>,
    ) -> PyResult<Given<Factor>> {
        let Arrays(a, b, c, scale_a, scale_b) = self;
        let model = unit.model();
        let scale = |name: &str, array: &Option<Bound<'_, PyAny>>| match scales {
            Some(format) => optional(name, format, array.as_ref()),
            None => scale(name, unit, model, array.as_ref()),
        };
        Ok(Given {
            blocked: arrays::is_blocked(a)?,
            a: factor("A", a)?,
            b: factor("B", b)?,
            c: optional("C", model.c, c.as_ref())?,
            scale_a: scale("scale A", scale_a)?,
            scale_b: scale("scale B", scale_b)?,
        })
    }
}

impl Given {
    /// For the analysis, under a heading.
    pub(crate) fn product(self, unit: &Unit, about: &str) -> Product {
        let Given { a, b, c, scale_a, scale_b, .. } = self;
        let scales = scale_a.zip(scale_b).zip(unit.model().scale);
        let scales = scales.map(|((a, b), BlockScale { size, .. })| ScaleFactors { a, b, size });
        Product { a, b, c, scales, about: about.to_owned() }
    }

    /// Lent.
    pub(crate) fn operands(&self) -> Operands<'_> {
        let Given { a, b, c, scale_a, scale_b, .. } = self;
        Operands { a, b, c: c.as_ref(), scale_a: scale_a.as_ref(), scale_b: scale_b.as_ref() }
    }
}

fn optional(name: &str, format: Format, array: Option<&Bound<'_, PyAny>>) -> PyResult<Option<Matrix>> {
    array.map(|array| arrays::matrix(name, format, array)).transpose()
}

pub(crate) fn scale(
    name: &str,
    unit: &Unit,
    model: &Model,
    array: Option<&Bound<'_, PyAny>>,
) -> PyResult<Option<Matrix>> {
    match model.scale {
        Some(scale) => optional(name, scale.format, array),
        None if array.is_some() => {
            let unit = unit.target.name();
            Err(ScaleError::new_err(format!("{unit} takes no scale factors")))
        }
        None => Ok(None),
    }
}
