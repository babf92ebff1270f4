//! Tensor memory, and what the tensor cores of Blackwell do with it (PTX ISA, "TensorCore 5th Generation Family Instructions").

mod describe;
mod matrix;
mod memory;
mod moves;
mod multiply;
mod queue;

pub(in crate::run) use memory::{TensorMemory, byte};
