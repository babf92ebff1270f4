//! Global memory: a region for each buffer, and which accesses race.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};

use super::clocks::{Agent, By, Kind};
use super::cluster::Clusters;
use super::fault::{Race, Where};
use super::flags::Flags;
use super::flight::{Does, Flights};
use super::guesses::Guesses;
use super::shadow::{ALL, Check, STRONG, Shadow, WRITES};
use crate::decode::decoder::{FIRST_STATIC, REGION_BITS};
use crate::error::{Error, Thread};
use crate::lanes::{LANES, WideLanes, each};
use crate::program::Scope;

/// A buffer. Words are atomic, so that blocks on several threads may share it; no order between them is needed, as blocks
/// that meet in one word are an error.
pub(crate) struct Region {
    pub(crate) name: String,
    words: Box<[AtomicU32]>,
    pub(crate) bytes: u64,
    /// The address of its first byte.
    base: u64,
    touches: Shadow,
    /// Whether reads leave marks.
    pub(super) is_watched: bool,
    pub(crate) written: AtomicBool,
    pub(super) read: AtomicBool,
}

fn no_memory(name: &str, bytes: u64) -> Error {
    Error::Launch(format!("there is not enough memory for {name}, which has {bytes} bytes"))
}

/// Why an access failed.
pub(crate) type Wrong = String;

impl Region {
    /// The buffer at an address; `is_watched`: whether it is read and written, and not by one warp alone. An error if there is no
    /// memory for it.
    pub(crate) fn new(name: String, base: u64, bytes: &[u8], is_watched: bool) -> Result<Region, Error> {
        let mut words: Vec<AtomicU32> = vec![];
        if words.try_reserve_exact(bytes.len().div_ceil(4)).is_err() {
            return Err(no_memory(&name, bytes.len() as u64));
        }
        words.extend(bytes.chunks(4).map(|chunk| {
            let mut word = [0; 4];
            word[..chunk.len()].copy_from_slice(chunk);
            AtomicU32::new(u32::from_le_bytes(word))
        }));
        let words = words.into_boxed_slice();
        Ok(Region {
            name,
            bytes: bytes.len() as u64,
            base,
            touches: Shadow::new(words.len()),
            is_watched,
            written: AtomicBool::new(false),
            read: AtomicBool::new(false),
            words,
        })
    }

    /// An error if there is no memory for the marks of all of its words.
    pub(crate) fn check_marks(&self) -> Result<(), Error> {
        if self.touches.fits() { Ok(()) } else { Err(no_memory(&self.name, self.bytes)) }
    }

    /// Whether it has all bytes of an access. The last word is whole, as memory of a GPU is: where an array ends within it, programs
    /// change a value of 16 bits by exchanging all 32. What they leave behind the array is dropped.
    #[inline(always)]
    fn has(&self, offset: u64, bytes: u64) -> bool {
        offset + bytes <= self.bytes || bytes == 4 && offset < self.bytes && is_aligned(offset, 4)
    }

    /// The bytes, as they are now.
    pub(crate) fn copy_to(&self, bytes: &mut [u8]) {
        for (chunk, word) in bytes.chunks_mut(4).zip(&self.words) {
            let word = word.load(Relaxed).to_le_bytes();
            chunk.copy_from_slice(&word[..chunk.len()]);
        }
    }

    /// The word that holds a byte.
    #[inline(always)]
    pub(crate) fn word(&self, index: usize) -> u32 {
        self.words[index].load(Relaxed)
    }

    /// Aligned 16 bytes inside the region.
    #[inline(always)]
    pub(crate) fn load_16(&self, offset: u64) -> u128 {
        u128::from(self.load(offset, 8)) | u128::from(self.load(offset + 8, 8)) << 64
    }

    /// The aligned 16 bytes that have a byte; behind the end there are zeros.
    pub(super) fn around(&self, offset: u64) -> u128 {
        let first = offset as usize / 16 * 4;
        let words = self.words[first..].iter().take(4).enumerate();
        words.fold(0, |all, (index, word)| all | u128::from(word.load(Relaxed)) << (32 * index))
    }

