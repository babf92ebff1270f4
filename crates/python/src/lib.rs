//! The Python package's native half: the floors' names again, thin.
//!
//! Nothing is computed here. An array comes in as unsigned integers that hold codes, in any layout;
//! `python/bitmma` makes such views of NumPy's, `ml_dtypes`' and PyTorch's arrays and turns the result back
//! into what came in. Codes are copied once on the way in: the product runs without the interpreter's
//! lock, and another thread may write to the array meanwhile. The result is handed over without a copy.

#![allow(clippy::needless_pass_by_value)] // pyo3 hands Python's arguments over as values
#![allow(clippy::too_many_arguments)] // they are Python's keywords

/// A dictionary of Python's with these keys and values.
macro_rules! dict {
    ($py:expr, $($key:ident: $value:expr),+ $(,)?) => {{
        let dictionary = pyo3::types::PyDict::new($py);
        $(dictionary.set_item(stringify!($key), $value)?;)+
        dictionary
    }};
}

mod analysis;
mod arrays;
mod calls;
mod command;
mod document;
mod error;
mod explain;
mod explore;
mod fingerprint;
mod format;
mod functions;
mod gemm;
mod instruction;
mod kernels;
mod listener;
mod model;
mod operands;
mod page;
mod portable;
mod prepared;
mod probe;
mod recording;
mod schedule;
mod tally;
mod unit;
mod verify;
mod words;

use pyo3::prelude::*;

/// The native half of bitmma.
#[pymodule]
mod _bitmma {
    #[pymodule_export]
    use crate::{
        analysis::{
            accuracy::{bias_distributions, bias_growth, exact_errors, measure_designs, workarounds},
            bounds::{account, error_sources, product_bounds, worst_case},
            compare::compare,
            discrepancy::{difference_matrix, smallest_difference},
            report::{Section, report_parts, report_section, write_report},
            risk::{assess, assess_all},
            which::{diff_plans, diff_units, follow_element, order_in_words, who_computed},
        },
        calls::{check_scaled_mm, decide_call, follow_call, run_call, scale_blocks},
        command::run_command,
        document::Document,
        explain::{explain, explain_picture},
        explore::Explorer,
        fingerprint::fingerprint,
        format::{Format, decode, encode, encode_integer, encode_words, format_named, formats, pack, unpack},
        functions::evaluate_function,
        gemm::gemm,
        instruction::{Instruction, architecture, architectures, choose, find, instructions, promotion},
        kernels::{Ptx, PtxKernel, compile_cuda},
        model::Model,
        page::{figure_svg, html_document, html_fragment, html_heat, html_table, html_terminal},
        portable::{
            portable_add_at, portable_along, portable_apply, portable_canonical, portable_layer_norm,
            portable_reduce,
        },
        prepared::{Prepared, prepare},
        probe::probe,
        recording::{read_recording, replay},
        schedule::{Schedule, schedule},
        tally::tally,
        unit::{Unit, multiply, simulate},
        verify::{Blocks, Campaign},
    };

    use pyo3::prelude::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
