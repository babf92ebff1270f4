//! Operands unpacked once and laid out as tiles read them.

use std::any::Any;

use bitmma_arithmetic::Prepared;
use bitmma_formats::{BlockScale, Class, decode};
use bytemuck::Zeroable;
use bytemuck::allocation::try_zeroed_vec;

use super::codes::View;
use super::element::{Element, Entry, NO_EXPONENT, Range, Reader, SPECIAL, Section, kind};
use super::simd::{Level, Simd, Work};

/// Rows of a tile.
pub(crate) const ROWS: usize = 2;
/// Rows of A packed side by side, and taken through a panel by one task: as many as stay in the nearest cache with
/// what they multiply.
pub(crate) const GROUP: usize = 32;
/// Vectors side by side in a tile, so that one vector of bytes covers them.
pub(crate) const VECTORS: usize = 4;

/// Columns of the widest panel.
pub(crate) const WIDEST: usize = 64;

/// Lines as a kernel packed them.
pub(crate) type Packed = dyn Any + Send + Sync;

/// Elements of some lines (rows of A or columns of B) and a block of K: those of one index along K
/// together, in the order in which the model takes them.
pub(crate) struct Cells<E: Entry = Element> {
    /// Lines side by side.
    pub(crate) lines: usize,
    /// How many of them the matrix has.
    pub(crate) there: usize,
    /// Numbers, `lines` for each position along K; 0 for what is not finite.
    pub(crate) values: Aligned<E::Value>,
    /// The exponents of the same, where they are kept.
    pub(crate) exponents: Vec<i16>,
    /// Codes of scale factors, `lines` for each position that begins a scale block; empty without.
    pub(crate) scales: Vec<u64>,
    /// Elements that share a scale factor.
    pub(crate) block: usize,
    /// What is known of each line, by exponents.
    pub(crate) traits: Vec<Traits>,
    /// Whether the instruction set they are for names roundings ([`Simd::DIRECTED`]).
    pub(crate) directed: bool,
}

impl Cells {
    /// Positions along K.
    pub(crate) fn positions(&self) -> usize {
        self.values.len() / self.lines
    }

    /// Code of the scale factor of a line at a position.
    pub(crate) fn scale(&self, line: usize, position: usize) -> u64 {
        self.scales[position / self.block * self.lines + line]
    }
}

/// One operand of a product.
pub(crate) struct Operand<'o, E> {
    /// The model, for one step along K.
    pub(crate) prepared: &'o Prepared<'o>,
    /// From codes to entries.
    pub(crate) reader: &'o Reader<E>,
    /// The codes, a line to a row.
    pub(crate) lines: View<'o>,
    /// The scale factors, a line to a row.
    pub(crate) scales: Option<View<'o>>,
    /// Which of the matrices.
    pub(crate) block: usize,
}

impl<E: Entry> Operand<'_, E> {
    /// Format and block size of the scale factors.
    fn scale(&self) -> Option<BlockScale> {
        self.prepared.model().scale
    }

    /// `lines` lines from `first` and the elements of `k`, whole steps. Lines beyond the matrix repeat its last one where
    /// exponents are kept, so that a panel takes no slower route than its own columns need; otherwise they are zero.
    pub(crate) fn cells(&self, level: Level, first: usize, lines: usize, k: Range) -> Cells<E> {
        let there = lines.min(self.lines.rows - first);
        level.run(Packing { operand: self, section: Section { block: self.block, first, lines, there, k } })
    }

    /// The kinds of all elements of a line, which has these codes.
    pub(crate) fn kinds(&self, line: usize, codes: impl Iterator<Item = u64>) -> Vec<u8> {
        let kind = |code| self.reader.entry(self.prepared, code).kind();
        let mut kinds: Vec<u8> = codes.map(kind).collect();
        if let (Some(scales), Some(scale)) = (self.scales, self.scale()) {
            for (code, kinds) in scales.row(self.block, line).zip(kinds.chunks_mut(scale.size)) {
                if decode(&scale.format, code).class == Class::Nan {
                    kinds.fill(kind::NAN);
                }
            }
        }
        kinds
    }

    /// Elements under a NaN factor become NaN.
    fn under_nan(&self, cells: &mut Cells<E>) {
        let Some(scale) = self.scale() else { return };
        let lines = cells.lines;
        for (index, &code) in cells.scales.iter().enumerate() {
            if decode(&scale.format, code).class == Class::Nan {
                let (begin, line) = (index / lines * scale.size * lines, index % lines);
                for element in (begin..begin + scale.size * lines).skip(line).step_by(lines) {
                    cells.values.slice()[element] = E::Value::default();
                    cells.exponents[element] = SPECIAL;
                }
            }
        }
    }

    /// The scale factors of some lines, and how many elements share one.
    fn scale_codes(&self, Section { first, lines, there, k, .. }: Section) -> (usize, Vec<u64>) {
        let (Some(scales), Some(scale)) = (self.scales, self.scale()) else {
            return (1, Vec::new());
        };
        let mut codes = Vec::with_capacity(k.length / scale.size * lines);
        for position in (0..k.length).step_by(scale.size) {
            let factor = (k.first + position) / scale.size;
            for line in 0..lines {
                codes.push(scales.get(self.block, first + line.min(there - 1), factor));
            }
        }
        (scale.size, codes)
    }
}

