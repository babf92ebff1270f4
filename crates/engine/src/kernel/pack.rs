//! Operands taken apart once and laid out as tiles read them.

use bitmma_arithmetic::run::Side;
use bitmma_formats::{BlockScale, Class, decode};

use super::element::{NO_EXPONENT, Numbers, Reader, SPECIAL, Section, kind};
use crate::matrix::{self, Matrix};

/// Rows of a tile.
pub(super) const ROWS: usize = 2;
/// Rows of A packed side by side, and taken through a panel by one task: as many as stay in the nearest cache with
/// what they multiply.
pub(super) const GROUP: usize = 32;
/// Vectors side by side in a tile, so that one vector of bytes covers them.
pub(super) const VECTORS: usize = 4;

/// Columns of the widest panel.
pub(super) const WIDEST: usize = 64;

/// Consecutive elements along K, counted in the order in which they are taken.
#[derive(Clone, Copy, Debug)]
pub(super) struct Range {
    pub(super) first: usize,
    pub(super) length: usize,
}

/// Elements of some lines (rows of A or columns of B) and a block of K: those of one index along K
/// together, in the order in which the model takes them.
pub(super) struct Cells {
    /// Lines side by side.
    pub(super) lines: usize,
    /// Numbers, `lines` for each position along K; 0 for what is not finite.
    pub(super) values: Aligned<f32>,
    /// The exponents of the same.
    pub(super) exponents: Vec<i16>,
    /// Codes of scale factors, `lines` for each position that begins a scale block; empty without.
    pub(super) scales: Vec<u64>,
    /// Elements that share a scale factor.
    pub(super) block: usize,
    /// What is known of each line.
    pub(super) traits: Vec<Traits>,
}

impl Cells {
    /// Positions along K.
    pub(super) fn positions(&self) -> usize {
        self.exponents.len() / self.lines
    }

    /// Code of the scale factor of a line at a position.
    pub(super) fn scale(&self, line: usize, position: usize) -> u64 {
        self.scales[position / self.block * self.lines + line]
    }
}

/// One operand of a product.
pub(super) struct Operand<'o> {
    /// From codes to elements.
    pub(super) reader: Reader<'o>,
    /// The codes.
    pub(super) matrix: &'o Matrix,
    /// The scale factors.
    pub(super) scales: Option<&'o Matrix>,
    /// Format and block size of the scale factors.
    pub(super) scale: Option<BlockScale>,
    /// Which of the matrices.
    pub(super) block: usize,
    /// For each element of a step, the index within the step it comes from.
    pub(super) order: &'o [usize],
}

