//! Factors of TR- and GTR-FDPA as tiles read them.
//!
//! Exponents of a block of K are counted from 0 where all of them are near it, as those of FP16 and FP8 always are. Others
//! are counted from the largest of their operation: so lines of any block can be multiplied, by tiles that do more.

use std::sync::OnceLock;

use super::Rounded;
use crate::element::{NO_EXPONENT, SPECIAL};
use crate::pack::{Aligned, Cells, Interleaved, ROWS, WIDEST, bytes};

/// Exponents from -this to this are counted from 0: sums of two of them, of one of them and a zero's, and of two zeros'
/// do not overlap in a byte.
pub(crate) const NARROW: i32 = 42;
/// The exponent of zero: sums saturate and stay below all others.
const ZERO: i8 = -128;
/// The largest sum of exponents with a zero's, of those counted from 0; e_max is brought up to it, so that 2^(F - e_max) is
/// an FP32 number.
pub(crate) const ABSOLUTE_NONE: i32 = ZERO as i32 + NARROW;
/// The same where exponents are relative, at most 0; e_max is brought up to it, so that no more than 127 below
/// zero it becomes an exponent field by adding 127.
pub(crate) const RELATIVE_NONE: i32 = -127;
/// Relative exponents below this are read as zero: in an operation with a product of relative
/// exponent [`RELATIVE_LEAST`] a product of such a factor is below 2^(-57 + 2), and truncates to zero.
pub(crate) const RELATIVE_FLUSH: i32 = -56;
/// Operations without a product of at least this relative exponent are left to the reference path.
pub(crate) const RELATIVE_LEAST: i32 = -30;

/// Beyond every exponent.
const NOWHERE: i32 = 1 << 20;

impl Rounded {
    /// Rows of A.
    #[inline(always)]
    pub(crate) fn pack_rows(&self, cells: Cells) -> PackedRows {
        Packed::of(self.length, ROWS, cells)
    }

    /// A panel of B.
    #[inline(always)]
    pub(crate) fn pack_columns(&self, cells: Cells) -> PackedColumns {
        Packed::of(self.length, cells.lines, cells)
    }
}

/// Rows of A.
pub(crate) type PackedRows = Packed<Words>;

/// A panel of B.
pub(crate) type PackedColumns = Packed<Interleaved>;

/// Some lines over a block of K.
pub(crate) struct Packed<E> {
    /// With exponents counted from 0, where they can be.
    narrow: Option<Lines<E>>,
    /// With exponents counted from the largest, where that is needed.
    relative: OnceLock<Lines<E>>,
    /// Elements of an operation.
    length: usize,
    /// How many lines, and how many of them share what is known of them.
    lines: usize,
    share: usize,
}

impl<E: Exponents> Packed<E> {
    #[inline(always)]
    fn of(length: usize, share: usize, cells: Cells) -> Packed<E> {
        let lines = cells.lines;
        let packed = Packed { narrow: None, relative: OnceLock::new(), length, lines, share };
        let (mut lowest, mut highest) = (0, 0);
        for &exponent in &cells.exponents {
            highest = highest.max(exponent);
            lowest = lowest.min(if exponent > SPECIAL { exponent } else { 0 });
        }
        if i32::from(lowest) < -NARROW || i32::from(highest) > NARROW {
            let relative = Lines::relative(cells.values, &cells.exponents, (length, lines, share));
            return Packed { relative: OnceLock::from(relative), ..packed };
        }
        let exponents: Vec<i8> = cells
            .exponents
            .iter()
            .map(|&exponent| if exponent > SPECIAL { exponent as i8 } else { ZERO })
            .collect();
        let exponents = E::of(lines, &exponents);
        let (tops, ranges) = (Aligned::zeros(0), Vec::new());
        Packed { narrow: Some(Lines { values: cells.values, exponents, tops, ranges }), ..packed }
    }

    /// The lines with exponents counted from 0.
    pub(crate) fn narrow(&self) -> Option<&Lines<E>> {
        self.narrow.as_ref()
    }

    /// The lines with exponents counted from the largest of each operation.
    pub(crate) fn relative(&self) -> &Lines<E> {
        self.relative.get_or_init(|| {
            let narrow = self.narrow.as_ref().expect("one of both is there from the beginning");
            let exponent = |index: usize| match narrow.exponents.get(index / self.lines, index % self.lines) {
                ZERO => NO_EXPONENT,
                exponent => exponent.into(),
            };
            let exponents: Vec<i16> = (0..narrow.values.len()).map(exponent).collect();
            let values = Aligned::of(narrow.values.iter().copied());
            Lines::relative(values, &exponents, (self.length, self.lines, self.share))
        })
    }
}

