//! The approximate functions of NVIDIA GPUs.

use bitmma_engine::catalogue::accept_function;
use bitmma_engine::functions::fill;
use bitmma_engine::functions::ptx::Form;
use bitmma_engine::{Architecture, Codes};
use pyo3::prelude::*;
use pyo3::types::PyAny;

use crate::arrays;
use crate::error::{FormatError, NoModel, Raised, UnknownInstruction};

/// The results of a PTX instruction for FP32 codes (in one dimension), and what was assumed for that.
#[pyfunction]
pub(crate) fn evaluate_function<'py>(
    form: &str,
    chip: &str,
    words: &Bound<'py, PyAny>,
    assume: bool,
) -> PyResult<(Bound<'py, PyAny>, Option<String>)> {
    let py = words.py();
    let form: Form = form.parse().map_err(|error: bitmma_engine::functions::UnknownFunction| {
        UnknownInstruction::new_err(error.to_string())
    })?;
    let architecture: Architecture = chip.parse().map_err(Raised::from)?;
    let accepted = accept_function(architecture, form.function, assume)
        .map_err(|error| NoModel::new_err(error.to_string().replace("assume it", "give assume=True")))?;
    let (Codes::U32(x), shape) = arrays::codes("x", words)? else {
        return Err(FormatError::new_err("x are words of float32"));
    };
    let y = py.detach(|| {
        let mut y = vec![0; x.len()];
        fill(form, &x, &mut y);
        y
    });
    Ok((arrays::array(py, Codes::U32(y), &shape)?, accepted.assumed))
}