    fn part(&self, offset: u64, bytes: u8) -> u32 {
        let word = self.words[offset as usize / 4].load(Relaxed);
        match bytes {
            1 => word >> (8 * (offset % 4)) & 0xff,
            2 => word >> (8 * (offset % 4)) & 0xffff,
            _ => word,
        }
    }

    /// An aligned value inside the region.
    #[inline(always)]
    pub(crate) fn load(&self, offset: u64, bytes: u8) -> u64 {
        match bytes {
            4 => self.words[offset as usize / 4].load(Relaxed).into(),
            8 => {
                let at = offset as usize / 4;
                u64::from(self.words[at].load(Relaxed)) | u64::from(self.words[at + 1].load(Relaxed)) << 32
            }
            _ => self.part(offset, bytes).into(),
        }
    }

    #[inline(always)]
    pub(crate) fn store(&self, offset: u64, bytes: u8, value: u64) {
        let at = offset as usize / 4;
        match bytes {
            4 => self.words[at].store(value as u32, Relaxed),
            8 => {
                self.words[at].store(value as u32, Relaxed);
                self.words[at + 1].store((value >> 32) as u32, Relaxed);
            }
            _ => {
                // other blocks may own the other bytes
                let shift = 8 * (offset % 4) as u32;
                let mask = (if bytes == 1 { 0xff } else { 0xffff }) << shift;
                let value = (value as u32) << shift & mask;
                let cell = &self.words[at];
                let mut old = cell.load(Relaxed);
                while let Err(now) = cell.compare_exchange_weak(old, old & !mask | value, Relaxed, Relaxed) {
                    old = now;
                }
            }
        }
    }
}

/// Whether an address is a multiple of a power of two.
#[inline(always)]
pub(crate) fn is_aligned(address: u64, bytes: u64) -> bool {
    address & (bytes - 1) == 0
}

/// All buffers of a launch.
pub(crate) struct Global {
    /// Arguments; region a is at (1 + a) << REGION_BITS, or where this machine has it.
    pub(crate) buffers: Vec<Region>,
    /// Where this machine has them, in order: the address and the buffer.
    pub(crate) hosts: Vec<(u64, usize)>,
    /// Whether they lie there for the kernel, too.
    pub(crate) are_at_hosts: bool,
    pub(crate) statics: Vec<Region>,
    /// Whether accesses of several warps may meet, and the order of warps is the usual one.
    pub(super) looks: bool,
    /// Whether races are errors.
    pub(super) reports: bool,
    /// Whether blocks can order each other: there are strong accesses.
    pub(super) orders_blocks: bool,
    pub(super) clusters: Clusters,
    /// What acquires can see.
    pub(super) flags: Flags,
    /// What bulk copies read and write that nobody has waited for: of buffers that are read and written.
    pub(super) flights: Flights,
    /// The first write after a read of another warp of the block, with nothing between them: whether it matters, other orders show.
    pub(super) doubt: Mutex<Option<(Place, Race)>>,
    /// What first guesses have read, if the kernel may have some: whether it matters, wrong ones show.
    pub(super) guesses: Option<Mutex<Guesses>>,
}

/// The line, thread and block of an access.
pub(super) type Place = (u32, Thread, u32);

/// How an access of global memory meets others.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Access {
    Read,
    Write,
    StrongRead {
        scope: Scope,
    },
    StrongWrite {
        scope: Scope,
        /// Whether it has seen what it changes: it comes after the strong writes that it has met there.
        follows: bool,
    },
}

impl Access {
    fn verb(self) -> &'static str {
        match self {
            Access::Read | Access::StrongRead { .. } => "reads",
            Access::Write | Access::StrongWrite { .. } => "writes",
        }
    }
}

impl Global {
    /// Whether another run has left the same bits.
    pub(super) fn is_same(&self, other: &Global) -> bool {
        let all = self.buffers.iter().chain(&self.statics);
        let same = |(one, other): (&Region, &Region)| {
            // what lies behind the end is dropped
            let keep = |index: usize| match one.bytes - 4 * index as u64 {
                left @ 1..4 => u32::MAX >> (32 - 8 * left),
                _ => u32::MAX,
            };
            (0..one.words.len()).all(|index| (one.word(index) ^ other.word(index)) & keep(index) == 0)
        };
        all.zip(other.buffers.iter().chain(&other.statics)).all(same)
    }

