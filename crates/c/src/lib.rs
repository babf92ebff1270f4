//! The C library: operand bits in, result bits out, as `include/bitmma.h` declares it.
//!
//! Every function checks what can be checked (NULL, sizes, leading dimensions, strides, codes, names), returns a status,
//! and leaves a text behind where something is wrong. No panic crosses the border. Handles do not change once they are
//! open, so threads share them freely.
#![allow(clippy::missing_safety_doc)] // said once, at the head of the header
#![allow(non_camel_case_types, clippy::upper_case_acronyms)] // the names that C has

mod buffer;
mod convert;
mod explain;
mod function;
mod gemm;
#[cfg(feature = "kernels")]
mod kernel;
#[cfg(feature = "kernels")]
mod launch;
mod multiply;
mod prepared;
mod status;
#[cfg(feature = "kernels")]
mod tensor_map;
mod unit;

pub use buffer::{bitmma_input, bitmma_output};
pub use convert::{bitmma_convert, bitmma_find_format};
pub use explain::bitmma_explain;
pub use function::bitmma_function;
pub use gemm::{bitmma_gemm, bitmma_gemm_options};
#[cfg(feature = "kernels")]
pub use kernel::{
    bitmma_close_kernel, bitmma_describe_kernel, bitmma_describe_parameter, bitmma_kernel,
    bitmma_kernel_signature, bitmma_open_kernel, bitmma_parameter,
};
#[cfg(feature = "kernels")]
pub use launch::{
    BITMMA_FLOAT, BITMMA_INTEGER, BITMMA_NULL_POINTER, BITMMA_POINTER, BITMMA_TENSOR_MAP, bitmma_argument,
    bitmma_buffer, bitmma_launch, bitmma_launch_options,
};
pub use multiply::{bitmma_dot, bitmma_multiply, bitmma_operands};
pub use prepared::{bitmma_free_prepared, bitmma_multiply_prepared, bitmma_prepare, bitmma_prepared};
pub use status::{bitmma_last_error, bitmma_status, bitmma_version};
#[cfg(feature = "kernels")]
pub use tensor_map::{bitmma_tensor_map, bitmma_tensor_map_im2col, bitmma_tensor_map_tiled};
pub use unit::{
    bitmma_close, bitmma_describe, bitmma_format, bitmma_open, bitmma_open_model, bitmma_signature,
    bitmma_unit,
};
