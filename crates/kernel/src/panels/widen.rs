//! From codes in few bits to FP32 numbers, in registers.
//!
//! A word holds codes of several vectors, each at the upper end of its cell. Shifted to the upper end of the word, a code
//! has its sign in place; an arithmetic shift brings its exponent to that of FP32, a mask leaves exponent and fraction,
//! and a multiplication by a power of two gives the exponent the bias of FP32: exact, subnormal numbers included.

use bitmma_formats::{Format, Sign};

use crate::elementwise::power;
use crate::pack::{VECTORS, bytes};
use crate::simd::{Level, Simd, Work, prefetch};

/// Words ahead that are asked for: a page, which no processor reads ahead of by itself.
const AHEAD: usize = 1024;

/// How the codes of a format are kept and widened.
#[derive(Clone, Copy)]
pub(crate) struct Widen {
    /// Whether FP32 has the format's fields.
    pub(crate) fits: bool,
    /// Bits of a cell: 4, 8, 16 or 32.
    pub(crate) cell: u32,
    /// Bits of a code.
    bits: u32,
    shift: i32,
    mask: i32,
    factor: f32,
    /// The least exponent that a number has in the operand's format.
    least: i8,
}

/// Where a vector of codes is: the vector of words among those of a block, and which of the cells.
pub(crate) struct Slot {
    pub(crate) vector: usize,
    pub(crate) index: usize,
}

impl Widen {
    /// For codes of a format of up to 32 bits, read as operands of another.
    pub(crate) fn of(codes: &Format, operand: &Format) -> Option<Widen> {
        let cell = [4, 8, 16, 32].into_iter().find(|&cell| codes.bits() <= cell)?;
        let fraction = codes.fraction_bits;
        let exponent = (codes.bits() - codes.padding_bits).saturating_sub(1 + fraction);
        let fits = codes.sign == Sign::Signed
            && exponent <= 8
            && fraction <= 23
            && (1..=127).contains(&codes.bias)
            && operand.min_exponent() >= -126;
        let none = Widen { fits, cell, bits: codes.bits(), shift: 0, mask: 0, factor: 0.0, least: 0 };
        if !fits {
            return Some(none);
        }
        Some(Widen {
            shift: 8 - exponent as i32,
            mask: i32::MIN | (((1u32 << (exponent + fraction)) - 1) << (23 - fraction)).cast_signed(),
            factor: power(127 - codes.bias) as f32,
            least: operand.min_exponent() as i8,
            ..none
        })
    }

    /// Codes in a word.
    fn cells(&self) -> usize {
        32 / self.cell as usize
    }

    /// Vectors of codes whose words are next to each other, with so many vectors to a position.
    pub(crate) fn group(&self, vectors: usize) -> usize {
        self.cells().max(vectors)
    }

    /// Where the vector of codes is that is so far from the first of a block.
    pub(crate) fn slot(&self, vectors: usize, vector: usize) -> Slot {
        // powers of two, all of them: a division takes as long as the rest
        let group = self.group(vectors);
        let words = (group / self.cells()).trailing_zeros();
        let (first, of_group) = (vector >> group.trailing_zeros() << words, vector & (group - 1));
        Slot { vector: first + (of_group & ((1 << words) - 1)), index: of_group >> words }
    }

    /// By how many bits a code is shifted to its cell of a word.
    pub(crate) fn shift_of(&self, index: usize) -> u32 {
        self.cell - self.bits + self.cell * index as u32
    }

    /// The code in a cell of a word.
    pub(crate) fn code_of(&self, word: u32, index: usize) -> u64 {
        let cell = word >> (self.cell as usize * index) << (32 - self.cell) >> (32 - self.cell);
        u64::from(cell >> (self.cell - self.bits))
    }

    /// The numbers of the codes in words, `vectors` vectors to a position.
    pub(crate) fn numbers(&self, level: Level, vectors: usize, words: &[i32], values: &mut [f32]) {
        level.run(Widening { widen: self, vectors, words, values, exponents: None });
    }

    /// The same of panels of [`VECTORS`] vectors, and their exponents in bytes as [`Interleaved`](crate::pack::Interleaved)
    /// has them.
    pub(crate) fn elements(&self, level: Level, words: &[i32], values: &mut [f32], exponents: &mut [i32]) {
        level.run(Widening { widen: self, vectors: VECTORS, words, values, exponents: Some(exponents) });
    }

    /// Whether the format is FP32 with fewer bits.
    fn is_cut(&self) -> bool {
        self.shift == 0 && self.factor.to_bits() == 1f32.to_bits()
    }