    /// Notes an access of lanes, before it is done: the lanes, the offset of each, and its bytes. An error, with the lane, if it
    /// races. `same`: whether a lane writes what is there already, which does not race with reads, nor with such writes.
    #[inline(always)]
    pub(super) fn note(
        &self,
        memory: &Region,
        access: Access,
        lanes: (u32, impl Fn(usize) -> u64, u8),
        by: By<'_>,
        same: impl Fn(usize) -> bool,
        place: impl Fn(usize) -> Place,
    ) -> Result<(), (usize, Race)> {
        if !self.looks {
            return Ok(());
        }
        let reads = access.verb() == "reads";
        if !memory.is_watched {
            let (own, other) =
                if reads { (&memory.read, &memory.written) } else { (&memory.written, &memory.read) };
            if !own.load(Relaxed) {
                own.store(true, Relaxed);
            }
            if other.load(Relaxed) {
                return Err((0, Global::run_again()));
            }
            if reads {
                return Ok(());
            }
        }
        if !self.reports {
            return Ok(());
        }
        let (mask, offset, bytes) = lanes;
        if self.flights.any() {
            self.meets_copies(memory, access, (mask, &offset, bytes), by, &same)?;
        }
        use Kind::{Read, Write};
        let weak = |all, leaves| Check { all, strong: &[], scope: Scope::All, leaves, follows: false };
        let check = |lane: usize| -> Check {
            match access {
                Access::Read if !self.orders_blocks => weak(&[Write], Read),
                Access::Read => weak(WRITES, Read),
                // what changes nothing races with what others change, as a read does
                Access::Write if memory.is_watched && same(lane) => weak(STRONG, Read),
                Access::Write if !self.orders_blocks => weak(&[Write, Read], Write),
                Access::Write => weak(ALL, Write),
                // strong accesses do not race with each other if the scope of each has both
                Access::StrongRead { scope } => Check {
                    all: &[Write],
                    strong: STRONG,
                    scope,
                    leaves: Kind::strong_read(scope),
                    follows: false,
                },
                Access::StrongWrite { scope, follows } => Check {
                    all: &[Write, Read],
                    strong: &ALL[2..],
                    scope,
                    leaves: Kind::strong_write(scope),
                    follows,
                },
            }
        };
        let own = (by.clocks.cluster, by.warp);
        let found = |lane: usize, (kind, agent): (Kind, Agent), is_seen: bool| {
            if access == Access::Write && kind == Kind::Write && same(lane) {
                return Ok(());
            }
            let race = race(memory, access, (offset(lane), bytes), (kind, agent), (own, &self.clusters));
            if (is_seen || !reads && kind == Kind::Read) && agent.0 == by.clocks.cluster {
                if let Ok(mut doubt) = self.doubt.lock() {
                    doubt.get_or_insert_with(|| (place(lane), race));
                }
                return Ok(());
            }
            Err((lane, race))
        };
        memory.touches.note((mask, &offset, bytes), by, self.orders_blocks, check, found)
    }

    /// An error if an access meets a bulk copy that nobody has waited for.
    #[cold]
    fn meets_copies(
        &self,
        memory: &Region,
        access: Access,
        (mask, offset, bytes): (u32, impl Fn(usize) -> u64, u8),
        by: By<'_>,
        same: impl Fn(usize) -> bool,
    ) -> Result<(), (usize, Race)> {
        let meets: &[Does] = match access {
            Access::Read => &[Does::Writes, Does::Combines],
            Access::StrongRead { .. } => &[Does::Writes],
            Access::Write => &[Does::Reads, Does::Writes, Does::Combines],
            Access::StrongWrite { .. } => &[Does::Reads, Does::Writes],
        };
        for lane in each(mask) {
            let at = offset(lane);
            if let Some(does) = self.flights.meets((memory.base + at, bytes.into()), meets, by)
                && !(access == Access::Write && same(lane))
            {
                let does = match does {
                    Does::Reads => "reads that was not waited for",
                    _ => {
                        "writes that was not waited for (cp.async.bulk.wait_group, without .read, by the thread that copies)"
                    }
                };
                let last = at + u64::from(bytes) - 1;
                let what = format!(
                    "{} bytes {at} to {last} of {}, which a bulk copy {does}",
                    access.verb(),
                    memory.name
                );
                return Err((lane, Race::without_other(what)));
            }
        }
        Ok(())
    }

