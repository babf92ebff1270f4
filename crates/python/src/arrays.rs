//! Codes between NumPy and [`Matrix`].

use bitmma_engine::formats::Format as Row;
use bitmma_engine::{Code, Codes, Matrix, MatrixRef, Words, on_codes};
use numpy::ndarray::{ArrayView2, ArrayViewD, s};
use numpy::{
    IntoPyArray, PyArrayDescrMethods, PyArrayDyn, PyArrayMethods, PyReadonlyArrayDyn, PyUntypedArray,
    PyUntypedArrayMethods,
};
use pyo3::prelude::*;
use pyo3::types::PyAny;

use crate::error::{FormatError, Raised, ShapeError, TooLarge};

/// An array of unsigned integers.
pub(crate) type Integers<'py> = Words<
    PyReadonlyArrayDyn<'py, u8>,
    PyReadonlyArrayDyn<'py, u16>,
    PyReadonlyArrayDyn<'py, u32>,
    PyReadonlyArrayDyn<'py, u64>,
>;

pub(crate) fn integers<'py>(name: &str, array: &Bound<'py, PyAny>) -> PyResult<Integers<'py>> {
    let bytes = || array.extract().map(Words::U8);
    let halves = || array.extract().map(Words::U16);
    let words = || array.extract().map(Words::U32);
    let long = || array.extract().map(Words::U64);
    // each that is not the one makes an error, which takes as long as a small product
    let size = array.cast::<PyUntypedArray>().map(|array| array.dtype().itemsize());
    let likely = match size {
        Ok(2) => halves(),
        Ok(4) => words(),
        Ok(8) => long(),
        _ => bytes(),
    };
    if let Ok(found) = likely {
        return Ok(found);
    }
    if let Ok(found) = bytes().or_else(|_| halves()).or_else(|_| words()).or_else(|_| long()) {
        return Ok(found);
    }
    let kind = array.get_type().name()?;
    Err(FormatError::new_err(format!("{name} is a {kind}; an array of unsigned integers was expected")))
}

/// The codes of an array of unsigned integers, row by row, and its shape.
pub(crate) fn codes(name: &str, array: &Bound<'_, PyAny>) -> PyResult<(Codes, Vec<usize>)> {
    Ok(on_codes!(integers(name, array)?, array => {
        let codes = match array.as_slice() {
            Ok(slice) if array.is_c_contiguous() => slice.to_vec(), // a slice is there column by column, too
            // an array that was broadcast is far larger than what it holds
            _ => by_rows(&array.as_array()).ok_or_else(|| {
                let text = format!("{name} of shape {:?} cannot be held in memory", array.shape());
                TooLarge::new_err(text)
            })?,
        };
        (Code::held(codes), array.shape().to_vec())
    }))
}

/// Rows and columns that are copied at a time where memory runs along the columns: the lines of both
/// sides stay in the cache.
const BLOCK: usize = 64;

/// The elements of any layout, row by row, copied once; `None` where there is no room for them.
fn by_rows<T: Copy + Default>(array: &ArrayViewD<'_, T>) -> Option<Vec<T>> {
    let mut all = Vec::new();
    all.try_reserve_exact(array.len()).ok()?;
    if array.is_empty() {
        return Some(all);
    }
    let matrices: Vec<ArrayView2<'_, T>> = match (array.view().into_dimensionality(), array.ndim()) {
        (Ok(matrix), _) => vec![matrix],
        (_, 3) => array.outer_iter().filter_map(|block| block.into_dimensionality().ok()).collect(),
        _ => Vec::new(),
    };
    let (rows, columns) = matrices.first().map_or((0, 0), |matrix| matrix.dim());
    if rows < 2 || columns < 2 {
        all.extend(array.iter().copied());
        return Some(all);
    }
    all.resize(array.len(), T::default());
    for (matrix, to) in matrices.iter().zip(all.chunks_exact_mut(rows * columns)) {
        for top in (0..rows).step_by(BLOCK) {
            let band = matrix.slice(s![top..rows.min(top + BLOCK), ..]);
            for left in (0..columns).step_by(BLOCK) {
                let right = columns.min(left + BLOCK);
                let lines = to[top * columns..].chunks_mut(columns);
                for (line, row) in lines.zip(band.slice(s![.., left..right]).rows()) {
                    line[left..right].iter_mut().zip(row).for_each(|(to, &code)| *to = code);
                }
            }
        }
    }
    Some(all)
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
                "{name} is {dimensions}-dimensional ({given}); a matrix has 2, several products of one shape 3"
            )));
        }
    };
    Ok(Matrix::with_codes(format, shape, codes).map_err(Raised::from)?)
}

/// A matrix that an array lends, or a copy where kernels cannot read it where it is.
///
/// As with NumPy's own products nobody may write to the array while a product of it is computed.
pub(crate) enum Held<'py> {
    Lent(Row, Integers<'py>),
    Copy(Matrix),
}

impl<'py> Held<'py> {
    /// Of `format`, of two dimensions, or of three, the first of which counts blocks.
    pub(crate) fn new(name: &str, format: Row, array: &Bound<'py, PyAny>) -> PyResult<Held<'py>> {
        let held = Held::Lent(format, integers(name, array)?);
        if held.view().is_some() { Ok(held) } else { matrix(name, format, array).map(Held::Copy) }
    }

    /// The matrix.
    pub(crate) fn lent(&self) -> PyResult<MatrixRef<'_>> {
        self.view().ok_or_else(|| ShapeError::new_err("an array changed its shape while it was read"))
    }

    fn view(&self) -> Option<MatrixRef<'_>> {
        fn of<'a, T: numpy::Element + Code>(
            format: Row,
            array: &'a PyReadonlyArrayDyn<'_, T>,
        ) -> Option<MatrixRef<'a>> {
            let codes = |bytes: &isize| usize::try_from(*bytes).ok().map(|bytes| bytes / size_of::<T>());
            let strides: Vec<usize> = array.strides().iter().map(codes).collect::<Option<_>>()?;
            let (shape, strides) = match (array.shape(), &strides[..]) {
                (&[rows, columns], &[row, column]) => ((1, rows, columns), [0, row, column]),
                (&[blocks, rows, columns], &[block, row, column]) => {
                    ((blocks, rows, columns), [block, row, column])
                }
                _ => return None,
            };
            // no stride is negative: the first element is where memory begins
            MatrixRef::new(format, shape, strides, T::slice(array.as_array().to_slice_memory_order()?))
        }
        match self {
            Held::Lent(format, array) => on_codes!(array, array => of(*format, array)),
            Held::Copy(matrix) => Some(matrix.into()),
        }
    }
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
    on_codes!(codes, codes => of(py, codes, shape))
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
