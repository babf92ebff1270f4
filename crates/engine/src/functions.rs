//! The approximate functions of NVIDIA GPUs: of one input, of many, and digests of all.

use bitmma_functions::ptx::Form;
pub use bitmma_functions::*;
use bitmma_kernel::{Level, functions};
use bitmma_threads::prelude::*;

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
    let parts = y.par_chunks_mut(PART).zip(x.par_chunks(PART));
    parts.for_each(|(y, x)| functions::fill(level, form, x, y));
}

/// The digests of blocks of an instruction's results ([`digest`]), on all threads.
pub fn digests(form: Form, blocks: &[u32]) -> Vec<u64> {
    let level = Level::best();
    let each = blocks.par_iter().with_max_len(1);
    each.map(|&block| functions::digest_of_block(level, form, block)).collect()
}
