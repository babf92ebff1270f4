//! Counts of differences, for `bitmma.torch`.

use bitmma_analysis::tally::{Kind, Tally, tally as count};
use numpy::{Element, PyReadonlyArray1};
use pyo3::prelude::*;

use crate::error::FormatError;
use crate::format;

/// What [`tally`] returns, in the order of its documentation.
type Counts = (usize, f64, f64, Option<usize>, usize, Vec<usize>);

/// How many elements of two arrays of words differ, the largest difference, the norm of all over that of the first array, the
/// first place, how many are finite in one only, and how many codes they are apart by powers of two.
///
/// `kind` is a format, `int` or `uint`. The arrays are read in place: nobody may write to them meanwhile. Without `sizes`
/// only the first number is found.
#[pyfunction]
#[pyo3(signature = (kind, ours, theirs, *, sizes = true))]
pub(crate) fn tally<'py>(
    py: Python<'py>,
    kind: &str,
    ours: &Bound<'py, PyAny>,
    theirs: &Bound<'py, PyAny>,
    sizes: bool,
) -> PyResult<Counts> {
    let kind = match kind {
        "int" => Kind::Signed,
        "uint" => Kind::Unsigned,
        name => Kind::Float(format::row(name)?),
    };
    let found = of::<u8>(py, kind, ours, theirs, sizes)
        .or_else(|| of::<u16>(py, kind, ours, theirs, sizes))
        .or_else(|| of::<u32>(py, kind, ours, theirs, sizes))
        .or_else(|| of::<u64>(py, kind, ours, theirs, sizes));
    let Tally { differing, largest, relative, first, not_finite, codes_apart } = found.ok_or_else(|| {
        FormatError::new_err(
            "two contiguous arrays of one dimension, one length and one unsigned dtype were expected",
        )
    })?;
    Ok((differing, largest, relative, first, not_finite, codes_apart))
}

fn of<'py, T: Element + Copy + Eq + Into<u64> + Sync>(
    py: Python<'py>,
    kind: Kind,
    ours: &Bound<'py, PyAny>,
    theirs: &Bound<'py, PyAny>,
    sizes: bool,
) -> Option<Tally> {
    let (x, y): (PyReadonlyArray1<'py, T>, PyReadonlyArray1<'py, T>) =
        (ours.extract().ok()?, theirs.extract().ok()?);
    let (x, y) = (x.as_slice().ok()?, y.as_slice().ok()?);
    (x.len() == y.len()).then(|| py.detach(|| count(kind, x, y, sizes)))
}
