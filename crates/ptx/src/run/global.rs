//! Global memory: a region for each buffer, and who has touched which word.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};

use crate::decode::{FIRST_STATIC, REGION_BITS};

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
    pub(crate) written: AtomicBool,
}

/// For each word of a region the block that touched it and which of its bytes; pieces exist where there was a touch.
struct Shadow(Box<[OnceLock<Box<[AtomicU32]>>]>);

/// More than one block.
const SEVERAL: u32 = u32::MAX >> 4;

impl Shadow {
    fn new(words: usize) -> Shadow {
        Shadow((0..words.div_ceil(PIECE)).map(|_| OnceLock::new()).collect())
    }

    #[inline(always)]
    fn get(&self, word: usize) -> u32 {
        match self.0[word / PIECE].get() {
            Some(piece) => piece[word % PIECE].load(Relaxed),
            None => 0,
        }
    }

    /// Notes that a block touched these bytes of a word.
    #[inline(always)]
    fn touch(&self, word: usize, block: u32, bytes: u32) {
        let piece = self.0[word / PIECE].get_or_init(|| (0..PIECE).map(|_| AtomicU32::new(0)).collect());
        let cell = &piece[word % PIECE];
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
            written: AtomicBool::new(false),
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

    /// Notes a read by a block; an error if another block wrote it.
    #[inline(always)]
    pub(crate) fn note_read(&self, offset: u64, bytes: u8, block: u32) -> Result<(), Wrong> {
        let (first, count) = (offset as usize / 4, usize::from(bytes).div_ceil(4));
        let touched = touched(offset, bytes);
        for word in first..first + count {
            let writer = self.writers.get(word);
            if writer != 0 && writer >> 4 != block && writer & touched != 0 && writer >> 4 != SEVERAL {
                return Err(format!(
                    "reads bytes {offset} to {} of {}, which block number {} of the same launch writes: \
                     the result depends on the order of blocks",
                    offset + u64::from(bytes) - 1,
                    self.name,
                    (writer >> 4) - 1
                ));
            }
            self.readers.touch(word, block, touched);
        }
        Ok(())
    }

    /// Notes a write by a block, before it is done; an error if another block read it or wrote something else.
    #[inline(always)]
    pub(crate) fn note_write(&self, offset: u64, bytes: u8, value: u64, block: u32) -> Result<(), Wrong> {
        let (first, count) = (offset as usize / 4, usize::from(bytes).div_ceil(4));
        let touched = touched(offset, bytes);
        for word in first..first + count {
            let foreign = |mark: u32| mark != 0 && mark >> 4 != block && mark & touched != 0;
            let (writer, reader) = (self.writers.get(word), self.readers.get(word));
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
            self.writers.touch(word, block, touched);
        }
        Ok(())
    }
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

/// All buffers of a launch.
pub(crate) struct Global {
    /// Arguments; region a is at (1 + a) << REGION_BITS.
    pub(crate) buffers: Vec<Region>,
    pub(crate) statics: Vec<Region>,
    /// Whether blocks that meet in a word are noted.
    pub(crate) watched: bool,
}

impl Global {
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
    pub(crate) fn checked(&self, address: u64, bytes: u64, verb: &str) -> Result<(&Region, u64), Wrong> {
        let Some((region, offset)) = self.region(address) else {
            // just below a buffer is an offset below zero of it
            let above = ((address >> REGION_BITS) + 1) << REGION_BITS;
            let below = self.region(above).filter(|_| above - address <= 1 << 34);
            return Err(match (address, below) {
                (0, _) => format!("{verb} address 0: the pointer is null"),
                (_, Some((region, _))) if address >> REGION_BITS != 0 || above - address <= 1 << 32 => {
                    format!(
                        "{verb} {bytes} bytes {} bytes before the start of {}",
                        above - address,
                        region.name
                    )
                }
                _ if address < 1 << 32 => format!("{verb} address {address:#x}, near the null pointer"),
                _ => format!("{verb} address {address:#x}, which is in no buffer"),
            });
        };
        if offset.checked_add(bytes).is_none_or(|end| end > region.bytes) {
            // an offset below zero of the next buffer
            let beyond = (1u64 << REGION_BITS) - offset;
            let next = self.region(((address >> REGION_BITS) + 1) << REGION_BITS);
            if let Some((next, _)) = next
                && beyond <= 1 << 34
            {
                return Err(format!("{verb} {bytes} bytes {beyond} bytes before the start of {}", next.name));
            }
            return Err(format!(
                "{verb} {bytes} bytes at byte {offset} of {}, which has {} bytes",
                region.name, region.bytes
            ));
        }
        if !offset.is_multiple_of(bytes) {
            return Err(format!(
                "{verb} {bytes} bytes at byte {offset} of {}, which is not a multiple of {bytes}",
                region.name
            ));
        }
        Ok((region, offset))
    }
}
