//! Shared memory of a block: bytes, and which warp touched which word since the last barrier.

/// What is known of a word.
#[derive(Clone, Copy, Default)]
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
}

const SEVERAL: u8 = u8::MAX;

pub(crate) struct Shared {
    bytes: Vec<u8>,
    marks: Vec<Mark>,
    limit: u64,
    /// Barriers so far, from 1.
    epoch: u32,
    /// Words that were touched, from the first on.
    used: usize,
    filling: u8,
    /// A read of bytes that nobody wrote.
    pub(crate) unwritten: Option<u64>,
}

impl Shared {
    pub(crate) fn new(limit: u64, filling: u8) -> Shared {
        Shared { bytes: vec![], marks: vec![], limit, epoch: 1, used: 0, filling, unwritten: None }
    }

    /// For the next block.
    pub(crate) fn reset(&mut self) {
        let used = self.used.min(self.marks.len());
        self.marks[..used].fill(Mark::default());
        self.bytes[..4 * used].fill(self.filling);
        (self.epoch, self.used, self.unwritten) = (1, 0, None);
    }

    /// All warps of a barrier have come.
    pub(crate) fn barrier(&mut self) {
        self.epoch += 1;
    }

    /// The offset of an access that lies inside and is aligned.
    pub(crate) fn checked(&mut self, address: u64, bytes: u64, verb: &str) -> Result<usize, String> {
        if address.checked_add(bytes).is_none_or(|end| end > self.limit) {
            return Err(format!(
                "{verb} {bytes} bytes at {address:#x} of shared memory, which has {} bytes",
                self.limit
            ));
        }
        if !address.is_multiple_of(bytes) {
            return Err(format!(
                "{verb} {bytes} bytes at {address:#x} of shared memory, which is not a multiple of {bytes}"
            ));
        }
        let words = (address + bytes).div_ceil(4) as usize;
        if words > self.marks.len() {
            let words = (words.next_power_of_two()).max(1024).min((self.limit as usize).div_ceil(4));
            self.marks.resize(words, Mark::default());
            self.bytes.resize(4 * words, self.filling);
        }
        self.used = self.used.max(words);
        Ok(address as usize)
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
        let mut array = [0; N];
        array.copy_from_slice(&self.bytes[at..at + N]);
        array
    }

    #[inline(always)]
    pub(crate) fn put(&mut self, at: usize, bytes: u8, value: u64) {
        let bytes = usize::from(bytes);
        self.bytes[at..at + bytes].copy_from_slice(&value.to_le_bytes()[..bytes]);
    }

    /// Notes a read of an aligned access by a warp.
    #[inline(always)]
    pub(crate) fn note_read(&mut self, at: usize, bytes: usize, warp: u8) -> Result<(), String> {
        let touched = touched(at, bytes);
        for word in at / 4..(at + bytes).div_ceil(4) {
            let mark = &mut self.marks[word];
            if mark.pending & touched != 0 {
                return Err(format!(
                    "reads shared memory at {at:#x}, which a cp.async writes that was not waited for"
                ));
            }
            if mark.filled & touched != touched {
                self.unwritten.get_or_insert(at as u64);
            }
            let mark = &mut self.marks[word];
            if mark.written == self.epoch
                && mark.writer != warp
                && mark.writer != SEVERAL
                && mark.write_bytes & touched != 0
            {
                return Err(format!(
                    "reads shared memory at {at:#x}, which warp {} writes: there is no barrier between them",
                    mark.writer
                ));
            }
            if mark.read == self.epoch && mark.reader != warp {
                mark.reader = SEVERAL;
                mark.read_bytes |= touched;
            } else {
                (mark.read, mark.reader) = (self.epoch, warp);
                mark.read_bytes = touched;
            }
        }
        Ok(())
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
        let touched = touched(at, bytes);
        for word in at / 4..(at + bytes).div_ceil(4) {
            let mark = self.marks[word];
            let written =
                mark.written == self.epoch && mark.writer != warp && mark.write_bytes & touched != 0;
            let read = mark.read == self.epoch && mark.reader != warp && mark.read_bytes & touched != 0;
            if (written && mark.writer != SEVERAL || read) && !same(self) {
                let (other, does) = if read { (mark.reader, "read") } else { (mark.writer, "write") };
                let who = match other {
                    SEVERAL => "other warps".to_owned(),
                    other => format!("warp {other}"),
                };
                let does = if other == SEVERAL { does.to_owned() } else { format!("{does}s") };
                return Err(format!(
                    "writes shared memory at {at:#x}, which {who} {does}: there is no barrier between them"
                ));
            }
            let mark = &mut self.marks[word];
            if mark.written == self.epoch && mark.writer != warp {
                mark.writer = SEVERAL;
                mark.write_bytes |= touched;
            } else if mark.written == self.epoch {
                mark.write_bytes |= touched;
            } else {
                (mark.written, mark.writer, mark.write_bytes) = (self.epoch, warp, touched);
            }
            mark.filled |= touched;
            mark.pending &= !touched;
        }
        Ok(())
    }

    /// Notes that a copy will write here.
    pub(crate) fn note_copy(&mut self, at: usize, bytes: usize) {
        let touched = touched(at, bytes);
        for word in at / 4..(at + bytes).div_ceil(4) {
            self.marks[word].pending |= touched;
        }
    }
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
