//! The approximate functions of NVIDIA GPUs.

use std::ffi::{c_char, c_int, c_void};

use bitmma_engine::catalogue::accept_function;
use bitmma_engine::formats::F32;
use bitmma_engine::functions::ptx::Form;
use bitmma_engine::functions::{UnknownFunction, fill};
use bitmma_engine::{Architecture, Matrix};

use crate::buffer::{bitmma_input, bitmma_output, text};
use crate::status::bitmma_status::{BITMMA_NO_MODEL, BITMMA_UNKNOWN};
use crate::status::{Failure, bitmma_status, guarded};

/// Results of an approximate function of an NVIDIA GPU for `count` FP32 codes next to each other: the PTX instruction
/// `function`, as in "ex2" or "ex2.approx.f32" (subnormal numbers are numbers) and "ex2.approx.ftz.f32" (they are zero of
/// their sign); rcp, sqrt, rsqrt, ex2, lg2, sin, cos.
///
/// Where nothing is known of the architecture, BITMMA_NO_MODEL says so, unless `assume` is not 0: then the model is that of
/// Volta and Turing. `y` may be the memory of `x`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bitmma_function(
    architecture: *const c_char,
    function: *const c_char,
    assume: c_int,
    x: *const c_void,
    y: *mut c_void,
    count: usize,
) -> bitmma_status {
    // SAFETY: the caller's texts and memory
    guarded(|| unsafe {
        let architecture: Architecture =
            text("architecture", architecture)?.parse().map_err(bitmma_engine::Error::from)?;
        let unknown = |error: UnknownFunction| Failure::new(BITMMA_UNKNOWN, error.to_string());
        let form: Form = text("function", function)?.parse().map_err(unknown)?;
        accept_function(architecture, form.function, assume != 0)
            .map_err(|error| Failure::new(BITMMA_NO_MODEL, error.to_string()))?;
        let from = bitmma_input { codes: x, count, leading: 0, stride: 0 };
        let to = bitmma_output { codes: y, count, leading: 0, stride: 0 };
        let shape = (1, 1, count);
        let layout = to.layout("y", shape)?;
        let x: Vec<u32> = from.read("x", F32, shape)?.iter().map(|code| code as u32).collect();
        let mut results = vec![0; count];
        fill(form, &x, &mut results);
        let results = Matrix::new(F32, shape, results.into_iter().map(u64::from))?;
        to.write(&layout, results.codes());
        Ok(())
    })
}
