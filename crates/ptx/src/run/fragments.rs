//! Fragments: where the elements of matrices are in the registers of a warp (PTX ISA, "Matrix Fragments for mma").
//!
//! A register holds, for eight lines, four words of each: lane 4·i + j has word j of line i. Elements of less than 32 bits fill words
//! from the lowest bit on. Accumulators of 32 bits and more lie two by two in a line, in two registers.

use std::ops::Range;

use bitmma_engine::Codes;

use crate::lanes::{LANES, Registers};
use crate::program::Slot;

/// What a fragment is of.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Part {
    /// Rows of A, or columns of B, along K.
    Operand,
    /// Rows of C and D, along N.
    Accumulator,
}

/// Lines of a matrix.
#[derive(Clone)]
pub(super) struct Elements {
    part: Part,
    pub(super) lines: usize,
    /// Elements of each.
    pub(super) length: usize,
    /// Of an element.
    pub(super) bits: usize,
    /// The logarithm of the elements of a word, and words of a line.
    packed: u32,
    pitch: usize,
    words: Words,
}

/// Elements in words of 32 bits, or of 64 where an element has as many.
#[derive(Clone)]
enum Words {
    Narrow(Vec<u32>),
    Wide(Vec<u64>),
}

impl Elements {
    pub(super) fn zeros(part: Part, bits: usize, (lines, length): (usize, usize)) -> Elements {
        let words = match bits {
            64 => Words::Wide(vec![0; lines * length]),
            _ => Words::Narrow(vec![0; lines * length * bits / 32]),
        };
        let packed = (32 / bits).max(1).ilog2();
        Elements { part, lines, length, bits, packed, pitch: length >> packed, words }
    }

    /// Puts a fragment of `lines` lines where its first element is at a line and a place in it.
    #[inline(always)]
    pub(super) fn put(&mut self, from: &Registers, fragment: &[Slot], lines: usize, at: (usize, usize)) {
        for (register, slot) in fragment.iter().enumerate() {
            let place = self.place(register, lines, at);
            match (slot, &mut self.words) {
                (Slot::Word(word, _), Words::Narrow(words)) => place.put(from.word(*word), words),
                (Slot::Wide(wide), Words::Wide(words)) => place.put(from.wide(*wide), words),
                _ => {}
            }
        }
    }

    /// Takes a fragment from there.
    #[inline(always)]
    pub(super) fn take(&self, to: &mut Registers, fragment: &[Slot], lines: usize, at: (usize, usize)) {
        for (register, slot) in fragment.iter().enumerate() {
            let place = self.place(register, lines, at);
            match (slot, &self.words) {
                (Slot::Word(word, _), Words::Narrow(words)) => {
                    place.take(&mut to.words[word.0 as usize], words);
                }
                (Slot::Wide(wide), Words::Wide(words)) => place.take(&mut to.wides[wide.0 as usize], words),
                _ => {}
            }
        }
    }

    /// Where a register of a fragment is among the words.
    #[inline(always)]
    fn place(&self, register: usize, lines: usize, (line, at): (usize, usize)) -> Place {
        // one, two or four groups of eight lines
        let groups = lines / 8;
        let shift = groups.ilog2();
        let (pair, step) = match self.part {
            Part::Accumulator if self.packed == 0 => (register / 2, 2),
            _ => (register, 1),
        };
        let (line, along) = (line + (pair & (groups - 1)) * 8, (pair >> shift) * 4 * step + register % step);
        Place { first: line * self.pitch + (at >> self.packed) + along, pitch: self.pitch, step }
    }

    /// Puts 16 bytes: elements of one line from a place on.
    #[inline(always)]
    pub(super) fn put_along(&mut self, bytes: [u8; 16], (line, at): (usize, usize)) {
        let Words::Narrow(words) = &mut self.words else { return };
        let to = &mut words[line * self.pitch + (at >> self.packed)..][..4];
        for (word, four) in to.iter_mut().zip(bytes.as_chunks::<4>().0) {
            *word = u32::from_le_bytes(*four);
        }
    }

