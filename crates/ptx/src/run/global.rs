//! Global memory: a region for each buffer, and who has touched which word.

use std::ops::Range;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};

use crate::decode::{FIRST_STATIC, REGION_BITS};
use crate::lanes::{LANES, WideLanes, each};

/// Words of a piece of a shadow.
const PIECE: usize = 4096;

/// A buffer. Words are atomic, so that blocks on several threads may share it; no order between them is needed, as blocks
/// that meet in one word are an error.
pub(crate) struct Region {
    pub(crate) name: String,
    words: Box<[AtomicU32]>,
    pub(crate) bytes: u64,
    writers: Shadow,
    readers: Shadow,
    /// Those that read 16 bytes at a time.
    wide_readers: Shadow,
    pub(crate) written: AtomicBool,
    read: AtomicBool,
}

/// For each word of a region the block that touched it and which of its bytes; pieces exist where there was a touch.
struct Shadow(Box<[OnceLock<Box<[AtomicU32]>>]>);

/// More than one block.
const SEVERAL: u32 = u32::MAX >> 4;

impl Shadow {
    fn new(words: usize) -> Shadow {
        Shadow((0..words.div_ceil(PIECE)).map(|_| OnceLock::new()).collect())
    }

    /// The marks of some words of one access, if any of their piece was touched.
    #[inline(always)]
    fn get(&self, words: &Range<usize>) -> Option<&[AtomicU32]> {
        let piece = self.0[words.start / PIECE].get()?;
        Some(&piece[words.start % PIECE..][..words.len()])
    }

    /// The same, where they are to be touched.
    #[inline(always)]
    fn of(&self, words: &Range<usize>) -> &[AtomicU32] {
        let piece =
            self.0[words.start / PIECE].get_or_init(|| (0..PIECE).map(|_| AtomicU32::new(0)).collect());
        &piece[words.start % PIECE..][..words.len()]
    }
}

/// Notes that a block touched these bytes of a word.
#[inline(always)]
fn touch(cell: &AtomicU32, block: u32, bytes: u32) {
    let mark = block << 4 | bytes;
    let old = cell.load(Relaxed);
    if old == mark {
        return;
    }
    let new = match old >> 4 {
        0 => mark,
        same if same == block => old | bytes,
        _ => SEVERAL << 4 | old & 15 | bytes,
    };
    if new != old {
        cell.store(new, Relaxed);
    }
}

/// Whether a mark is of another block and of one of these bytes.
#[inline(always)]
fn is_foreign(mark: u32, block: u32, bytes: u32) -> bool {
    mark != 0 && mark >> 4 != block && mark & bytes != 0
}

/// Why an access failed.
pub(crate) type Wrong = String;

impl Region {
    pub(crate) fn new(name: String, bytes: &[u8]) -> Region {
        let words: Box<[AtomicU32]> = bytes
            .chunks(4)
            .map(|chunk| {
                let mut word = [0; 4];
                word[..chunk.len()].copy_from_slice(chunk);
                AtomicU32::new(u32::from_le_bytes(word))
            })
            .collect();
        Region {
            name,
            bytes: bytes.len() as u64,
            writers: Shadow::new(words.len()),
            readers: Shadow::new(words.len()),
            wide_readers: Shadow::new(words.len().div_ceil(4)),
            written: AtomicBool::new(false),
            read: AtomicBool::new(false),
            words,
        }
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

    /// Notes a read of up to 16 bytes by a block; an error if another block wrote one.
    #[inline(always)]
    fn note_read(&self, offset: u64, bytes: u8, block: u32) -> Result<(), Wrong> {
        let words = words(offset, bytes);
        let touched = touched(offset, bytes);
        for mark in self.writers.get(&words).into_iter().flatten().map(|cell| cell.load(Relaxed)) {
            if is_foreign(mark, block, touched) && mark >> 4 != SEVERAL {
                return Err(format!(
                    "reads bytes {offset} to {} of {}, which block number {} of the same launch writes: \
                     the result depends on the order of blocks",
                    offset + u64::from(bytes) - 1,
                    self.name,
                    (mark >> 4) - 1
                ));
            }
        }
        match bytes {
            16 => touch(&self.wide_readers.of(&wide(&words))[0], block, touched),
            _ => self.readers.of(&words).iter().for_each(|cell| touch(cell, block, touched)),
        }
        Ok(())
    }

    /// Notes a write by a block, before it is done; an error if another block read it or wrote something else.
    #[inline(always)]
    fn note_write(&self, offset: u64, bytes: u8, value: u64, block: u32) -> Result<(), Wrong> {
        let words = words(offset, bytes);
        let touched = touched(offset, bytes);
        let mark = |of: &Shadow, words: &Range<usize>, word: usize| {
            of.get(words).map_or(0, |cells| cells[word].load(Relaxed))
        };
        let foreign = |mark| is_foreign(mark, block, touched);
        let wide_reader = mark(&self.wide_readers, &wide(&words), 0);
        for word in 0..words.len() {
            let (writer, reader) = (mark(&self.writers, &words, word), mark(&self.readers, &words, word));
            let reader = if foreign(reader) { reader } else { wide_reader };
            if (foreign(writer) && writer >> 4 != SEVERAL || foreign(reader))
                && self.load(offset, bytes) != value
            {
                let (other, does) = if foreign(writer) { (writer, "writes") } else { (reader, "reads") };
                let who = match other >> 4 {
                    SEVERAL => "other blocks".to_owned(),
                    other => format!("block number {}", other - 1),
                };
                return Err(format!(
                    "writes bytes {offset} to {} of {}, which {who} of the same launch {does} too: \
                     the result depends on the order of blocks",
                    offset + u64::from(bytes) - 1,
                    self.name
                ));
            }
        }
        self.writers.of(&words).iter().for_each(|cell| touch(cell, block, touched));
        Ok(())
    }
}

/// The words of an access; it is aligned, so that they are in one piece.
#[inline(always)]
fn words(offset: u64, bytes: u8) -> Range<usize> {
    let first = offset as usize / 4;
    first..first + usize::from(bytes).div_ceil(4)
}

/// Whether an address is a multiple of a power of two.
#[inline(always)]
pub(crate) fn is_aligned(address: u64, bytes: u64) -> bool {
    address & (bytes - 1) == 0
}

/// The bytes of a word that an access touches.
#[inline(always)]
fn touched(offset: u64, bytes: u8) -> u32 {
    match bytes {
        1 => 1 << (offset % 4),
        2 => 3 << (offset % 4),
        _ => 15,
    }
}

/// The 16 bytes that hold the words of an access.
#[inline(always)]
fn wide(words: &Range<usize>) -> Range<usize> {
    words.start / 4..words.start / 4 + 1
}

/// All buffers of a launch.
pub(crate) struct Global {
    /// Arguments; region a is at (1 + a) << REGION_BITS.
    pub(crate) buffers: Vec<Region>,
    pub(crate) statics: Vec<Region>,
    /// How blocks that meet in a word are found.
    pub(crate) watch: Watch,
}

/// Which accesses leave marks, so that blocks that meet in a word are found.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Watch {
    Nothing,
    /// Writes, as long as nothing is read of a buffer that is written.
    Writes,
    All,
}

