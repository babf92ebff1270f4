//! Clusters: blocks that run together, and reach each other's shared memory.

use crate::decode::decoder::RANK_SHIFT;

/// The clusters of a launch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clusters {
    /// Blocks of the launch.
    pub(super) grid: [u32; 3],
    /// Blocks of a cluster.
    pub(super) sizes: [u32; 3],
    /// Whether the launch or the entry asks for them.
    pub(super) are_asked_for: bool,
    /// Warps of a block, and how many numbers its cluster has for them.
    pub(super) warps: usize,
    pub(super) stride: usize,
}

/// A bit for each warp of a cluster.
pub(super) type Warps = u128;

/// Warps of a cluster, at most.
pub(super) const MOST_WARPS: usize = Warps::BITS as usize;

impl Clusters {
    /// Clusters of blocks of that many warps.
    pub(super) fn new(grid: [u32; 3], sizes: Option<[u32; 3]>, warps: usize) -> Clusters {
        let are_asked_for = sizes.is_some();
        let sizes = sizes.unwrap_or([1; 3]);
        // warpgroups are told apart by their numbers
        let stride = if sizes == [1; 3] { warps } else { warps.next_multiple_of(crate::matrix::WARPGROUP) };
        Clusters { grid, sizes, are_asked_for, warps, stride }
    }

    /// Blocks of a cluster.
    pub(super) fn size(&self) -> usize {
        self.sizes.iter().map(|size| *size as usize).product()
    }

    /// Clusters along each dimension of the grid.
    pub(super) fn counts(&self) -> [u32; 3] {
        std::array::from_fn(|axis| self.grid[axis] / self.sizes[axis])
    }

    /// A block of a cluster.
    pub(super) fn index(&self, cluster: u64, rank: usize) -> [u32; 3] {
        let of = |number: u64, [x, y, _]: [u32; 3]| {
            let (x, y) = (u64::from(x), u64::from(y));
            [number % x, number / x % y, number / x / y]
        };
        let (cluster, block) = (of(cluster, self.counts()), of(rank as u64, self.sizes));
        std::array::from_fn(|axis| (cluster[axis] * u64::from(self.sizes[axis]) + block[axis]) as u32)
    }

    /// The number of a block of a cluster in the launch.
    pub(super) fn number(&self, cluster: u64, rank: usize) -> u64 {
        let [x, y, z] = self.index(cluster, rank).map(u64::from);
        x + u64::from(self.grid[0]) * (y + u64::from(self.grid[1]) * z)
    }
}

/// The bits of an address of shared memory that name a block of the cluster: those of the first are 0.
pub(super) fn rank_bits(rank: usize) -> u64 {
    (rank as u64) << RANK_SHIFT
}

/// An address of shared memory without the block that it names.
pub(super) fn in_block(at: u64) -> u64 {
    at & ((1 << RANK_SHIFT) - 1)
}
