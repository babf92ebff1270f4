//! B packed once for any number of products: compact, panel by panel, in the order in which tiles take it.
//!
//! Codes stay codes, in as few bits as they have, and are widened in registers as a product streams them ([`widen`]). Beside
//! them is what packing finds out once: what is known of columns and operations, without which every product would have to
//! look again. A block whose widened codes are not what packing makes of them (NaN, infinities, subnormal numbers of BF16) is
//! packed from its codes where it is used.

use std::fmt;

pub(crate) mod stream;
pub(crate) mod widen;

use super::pack::{Aligned, Packed, Traits};
use super::runs::Runs;
use super::simd::Level;
use widen::Widen;

/// Elements along K of a block, about: what it is widened to stays in the nearest cache. With scale factors a block is twice as
/// long, for what is kept of each takes memory.
pub(crate) const BLOCK: usize = 64;

/// One operand B of a product, K×N, prepared for a model and an instruction set ([`Plan::prepare`](super::Plan::prepare)).
pub struct Panels {
    pub(crate) level: Level,
    /// K, in whole steps, and N.
    pub(crate) k: usize,
    pub(crate) n: usize,
    /// Columns of a panel, and vectors side by side in it.
    pub(crate) width: usize,
    pub(crate) vectors: usize,
    /// Elements along K of a block, whole steps.
    pub(crate) block: usize,
    /// Where the elements of a step are in the order in which it takes them.
    pub(crate) places: Vec<usize>,
    /// How codes are widened; `None` where blocks are kept packed.
    pub(crate) widen: Option<Widen>,
    /// The codes, panel by panel along K.
    pub(crate) words: Aligned<i32>,
    /// Panel by panel along K.
    pub(crate) blocks: Vec<Block>,
    /// What is known of the columns of all panels.
    pub(crate) traits: Vec<Traits>,
    /// The bytes that blocks take beside the words.
    pub(crate) kept: usize,
}

/// A panel over some of K.
pub(crate) struct Block {
    /// What is kept of it as it was packed; none where its codes are packed again.
    pub(crate) kept: Option<Box<Packed>>,
}

impl fmt::Debug for Panels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Panels").field("k", &self.k).field("n", &self.n).field("level", &self.level).finish()
    }
}

impl Panels {
    /// K, in whole steps, and N.
    pub fn shape(&self) -> (usize, usize) {
        (self.k, self.n)
    }

    /// Bytes that all of it takes.
    pub fn bytes(&self) -> usize {
        let known = self.traits.len() * size_of::<Traits>() + self.blocks.len() * size_of::<Block>();
        self.words.len() * size_of::<i32>() + self.kept + known
    }

    /// Blocks whose codes are widened as they are streamed, or that are kept packed, and all there are: others are packed again
    /// by every product.
    pub fn plain(&self) -> (usize, usize) {
        (self.blocks.iter().filter(|block| block.kept.is_some()).count(), self.blocks.len())
    }

    /// Whether sums of these runs can be made of it: they end where its blocks do.
    pub fn takes(&self, runs: Option<&Runs<'_>>) -> bool {
        runs.is_none_or(|runs| runs.ends.iter().all(|end| end % self.block == 0 || *end == self.k))
    }

    /// Blocks of a panel.
    pub(crate) fn along(&self) -> usize {
        self.k.div_ceil(self.block)
    }

    /// Words of one position of a panel; two positions where that is half a vector.
    pub(crate) fn words_of(&self, positions: usize) -> usize {
        self.widen.as_ref().map_or(0, |widen| positions * self.width * widen.cell as usize / 32)
    }

    /// Where an element is: its panel's block, and its position and column there.
    pub(crate) fn place(&self, k: usize, column: usize) -> (usize, usize, usize) {
        let step = self.places.len();
        let position = k / step * step + self.places[k % step];
        let block = column / self.width * self.along() + position / self.block;
        (block, position % self.block, column % self.width)
    }

    /// A code that is kept in words.
    pub(crate) fn code(&self, widen: &Widen, k: usize, column: usize) -> u64 {
        let (block, position, line) = self.place(k, column);
        let panel = block / self.along();
        let first = self.words_of(panel * self.k + block % self.along() * self.block);
        let lanes = self.width / self.vectors;
        let slot = widen.slot(self.vectors, position * self.vectors + line / lanes);
        let word = self.words[first + slot.vector * lanes + line % lanes].cast_unsigned();
        widen.code_of(word, slot.index)
    }
}
