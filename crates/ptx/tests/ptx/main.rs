//! Kernels whose results are known, and kernels that are wrong.

mod cases;
mod errors;
mod products;
mod rewrites;