    /// The race of a first guess with an atomic operation of another warp, though both count as strong.
    pub(super) fn race_of_guess(&self, memory: &Region, place: (u64, u8), other: Agent, by: By<'_>) -> Race {
        let own = (by.clocks.cluster, by.warp);
        race(memory, Access::Read, place, (Kind::Strong, other), (own, &self.clusters))
    }

    /// Whether copies of a buffer are kept until they are waited for.
    pub(super) fn keeps_copies(&self, memory: &Region) -> bool {
        self.looks && self.reports && memory.is_watched
    }

    /// Ends a run that has to watch reads, too; nobody sees it.
    #[cold]
    fn run_again() -> Race {
        "reads what is written".into()
    }

    /// Buffers that must be watched, and are not: they are read and written.
    pub(crate) fn unwatched(&self) -> Vec<usize> {
        let both =
            |memory: &Region| !memory.is_watched && memory.read.load(Relaxed) && memory.written.load(Relaxed);
        let all = self.buffers.iter().chain(&self.statics).enumerate();
        all.filter(|(_, memory)| self.looks && both(memory)).map(|(index, _)| index).collect()
    }

    /// Bytes of all buffers and variables.
    pub(super) fn bytes(&self) -> u64 {
        self.buffers.iter().chain(&self.statics).map(|memory| memory.bytes).sum()
    }

    /// Numbers of the buffers whose reads are watched.
    pub(crate) fn watched(&self) -> std::collections::BTreeSet<usize> {
        let all = self.buffers.iter().chain(&self.statics).enumerate();
        all.filter(|(_, memory)| memory.is_watched).map(|(index, _)| index).collect()
    }

    /// The region of an address, and the offset in it.
    #[inline(always)]
    pub(crate) fn region(&self, address: u64) -> Option<(&Region, u64)> {
        let number = address >> REGION_BITS;
        let region = match number {
            _ if self.are_at_hosts => return self.at_host(address).or_else(|| self.static_at(address)),
            0 => None,
            1..FIRST_STATIC => self.buffers.get(number as usize - 1),
            _ => self.statics.get((number - FIRST_STATIC) as usize),
        };
        match region {
            Some(region) => Some((region, address & ((1 << REGION_BITS) - 1))),
            None => self.at_host(address),
        }
    }

    /// The same of an address of this machine.
    #[cold]
    fn at_host(&self, address: u64) -> Option<(&Region, u64)> {
        let last = self.hosts.partition_point(|(start, _)| *start <= address).checked_sub(1)?;
        let (start, buffer) = self.hosts[last];
        let region = &self.buffers[buffer];
        (address - start < region.bytes).then_some((region, address - start))
    }

    /// The same of a variable, where buffers are at addresses of this machine.
    #[cold]
    fn static_at(&self, address: u64) -> Option<(&Region, u64)> {
        let number = (address >> REGION_BITS).checked_sub(FIRST_STATIC)?;
        Some((self.statics.get(number as usize)?, address & ((1 << REGION_BITS) - 1)))
    }

    /// The region and offset of an access, which lies in it and is aligned.
    #[inline(always)]
    pub(crate) fn checked(&self, address: u64, bytes: u64, verb: &str) -> Result<(&Region, u64), Wrong> {
        match self.region(address) {
            Some((region, offset)) if region.has(offset, bytes) && is_aligned(offset, bytes) => {
                Ok((region, offset))
            }
            found => Err(self.wrong(found, (address, bytes), verb)),
        }
    }

    /// The buffer that all lanes access, and its address, if there is one, and they lie in it and are aligned.
    #[inline(always)]
    pub(crate) fn together(&self, mask: u32, addresses: &WideLanes, size: u64) -> Option<(&Region, u64)> {
        let first = addresses[mask.trailing_zeros() as usize % LANES];
        let (memory, offset) = self.region(first)?;
        let base = first - offset;
        let last = memory.bytes.checked_sub(size)?;
        let good = each(mask).all(|lane| {
            let offset = addresses[lane].wrapping_sub(base);
            offset <= last && is_aligned(offset, size)
        });
        good.then_some((memory, base))
    }

