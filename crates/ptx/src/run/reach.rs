//! Shared memory that a warp reaches: of its block, or of others of the cluster.

use super::block::Block;
use super::clocks::Clocks;
use super::cluster::{in_block, rank_bits};
use super::objects::Objects;
use super::shared::Shared;
use super::undefined::Bytes;
use crate::decode::decoder::{RANK_SHIFT, SHARED_WINDOW};
use crate::program::Region;

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
        if at >> RANK_SHIFT != self.rank as u64 {
            return self.reach_named(warp, at);
        }
        Ok(Reached {
            shared: &mut self.shared,
            objects: &mut self.objects,
            undefined: &mut self.undefined,
            clocks: &mut self.clocks,
            at: in_block(at),
            base: self.base,
            is_other: false,
        })
    }

    /// The same of an access of some region: of the own block alone unless it says `.shared::cluster`.
    #[inline(always)]
    pub(super) fn reach_in(&mut self, region: Region, warp: usize, at: u64) -> Result<Reached<'_>, String> {
        if region == Region::SharedOfBlock {
            self.own(at)?;
        }
        self.reach(warp, at)
    }

    /// The address in its block of one that must be in the own block's shared memory.
    pub(super) fn own(&self, at: u64) -> Result<u64, String> {
        match (at >> RANK_SHIFT) as usize {
            named if named == self.rank => Ok(in_block(at)),
            named if named < self.launch.clusters.size() => Err(format!(
                "accesses {at:#x} of shared memory, which is in block {named} of the cluster, from block {} by .shared::cta: only .shared::cluster and generic addresses reach other blocks",
                self.rank
            )),
            // of no block: its bytes are counted from the first on
            _ => Ok(at),
        }
    }

    /// The offset of an access of the own block's shared memory that lies inside and is aligned.
    pub(super) fn checked(&mut self, at: u64, bytes: u64, verb: &str) -> Result<usize, String> {
        let at = self.own(at)?;
        self.shared.checked(at, bytes, verb)
    }

    /// The same of an address that may name a block.
    #[cold]
    fn reach_named(&mut self, warp: usize, at: u64) -> Result<Reached<'_>, String> {
        let named = (at >> RANK_SHIFT) as usize;
        let size = self.launch.clusters.size();
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
        if !self.clocks.has_started(warp, named) {
            let [x, y, z] = other.index;
            return Err(format!(
                "accesses shared memory of block ({x}, {y}, {z}) of its cluster, which may not have started: a barrier of the cluster must come first"
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
        let (named, within) = ((at as u64 >> RANK_SHIFT) as usize, in_block(at as u64) as usize);
        match self.peers.get_mut(named) {
            Some(Some(other)) if named != self.rank => (&mut other.undefined, within),
            _ if named == self.rank => (&mut self.undefined, within),
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
        if self.lent > 0 {
            return Some("the block ends while a copy to another block may still read its shared memory: a barrier of the cluster is missing before its end".to_owned());
        }
        if let Some(rank) = self.objects.brought_by_others() {
            let [x, y, z] = clusters.index(self.cluster, rank);
            return Some(format!(
                "the block ends while what block ({x}, {y}, {z}) of its cluster sends to its shared memory was not waited for: a wait for the phase of the mbarrier object is missing before its end"
            ));
        }
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