impl Global {
    /// Notes that lanes read up to 16 bytes each of a buffer; an error, with the lane, if another block wrote some of them.
    #[inline(always)]
    pub(crate) fn note_reads(
        &self,
        memory: &Region,
        (mask, offset): (u32, impl Fn(usize) -> u64),
        bytes: u8,
        block: u32,
    ) -> Result<(), (usize, Wrong)> {
        match self.watch {
            Watch::Nothing => Ok(()),
            Watch::Writes => {
                memory.read.store(true, Relaxed);
                if memory.written.load(Relaxed) { Err((0, Global::run_again())) } else { Ok(()) }
            }
            Watch::All => each(mask).try_for_each(|lane| {
                memory.note_read(offset(lane), bytes, block).map_err(|wrong| (lane, wrong))
            }),
        }
    }

    /// Notes a write, before it is done; an error if another block read or wrote there.
    #[inline(always)]
    pub(crate) fn note_write(
        &self,
        memory: &Region,
        (offset, bytes): (u64, u8),
        value: u64,
        block: u32,
    ) -> Result<(), Wrong> {
        match self.watch {
            Watch::Nothing => Ok(()),
            Watch::Writes if memory.read.load(Relaxed) => {
                memory.written.store(true, Relaxed);
                Err(Global::run_again())
            }
            Watch::Writes | Watch::All => memory.note_write(offset, bytes, value, block),
        }
    }

    /// Ends a run that has to watch reads, too; nobody sees it.
    #[cold]
    fn run_again() -> Wrong {
        "reads what is written".to_owned()
    }

    /// Whether the launch must run again and watch all: one buffer was read and written.
    pub(crate) fn must_run_again(&self) -> bool {
        let both = |memory: &Region| memory.read.load(Relaxed) && memory.written.load(Relaxed);
        self.watch == Watch::Writes && self.buffers.iter().chain(&self.statics).any(both)
    }

    /// The region of an address, and the offset in it.
    #[inline(always)]
    pub(crate) fn region(&self, address: u64) -> Option<(&Region, u64)> {
        let number = address >> REGION_BITS;
        let region = match number {
            0 => None,
            1..FIRST_STATIC => self.buffers.get(number as usize - 1),
            _ => self.statics.get((number - FIRST_STATIC) as usize),
        };
        region.map(|region| (region, address & ((1 << REGION_BITS) - 1)))
    }

    /// The region and offset of an access, which lies in it and is aligned.
    #[inline(always)]
    pub(crate) fn checked(&self, address: u64, bytes: u64, verb: &str) -> Result<(&Region, u64), Wrong> {
        match self.region(address) {
            Some((region, offset)) if offset + bytes <= region.bytes && is_aligned(offset, bytes) => {
                Ok((region, offset))
            }
            found => Err(self.wrong(found, (address, bytes), verb)),
        }
    }

    /// The buffer that all lanes access, and its address, if there is one, and they lie in it and are aligned.
    #[inline(always)]
    pub(crate) fn together(&self, mask: u32, addresses: &WideLanes, size: u64) -> Option<(&Region, u64)> {
        let first = addresses[mask.trailing_zeros() as usize % LANES];
        let (memory, _) = self.region(first)?;
        let base = first >> REGION_BITS << REGION_BITS;
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