    /// Groups of `CELLS` × `WORDS` vectors; `CUT` says that the format is FP32 with fewer bits.
    #[inline(always)]
    fn each<S: Simd, const CELLS: usize, const WORDS: usize, const EXPONENTS: bool, const CUT: bool>(
        &self,
        s: S,
        words: &[i32],
        values: &mut [f32],
        exponents: &mut [i32],
    ) {
        let Widen { shift, mask, factor, least, .. } = *self;
        let (shift, mask, by) = (s.i_splat(shift), s.i_splat(mask), s.f_splat(factor));
        let (lanes, cell) = (S::LANES, 32 / CELLS as i32);
        let groups = words.len() / (WORDS * lanes);
        let words = &words[..groups * WORDS * lanes];
        let values = &mut values[..groups * WORDS * CELLS * lanes];
        let positions = if EXPONENTS { groups * WORDS * CELLS / VECTORS } else { 0 };
        let exponents = &mut exponents[..positions * lanes];
        for group in 0..groups {
            let words = &words[group * WORDS * lanes..][..WORDS * lanes];
            let values = &mut values[group * WORDS * CELLS * lanes..][..WORDS * CELLS * lanes];
            let mut numbers = [[s.i_splat(0); CELLS]; WORDS];
            for word in 0..WORDS {
                prefetch(words, word * lanes + AHEAD);
                let codes = s.i_load(&words[word * lanes..]);
                for index in 0..CELLS {
                    let left = 32 - cell * (index as i32 + 1);
                    let top = if left == 0 { codes } else { s.i_shl(left, codes) };
                    let number = match CUT {
                        true => s.f_from_bits(s.i_and(top, mask)),
                        false => s.f_mul(s.f_from_bits(s.i_and(s.i_sar_by(top, shift), mask)), by),
                    };
                    s.f_store(&mut values[(index * WORDS + word) * lanes..], number);
                    numbers[word][index] = s.f_bits(number);
                }
            }
            if EXPONENTS {
                for position in 0..WORDS * CELLS / VECTORS {
                    let mut four = [s.i_splat(0); VECTORS];
                    for vector in 0..VECTORS {
                        let of_group = position * VECTORS + vector;
                        four[vector] = numbers[of_group % WORDS][of_group / WORDS];
                    }
                    let at = (group * (WORDS * CELLS / VECTORS) + position) * lanes;
                    s.i_store(&mut exponents[at..], exponents_of(s, four, least));
                }
            }
        }
    }
}

/// Codes to be widened, with their exponents or without.
struct Widening<'w> {
    widen: &'w Widen,
    vectors: usize,
    words: &'w [i32],
    values: &'w mut [f32],
    exponents: Option<&'w mut [i32]>,
}

impl Work for Widening<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        let Widening { widen, vectors, words, values, exponents } = self;
        let (cell, is_cut) = (widen.cell, widen.is_cut());
        match (cell, exponents) {
            (4, None) => widen.each::<S, 8, 1, false, false>(s, words, values, &mut []),
            (8, None) => widen.each::<S, 4, 1, false, false>(s, words, values, &mut []),
            (16, None) if vectors == VECTORS => {
                widen.each::<S, 2, 2, false, false>(s, words, values, &mut []);
            }
            (16, None) => widen.each::<S, 2, 1, false, false>(s, words, values, &mut []),
            (_, None) => widen.each::<S, 1, 1, false, false>(s, words, values, &mut []),
            (4, Some(exponents)) => widen.each::<S, 8, 1, true, false>(s, words, values, exponents),
            (8, Some(exponents)) => widen.each::<S, 4, 1, true, false>(s, words, values, exponents),
            (16, Some(exponents)) if is_cut => widen.each::<S, 2, 2, true, true>(s, words, values, exponents),
            (16, Some(exponents)) => widen.each::<S, 2, 2, true, false>(s, words, values, exponents),
            (_, Some(exponents)) => widen.each::<S, 1, 4, true, true>(s, words, values, exponents),
        }
    }
}

/// Exponents of FP32 numbers in bytes, none below `least`; that of zero is the smallest there is.
#[inline(always)]
fn exponents_of<S: Simd>(s: S, [first, second, third, fourth]: [S::I; VECTORS], least: i8) -> S::I {
    let byte = |index: u32| s.i_splat((0xffu32 << (8 * index)).cast_signed());
    // each shifted to its byte before it is cut out: cutting and joining are one instruction of AVX-512
    let low = s.i_or(s.i_and(s.i_shr(23, first), byte(0)), s.i_and(s.i_shr(15, second), byte(1)));
    let high = s.i_or(s.i_and(s.i_shr(7, third), byte(2)), s.i_and(s.i_shl(1, fourth), byte(3)));
    let fields = s.i_or(low, high);
    let exponents = s.b_max(s.b_sub(fields, s.i_splat(bytes(127))), s.i_splat(bytes(least)));
    s.b_select_nonzero(fields, exponents, s.i_splat(bytes(i8::MIN)))
}
