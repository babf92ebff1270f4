//! The Python package's native half: the floors' names again, thin.
//!
//! Nothing is computed here. An array comes in as unsigned integers that hold codes, laid out row by row;
//! `python/bitmma` makes such views of NumPy's, `ml_dtypes`' and PyTorch's arrays and turns the answer back
//! into what came in. Codes are copied once on the way in: the product runs without the interpreter's
//! lock, and another thread may write to the array meanwhile. The answer is handed over without a copy.

mod arrays;
mod error;
mod explain;
mod format;
mod gemm;
mod instruction;
mod probe;
mod recording;
mod unit;

use pyo3::prelude::*;

/// The native half of bitmma.
#[pymodule]
mod _bitmma {
    #[pymodule_export]
    use crate::explain::explain;
    #[pymodule_export]
    use crate::format::{Format, decode, encode, format_named, formats, pack, unpack};
    #[pymodule_export]
    use crate::gemm::gemm;
    #[pymodule_export]
    use crate::instruction::{Instruction, architecture, architectures, choose, find, instructions};
    #[pymodule_export]
    use crate::probe::probe;
    #[pymodule_export]
    use crate::recording::{read_recording, replay};
    #[pymodule_export]
    use crate::unit::{Unit, multiply, simulate};

    use pyo3::prelude::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
