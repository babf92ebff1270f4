//! Kernels whose results are known, and kernels that are wrong.

mod atomics;
mod block;
mod body;
mod cases;
mod comparisons;
mod control;
mod conversions;
mod errors;
mod floats;
mod folding;
mod fusion;
mod integers;
mod line;
mod memory;
mod moves;
mod predicted;
mod probe;
mod products;
mod races;
mod refused;
mod rewrites;
mod sass;
mod special;
mod survey;
mod undefined;
mod warps;
