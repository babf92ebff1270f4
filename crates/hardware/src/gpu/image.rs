//! Where the codes of a tile stand in the words that travel to a GPU and back.
//!
//! A kernel knows nothing of rows and columns: thread t takes its registers from fixed places of the
//! tile's words and puts its results to fixed places. Which element that is, is decided here, on the
//! host, by one formula per operand, so that it can be tested without a GPU.

use std::ops::Range;

use bitmma_engine::formats::Format;
use bitmma_engine::{Error, Matrix, Operands};

/// A register of a thread, and the bit of it where a code begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RegisterBit {
    /// The thread within the tile's block.
    pub thread: usize,
    /// The register of the operand.
    pub register: usize,
    /// The lowest bit of the code.
    pub bit: usize,
}

/// Registers of `bits` bits: register r of thread t stands at r · threads + t, so that neighbors read
/// neighbors.
#[derive(Clone, Copy, Debug)]
pub struct Registers {
    /// Threads that hold the operand.
    pub threads: usize,
    /// Registers of each.
    pub count: usize,
    /// Width of one: 32 or 64.
    pub bits: usize,
}

impl Registers {
    /// Words of 32 bits they take.
    pub fn words(&self) -> usize {
        self.threads * self.count * self.bits / 32
    }

    /// The bit at which a place begins, counted from the first register.
    pub fn offset(&self, place: RegisterBit) -> usize {
        (place.register * self.threads + place.thread) * self.bits + place.bit
    }
}

/// Where each element of one operand stands.
#[derive(Clone, Debug)]
pub struct Placement {
    format: Format,
    shape: (usize, usize, usize),
    /// First bit of each element, row-major, block after block; counted from the tile's first word.
    pub offsets: Vec<u32>,
    /// The words of the tile that the operand takes.
    pub words: Range<usize>,
}

impl Placement {
    /// `shape` is blocks, rows, columns; `offset` gives an element's first bit, counted from `words`.
    pub fn new(
        format: Format,
        shape: (usize, usize, usize),
        words: Range<usize>,
        offset: impl Fn(usize, usize, usize) -> usize,
    ) -> Placement {
        let (blocks, rows, columns) = shape;
        let mut offsets = Vec::with_capacity(blocks * rows * columns);
        for block in 0..blocks {
            for row in 0..rows {
                offsets.extend(
                    (0..columns).map(|column| (words.start * 32 + offset(block, row, column)) as u32),
                );
            }
        }
        Placement { format, shape, offsets, words }
    }

    /// Blocks, rows, columns.
    pub fn shape(&self) -> (usize, usize, usize) {
        self.shape
    }

    /// Bits of one code.
    pub fn width(&self) -> u32 {
        self.format.bits()
    }

    fn write(&self, matrix: &Matrix, tile: &mut [u32]) {
        let width = self.width() as usize;
        for (offset, code) in self.offsets.iter().zip(matrix.iter()) {
            write_bits(tile, *offset as usize, width, code);
        }
    }

    fn read(&self, tile: &[u32]) -> Result<Matrix, Error> {
        let width = self.width();
        let mask = if width == 64 { u64::MAX } else { (1 << width) - 1 };
        let codes = self.offsets.iter().map(|offset| {
            let (word, bit) = ((offset / 32) as usize, offset % 32);
            let high = if bit + width > 32 { u64::from(tile[word + 1]) << 32 } else { 0 };
            (high | u64::from(tile[word])) >> bit & mask
        });
        Matrix::new(self.format, self.shape, codes)
    }
}

/// All operands of an instruction.
#[derive(Clone, Debug)]
pub struct TileLayout {
    /// A, B, C in the words that go in.
    pub inputs: [Placement; 3],
    /// Scale factors of A and B in the words that go in.
    pub scales: Option<[Placement; 2]>,
    /// D in the words that come out.
    pub output: Placement,
    /// The first words that are passed beside the operands; zero at their elements.
    pub background: Vec<u32>,
}

impl TileLayout {
    /// Words of 32 bits that go in for one tile; a multiple of 4, so that every tile begins on 16 bytes.
    pub fn input_words(&self) -> usize {
        let scales = self.scales.iter().flatten();
        let ends = self.inputs.iter().chain(scales).map(|placement| placement.words.end);
        ends.max().unwrap_or(0).max(self.background.len()).next_multiple_of(4)
    }

    /// Words of 32 bits that come out for one tile; a multiple of 4.
    pub fn output_words(&self) -> usize {
        self.output.words.end.next_multiple_of(4)
    }

    /// Writes operands that fit the signature into a tile of zeros.
    pub fn pack(&self, operands: &Operands<'_>, tile: &mut [u32]) {
        let [a, b, c] = &self.inputs;
        tile[..self.background.len()].copy_from_slice(&self.background);
        a.write(operands.a, tile);
        b.write(operands.b, tile);
        if let Some(given) = operands.c {
            c.write(given, tile);
        }
        if let (Some([to_a, to_b]), Some(a), Some(b)) = (&self.scales, operands.scale_a, operands.scale_b) {
            to_a.write(a, tile);
            to_b.write(b, tile);
        }
    }

    /// Reads D from a tile that came out.
    pub fn unpack(&self, tile: &[u32]) -> Result<Matrix, Error> {
        self.output.read(tile)
    }
}

/// Writes `width` bits from bit `offset` on into words that have zeros there.
pub(crate) fn write_bits(words: &mut [u32], offset: usize, width: usize, code: u64) {
    let (word, bit) = (offset / 32, offset % 32);
    let shifted = u128::from(code) << bit;
    words[word] |= shifted as u32;
    if bit + width > 32 {
        words[word + 1] |= (shifted >> 32) as u32;
    }
}

/// Hands out the words of a tile one operand after the other.
#[derive(Default)]
pub(crate) struct Words(usize);

impl Words {
    /// The next `count` words, beginning on a multiple of 4 (16 bytes).
    pub(crate) fn take(&mut self, count: usize) -> Range<usize> {
        let start = self.0.next_multiple_of(4);
        self.0 = start + count;
        start..self.0
    }
}