/// Lines to be packed.
struct Packing<'p, E> {
    operand: &'p Operand<'p, E>,
    section: Section,
}

impl<E: Entry> Work for Packing<'_, E> {
    type Output = Cells<E>;

    #[inline(always)]
    fn run<S: Simd>(self, _: S) -> Cells<E> {
        let directed = S::DIRECTED;
        let Packing { operand, section } = self;
        let Section { lines, there, k, .. } = section;
        let mut values = Aligned::zeros(lines * k.length);
        let mut exponents = vec![0; if E::EXPONENTS { lines * k.length } else { 0 }];
        let numbers = (values.slice(), &mut *exponents);
        operand.reader.read(operand.prepared, operand.lines, &section, numbers);
        if E::EXPONENTS && there < lines {
            for values in values.slice().chunks_exact_mut(lines) {
                let last = values[there - 1];
                values[there..].fill(last);
            }
            for exponents in exponents.chunks_exact_mut(lines) {
                let last = exponents[there - 1];
                exponents[there..].fill(last);
            }
        }
        let (block, scales) = operand.scale_codes(section);
        let mut cells =
            Cells { lines, there, values, exponents, scales, block, traits: Vec::new(), directed };
        operand.under_nan(&mut cells);
        cells.traits = Traits::of(&cells.exponents, lines);
        cells
    }
}

/// What is known of a row or column over some or all of K.
#[derive(Clone, Copy)]
pub(crate) struct Traits {
    special: bool,
    /// The largest exponent of an element; [`NO_EXPONENT`] or [`SPECIAL`] where no number but zero occurs.
    pub(crate) largest: i16,
}

impl Traits {
    pub(crate) const NONE: Traits = Traits { special: false, largest: NO_EXPONENT };

    /// Of each line; [`Traits::NONE`] where exponents are not kept.
    #[inline(always)]
    fn of(exponents: &[i16], lines: usize) -> Vec<Traits> {
        let mut traits = vec![Traits::NONE; lines];
        if !exponents.is_empty() {
            match lines % 32 {
                0 => Traits::side_by_side::<32>(exponents, &mut traits),
                _ => Traits::side_by_side::<8>(exponents, &mut traits),
            }
        }
        traits
    }

    /// The same of that many lines at a time, which registers hold.
    #[inline(always)]
    fn side_by_side<const LINES: usize>(exponents: &[i16], traits: &mut [Traits]) {
        let lines = traits.len();
        let (chunks, rest) = traits.as_chunks_mut::<LINES>();
        assert!(rest.is_empty(), "{lines} lines, {LINES} at a time");
        for (some, traits) in chunks.iter_mut().enumerate() {
            let (mut largest, mut special) = ([NO_EXPONENT; LINES], [0i16; LINES]);
            for exponents in exponents.chunks_exact(lines) {
                let exponents = &exponents[some * LINES..][..LINES];
                for line in 0..LINES {
                    largest[line] = largest[line].max(exponents[line]);
                    special[line] |= i16::from(exponents[line] == SPECIAL);
                }
            }
            for line in 0..LINES {
                traits[line] = Traits { special: special[line] != 0, largest: largest[line] };
            }
        }
    }

    /// Of all of some lines.
    pub(crate) fn of_all(lines: &[Traits]) -> Traits {
        let mut all = Traits::NONE;
        lines.iter().for_each(|line| all.join(line));
        all
    }

    /// Takes all that another knows into account.
    pub(crate) fn join(&mut self, other: &Traits) {
        self.special |= other.special;
        self.largest = self.largest.max(other.largest);
    }

    /// Whether infinity or NaN occurs.
    pub(crate) fn is_special(&self) -> bool {
        self.special
    }
}

/// Numbers that begin a cache line, so that no vector of a panel lies on two.
#[derive(Default)]
pub(crate) struct Aligned<T> {
    numbers: Vec<T>,
    skip: usize,
    length: usize,
}

impl<T: Zeroable + Copy> Aligned<T> {
    /// `length` zeros; `None` if there is no room for them.
    pub(crate) fn new(length: usize) -> Option<Aligned<T>> {
        const LINE: usize = 64;
        let slack = LINE / size_of::<T>();
        let numbers: Vec<T> = try_zeroed_vec(length.checked_add(slack)?).ok()?;
        let skip = numbers.as_ptr().align_offset(LINE).min(slack);
        Some(Aligned { numbers, skip, length })
    }

