//! An approximate function of a GPU: its results for given inputs, and digests of many without moving them.

use super::ptx::function::{INPUTS, THREADS, TILE, TILE_INPUT_WORDS};
use crate::gpu::Error;
use crate::gpu::driver::Loaded;
use crate::gpu::exchange::Exchange;

/// Tiles of one launch.
const TILES: usize = 1 << 10;

/// An instruction of one operand of 32 bits.
pub struct FunctionUnit {
    digest: Exchange,
    values: Exchange,
}

impl FunctionUnit {
    pub(super) fn new(digest: Loaded, values: Loaded) -> FunctionUnit {
        FunctionUnit { digest: Exchange::new(digest), values: Exchange::new(values) }
    }

    /// The sum modulo 2^64 of the digest's terms over that many tiles of [`TILE`] inputs, from one on.
    ///
    /// # Errors
    ///
    /// What the driver says.
    pub fn digest(&self, first: u32, tiles: u32) -> Result<u64, Error> {
        let mut digest = 0_u64;
        for start in (0..tiles).step_by(TILES) {
            let count = (tiles - start).min(TILES as u32);
            let first_of = |tile: u32| first.wrapping_add((start + tile) * TILE as u32);
            let input: Vec<u32> = (0..count).flat_map(|tile| [first_of(tile), 0, 0, 0]).collect();
            debug_assert_eq!(input.len(), count as usize * TILE_INPUT_WORDS);
            let sums = self.digest.run(count as usize, &input, 2 * THREADS as usize)?;
            let sums = sums.chunks_exact(2).map(|pair| u64::from(pair[1]) << 32 | u64::from(pair[0]));
            digest = sums.fold(digest, u64::wrapping_add);
        }
        Ok(digest)
    }

    /// The results for these inputs.
    ///
    /// # Errors
    ///
    /// What the driver says.
    pub fn values(&self, x: &[u32]) -> Result<Vec<u32>, Error> {
        let mut results = Vec::with_capacity(x.len());
        for part in x.chunks(TILES * TILE) {
            let tiles = part.len().div_ceil(TILE);
            let mut input = part.to_vec();
            input.resize(tiles * TILE, 0);
            let output = self.values.run(tiles, &input, THREADS as usize * INPUTS)?;
            results.extend_from_slice(&output[..part.len()]);
        }
        Ok(results)
    }
}
