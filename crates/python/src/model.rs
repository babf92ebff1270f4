//! A model as the kernels of `bitmma.gpu` take it.

use bitmma_engine::Error;
use bitmma_engine::arithmetic::parameter::Value;
use bitmma_engine::arithmetic::{Conversion, Model as Row, Order, Prepared};
use bitmma_engine::formats::Format as FormatRow;
use bitmma_engine::gemm::Target;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::error::Raised;
use crate::format::Format;

/// What is computed for each element of D; words are those of `docs/models.md`.
#[pyclass(frozen, get_all, module = "bitmma._bitmma")]
pub(crate) struct Model {
    /// The model family.
    family: &'static str,
    /// Format of A.
    a: Format,
    /// Format of B.
    b: Format,
    /// Format of C.
    c: Format,
    /// Format of D.
    d: Format,
    /// The conversion of each operation's result, as a model file has it: `RNE-FP32`, `RZ-E8M13`, `RNE-FP16 ftz`.
    rho: String,
    /// How it rounds.
    rounding: &'static str,
    /// Its format.
    result: Format,
    /// The format of the words that its numbers are kept in.
    container: Format,
    /// Elements along K of one instruction.
    step: usize,
    /// L: products in one elementary operation.
    length: usize,
    /// The code of a NaN result; None where D are integers.
    nan: Option<u64>,
    /// Format of the scale factors, and how many elements share one.
    scale: Option<(Format, usize)>,
    /// Further parameters of the family, by their keys in a model file.
    numbers: Py<PyDict>,
    /// `never`, `positive` or `signed`.
    flush_operands: &'static str,
    /// The same of C.
    flush_accumulator: &'static str,
    /// What surrounds the operation: formats, and conversions as their rounding and their format.
    lowering: Py<PyDict>,
    /// In which order the elements of an instruction enter; None where that is their own.
    order: Option<Vec<usize>>,
}

impl Model {
    pub(crate) fn new(py: Python<'_>, target: &Target) -> PyResult<Model> {
        let (row, step) = (target.model(), target.step());
        let numbers = PyDict::new(py);
        for (parameter, value) in row.operation.parameters() {
            let key = parameter.key();
            match value {
                Value::Number(number) => numbers.set_item(key, number)?,
                Value::Rounding(rounding) => numbers.set_item(key, rounding.symbol())?,
                Value::Flag(flag) => numbers.set_item(key, flag)?,
                Value::None => {}
            }
        }
        let lowering = PyDict::new(py);
        let Row { lowering: around, .. } = row;
        let format = |key, format: Option<FormatRow>| {
            format.map_or(Ok(()), |format| lowering.set_item(key, Bound::new(py, Format::from(format))?))
        };
        let conversion = |key, conversion: Option<Conversion>| {
            conversion.map_or(Ok(()), |Conversion { rounding, format, .. }| {
                lowering.set_item(key, (rounding.symbol(), format.name))
            })
        };
        format("widen_operands", around.widen_operands)?;
        format("widen_accumulator", around.widen_accumulator)?;
        conversion("add_accumulator_last", around.add_accumulator_last)?;
        conversion("narrow_output", around.narrow_output)?;
        let order = (around.order != Order::Sequential).then(|| around.order.indices(step));
        for (key, given) in [("chains", around.chains.is_some()), ("order", order.is_some())] {
            if given {
                lowering.set_item(key, true)?;
            }
        }
        Ok(Model {
            family: row.operation.name(),
            a: row.a.into(),
            b: row.b.into(),
            c: row.c.into(),
            d: row.d.into(),
            rho: row.conversion.to_string(),
            rounding: row.conversion.rounding.symbol(),
            result: row.conversion.format.into(),
            container: row.conversion.container().into(),
            step,
            length: Prepared::new(row, step).map_err(Error::from).map_err(Raised::from)?.length(),
            nan: row.emitted_nan(),
            scale: row.scale.map(|scale| (scale.format.into(), scale.size)),
            numbers: numbers.unbind(),
            flush_operands: row.flush_operands.name(),
            flush_accumulator: row.flush_accumulator.name(),
            lowering: lowering.unbind(),
            order,
        })
    }
}

#[pymethods]
impl Model {
    /// A parameter of the family.
    #[pyo3(signature = (key, default = None))]
    fn get<'py>(
        &self,
        py: Python<'py>,
        key: &str,
        default: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let none = || py.None().into_bound(py);
        Ok(self.numbers.bind(py).get_item(key)?.or(default).unwrap_or_else(none))
    }
}
