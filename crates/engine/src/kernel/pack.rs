//! Operands taken apart once and laid out as tiles read them.

use bitmma_arithmetic::run::Side;
use bitmma_formats::{BlockScale, Class, decode};

use super::element::{Element, Reader, kind};
use crate::matrix::Matrix;

/// Rows of a tile.
pub(super) const ROWS: usize = 2;
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
    /// Elements, `lines` for each position along K.
    pub(super) elements: Vec<Element>,
    /// Codes of scale factors, `lines` for each position that begins a scale block; empty without.
    pub(super) scales: Vec<u64>,
    /// Elements that share a scale factor.
    pub(super) block: usize,
    /// What is known of each line.
    pub(super) traits: Vec<Traits>,
}

impl Cells {
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
        let mut elements = vec![Element::ZERO; lines * k.length];
        let codes = self.matrix.codes();
        let step = self.order.len();
        let in_sequence = self.order.is_sorted();
        let index = |position: usize| position / step * step + self.order[position % step];
        if self.lines_are_rows() {
            let mut row = vec![Element::ZERO; k.length];
            for line in 0..there {
                self.reader.read(codes, start + (first + line) * columns + k.first, &mut row);
                let cells = elements[line..].iter_mut().step_by(lines);
                if in_sequence {
                    cells.zip(&row).for_each(|(cell, element)| *cell = *element);
                } else {
                    cells.enumerate().for_each(|(position, cell)| *cell = row[index(position)]);
                }
            }
        } else {
            for (position, cells) in elements.chunks_exact_mut(lines).enumerate() {
                let row = k.first + index(position);
                self.reader.read(codes, start + row * columns + first, &mut cells[..there]);
            }
        }
        let (block, scales) = self.scales(&mut elements, first, lines, k);
        let traits = Traits::of(&elements, lines);
        Cells { lines, elements, scales, block, traits }
    }

    /// The scale factors of some cells; elements under a NaN factor become NaN.
    fn scales(&self, elements: &mut [Element], first: usize, lines: usize, k: Range) -> (usize, Vec<u64>) {
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
                if decode(&scale.format, code).class == Class::Nan {
                    let block = &mut elements[position * lines..(position + scale.size) * lines];
                    block[line..].iter_mut().step_by(lines).for_each(|element| *element = Element::NAN);
                }
            }
        }
        (scale.size, codes)
    }
}

/// What is known of a row or column over some or all of K.
#[derive(Clone, Copy)]
pub(super) struct Traits {
    /// All kinds that occur.
    kinds: u8,
    /// The largest exponent of a nonzero element.
    pub(super) largest: i16,
}

impl Traits {
    pub(super) const NONE: Traits = Traits { kinds: 0, largest: i16::MIN };

    /// Of each line.
    #[inline(always)]
    fn of(elements: &[Element], lines: usize) -> Vec<Traits> {
        let mut traits = vec![Traits::NONE; lines];
        if lines == ROWS {
            for (line, traits) in traits.iter_mut().enumerate() {
                let mut known = Traits::NONE;
                elements.chunks_exact(ROWS).for_each(
                    #[inline(always)]
                    |cells| known.add(cells[line]),
                );
                *traits = known;
            }
            return traits;
        }
        for cells in elements.chunks_exact(lines) {
            traits.iter_mut().zip(cells).for_each(
                #[inline(always)]
                |(traits, &element)| traits.add(element),
            );
        }
        traits
    }

    /// Takes an element into account.
    #[inline(always)]
    fn add(&mut self, element: Element) {
        self.kinds |= element.kind();
        self.largest = self.largest.max(element.exponent()); // zero and specials have i16::MIN
    }

    /// Takes all that another knows into account.
    pub(super) fn join(&mut self, other: &Traits) {
        self.kinds |= other.kinds;
        self.largest = self.largest.max(other.largest);
    }

    /// Whether infinity or NaN occurs.
    pub(super) fn is_special(&self) -> bool {
        self.kinds & kind::SPECIAL != 0
    }
}

/// Where the byte of a column stands in a vector of those of a panel of `width` columns: next to each other those
/// of one lane of all vectors, so that they become exponent fields by shifts.
pub(super) fn interleaved(column: usize, width: usize) -> usize {
    let lanes = width / VECTORS;
    column % lanes * VECTORS + column / lanes
}

/// Numbers that begin a cache line, so that no vector of a panel lies on two.
pub(super) struct Aligned<T> {
    numbers: Vec<T>,
    skip: usize,
    length: usize,
}

impl<T: Copy + Default> Aligned<T> {
    /// `length` zeros; `None` if there is no room for them.
    pub(super) fn new(length: usize) -> Option<Aligned<T>> {
        const LINE: usize = 64;
        let slack = LINE / size_of::<T>();
        let mut numbers = Vec::new();
        numbers.try_reserve_exact(length.checked_add(slack)?).ok()?;
        numbers.resize(length + slack, T::default());
        let skip = numbers.as_ptr().align_offset(LINE).min(slack);
        Some(Aligned { numbers, skip, length })
    }

    /// `length` zeros, as few as those of a panel.
    pub(super) fn zeros(length: usize) -> Aligned<T> {
        let anywhere = || Aligned { numbers: vec![T::default(); length], skip: 0, length };
        Aligned::new(length).unwrap_or_else(anywhere)
    }

    /// One number for each element of some cells.
    #[inline(always)]
    pub(super) fn of(cells: &Cells, number: impl Fn(Element) -> T) -> Aligned<T> {
        let mut aligned = Aligned::zeros(cells.elements.len());
        aligned.slice().iter_mut().zip(&cells.elements).for_each(|(to, &element)| *to = number(element));
        aligned
    }

    /// Bytes of a panel of `width` columns, `count` of them, given in rows: each where [`interleaved`] says.
    #[inline(always)]
    pub(super) fn interleaved(count: usize, width: usize, byte: impl Fn(usize) -> T) -> Aligned<T> {
        let mut aligned = Aligned::zeros(count);
        let lanes = width / VECTORS;
        for (row, bytes) in aligned.slice().chunks_exact_mut(width).enumerate() {
            for (lane, bytes) in bytes.chunks_exact_mut(VECTORS).enumerate() {
                for (vector, to) in bytes.iter_mut().enumerate() {
                    *to = byte(row * width + vector * lanes + lane);
                }
            }
        }
        aligned
    }

    /// The numbers.
    pub(super) fn slice(&mut self) -> &mut [T] {
        &mut self.numbers[self.skip..self.skip + self.length]
    }
}

impl<T> std::ops::Deref for Aligned<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.numbers[self.skip..self.skip + self.length]
    }
}