impl Operand<'_> {
    /// Whether lines are rows (of A) or columns (of B).
    fn lines_are_rows(&self) -> bool {
        self.reader.side == Side::A
    }

    /// How many lines there are.
    fn count(&self) -> usize {
        if self.lines_are_rows() { self.matrix.rows() } else { self.matrix.columns() }
    }

    /// `lines` lines from `first` and the elements of `k`, whole steps; lines beyond the matrix are zero.
    #[inline(always)]
    pub(super) fn cells(&self, first: usize, lines: usize, k: Range) -> Cells {
        let (rows, columns) = (self.matrix.rows(), self.matrix.columns());
        let start = self.block * rows * columns;
        let there = lines.min(self.count() - first);
        let mut values = Aligned::zeros(lines * k.length);
        let mut exponents = vec![0; lines * k.length];
        let first_code = match self.reader.side {
            Side::A => start + first * columns + k.first,
            Side::B => start + k.first * columns + first,
        };
        let section = Section { first: first_code, stride: columns, lines, there, order: self.order };
        let numbers = Numbers { values: values.slice(), exponents: &mut exponents };
        self.reader.read(self.matrix.codes(), &section, numbers);
        let (block, scales) = self.scales(first, lines, k);
        let mut cells = Cells { lines, values, exponents, scales, block, traits: Vec::new() };
        self.under_nan(&mut cells);
        cells.traits = Traits::of(&cells.exponents, lines);
        cells
    }

    /// The kinds of all elements of a line.
    pub(super) fn kinds(&self, line: usize) -> Vec<u8> {
        let along = if self.lines_are_rows() { self.matrix.columns() } else { self.matrix.rows() };
        let get = |matrix: &Matrix, k: usize| match self.lines_are_rows() {
            true => matrix.get(self.block, line, k),
            false => matrix.get(self.block, k, line),
        };
        let mut kinds: Vec<u8> =
            (0..along).map(|k| self.reader.element(get(self.matrix, k)).kind()).collect();
        if let (Some(scales), Some(scale)) = (self.scales, self.scale) {
            for (factor, kinds) in kinds.chunks_mut(scale.size).enumerate() {
                if decode(&scale.format, get(scales, factor)).class == Class::Nan {
                    kinds.fill(kind::NAN);
                }
            }
        }
        kinds
    }

    /// Elements under a NaN factor become NaN.
    fn under_nan(&self, cells: &mut Cells) {
        let Some(scale) = self.scale else { return };
        let lines = cells.lines;
        for (index, &code) in cells.scales.iter().enumerate() {
            if decode(&scale.format, code).class == Class::Nan {
                let (begin, line) = (index / lines * scale.size * lines, index % lines);
                for element in (begin..begin + scale.size * lines).skip(line).step_by(lines) {
                    cells.values.slice()[element] = 0.0;
                    cells.exponents[element] = SPECIAL;
                }
            }
        }
    }

    /// The scale factors of some cells.
    fn scales(&self, first: usize, lines: usize, k: Range) -> (usize, Vec<u64>) {
        let (Some(scales), Some(scale)) = (self.scales, self.scale) else {
            return (1, Vec::new());
        };
        let there = lines.min(self.count() - first);
        let mut codes = Vec::with_capacity(k.length / scale.size * lines);
        for position in (0..k.length).step_by(scale.size) {
            let factor = (k.first + position) / scale.size;
            for line in 0..lines {
                let code = match (line < there, self.lines_are_rows()) {
                    (false, _) => scale.format.one_code(),
                    (true, true) => scales.get(self.block, first + line, factor),
                    (true, false) => scales.get(self.block, factor, first + line),
                };
                codes.push(code);
            }
        }
        (scale.size, codes)
    }
}

/// What is known of a row or column over some or all of K.
#[derive(Clone, Copy)]
pub(super) struct Traits {
    special: bool,
    /// The largest exponent of an element; [`NO_EXPONENT`] or [`SPECIAL`] where no number but zero occurs.
    pub(super) largest: i16,
}

impl Traits {
    pub(super) const NONE: Traits = Traits { special: false, largest: NO_EXPONENT };

    /// Of each line.
    #[inline(always)]
    fn of(exponents: &[i16], lines: usize) -> Vec<Traits> {
        let (mut largest, mut special) = ([NO_EXPONENT; WIDEST], [0i16; WIDEST]);
        let (largest, special) = (&mut largest[..lines], &mut special[..lines]);
        for exponents in exponents.chunks_exact(lines) {
            for ((largest, special), &exponent) in largest.iter_mut().zip(&mut *special).zip(exponents) {
                *largest = (*largest).max(exponent);
                *special |= i16::from(exponent == SPECIAL);
            }
        }
        let traits = |(&largest, &special): (&i16, &i16)| Traits { special: special != 0, largest };
        largest.iter().zip(&*special).map(traits).collect()
    }

    /// Takes all that another knows into account.
    pub(super) fn join(&mut self, other: &Traits) {
        self.special |= other.special;
        self.largest = self.largest.max(other.largest);
    }

    /// Whether infinity or NaN occurs.
    pub(super) fn is_special(&self) -> bool {
        self.special
    }
}

