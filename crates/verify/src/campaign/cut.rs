//! How a campaign is cut: sizes alone.

use std::ops::Range;

/// Dot products of a block, about.
const BLOCK: u64 = 1 << 19;
/// Instructions of a block at most.
const MAX_INSTRUCTIONS: u64 = 4096;
/// Elements of A and B that a block holds at most, about: those of every instruction in the catalogue are fewer.
const MAX_ELEMENTS: u64 = 1 << 23;

/// Instructions by number, and the blocks they make.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cut {
    /// Dot products of one instruction.
    pub dot_products_each: u64,
    /// Directed cases in one instruction.
    pub cases_each: u64,
    /// Instructions of directed cases, which come first.
    pub directed: u64,
    /// Instructions, directed and random.
    pub instructions: u64,
    /// Instructions of a block.
    pub block_size: u64,
}

impl Cut {
    /// Of that many directed cases and random instructions, each `blocks` products of M×K by K×N; `None` where a number
    /// of them passes 2^64 or is zero.
    pub fn new(
        (m, n, k, blocks): (usize, usize, usize, usize),
        directed_cases: u64,
        random: u64,
    ) -> Option<Cut> {
        let [m, n, k, blocks] = [m, n, k, blocks].map(|size| size as u64);
        let product = |factors: &[u64]| factors.iter().try_fold(1u64, |all, one| all.checked_mul(*one));
        let dot_products_each = product(&[m, n, blocks]).filter(|count| *count > 0)?;
        let elements = product(&[m.checked_add(n)?, k, blocks])?.max(1);
        let cases_each = product(&[blocks, m.min(n)])?;
        let directed = directed_cases.div_ceil(cases_each);
        let instructions = directed.checked_add(random)?;
        instructions.checked_mul(dot_products_each)?;
        let block_size = (BLOCK / dot_products_each).min(MAX_ELEMENTS / elements).clamp(1, MAX_INSTRUCTIONS);
        Some(Cut { dot_products_each, cases_each, directed, instructions, block_size })
    }

    /// Dot products, directed and random.
    pub fn dot_products(&self) -> u64 {
        self.instructions * self.dot_products_each
    }

    /// Blocks.
    pub fn blocks(&self) -> u64 {
        self.instructions.div_ceil(self.block_size)
    }

    /// The instructions of a block, by number.
    pub fn range(&self, block: u64) -> Range<u64> {
        let first = block.saturating_mul(self.block_size).min(self.instructions);
        first..first.saturating_add(self.block_size).min(self.instructions)
    }
}