/// Numbers and exponents of lines, side by side for each position along K.
pub(crate) struct Lines<E> {
    pub(crate) values: Aligned<f32>,
    pub(crate) exponents: E,
    /// The largest exponents of each operation, as exponent fields of FP32 without bias; none where exponents are counted
    /// from 0.
    pub(crate) tops: Aligned<i32>,
    /// What is known of lines that share it, operation by operation; none where exponents are counted from 0.
    pub(crate) ranges: Vec<TopRange>,
}

impl<E: Exponents> Lines<E> {
    /// Lines with exponents counted from the largest of each operation.
    #[inline(always)]
    fn relative(
        mut numbers: Aligned<f32>,
        own: &[i16],
        (length, lines, share): (usize, usize, usize),
    ) -> Lines<E> {
        let mut exponents = vec![ZERO; own.len()];
        let (mut tops, mut ranges) = (Vec::new(), Vec::new());
        let operation = length * lines;
        let outputs = numbers.slice().chunks_exact_mut(operation).zip(exponents.chunks_exact_mut(operation));
        for (own, (values, exponents)) in own.chunks_exact(operation).zip(outputs) {
            let mut largest = [NO_EXPONENT; WIDEST];
            let largest = &mut largest[..lines];
            for line in own.chunks_exact(lines) {
                for (largest, &exponent) in largest.iter_mut().zip(line) {
                    *largest = (*largest).max(exponent);
                }
            }
            let begin = ranges.len();
            for tops in largest.chunks_exact_mut(share) {
                let mut range = TopRange { lowest: NOWHERE, highest: -NOWHERE, flushed: false };
                for top in tops {
                    if *top > SPECIAL {
                        range.lowest = range.lowest.min(i32::from(*top));
                        range.highest = range.highest.max(i32::from(*top));
                    } else {
                        *top = 0; // nothing is relative to what is not there
                    }
                }
                ranges.push(range);
            }
            let mut units = [0.0; WIDEST];
            for (&top, unit) in largest.iter().zip(&mut units) {
                // 2^-127 is subnormal, and exact
                let bits = if top == 127 { 1 << 22 } else { ((127 - i32::from(top)) as u32) << 23 };
                *unit = f32::from_bits(bits);
            }
            let mut flushed = [0; WIDEST];
            tops.extend(largest.iter().map(|&top| i32::from(top) << 23));
            let outputs = values.chunks_exact_mut(lines).zip(exponents.chunks_exact_mut(lines));
            for (own, (values, exponents)) in own.chunks_exact(lines).zip(outputs) {
                for index in 0..lines {
                    let value = values[index];
                    let relative = i32::from(own[index]) - i32::from(largest[index]);
                    let kept = relative >= RELATIVE_FLUSH;
                    values[index] = if kept { value * units[index] } else { 0.0 }; // exact
                    exponents[index] = if kept { relative as i8 } else { ZERO };
                    flushed[index] |= u32::from(!kept & (value != 0.0));
                }
            }
            for (range, flushed) in ranges[begin..].iter_mut().zip(flushed.chunks_exact(share)) {
                range.flushed = flushed.iter().any(|&flushed| flushed != 0);
            }
        }
        let exponents = E::of(lines, &exponents);
        Lines { values: numbers, exponents, tops: Aligned::of(tops.into_iter()), ranges }
    }
}

/// The largest exponents of some lines of one operation, and whether elements were too small for them.
#[derive(Clone, Copy)]
pub(crate) struct TopRange {
    pub(crate) lowest: i32,
    pub(crate) highest: i32,
    pub(crate) flushed: bool,
}

/// Where exponents stand.
pub(crate) trait Exponents {
    /// Those of that many lines.
    fn of(lines: usize, exponents: &[i8]) -> Self;
    /// That of a line at a position.
    fn get(&self, position: usize, line: usize) -> i8;
}

impl Exponents for Interleaved {
    #[inline(always)]
    fn of(lines: usize, exponents: &[i8]) -> Interleaved {
        Interleaved::of(lines, exponents, |exponent| exponent)
    }

    fn get(&self, position: usize, line: usize) -> i8 {
        self.get(position, line)
    }
}

/// Exponents four times in a word each.
pub(crate) struct Words {
    pub(crate) words: Vec<u32>,
    lines: usize,
}

impl Exponents for Words {
    #[inline(always)]
    fn of(lines: usize, exponents: &[i8]) -> Words {
        Words { words: exponents.iter().map(|&exponent| bytes(exponent)).collect(), lines }
    }

    fn get(&self, position: usize, line: usize) -> i8 {
        self.words[position * self.lines + line] as i8
    }
}
