//! What several tests of this crate need.
#![allow(dead_code)] // each test uses a part
#![allow(clippy::print_stdout)] // tests say what they skip

pub(crate) mod check;
pub(crate) mod fake;
pub(crate) mod ptx_machine;
pub(crate) mod ptx_matrix;
pub(crate) mod ptx_sparse;
pub(crate) mod tools;
pub(crate) mod wave_machine;
