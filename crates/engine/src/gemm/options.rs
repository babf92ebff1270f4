//! The options of a product.

use super::convert::OutputConversion;
use crate::matrix::Matrix;
use crate::progress::Progress;
use bitmma_kernel::Level;
use bitmma_kernel::ScaleBlocks;

/// The options of a product; [the module](super) says in which order what happens.
#[derive(Clone, Copy, Default)]
pub struct GemmOptions<'o> {
    /// Scale factors of A, M × ceil(K/block), row-major; with `scale_blocks` its FP32 scales.
    pub scale_a: Option<&'o Matrix>,
    /// Scale factors of B, ceil(K/block) × N, row-major; with `scale_blocks` its FP32 scales.
    pub scale_b: Option<&'o Matrix>,
    /// That `scale_a` and `scale_b` are FP32 scales of blocks of this size, for instructions without scale factors.
    pub scale_blocks: Option<ScaleBlocks>,
    /// Parts into which K is cut, 1 or more; no more than [`Target::parts`](super::Target::parts) come of it.
    pub split_k: Option<usize>,
    /// Elements along K after which the accumulator is moved to a sum in W; a multiple of the
    /// instruction's K.
    pub promote_every: Option<usize>,
    /// Whether the accumulator starts from +0 and C is added to A·B in W, also where it could be the accumulator's start.
    pub c_last: bool,
    /// The factor of A·B, a code of [`Target::working_format`](super::Target::working_format); one by default.
    pub alpha: Option<u64>,
    /// The factor of C, a code of [`Target::working_format`](super::Target::working_format); one by default.
    pub beta: Option<u64>,
    /// What D is converted to; by default it stays in the instruction's own format.
    pub output: Option<OutputConversion>,
    /// Threads, 1 to [`threads::MOST`](crate::threads::MOST); by default those of the pool the call runs in, or of the process's.
    pub threads: Option<usize>,
    /// The instruction set; the best there is by default.
    pub level: Option<Level>,
    /// Told now and then of the products done and the products there are to do (M·N·K, padding not counted); at the end
    /// both are equal. Without products it is told nothing.
    pub progress: Option<&'o dyn Progress>,
}
