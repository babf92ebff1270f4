//! What several tests of this crate need.

pub(crate) mod check;
pub(crate) mod fake;
pub(crate) mod ptx_machine;
pub(crate) mod ptx_matrix;
pub(crate) mod ptx_sparse;
pub(crate) mod tools;
pub(crate) mod wave_machine;
