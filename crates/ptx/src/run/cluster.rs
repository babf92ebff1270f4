//! Clusters: blocks that run together, and reach each other's shared memory.

use super::block::Block;
use super::clocks::Clocks;
use super::objects::Objects;
use super::shared::Shared;
use super::undefined::Bytes;
use crate::decode::decoder::{RANK_SHIFT, SHARED_WINDOW};

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

/// Warps of a cluster, at most.
pub(super) const MOST_WARPS: usize = 32;

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

/// The bits of an address of shared memory that name a block of the cluster.
pub(super) fn rank_bits(rank: usize) -> u64 {
    (rank as u64 + 1) << RANK_SHIFT
}

/// An address of shared memory without the block that it names.
pub(super) fn in_block(at: u64) -> u64 {
    at & ((1 << RANK_SHIFT) - 1)
}

/// The block that an access of shared memory reaches.
pub(super) struct Reached<'b> {
    pub(super) shared: &'b mut Shared,
    pub(super) objects: &'b mut Objects,
    pub(super) undefined: &'b mut Bytes,
    /// Of the cluster.
    pub(super) clocks: &'b mut Clocks,
    /// The address there.
    pub(super) at: u64,
    /// What makes it a generic one, which no other block has.
    pub(super) base: u64,
    pub(super) is_other: bool,
}

impl Block<'_> {
    /// The block of an address of shared memory that a warp accesses.
    #[inline(always)]
    pub(super) fn reach(&mut self, warp: usize, at: u64) -> Result<Reached<'_>, String> {
        if at >> RANK_SHIFT != 0 {
            return self.reach_named(warp, at);
        }
        Ok(Reached {
            shared: &mut self.shared,
            objects: &mut self.objects,
            undefined: &mut self.undefined,
            clocks: &mut self.clocks,
            at,
            base: self.base,
            is_other: false,
        })
    }

    /// The same of an address that may name a block.
    #[cold]
    fn reach_named(&mut self, warp: usize, at: u64) -> Result<Reached<'_>, String> {
        let named = (at >> RANK_SHIFT) as usize - 1;
        let size = self.launch.clusters.size();
        if named == self.rank {
            return self.reach(warp, in_block(at));
        }
        let Some(Some(other)) = self.peers.get_mut(named) else {
            return Err(format!(
                "accesses {at:#x} of shared memory, which is in no block of the cluster: it has {size}"
            ));
        };
        if other.has_ended {
            let [x, y, z] = other.index;
            return Err(format!(
                "accesses shared memory of block ({x}, {y}, {z}) of its cluster, which has ended: a barrier of the cluster is missing before its end"
            ));
        }
        let by = self.clocks.by(warp);
        let visit = (by.warp, by.now);
        other.visits.insert(visit.0, visit.1);
        Ok(Reached {
            shared: &mut other.shared,
            objects: &mut other.objects,
            undefined: &mut other.undefined,
            clocks: &mut self.clocks,
            at: in_block(at),
            base: SHARED_WINDOW | rank_bits(named),
            is_other: true,
        })
    }

    /// What is undefined at an address of shared memory: the bytes of its block, and the address there.
    pub(super) fn undefined_at(&mut self, at: usize) -> (&mut Bytes, usize) {
        let named = (at as u64 >> RANK_SHIFT) as usize;
        match self.peers.get_mut(named.wrapping_sub(1)) {
            Some(Some(other)) if named > 0 => (&mut other.undefined, in_block(at as u64) as usize),
            _ if named == self.rank + 1 => (&mut self.undefined, in_block(at as u64) as usize),
            _ => (&mut self.undefined, at),
        }
    }

    /// The same address in other blocks of the cluster, whose bits a mask has; where it is without one.
    pub(super) fn targets(&self, at: u64, blocks: Option<u32>) -> Result<Vec<u64>, String> {
        let size = self.launch.clusters.size();
        match blocks {
            None => Ok(vec![at]),
            Some(blocks) if blocks >> size != 0 => Err(format!(
                "the mask {blocks:#x} names block {} of a cluster of {size}",
                31 - blocks.leading_zeros()
            )),
            Some(blocks) => {
                Ok(crate::lanes::each(blocks).map(|rank| rank_bits(rank) | in_block(at)).collect())
            }
        }
    }

    /// Why the block may not end yet, if another may still access its shared memory.
    pub(super) fn visitor(&self) -> Option<String> {
        let clusters = &self.launch.clusters;
        let knows = |warp: u8, time: u32| {
            (0..clusters.warps).any(|own| {
                let by = self.clocks.by(own);
                self.clocks.knows(by.warp, warp, time)
            })
        };
        let (warp, _) = self.visits.iter().find(|(warp, time)| !knows(**warp, **time))?;
        let rank = usize::from(*warp) / clusters.stride;
        let [x, y, z] = clusters.index(self.cluster, rank);
        Some(format!(
            "the block ends while block ({x}, {y}, {z}) of its cluster may still access its shared memory: a barrier of the cluster is missing before its end"
        ))
    }
}
