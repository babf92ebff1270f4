//! Formats and codes.

use std::ffi::{c_char, c_void};

use bitmma_engine::Matrix;
use bitmma_engine::gemm::OutputConversion;

use crate::buffer::{bitmma_input, bitmma_output, not_null, text};
use crate::gemm::rules;
use crate::status::{bitmma_status, guarded};
use crate::unit::{bitmma_format, format_of};

/// A format by its name: "f64", "f32", "tf32", "bf16", "f16", "e4m3", … (docs/formats.md).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bitmma_find_format(
    name: *const c_char,
    format: *mut bitmma_format,
) -> bitmma_status {
    // SAFETY: the caller's text and the place for the result
    guarded(|| unsafe {
        let found = format_of(text("name", name)?)?;
        not_null("format", format)?;
        format.write(found.into());
        Ok(())
    })
}

/// Converts `count` codes next to each other from one format into another, each rounded once.
///
/// The codes of "f64" are doubles and those of "f32" floats, so this encodes numbers and decodes codes, too. `rounding` and
/// `overflow` are as in `bitmma_gemm_options`; NULL: "RNE" and "ieee". NaN becomes the
/// format's NaN, and is refused where there is none (FP6, FP4). `to` may be the memory of `from`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bitmma_convert(
    from_format: *const c_char,
    from: *const c_void,
    to_format: *const c_char,
    rounding: *const c_char,
    overflow: *const c_char,
    to: *mut c_void,
    count: usize,
) -> bitmma_status {
    // SAFETY: the caller's texts and memory
    guarded(|| unsafe {
        let source = format_of(text("from_format", from_format)?)?;
        let target = format_of(text("to_format", to_format)?)?;
        let (rounding, overflow) = rules(rounding, overflow)?;
        let conversion = OutputConversion::new(target, rounding, overflow);
        let container = conversion.conversion.container();
        let from = bitmma_input { codes: from, count, leading: 0, stride: 0 };
        let to = bitmma_output { codes: to, count, leading: 0, stride: 0 };
        let shape = (1, 1, count);
        let layout = to.layout("to", shape)?;
        let codes = from.read("from", source, shape)?;
        conversion.check(source, codes.iter(), ("from", &[count]))?;
        let convert = conversion.of(source, count);
        let converted = Matrix::new(container, shape, codes.iter().map(convert))?;
        to.write(&layout, converted.codes());
        Ok(())
    })
}
