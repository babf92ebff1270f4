//! Shared memory of a block: bytes, and which warp touched which word since the last barrier.

use super::global::is_aligned;

/// What is known of a word, or of each word of a line alike.
#[derive(Clone, Copy, Default, PartialEq)]
struct Mark {
    /// Barriers of the block at the last write and read; 0: never.
    written: u32,
    read: u32,
    /// The warp that did it, or [`SEVERAL`].
    writer: u8,
    reader: u8,
    /// The bytes that were touched then.
    write_bytes: u8,
    read_bytes: u8,
    /// Bytes that hold something.
    filled: u8,
    /// Bytes that a copy will write that nobody has waited for.
    pending: u8,
    /// Whether the words of the line have marks of their own.
    is_split: bool,
}

/// Stands for several warps.
pub(super) const SEVERAL: u8 = u8::MAX;

/// Bytes of a line: as many as one access has at most.
const LINE: usize = 16;

pub(crate) struct Shared {
    bytes: Vec<u8>,
    lines: Vec<Mark>,
    /// Those of the words of lines that are split.
    words: Vec<[Mark; LINE / 4]>,
    limit: u64,
    /// Barriers so far, from 1.
    epoch: u32,
    /// Lines that were touched, from the first on.
    used: usize,
    filling: u8,
    /// A read of bytes that nobody wrote.
    pub(crate) unwritten: Option<u64>,
}

impl Shared {
    pub(crate) fn new(limit: u64, filling: u8) -> Shared {
        let (bytes, lines, words) = (vec![], vec![], vec![]);
        Shared { bytes, lines, words, limit, epoch: 1, used: 0, filling, unwritten: None }
    }

    /// For the next block.
    pub(crate) fn reset(&mut self) {
        self.lines[..self.used].fill(Mark::default());
        self.bytes[..LINE * self.used].fill(self.filling);
        (self.epoch, self.used, self.unwritten) = (1, 0, None);
    }

    /// All warps of a barrier have come.
    pub(crate) fn barrier(&mut self) {
        self.epoch += 1;
    }

    /// The offset of an access that lies inside and is aligned.
    #[inline(always)]
    pub(crate) fn checked(&mut self, address: u64, bytes: u64, verb: &str) -> Result<usize, String> {
        let inside = address.checked_add(bytes).is_some_and(|end| end <= self.limit);
        if !inside || !is_aligned(address, bytes) {
            return Err(self.wrong(address, bytes, verb));
        }
        let lines = (address + bytes).div_ceil(LINE as u64) as usize;
        if lines > self.used {
            self.grow(lines);
        }
        Ok(address as usize)
    }

    /// Why an access is an error.
    #[cold]
    fn wrong(&self, address: u64, bytes: u64, verb: &str) -> String {
        let at = format!("{verb} {bytes} bytes at {address:#x} of shared memory, which");
        match address.checked_add(bytes).is_none_or(|end| end > self.limit) {
            true => format!("{at} has {} bytes", self.limit),
            false => format!("{at} is not a multiple of {bytes}"),
        }
    }

    /// Makes so many lines there.
    #[cold]
    fn grow(&mut self, lines: usize) {
        self.used = lines;
        if lines > self.lines.len() {
            let lines = lines.next_power_of_two().max(256);
            self.lines.resize(lines, Mark::default());
            self.words.resize(lines, Default::default());
            self.bytes.resize(LINE * lines, self.filling);
        }
    }

    /// Does something with the marks of all words of an access, and the bytes of each that it touches.
    #[inline(always)]
    fn each_mark<E>(
        &mut self,
        at: usize,
        bytes: usize,
        mut work: impl FnMut(&mut Mark, u8) -> Result<(), E>,
    ) -> Result<(), E> {
        for line in at / LINE..(at + bytes).div_ceil(LINE) {
            let mark = &mut self.lines[line];
            if bytes >= LINE && !mark.is_split {
                work(mark, 15)?;
                continue;
            }
            let words = &mut self.words[line];
            if !mark.is_split {
                *words = [*mark; LINE / 4];
                mark.is_split = true;
            }
            if bytes >= LINE {
                words.iter_mut().try_for_each(|word| work(word, 15))?;
                if words[1..].iter().all(|word| *word == words[0]) {
                    *mark = words[0];
                }
            } else {
                let first = at % LINE / 4;
                for word in &mut words[first..first + bytes.div_ceil(4)] {
                    work(word, touched(at, bytes))?;
                }
            }
        }
        Ok(())
    }

