//! Every step of one dot product.

use std::ffi::c_char;

use bitmma_engine::explain::explain;
use bitmma_engine::explain::json::{Coded, Written};
use serde::Serialize;

use crate::buffer::required;
use crate::multiply::{Room, bitmma_operands, read_dot};
use crate::status::bitmma_status::{BITMMA_BUFFER, BITMMA_INTERNAL};
use crate::status::{Failure, bitmma_status, guarded};
use crate::unit::bitmma_unit;

#[derive(Serialize)]
struct Page {
    schema: u32,
    steps: Vec<Written>,
    d: Coded,
}

/// Every step of one element of D, with operands as `bitmma_dot` takes them: JSON, the keys `schema`, `steps` and `d` of
/// `bitmma explain --json`.
///
/// `text` receives it and a zero, if it fits into `capacity` bytes; `length` the bytes that it takes without the zero. NULL
/// for `text` with a `capacity` of 0 asks for the length, which is `BITMMA_BUFFER`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bitmma_explain(
    unit: *const bitmma_unit,
    operands: *const bitmma_operands,
    text: *mut c_char,
    capacity: usize,
    length: *mut usize,
) -> bitmma_status {
    // SAFETY: the caller's unit and memory
    guarded(|| unsafe {
        let unit = required("unit", unit)?;
        let operands = required("operands", operands)?;
        if text.is_null() && capacity > 0 {
            return Err(Failure::null("text"));
        }
        let explained = explain(unit.model(), &read_dot(unit, operands, &mut Room::new())?)?;
        let page = Page {
            schema: 1,
            steps: explained.steps.iter().map(Written::from).collect(),
            d: Coded::new(&unit.model().d, explained.d),
        };
        let written = serde_json::to_string_pretty(&page);
        let written = written.map_err(|error| Failure::new(BITMMA_INTERNAL, error.to_string()))?;
        if !length.is_null() {
            length.write_unaligned(written.len());
        }
        if written.len() >= capacity {
            let message = format!("the text takes {} bytes; there is room for {capacity}", written.len() + 1);
            return Err(Failure::new(BITMMA_BUFFER, message));
        }
        text.cast::<u8>().copy_from_nonoverlapping(written.as_ptr(), written.len());
        text.add(written.len()).write(0);
        Ok(())
    })
}
