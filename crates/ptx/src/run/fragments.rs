//! Fragments: where the elements of matrices are in the registers of a warp (PTX ISA, "Matrix Fragments for mma").
//!
//! A register holds, for eight lines, four words of each: lane 4·i + j has word j of line i. Elements of less than 32 bits fill words
//! from the lowest bit on. Accumulators of 32 bits and more lie two by two in a line, in two registers.

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
        Elements { part, lines, length, bits, words }
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
        let packed = (32 / self.bits).max(1);
        let pitch = self.length / packed;
        let groups = lines / 8;
        let (pair, step) = match self.part {
            Part::Accumulator if packed == 1 => (register / 2, 2),
            _ => (register, 1),
        };
        let (line, along) = (line + pair % groups * 8, pair / groups * 4 * step + register % step);
        Place { first: line * pitch + at / packed + along, pitch, step }
    }

    /// Puts 16 bytes: elements of one line from a place on, or, `across`, of lines from one on at one place.
    #[inline(always)]
    pub(super) fn put_together(&mut self, bytes: [u8; 16], (line, at): (usize, usize), across: bool) {
        let Words::Narrow(words) = &mut self.words else { return };
        let (packed, keep) = (32 / self.bits, u32::MAX >> (32 - self.bits));
        let pitch = self.length / packed;
        let all = u128::from_le_bytes(bytes);
        let four = [all as u32, (all >> 32) as u32, (all >> 64) as u32, (all >> 96) as u32];
        if !across {
            words[line * pitch + at / packed..][..4].copy_from_slice(&four);
            return;
        }
        for element in 0..4 * packed {
            let code = four[element / packed] >> (element % packed * self.bits) & keep;
            words[(line + element) * pitch + at / packed] |= code << (at % packed * self.bits);
        }
    }

    /// Turns all signs.
    pub(super) fn negate(&mut self) {
        let Words::Narrow(words) = &mut self.words else { return };
        let sign = (0..32 / self.bits).fold(0, |sign, element| sign | 1 << (self.bits * (element + 1) - 1));
        words.iter_mut().for_each(|word| *word ^= sign);
    }

    /// The codes, line by line.
    pub(super) fn into_codes(self) -> Codes {
        match (self.words, self.bits) {
            (Words::Wide(words), _) => Codes::U64(words),
            (Words::Narrow(words), 32) => Codes::U32(words),
            (Words::Narrow(words), 16) => {
                let mut codes = vec![0; 2 * words.len()];
                for (codes, word) in codes.chunks_exact_mut(2).zip(words) {
                    (codes[0], codes[1]) = (word as u16, (word >> 16) as u16);
                }
                Codes::U16(codes)
            }
            (Words::Narrow(words), _) => Codes::U8(words.into_iter().flat_map(u32::to_le_bytes).collect()),
        }
    }

    /// D of these codes.
    pub(super) fn of_codes(codes: Codes, bits: usize, (lines, length): (usize, usize)) -> Elements {
        let words = match codes {
            Codes::U64(codes) => Words::Wide(codes),
            Codes::U32(codes) => Words::Narrow(codes),
            Codes::U16(codes) => {
                let word = |codes: &[u16]| u32::from(codes[0]) | u32::from(codes[1]) << 16;
                Words::Narrow(codes.chunks_exact(2).map(word).collect())
            }
            Codes::U8(codes) => {
                let word = |codes: &[u8]| u32::from_le_bytes([0, 1, 2, 3].map(|byte| codes[byte]));
                Words::Narrow(codes.chunks_exact(4).map(word).collect())
            }
        };
        Elements { part: Part::Accumulator, lines, length, bits, words }
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
