//! Codes between NumPy and [`Matrix`].

use bitmma::Matrix;
use bitmma::formats::Format as Row;
use bitmma::matrix::Codes;
use numpy::{IntoPyArray, PyArrayDyn, PyArrayMethods, PyReadonlyArrayDyn, PyUntypedArrayMethods};
use pyo3::prelude::*;
use pyo3::types::PyAny;

use crate::error::{FormatError, Raised, ShapeError};

/// The codes of an array of unsigned integers, row by row, and its shape.
pub(crate) fn codes<'py>(name: &str, array: &Bound<'py, PyAny>) -> PyResult<(Codes, Vec<usize>)> {
    fn of<'py, T: numpy::Element + Copy>(array: &Bound<'py, PyAny>) -> Option<(Vec<T>, Vec<usize>)> {
        let array: PyReadonlyArrayDyn<'py, T> = array.extract().ok()?;
        let codes = match array.as_slice() {
            Ok(slice) => slice.to_vec(),
            Err(_) => array.as_array().iter().copied().collect(),
        };
        Some((codes, array.shape().to_vec()))
    }
    if let Some((codes, shape)) = of::<u8>(array) {
        Ok((Codes::U8(codes), shape))
    } else if let Some((codes, shape)) = of::<u16>(array) {
        Ok((Codes::U16(codes), shape))
    } else if let Some((codes, shape)) = of::<u32>(array) {
        Ok((Codes::U32(codes), shape))
    } else if let Some((codes, shape)) = of::<u64>(array) {
        Ok((Codes::U64(codes), shape))
    } else {
        let kind = array.get_type().name()?;
        Err(FormatError::new_err(format!("{name} is a {kind}; an array of unsigned integers was expected")))
    }
}

/// A matrix of `format` from an array of two dimensions, or of three, the first of which counts blocks.
pub(crate) fn matrix(name: &str, format: Row, array: &Bound<'_, PyAny>) -> PyResult<Matrix> {
    let (codes, shape) = codes(name, array)?;
    let shape = match shape[..] {
        [rows, columns] => (1, rows, columns),
        [blocks, rows, columns] => (blocks, rows, columns),
        _ => {
            let given = shape.iter().map(usize::to_string).collect::<Vec<_>>().join("×");
            let dimensions = shape.len();
            return Err(ShapeError::new_err(format!(
                "{name} has {dimensions} dimensions ({given}); a matrix has 2, several products of one shape 3"
            )));
        }
    };
    Ok(Matrix::with_codes(format, shape, codes).map_err(Raised::from)?)
}

/// As [`matrix`], where there is one.
pub(crate) fn optional(
    name: &str,
    format: Row,
    array: Option<&Bound<'_, PyAny>>,
) -> PyResult<Option<Matrix>> {
    array.map(|array| matrix(name, format, array)).transpose()
}

/// Codes as an array of the shape given, without a copy.
pub(crate) fn array<'py>(py: Python<'py>, codes: Codes, shape: &[usize]) -> PyResult<Bound<'py, PyAny>> {
    fn of<'py, T: numpy::Element>(
        py: Python<'py>,
        codes: Vec<T>,
        shape: &[usize],
    ) -> PyResult<Bound<'py, PyAny>> {
        let array: Bound<'py, PyArrayDyn<T>> = codes.into_pyarray(py).reshape(shape)?;
        Ok(array.into_any())
    }
    match codes {
        Codes::U8(codes) => of(py, codes, shape),
        Codes::U16(codes) => of(py, codes, shape),
        Codes::U32(codes) => of(py, codes, shape),
        Codes::U64(codes) => of(py, codes, shape),
    }
}

/// A result as an array of two dimensions, or of three where `blocked`.
pub(crate) fn result<'py>(py: Python<'py>, d: Matrix, blocked: bool) -> PyResult<Bound<'py, PyAny>> {
    let (blocks, rows, columns) = d.shape();
    let shape = if blocked { vec![blocks, rows, columns] } else { vec![rows, columns] };
    array(py, d.into_codes(), &shape)
}

/// Whether an array counts blocks in a dimension of its own.
pub(crate) fn is_blocked(array: &Bound<'_, PyAny>) -> PyResult<bool> {
    Ok(array.getattr("ndim")?.extract::<usize>()? == 3)
}