    #[inline(always)]
    pub(crate) fn get(&self, at: usize, bytes: u8) -> u64 {
        match bytes {
            1 => self.bytes[at].into(),
            2 => u16::from_le_bytes([self.bytes[at], self.bytes[at + 1]]).into(),
            4 => u32::from_le_bytes(self.array(at)).into(),
            _ => u64::from_le_bytes(self.array(at)),
        }
    }

    #[inline(always)]
    pub(crate) fn array<const N: usize>(&self, at: usize) -> [u8; N] {
        *self.bytes[at..].first_chunk().expect("accesses are checked")
    }

    #[inline(always)]
    pub(crate) fn put(&mut self, at: usize, bytes: u8, value: u64) {
        match bytes {
            1 => self.bytes[at] = value as u8,
            2 => self.put_array(at, (value as u16).to_le_bytes()),
            4 => self.put_array(at, (value as u32).to_le_bytes()),
            _ => self.put_array(at, value.to_le_bytes()),
        }
    }

    #[inline(always)]
    pub(crate) fn put_array<const N: usize>(&mut self, at: usize, array: [u8; N]) {
        *self.bytes[at..].first_chunk_mut().expect("accesses are checked") = array;
    }

    /// Notes a read of an aligned access by a warp.
    #[inline(always)]
    pub(crate) fn note_read(&mut self, at: usize, bytes: usize, warp: u8) -> Result<(), String> {
        let epoch = self.epoch;
        let mut all_filled = true;
        let noted = self.each_mark(at, bytes, |mark, touched| {
            let written = mark.written == epoch && mark.writer != warp && mark.write_bytes & touched != 0;
            if mark.pending & touched != 0 || written && mark.writer != SEVERAL {
                return Err(*mark);
            }
            all_filled &= mark.filled & touched == touched;
            if mark.read != epoch {
                (mark.read, mark.reader, mark.read_bytes) = (epoch, warp, touched);
            } else {
                mark.reader = if mark.reader == warp { warp } else { SEVERAL };
                mark.read_bytes |= touched;
            }
            Ok(())
        });
        if !all_filled {
            self.unwritten.get_or_insert(at as u64);
        }
        noted.map_err(|mark| refused_read(at, &mark))
    }

    /// Notes a write of an aligned access by a warp. Warps may write what is there already (`same`): compilers let several
    /// warps store one value.
    #[inline(always)]
    pub(crate) fn note_write(
        &mut self,
        at: usize,
        bytes: usize,
        warp: u8,
        same: impl Fn(&Shared) -> bool,
    ) -> Result<(), String> {
        let epoch = self.epoch;
        let mut conflict = None;
        let _ = self.each_mark(at, bytes, |mark, touched| {
            let written = mark.written == epoch && mark.writer != warp && mark.write_bytes & touched != 0;
            let read = mark.read == epoch && mark.reader != warp && mark.read_bytes & touched != 0;
            if written && mark.writer != SEVERAL || read {
                conflict.get_or_insert((*mark, read));
            }
            if mark.written != epoch {
                (mark.written, mark.writer, mark.write_bytes) = (epoch, warp, touched);
            } else {
                mark.writer = if mark.writer == warp { warp } else { SEVERAL };
                mark.write_bytes |= touched;
            }
            mark.filled |= touched;
            mark.pending &= !touched;
            Ok::<(), ()>(())
        });
        match conflict {
            Some((mark, read)) if !same(self) => Err(refused_write(at, &mark, read)),
            _ => Ok(()),
        }
    }

    /// Notes that a copy will write here.
    #[inline(always)]
    pub(crate) fn note_copy(&mut self, at: usize, bytes: usize) {
        let _ = self.each_mark(at, bytes, |mark, touched| {
            mark.pending |= touched;
            Ok::<(), ()>(())
        });
    }
}

/// Why a warp may not read a word.
#[cold]
fn refused_read(at: usize, mark: &Mark) -> String {
    match mark.pending {
        0 => format!(
            "reads shared memory at {at:#x}, which warp {} writes: there is no barrier between them",
            mark.writer
        ),
        _ => format!("reads shared memory at {at:#x}, which a cp.async writes that was not waited for"),
    }
}

/// Why a warp may not write a word, which another one read or wrote.
#[cold]
fn refused_write(at: usize, mark: &Mark, read: bool) -> String {
    let (other, does) = if read { (mark.reader, "read") } else { (mark.writer, "write") };
    let who = match other {
        SEVERAL => format!("other warps {does}"),
        other => format!("warp {other} {does}s"),
    };
    format!("writes shared memory at {at:#x}, which {who}: there is no barrier between them")
}

/// The bytes of a word that an access touches.
#[inline(always)]
fn touched(at: usize, bytes: usize) -> u8 {
    match bytes {
        1 => 1 << (at % 4),
        2 => 3 << (at % 4),
        _ => 15,
    }
}
