//! The approximate functions of NVIDIA GPUs: of one input, of many, and digests of all.

use bitmma_functions::ptx::Form;
pub use bitmma_functions::*;
use bitmma_kernel::{Level, functions};
use bitmma_threads::{each_chunk, mapped};

/// Inputs that one thread takes at a time.
const PART: usize = 1 << 14;

/// The results of an instruction for FP32 codes, each [`Form::evaluate`], on all threads.
///
/// # Panics
///
/// If there is not one result for each input.
pub fn fill(form: Form, x: &[u32], y: &mut [u32]) {
    assert_eq!(x.len(), y.len(), "results for inputs");
    let level = Level::best();
    each_chunk(y, PART, |part, y| functions::fill(level, form, &x[part * PART..][..y.len()], y));
}

/// The digests of blocks of an instruction's results ([`digest`]), on all threads.
pub fn digests(form: Form, blocks: &[u32]) -> Vec<u64> {
    let level = Level::best();
    mapped(blocks.len(), |index| functions::digest_of_block(level, form, blocks[index]))
}
