//! Factors of TR- and GTR-FDPA as tiles read them.

use super::Rounded;
use crate::kernel::element::{NO_EXPONENT, SPECIAL};
use crate::kernel::pack::{Aligned, Cells, Interleaved, ROWS, WIDEST, bytes};

/// The exponent of zero where exponents are absolute: far from those of products, -30 to 32, while
/// 2^(F - 2·this) is an FP32 number.
pub(super) const ABSOLUTE_ZERO: i8 = -50;
/// The largest sum of exponents with such a zero.
pub(super) const ABSOLUTE_NONE: i32 = -33;
/// The exponent of zero where exponents are relative, at most 0: sums saturate and stay there.
pub(super) const RELATIVE_ZERO: i8 = -128;
/// The largest sum of exponents with such a zero; e_max is brought up to it, so that no more than 127 below
/// zero it becomes an exponent field by adding 127.
pub(super) const RELATIVE_NONE: i32 = -127;
/// Relative exponents below this are read as zero: in an operation with a product of relative
/// exponent [`RELATIVE_LEAST`] a product of such a factor is below 2^(-57 + 2), and truncates to zero.
pub(super) const RELATIVE_FLUSH: i32 = -56;
/// Operations without a product of at least this relative exponent are left to the reference path.
pub(super) const RELATIVE_LEAST: i32 = -30;

/// Beyond every exponent.
const NOWHERE: i32 = 1 << 20;

impl Rounded {
    /// Lines as tiles read them: numbers, exponents, and with `offsets` the largest exponent of each operation,
    /// from which the others are counted, and what is known of `share` lines.
    #[inline(always)]
    fn pack(&self, cells: Cells, share: usize) -> Packed {
        let lines = cells.lines;
        let count = cells.values.len();
        let mut exponents = vec![RELATIVE_ZERO; count];
        let (mut tops, mut ranges) = (Vec::new(), Vec::new());
        if !self.offsets {
            for (to, &exponent) in exponents.iter_mut().zip(&cells.exponents) {
                *to = i8::try_from(exponent).unwrap_or(ABSOLUTE_ZERO);
            }
            return Packed { values: cells.values, exponents, tops, ranges };
        }
        let mut numbers = cells.values;
        let operation = self.length * lines;
        let outputs = numbers.slice().chunks_exact_mut(operation).zip(exponents.chunks_exact_mut(operation));
        for (own, (values, exponents)) in cells.exponents.chunks_exact(operation).zip(outputs) {
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
                // 2^-127 is no normal number, and exact
                let bits = if top == 127 { 1 << 22 } else { ((127 - i32::from(top)) as u32) << 23 };
                *unit = f32::from_bits(bits);
            }
            let mut flushed = [0; WIDEST];
            tops.extend(largest.iter().map(|&top| i32::from(top)));
            let outputs = values.chunks_exact_mut(lines).zip(exponents.chunks_exact_mut(lines));
            for (own, (values, exponents)) in own.chunks_exact(lines).zip(outputs) {
                for index in 0..lines {
                    let value = values[index];
                    let relative = i32::from(own[index]) - i32::from(largest[index]);
                    let kept = relative >= RELATIVE_FLUSH;
                    values[index] = if kept { value * units[index] } else { 0.0 }; // exact
                    exponents[index] = if kept { relative as i8 } else { RELATIVE_ZERO };
                    flushed[index] |= u32::from(!kept & (value != 0.0));
                }
            }
            for (range, flushed) in ranges[begin..].iter_mut().zip(flushed.chunks_exact(share)) {
                range.flushed = flushed.iter().any(|&flushed| flushed != 0);
            }
        }
        Packed { values: numbers, exponents, tops, ranges }
    }

    /// Rows of A.
    #[inline(always)]
    pub(super) fn pack_rows(&self, cells: Cells) -> PackedRows {
        let lines = self.pack(cells, ROWS);
        PackedRows { exponents: lines.exponents.iter().map(|&exponent| bytes(exponent)).collect(), lines }
    }

    /// A panel of B.
    #[inline(always)]
    pub(super) fn pack_columns(&self, cells: Cells) -> PackedColumns {
        let width = cells.lines;
        let lines = self.pack(cells, width);
        let exponents = Interleaved::of(width, &lines.exponents, |exponent| exponent);
        let top_fields = Aligned::of(lines.tops.iter().map(|top| top << 23));
        PackedColumns { exponents, top_fields, lines }
    }
}

/// Some lines. See [`Rounded::pack`].
pub(super) struct Packed {
    pub(super) values: Aligned<f32>,
    exponents: Vec<i8>,
    pub(super) tops: Vec<i32>,
    pub(super) ranges: Vec<TopRange>,
}

/// The largest exponents of some lines of one operation, and whether elements were too small for them.
#[derive(Clone, Copy)]
pub(super) struct TopRange {
    pub(super) lowest: i32,
    pub(super) highest: i32,
    pub(super) flushed: bool,
}

/// Rows of A: their exponents stand four times in a word.
pub(in super::super) struct PackedRows {
    pub(super) lines: Packed,
    pub(super) exponents: Vec<u32>,
}

/// A panel of B, its exponents where vectors of bytes have them.
pub(in super::super) struct PackedColumns {
    pub(super) lines: Packed,
    pub(super) exponents: Interleaved,
    /// The largest exponents, as exponent fields of FP32 without bias.
    pub(super) top_fields: Aligned<i32>,
}
