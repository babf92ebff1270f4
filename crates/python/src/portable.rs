//! Functions and sums with the same bits on every machine, of tensors where they are.
//!
//! A model calls these thousands of times for each token, so arrays come as the address of their first element, without a view
//! of NumPy's around them. `bitmma/torch/portable` alone calls them: with tensors that it keeps alive, dense in
//! memory and as long as it says, and with results that nobody else has yet.

use bitmma_portable as portable;
use portable::{Affine, Numbers, NumbersMut};
use pyo3::prelude::*;

use crate::error::OptionError;

/// An array: its dtype (0 to 3: FP64, FP32, FP16, BF16) and its address; 0 for none.
type Array = (u8, usize);

/// Numbers that are fewer are computed without letting other threads of Python run, which takes longer.
const SMALL: usize = 1 << 12;

/// # Safety
///
/// There are so many numbers of the dtype at the address, and nobody writes to them.
unsafe fn numbers<'a>((dtype, address): Array, length: usize) -> Numbers<'a> {
    unsafe fn slice<'a, T>(address: usize, length: usize) -> &'a [T] {
        if length == 0 {
            return &[];
        }
        // SAFETY: as the caller says
        unsafe { std::slice::from_raw_parts(std::ptr::with_exposed_provenance(address), length) }
    }
    // SAFETY: as the caller says
    unsafe {
        match dtype {
            0 => Numbers::F64(slice(address, length)),
            1 => Numbers::F32(slice(address, length)),
            2 => Numbers::F16(slice(address, length)),
            _ => Numbers::Bf16(slice(address, length)),
        }
    }
}

/// # Safety
///
/// There is room for so many numbers of the dtype at the address, and nobody else reads or writes there.
unsafe fn room<'a>((dtype, address): Array, length: usize) -> NumbersMut<'a> {
    // SAFETY: as the caller says
    unsafe {
        match dtype {
            0 => NumbersMut::F64(slice_mut(address, length)),
            1 => NumbersMut::F32(slice_mut(address, length)),
            2 => NumbersMut::F16(slice_mut(address, length)),
            _ => NumbersMut::Bf16(slice_mut(address, length)),
        }
    }
}

/// # Safety
///
/// As for [`room`].
unsafe fn slice_mut<'a, T>(address: usize, length: usize) -> &'a mut [T] {
    if length == 0 {
        return &mut [];
    }
    // SAFETY: as the caller says
    unsafe { std::slice::from_raw_parts_mut(std::ptr::with_exposed_provenance_mut(address), length) }
}

fn compute(py: Python<'_>, size: usize, work: impl FnOnce() + Send) {
    if size < SMALL { work() } else { py.detach(work) }
}

fn unknown(what: &str, name: &str) -> PyErr {
    OptionError::new_err(format!("{name} is no {what}"))
}

/// The values of a function for each element of arrays of one length.
#[pyfunction]
#[pyo3(signature = (name, length, output, x, y = (0, 0), z = (0, 0), p = 0.0, q = 0.0, r = 0.0))]
pub(crate) fn portable_apply(
    py: Python<'_>,
    name: &str,
    length: usize,
    output: Array,
    x: Array,
    y: Array,
    z: Array,
    p: f64,
    q: f64,
    r: f64,
) -> PyResult<()> {
    let function = portable::function(name).ok_or_else(|| unknown("function", name))?;
    compute(py, length, || {
        // SAFETY: the caller's arrays are as long as it says; those that the function does not take are empty
        let of =
            |array: Array, place| unsafe { numbers(array, if place < function.inputs { length } else { 0 }) };
        let inputs = [of(x, 0), of(y, 1), of(z, 2)];
        // SAFETY: nobody else has the result
        portable::apply(function, [p, q, r], &inputs, unsafe { room(output, length) });
    });
    Ok(())
}

/// One number from each row.
#[pyfunction]
#[pyo3(signature = (name, rows, length, output, input, parameter = 0.0))]
pub(crate) fn portable_reduce(
    py: Python<'_>,
    name: &str,
    rows: usize,
    length: usize,
    output: Array,
    input: Array,
    parameter: f64,
) -> PyResult<()> {
    let reduction = portable::reduction(name).ok_or_else(|| unknown("reduction", name))?;
    compute(py, rows * length, || {
        // SAFETY: as above
        let (input, output) = unsafe { (numbers(input, rows * length), room(output, rows)) };
        portable::reduce(reduction, parameter, length, input, output);
    });
    Ok(())
}

/// A row from each row, or from each two rows.
#[pyfunction]
#[pyo3(signature = (name, rows, length, output, x, y = (0, 0)))]
pub(crate) fn portable_along(
    py: Python<'_>,
    name: &str,
    rows: usize,
    length: usize,
    output: Array,
    x: Array,
    y: Array,
) -> PyResult<()> {
    let operation = portable::row_operation(name).ok_or_else(|| unknown("operation along rows", name))?;
    let size = rows * length;
    compute(py, size, || {
        // SAFETY: as above
        let inputs = unsafe { [numbers(x, size), numbers(y, if operation.inputs > 1 { size } else { 0 })] };
        // SAFETY: as above
        portable::along(operation, length, &inputs[..operation.inputs], unsafe { room(output, size) });
    });
    Ok(())
}

/// The layer norm of rows: results, means and factors; weight and bias have address 0 where there are none.
#[pyfunction]
pub(crate) fn portable_layer_norm(
    py: Python<'_>,
    rows: usize,
    length: usize,
    output: Array,
    means: Array,
    factors: Array,
    input: Array,
    weight: Array,
    bias: Array,
    epsilon: f64,
) {
    let size = rows * length;
    compute(py, size, || {
        // SAFETY: as above
        let column = |array: Array| (array.1 != 0).then(|| unsafe { numbers(array, length) });
        let affine = Affine { weight: column(weight), bias: column(bias), epsilon };
        // SAFETY: as above
        let (input, output) = unsafe { (numbers(input, size), room(output, size)) };
        // SAFETY: as above
        let moments = unsafe { (room(means, rows), room(factors, rows)) };
        portable::layer_norm(length, affine, input, output, moments);
    });
}

/// Adds each row of a source to the row of an FP64 array that an index names; whether all indices were in range.
#[pyfunction]
pub(crate) fn portable_add_at(
    py: Python<'_>,
    count: usize,
    width: usize,
    rows: usize,
    index: usize,
    source: Array,
    to: usize,
) -> bool {
    let mut done = true;
    compute(py, count * width, || {
        // SAFETY: as above; the index is of int64
        let index = if count == 0 {
            &[]
        } else {
            unsafe { std::slice::from_raw_parts(std::ptr::with_exposed_provenance::<i64>(index), count) }
        };
        // SAFETY: as above
        let (source, to) = unsafe { (numbers(source, count * width), slice_mut(to, rows * width)) };
        done = portable::add_at(index, source, width, to);
    });
    done
}

/// Gives every NaN of an array the positive sign and no payload.
#[pyfunction]
pub(crate) fn portable_canonical(py: Python<'_>, length: usize, array: Array) {
    // SAFETY: as above
    compute(py, length, || portable::canonical(unsafe { room(array, length) }));
}