    /// Why an access is an error.
    #[cold]
    fn wrong(&self, found: Option<(&Region, u64)>, (address, bytes): (u64, u64), verb: &str) -> Wrong {
        let next = ((address >> REGION_BITS) + 1) << REGION_BITS;
        // just below a buffer is an offset below zero of it
        let before = |region: &Region| {
            format!("{verb} {bytes} bytes {} bytes before the start of {}", next - address, region.name)
        };
        let next_region = self.region(next).map(|(region, _)| region).filter(|_| next - address <= 1 << 34);
        match (found, next_region) {
            (None, _) if address >= 1 << 12 && self.are_at_hosts => self.wrong_at_hosts(address, verb),
            (None, _) if address == 0 => format!("{verb} address 0: the pointer is null"),
            (None, Some(region)) if address >> REGION_BITS != 0 || next - address <= 1 << 32 => {
                before(region)
            }
            (None, _) if address < 1 << 32 => format!("{verb} address {address:#x}, near the null pointer"),
            (None, _) => format!("{verb} address {address:#x}, which is in no buffer"),
            (Some((region, offset)), next) if offset + bytes > region.bytes => match next {
                Some(next) => before(next),
                None => format!(
                    "{verb} {bytes} bytes at byte {offset} of {}, which has {} bytes",
                    region.name, region.bytes
                ),
            },
            (Some((region, offset)), _) => format!(
                "{verb} {bytes} bytes at byte {offset} of {}, which is not a multiple of {bytes}",
                region.name
            ),
        }
    }
}

impl Global {
    /// The same of an address of this machine that is in no buffer, with the buffer that is near.
    #[cold]
    fn wrong_at_hosts(&self, address: u64, verb: &str) -> Wrong {
        let next = self.hosts.partition_point(|(start, _)| *start <= address);
        let behind = next.checked_sub(1).map(|last| self.hosts[last]);
        let behind = behind.map(|(start, buffer)| (address - start, &self.buffers[buffer]));
        let before = self.hosts.get(next).map(|(start, buffer)| (start - address, &self.buffers[*buffer]));
        let near = 1 << 12;
        let place = match (behind, before) {
            (Some((offset, region)), _) if offset < region.bytes + near => {
                format!(": it would be byte {offset} of {}, which has {} bytes", region.name, region.bytes)
            }
            (_, Some((distance, region))) if distance < near => {
                format!(": it is {distance} bytes before the start of {}", region.name)
            }
            _ => String::new(),
        };
        format!("{verb} address {address:#x}, which is in no buffer{place}")
    }
}

/// Why an access races.
#[cold]
fn race(
    memory: &Region,
    access: Access,
    (offset, bytes): (u64, u8),
    (kind, agent): (Kind, Agent),
    (by, clusters): (Agent, &Clusters),
) -> Race {
    let place =
        format!("{} bytes {offset} to {} of {}", access.verb(), offset + u64::from(bytes) - 1, memory.name);
    let does = if kind.reads() { "reads" } else { "writes" };
    let [own, other] = [by.1, agent.1].map(|warp| usize::from(warp) / clusters.stride);
    let number = clusters.number(u64::from(agent.0 - 1), other);
    let what = if agent.0 == by.0 && own == other {
        let warp = usize::from(agent.1) % clusters.stride;
        format!("{place}, which warp {warp} of the same block {does}: there is no barrier between them")
    } else if agent.0 == by.0 {
        let why = match access {
            Access::StrongRead { .. } | Access::StrongWrite { .. } if kind.scope().is_some() => {
                "the scope of one of them is .cta, which has one block"
            }
            _ => "there is no barrier between them",
        };
        format!("{place}, which block number {number} of the same cluster {does}: {why}")
    } else {
        let too = if does == access.verb() { " too" } else { "" };
        format!(
            "{place}, which block number {number} of the same launch {does}{too}: the result depends on the order of blocks"
        )
    };
    let (address, bytes) = (memory.base + offset, bytes.into());
    Race { what, other: Some(Where { writes: !kind.reads(), agent, address, bytes }) }
}