    /// Puts twice 16 bytes: elements of 16 bits of eight lines from one on, at a place and at the next.
    #[inline(always)]
    pub(super) fn put_across(&mut self, bytes: [[u8; 16]; 2], (line, at): (usize, usize)) {
        let Words::Narrow(words) = &mut self.words else { return };
        let code = |at: usize, element: usize| {
            u32::from(u16::from_le_bytes([bytes[at][2 * element], bytes[at][2 * element + 1]]))
        };
        for element in 0..8 {
            words[(line + element) * self.pitch + at / 2] = code(0, element) | code(1, element) << 16;
        }
    }

    /// The words of a line.
    pub(super) fn words_of(&self, line: usize) -> Vec<u64> {
        let range = line * self.pitch..(line + 1) * self.pitch;
        match &self.words {
            Words::Narrow(words) => words[range].iter().map(|word| u64::from(*word)).collect(),
            Words::Wide(words) => words[range].to_vec(),
        }
    }

    /// Sets a word of a line.
    pub(super) fn set_word(&mut self, line: usize, word: usize, value: u64) {
        let at = line * self.pitch + word;
        match &mut self.words {
            Words::Narrow(words) => words[at] = value as u32,
            Words::Wide(words) => words[at] = value,
        }
    }

    /// Copies some elements of every line of another matrix alike from one place to another one.
    pub(super) fn copy(&mut self, other: &Elements, (from, to): (usize, usize), count: usize) {
        let [from, to, count] = [from, to, count].map(|elements| elements >> self.packed);
        if let (Words::Narrow(words), Words::Narrow(other)) = (&mut self.words, &other.words) {
            for (line, other) in words.chunks_exact_mut(self.pitch).zip(other.chunks_exact(self.pitch)) {
                line[to..to + count].copy_from_slice(&other[from..from + count]);
            }
        }
    }

    /// Turns the signs of some elements of every line.
    pub(super) fn negate(&mut self, from: usize, count: usize) {
        let Words::Narrow(words) = &mut self.words else { return };
        let sign = (0..32 / self.bits).fold(0, |sign, element| sign | 1 << (self.bits * (element + 1) - 1));
        for line in words.chunks_exact_mut(self.pitch) {
            line[from >> self.packed..(from + count) >> self.packed]
                .iter_mut()
                .for_each(|word| *word ^= sign);
        }
    }

    /// Makes all zero.
    pub(super) fn clear(&mut self) {
        match &mut self.words {
            Words::Narrow(words) => words.fill(0),
            Words::Wide(words) => words.fill(0),
        }
    }

    /// Whether the first elements of each line are the same.
    pub(super) fn same(&self, other: &Elements, count: usize) -> bool {
        fn alike<T: PartialEq>(one: &[T], other: &[T], pitch: usize, count: usize) -> bool {
            one.chunks_exact(pitch).zip(other.chunks_exact(pitch)).all(|(a, b)| a[..count] == b[..count])
        }
        let count = count >> self.packed;
        match (&self.words, &other.words) {
            (Words::Narrow(one), Words::Narrow(other)) => alike(one, other, self.pitch, count),
            (Words::Wide(one), Words::Wide(other)) => alike(one, other, self.pitch, count),
            _ => false,
        }
    }

    /// The codes, line by line.
    pub(super) fn codes(&self) -> Codes {
        Elements::together(&[vec![self]], self.length)
    }