    /// `length` zeros, as few as those of a panel.
    pub(crate) fn zeros(length: usize) -> Aligned<T> {
        let anywhere = || Aligned { numbers: vec![T::zeroed(); length], skip: 0, length };
        Aligned::new(length).unwrap_or_else(anywhere)
    }

    /// Numbers, as many as those of a panel.
    #[inline(always)]
    pub(crate) fn of(numbers: impl ExactSizeIterator<Item = T>) -> Aligned<T> {
        let mut aligned = Aligned::zeros(numbers.len());
        aligned.slice().iter_mut().zip(numbers).for_each(|(to, number)| *to = number);
        aligned
    }

    /// As many numbers, whatever they are.
    #[inline(always)]
    pub(crate) fn resized(&mut self, length: usize) -> &mut [T] {
        if self.length != length {
            *self = Aligned::zeros(length);
        }
        self.slice()
    }

    /// The numbers.
    pub(crate) fn slice(&mut self) -> &mut [T] {
        &mut self.numbers[self.skip..self.skip + self.length]
    }
}

impl<T> std::ops::Deref for Aligned<T> {
    type Target = [T];

    #[inline(always)] // also in functions as large as kernels, where a call is not inlined otherwise
    fn deref(&self) -> &[T] {
        &self.numbers[self.skip..self.skip + self.length]
    }
}

/// A byte four times in a word.
#[inline(always)]
pub(crate) fn bytes(byte: i8) -> i32 {
    i32::from_le_bytes([byte.cast_unsigned(); 4])
}

/// Bytes of lines as tiles read them, four to a word.
pub(crate) trait Bytes: Default + Send + Sync + 'static {
    /// A byte for each element of that many lines, whose elements of one position are next to each other.
    fn of<T: Copy>(lines: usize, elements: &[T], byte: impl Fn(T) -> i8) -> Self;
    /// Those of a position next to each other.
    fn words(&self) -> &[i32];
}

/// Bytes of rows of A, each four times.
#[derive(Default)]
pub(crate) struct Repeated(Vec<i32>);

impl Bytes for Repeated {
    #[inline(always)]
    fn of<T: Copy>(_: usize, elements: &[T], byte: impl Fn(T) -> i8) -> Repeated {
        let mut words = vec![0; elements.len()];
        for (word, &element) in words.iter_mut().zip(elements) {
            *word = bytes(byte(element));
        }
        Repeated(words)
    }

    #[inline(always)]
    fn words(&self) -> &[i32] {
        &self.0
    }
}

/// Bytes of a panel of columns, next to each other those of one lane of all vectors, so that they become exponent
/// fields by shifts.
#[derive(Default)]
pub(crate) struct Interleaved {
    words: Aligned<i32>,
    /// Lanes of a vector.
    lanes: usize,
}

impl Bytes for Interleaved {
    #[inline(always)]
    fn of<T: Copy>(lines: usize, elements: &[T], byte: impl Fn(T) -> i8) -> Interleaved {
        let lanes = lines / VECTORS;
        let mut words = Aligned::zeros(elements.len() / VECTORS);
        let rows = elements.chunks_exact(VECTORS * lanes);
        for (row, words) in rows.zip(words.slice().chunks_exact_mut(lanes)) {
            let (low, high) = row.split_at(2 * lanes);
            let (low, high) = (low.split_at(lanes), high.split_at(lanes));
            let vectors = low.0.iter().zip(low.1).zip(high.0.iter().zip(high.1));
            for (word, ((&first, &second), (&third, &fourth))) in words.iter_mut().zip(vectors) {
                let bytes = [first, second, third, fourth].map(|of| byte(of).cast_unsigned());
                *word = i32::from_le_bytes(bytes);
            }
        }
        Interleaved { words, lanes }
    }

    #[inline(always)]
    fn words(&self) -> &[i32] {
        &self.words
    }
}

impl Interleaved {
    /// Room for the bytes of so many lines at so many positions.
    #[inline(always)]
    pub(crate) fn resized(&mut self, lines: usize, positions: usize) -> &mut [i32] {
        self.lanes = lines / VECTORS;
        self.words.resized(positions * self.lanes)
    }

    /// Lanes of a vector.
    pub(crate) fn lanes(&self) -> usize {
        self.lanes
    }

    /// The byte of a column at a position.
    pub(crate) fn get(&self, position: usize, column: usize) -> i8 {
        let word = self.words[position * self.lanes + column % self.lanes];
        word.to_le_bytes()[column / self.lanes].cast_signed()
    }
}
