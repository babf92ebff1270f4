//! What all blocks of a launch share while they run.

use std::sync::Mutex;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;

use super::cluster::Clusters;
use super::fault::Where;
use super::global::{Global, Region};
use super::guesses::Wrong;
use super::printed::Printed;
use super::trace::Recorder;
use super::undefined::Following;
use crate::decode::decoder::{FIRST_STATIC, REGION_BITS};
use crate::error::{Error, Thread};
use crate::program::Kernel;

/// What bounds a run.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Turns of the loops of one warp.
    pub turns: u64,
    /// Threads of this machine; 0: as many as it has.
    pub threads: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { turns: 10_000_000, threads: 0 }
    }
}

/// A byte of a buffer, for a run that finds who writes it.
pub(super) struct Witness {
    pub(super) region: String,
    pub(super) offset: u64,
    pub(super) found: Mutex<Option<(u32, Thread)>>,
}

/// An access that a run looks for, and its line and thread.
pub(super) struct Sought {
    pub(super) access: Where,
    pub(super) found: Mutex<Option<(u32, Thread)>>,
}

pub(crate) struct Running<'l> {
    pub(crate) kernel: &'l Kernel,
    pub(crate) global: Global,
    pub(crate) parameters: Vec<u8>,
    pub(crate) grid: [u32; 3],
    pub(crate) clusters: Clusters,
    pub(crate) block: [u32; 3],
    pub(crate) shared_bytes: u64,
    pub(crate) dynamic_shared: u64,
    pub(crate) limits: Limits,
    pub(crate) recorder: Option<Recorder>,
    pub(super) stop: &'l AtomicBool,
    pub(super) witness: Option<Witness>,
    /// Whether a loop may wait for another thread's write.
    pub(super) may_spin: bool,
    pub(super) order: Order,
    /// The threads of errors that are races, and the accesses that they race with.
    pub(super) raced: Mutex<Vec<(Thread, Where)>>,
    /// The earlier access of a race, where that is looked for.
    pub(super) sought: Option<Sought>,
    /// How first guesses are wrong, where what depends on them is looked for.
    pub(super) wrong: Option<Wrong>,
    pub(super) printed: Mutex<Printed>,
    /// Where undefined data is followed.
    pub(super) undefined: Option<Following<'l>>,
}

/// In which order clusters, the blocks of a cluster and the warps of a block run.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Order {
    /// As on a GPU, which runs them side by side: a warp that is to write where others read lets the others come as far. Else one after
    /// the other, each as far as it comes, and accesses are not looked at.
    pub(super) is_together: bool,
    /// From the first on (0), from the last on (1), or mixed in one of many ways.
    pub(super) sequence: u64,
}

impl Order {
    /// That of the run whose results a launch has.
    pub(super) const FIRST: Order = Order { is_together: true, sequence: 0 };

    /// Which of several comes so many after the first.
    pub(super) fn turn_of(self, index: u64, count: u64) -> u64 {
        match self.sequence {
            0 => index,
            1 => count - 1 - index,
            mixed => {
                let seed = mixed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
                let mut step = (seed >> 32) % count;
                while gcd(step, count) != 1 {
                    step += 1;
                }
                ((u128::from(seed) + u128::from(step) * u128::from(index)) % u128::from(count)) as u64
            }
        }
    }
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

impl Running<'_> {
    /// The warp of a block, or the block of a cluster, of several that comes so many after the first.
    pub(super) fn turn_of(&self, index: usize, count: usize) -> usize {
        self.order.turn_of(index as u64, count as u64) as usize
    }

    /// Whether each multiplication of matrices is done where it stands.
    pub(crate) fn multiplies_at_once(&self) -> bool {
        self.recorder.is_some() || self.undefined.is_some()
    }

    pub(crate) fn threads(&self) -> usize {
        self.block.iter().map(|size| *size as usize).product()
    }

    /// Bytes of the parameters; `unit`: of each element.
    pub(super) fn parameter(&self, at: u64, bytes: u64, unit: u64) -> Result<&[u8], String> {
        let has = self.parameters.len();
        let part = at.checked_add(bytes).and_then(|end| self.parameters.get(at as usize..end as usize));
        match part {
            Some(_) if !at.is_multiple_of(unit) => Err(format!(
                "reads {unit} bytes at byte {at} of the parameters, which is not a multiple of {unit}"
            )),
            Some(part) => Ok(part),
            None => Err(format!("reads {bytes} bytes at byte {at} of the parameters, which have {has}")),
        }
    }

    /// Whether an address of global memory is that of a constant.
    pub(crate) fn is_constant(&self, address: u64) -> bool {
        let number = (address >> REGION_BITS).checked_sub(FIRST_STATIC);
        let variable = number.and_then(|number| self.kernel.statics.get(number as usize));
        variable.is_some_and(|variable| variable.is_constant)
    }

    /// Notes that memory is written at an address there; an error if it is constant.
    pub(super) fn writes(&self, memory: &Region, at: u64) -> Result<(), String> {
        if !memory.written.load(Relaxed) {
            if self.is_constant(at) {
                return Err(format!("writes to {}, which is in constant memory", memory.name));
            }
            memory.written.store(true, Relaxed);
        }
        Ok(())
    }

    /// An error if the run was stopped.
    pub(crate) fn look(&self) -> Result<(), Error> {
        if self.stop.load(Relaxed) { Err(Error::Stopped) } else { Ok(()) }
    }

    /// Notes who wrote the byte that is looked for.
    #[inline(always)]
    pub(crate) fn witness(
        &self,
        region: &Region,
        offset: u64,
        bytes: u8,
        line: u32,
        thread: impl Fn() -> Thread,
    ) {
        if let Some(witness) = &self.witness
            && witness.region == region.name
            && (offset..offset + u64::from(bytes)).contains(&witness.offset)
            && let Ok(mut found) = witness.found.lock()
        {
            *found = Some((line, thread()));
        }
    }
}