    /// The codes of the first elements of each line of a grid of matrices alike, line by line.
    pub(super) fn together(grid: &[Vec<&Elements>], count: usize) -> Codes {
        let Some(first) = grid.first().and_then(|row| row.first()) else { return Codes::U8(vec![]) };
        let (pitch, count) = (first.pitch, count >> first.packed);
        let size = grid.iter().map(Vec::len).sum::<usize>() * first.lines * count;
        let each = |put: &mut dyn FnMut(&Words, Range<usize>)| {
            for row in grid {
                for line in 0..first.lines {
                    row.iter().for_each(|one| put(&one.words, line * pitch..line * pitch + count));
                }
            }
        };
        let narrow = |put: &mut dyn FnMut(&[u32])| {
            each(&mut |words, line| {
                if let Words::Narrow(words) = words {
                    put(&words[line]);
                }
            });
        };
        match first.bits {
            64 => {
                let mut codes = Vec::with_capacity(size);
                each(&mut |words, line| {
                    if let Words::Wide(words) = words {
                        codes.extend_from_slice(&words[line]);
                    }
                });
                Codes::U64(codes)
            }
            32 => {
                let mut codes = Vec::with_capacity(size);
                narrow(&mut |words| codes.extend_from_slice(words));
                Codes::U32(codes)
            }
            16 => {
                let mut codes = Vec::with_capacity(2 * size);
                narrow(&mut |words| {
                    let first = codes.len();
                    codes.resize(first + 2 * words.len(), 0);
                    for ([low, high], word) in codes[first..].as_chunks_mut().0.iter_mut().zip(words) {
                        (*low, *high) = (*word as u16, (word >> 16) as u16);
                    }
                });
                Codes::U16(codes)
            }
            bits @ (1 | 4) => {
                let mut codes = Vec::with_capacity(size * 32 / bits);
                let element = |word: u32, at: usize| (word >> (bits * at)) as u8 & (u8::MAX >> (8 - bits));
                narrow(&mut |words| {
                    codes.extend(words.iter().flat_map(|word| (0..32 / bits).map(|at| element(*word, at))));
                });
                Codes::U8(codes)
            }
            _ => {
                let mut codes = Vec::with_capacity(4 * size);
                narrow(&mut |words| {
                    let first = codes.len();
                    codes.resize(first + 4 * words.len(), 0);
                    for (four, word) in codes[first..].as_chunks_mut().0.iter_mut().zip(words) {
                        *four = word.to_le_bytes();
                    }
                });
                Codes::U8(codes)
            }
        }
    }

    /// Takes all lines from codes of a larger matrix, from a line and a place in it on; `length`: elements of its lines.
    pub(super) fn set(&mut self, codes: &Codes, length: usize, (line, at): (usize, usize)) {
        fn whole<T: Copy>(to: &mut [T], codes: &[T], from: usize) {
            to.copy_from_slice(&codes[from..from + to.len()]);
        }
        let (pitch, bits, packed) = (self.pitch, self.bits, 1 << self.packed);
        for index in 0..self.lines {
            let (from, to) = ((line + index) * length + at, index * pitch..(index + 1) * pitch);
            match (codes, &mut self.words) {
                (Codes::U64(codes), Words::Wide(words)) => whole(&mut words[to], codes, from),
                (Codes::U32(codes), Words::Narrow(words)) => whole(&mut words[to], codes, from),
                (codes, Words::Narrow(words)) => {
                    for (place, word) in words[to].iter_mut().enumerate() {
                        let code = |element| codes.get(from + place * packed + element) as u32;
                        *word = (0..packed).fold(0, |word, element| word | code(element) << (bits * element));
                    }
                }
                _ => {}
            }
        }
    }
}

/// Eight lines of four words, some words apart.
#[derive(Clone, Copy)]
struct Place {
    first: usize,
    pitch: usize,
    step: usize,
}

impl Place {
    #[inline(always)]
    fn put<T: Copy>(self, lanes: &[T; LANES], words: &mut [T]) {
        for (row, four) in lanes.chunks_exact(4).enumerate() {
            let line = &mut words[self.first + row * self.pitch..][..3 * self.step + 1];
            for (index, word) in four.iter().enumerate() {
                line[index * self.step] = *word;
            }
        }
    }

    #[inline(always)]
    fn take<T: Copy>(self, lanes: &mut [T; LANES], words: &[T]) {
        for (row, four) in lanes.chunks_exact_mut(4).enumerate() {
            let line = &words[self.first + row * self.pitch..][..3 * self.step + 1];
            for (index, word) in four.iter_mut().enumerate() {
                *word = line[index * self.step];
            }
        }
    }
}