/// Numbers that begin a cache line, so that no vector of a panel lies on two.
#[derive(Default)]
pub(super) struct Aligned<T> {
    numbers: Vec<T>,
    skip: usize,
    length: usize,
}

impl<T: Copy + Default + Send + Sync> Aligned<T> {
    /// `length` zeros; `None` if there is no room for them.
    pub(super) fn new(length: usize) -> Option<Aligned<T>> {
        const LINE: usize = 64;
        let slack = LINE / size_of::<T>();
        let numbers: Vec<T> = matrix::zeros(length.checked_add(slack)?)?;
        let skip = numbers.as_ptr().align_offset(LINE).min(slack);
        Some(Aligned { numbers, skip, length })
    }

    /// `length` zeros, as few as those of a panel.
    pub(super) fn zeros(length: usize) -> Aligned<T> {
        let anywhere = || Aligned { numbers: vec![T::default(); length], skip: 0, length };
        Aligned::new(length).unwrap_or_else(anywhere)
    }

    /// Numbers, as many as those of a panel.
    #[inline(always)]
    pub(super) fn of(numbers: impl ExactSizeIterator<Item = T>) -> Aligned<T> {
        let mut aligned = Aligned::zeros(numbers.len());
        aligned.slice().iter_mut().zip(numbers).for_each(|(to, number)| *to = number);
        aligned
    }

    /// The numbers.
    pub(super) fn slice(&mut self) -> &mut [T] {
        &mut self.numbers[self.skip..self.skip + self.length]
    }
}

impl<T> Aligned<T> {
    /// Where the numbers begin; nothing is looked at, for loops that ask often.
    #[inline(always)]
    pub(super) fn as_ptr(&self) -> *const T {
        self.numbers.as_ptr().wrapping_add(self.skip)
    }
}

impl<T> std::ops::Deref for Aligned<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.numbers[self.skip..self.skip + self.length]
    }
}

/// A byte four times in a word.
#[inline(always)]
pub(super) fn bytes(byte: i8) -> u32 {
    u32::from(byte.cast_unsigned()) * 0x0101_0101
}

/// Bytes of a panel of columns, next to each other those of one lane of all vectors, so that they become exponent
/// fields by shifts.
pub(super) struct Interleaved {
    words: Aligned<u32>,
    /// Lanes of a vector.
    lanes: usize,
}

impl Interleaved {
    /// A byte for each element of that many columns, from an iterator with one item for each.
    #[inline(always)]
    pub(super) fn of<T: Copy>(columns: usize, elements: &[T], byte: impl Fn(T) -> i8) -> Interleaved {
        let lanes = columns / VECTORS;
        let mut words = Aligned::zeros(elements.len() / VECTORS);
        let rows = elements.chunks_exact(VECTORS * lanes);
        for (row, words) in rows.zip(words.slice().chunks_exact_mut(lanes)) {
            let (low, high) = row.split_at(2 * lanes);
            let (low, high) = (low.split_at(lanes), high.split_at(lanes));
            let vectors = low.0.iter().zip(low.1).zip(high.0.iter().zip(high.1));
            for (word, ((&first, &second), (&third, &fourth))) in words.iter_mut().zip(vectors) {
                let bytes = [first, second, third, fourth].map(|of| byte(of).cast_unsigned());
                *word = u32::from_ne_bytes(bytes);
            }
        }
        Interleaved { words, lanes }
    }

    /// How many.
    pub(super) fn len(&self) -> usize {
        self.words.len() * VECTORS
    }

    /// The bytes of a position.
    pub(super) fn as_ptr(&self) -> *const i8 {
        self.words.as_ptr().cast()
    }

    /// The byte of a column at a position.
    pub(super) fn get(&self, position: usize, column: usize) -> i8 {
        let word = self.words[position * self.lanes + column % self.lanes];
        word.to_ne_bytes()[column / self.lanes].cast_signed()
    }
}
