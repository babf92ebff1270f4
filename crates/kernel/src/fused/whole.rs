//! Sums of which nothing is cut, as dot products of small integers.
//!
//! Elements are integers in units of the lowest bit that is set in any of their line and operation. Where the
//! product of both units is no less than 2^(e_max - F), every product is kept whole, and their sum is one of
//! integers: exact, in whatever order, two products by one instruction. A few elements of an operation may be far
//! smaller than the largest of their line: their products are left out, and added as those that are cut.

use bitmma_formats::Format;

use super::Narrow;
use super::begin::Begun;
use super::factors::{Factors, Slices, part};
use crate::elementwise::{integer, power};
use crate::pack::{Aligned, Cells, GROUP, ROWS, Traits, VECTORS, WIDEST};
use crate::products::{Lanes, add_product};
use crate::simd::{Simd, by_fours};

/// Bits of an integer beside its sign, where sums may go through a block of K.
pub(crate) const MOST_BITS: u32 = 15;
/// The same of a row of A elsewhere: with those of a column, products have 23 bits at most, and those of 25 from the first of
/// e_max are whole.
pub(crate) const ROW_BITS: u32 = 10;
/// The same of a column of B. A panel has more elements, that is more small ones.
pub(crate) const COLUMN_BITS: u32 = 13;
/// Products left out of an operation, at most: more take about as long as if all were cut.
const MOST_LEFT_OUT: u32 = 8;

/// Scale factors of a block of K further apart than this, as exponents, cut most sums: none is looked for.
const MOST_SPREAD: i32 = 4;

/// How many products may be left out where a term is below `term` and the accumulator below 2·2^F, in units of
/// 2^(e_max - F): what is whole stays below 2^30, all together below 2^31.
pub(crate) fn most_left_out(term: u128, fraction_bits: u32) -> u32 {
    let room = (1u128 << 30).saturating_sub(2 << fraction_bits);
    MOST_LEFT_OUT.min((room / term) as u32)
}

/// The bits that numbers of a format have.
#[derive(Clone, Copy)]
pub(crate) struct Span {
    /// The last, as an exponent.
    pub(crate) last: i32,
    /// How many there are from the first of the largest number to that.
    pub(crate) bits: i32,
}

impl Span {
    pub(crate) fn of(format: &Format) -> Span {
        let last = format.min_exponent() - format.fraction_bits as i32;
        Span { last, bits: format.max_exponent() - last + 1 }
    }
}

/// Elements of lines as integers, two of a line in a word, the earlier one low.
#[derive(Default)]
pub(crate) struct Integers {
    pairs: Aligned<i32>,
    /// The exponent of the unit, for each operation and line.
    units: Aligned<i32>,
    /// A bit for each element along K that is left out, of each operation and share of its lines; the words
    /// of these lines have a zero there.
    left_out: Vec<u64>,
    /// The largest exponent of all, if none is left out.
    whole_below: Option<i32>,
    /// Bits of an element, at most.
    bits: u32,
}

impl Integers {
    /// The largest exponent of an element, if none is left out of any operation.
    #[inline(always)]
    pub(crate) fn whole_below(&self) -> Option<i32> {
        self.whole_below
    }

    /// None of so many operations of a panel.
    pub(crate) fn leave_all_out(&mut self, operations: usize) {
        self.left_out.clear();
        self.left_out.resize(operations, u64::MAX);
    }

    /// How many operations of so many lines there are.
    #[inline(always)]
    pub(crate) fn operations(&self, lines: usize) -> usize {
        self.units.len() / lines
    }

    /// Those of an operation of that many elements, lines, and lines that leave out the same ones together.
    #[inline(always)]
    pub(crate) fn of_operation(
        &self,
        operation: usize,
        (length, lines, shares): (usize, usize, usize),
    ) -> Slices<'_> {
        Slices {
            pairs: part(&self.pairs, operation, length / 2 * lines),
            units: part(&self.units, operation, lines),
            left_out: part(&self.left_out, operation, shares),
            bits: self.bits,
        }
    }

    /// Elements of that many bits in operations of `length`, `share` lines leaving out the same ones; none of a format without
    /// span.
    #[inline(always)]
    pub(crate) fn of(
        cells: &Cells,
        (length, share): (usize, usize),
        scales: &[i32],
        format: Option<&Span>,
        bits: u32,
    ) -> Integers {
        let Some(&Span { last, .. }) = format else { return Integers::default() };
        let lines = cells.lines;
        let operations = cells.values.len() / (length * lines);
        let spread = scales.iter().max().zip(scales.iter().min());
        let too_large = |traits: &Traits| i32::from(traits.largest) - last > 30;
        if spread.is_some_and(|(most, least)| most - least > MOST_SPREAD)
            || cells.traits.iter().any(too_large)
        {
            let left_out = vec![u64::MAX; operations * (lines / share)];
            return Integers { left_out, ..Integers::default() };
        }
        let scale = power(-last) as f32;
        let mut numbers = vec![0; length * lines];
        let mut integers = Integers {
            pairs: Aligned::zeros(cells.values.len() / 2),
            units: Aligned::zeros(operations * lines),
            left_out: Vec::with_capacity(operations * (lines / share)),
            whole_below: None,
            bits,
        };
        let outputs = integers.pairs.slice().chunks_exact_mut(length / 2 * lines);
        let outputs = outputs.zip(integers.units.slice().chunks_exact_mut(lines));
        for (values, (pairs, last_bits)) in cells.values.chunks_exact(length * lines).zip(outputs) {
            // none is as large as 2^31
            numbers.iter_mut().zip(values).for_each(|(number, value)| *number = integer(value * scale));
            let mut all = [0u32; WIDEST];
            let all = &mut all[..lines];
            for line in numbers.chunks_exact(lines) {
                for (all, number) in all.iter_mut().zip(line) {
                    *all |= number.unsigned_abs();
                }
            }
            let mut units = [0; WIDEST];
            let units = &mut units[..lines];
            for (unit, all) in units.iter_mut().zip(&*all) {
                *unit = all.trailing_zeros().min(31).max((32 - all.leading_zeros()).saturating_sub(bits));
            }
            for (pair, output) in numbers.chunks_exact(2 * lines).zip(pairs.chunks_exact_mut(lines)) {
                let (even, odd) = pair.split_at(lines);
                let word =
                    |((even, odd), unit): ((&i32, &i32), &u32)| even >> unit & 0xffff | odd >> unit << 16;
                output.iter_mut().zip(even.iter().zip(odd).zip(&*units)).for_each(|(to, of)| *to = word(of));
            }
            for (group, (all, units)) in all.chunks_exact(share).zip(units.chunks_exact(share)).enumerate() {
                let mut left_out = 0;
                if all.iter().zip(units).any(|(all, unit)| all >> unit << unit != *all) {
                    let own = group * share..(group + 1) * share;
                    for (index, line) in numbers.chunks_exact(lines).enumerate() {
                        let cut = |(number, unit): (&i32, &u32)| number >> unit << unit != *number;
                        if line[own.clone()].iter().zip(units).any(cut) {
                            left_out |= 1 << index;
                            let other = if index % 2 == 0 { !0xffff } else { 0xffff };
                            let words = &mut pairs[index / 2 * lines..][own.clone()];
                            words.iter_mut().for_each(|word| *word &= other);
                        }
                    }
                }
                integers.left_out.push(left_out);
            }
            last_bits.iter_mut().zip(&*units).for_each(|(to, &unit)| *to = last + unit as i32);
        }
        if integers.left_out.iter().all(|&left_out| left_out == 0) {
            integers.whole_below = cells.traits.iter().map(|traits| i32::from(traits.largest)).max();
        }
        integers
    }
}

/// Whether products of an operation are cut, or too many left out, whatever e_max is.
#[inline(always)]
pub(crate) fn are_cut(plan: &Narrow, factors: &Factors<'_>, row: usize) -> bool {
    left_out(factors, row).count_ones() > plan.left_out
}

/// A bit for each element along K that is left out of an operation of a row.
#[inline(always)]
fn left_out(factors: &Factors<'_>, row: usize) -> u64 {
    factors.a_integers.left_out[row / ROWS] | factors.b_integers.left_out[0]
}

/// Adds the products of one operation of `R` rows to the accumulators, cut in units of 2^(e_max - F); `false`, and nothing
/// added, where something might be cut or may not fit. Few enough products are left out.
///
/// A dot product whose unit is 2^s above that of the sums is below L·(2 - 2^-m_a)(2 - 2^-m_b)·2^(F - s), which
/// with s >= `plan.whole_shift` is below 2^31: whatever its parts come to, it is right modulo 2^32. So it is where elements
/// have few enough bits. In the units of the sums it is held below 2^30, and the accumulator is below 2·2^F <= 2^29.
#[inline(always)]
pub(crate) fn whole_sums<S: Simd, const SCALED: bool, const R: usize>(
    s: S,
    plan: &Narrow,
    factors: &Factors<'_>,
    first_row: usize,
    begun: &Begun<S, R>,
    sums: &mut [Lanes<S::I>; R],
) -> bool {
    let (x, y) = (factors.a_integers, factors.b_integers);
    let width = VECTORS * S::LANES;
    let units = &y.units[..width];
    let (zero, one) = (s.i_splat(0), s.i_splat(1));
    let mut shifts = [[zero; VECTORS]; R];
    let mut least = s.i_splat(i32::MAX);
    for row in 0..R {
        // by how many bits units are above 2^(e_max - F), and one: the top bit has to stay free
        let of_row = s.i_splat(x.units[first_row + row] + plan.fraction_bits + 127 + 1);
        for vector in 0..VECTORS {
            let above = s.i_add(of_row, s.i_load(&units[vector * S::LANES..]));
            let mut shift = s.i_sub(above, s.i_shr(23, begun.maximum[row][vector]));
            if SCALED {
                shift = s.i_add(shift, begun.offsets[row][vector]);
            }
            shifts[row][vector] = shift;
            least = s.i_min(least, shift);
        }
    }
    let fits = x.bits + y.bits + plan.length.next_power_of_two().ilog2() <= 31;
    let enough = 1 + if fits { 0 } else { plan.whole_shift };
    if s.m_bits(s.i_gt(s.i_splat(enough), least)) != 0 {
        return false;
    }
    let (rows, columns) = (x.pairs, y.pairs);
    let mut dots = [[zero; VECTORS]; R];
    by_fours!(eights rows, GROUP; columns, width => |numbers, line| {
        let numbers = &numbers[first_row..][..R];
        for vector in 0..VECTORS {
            let column = s.i_load(&line[vector * S::LANES..]);
            for row in 0..R {
                dots[row][vector] = s.i_dot2(dots[row][vector], s.i_splat(numbers[row]), column);
            }
        }
    });
    let mut lost = zero;
    for row in 0..R {
        for vector in 0..VECTORS {
            let (dot, shift) = (dots[row][vector], shifts[row][vector]);
            let high = s.i_shl_by(dot, shift);
            lost = s.i_or(lost, s.i_xor(s.i_sar_by(high, shift), dot));
            dots[row][vector] = s.i_sar_by(high, one);
        }
    }
    if s.m_bits(s.i_eq(lost, zero)) != u32::MAX >> (32 - S::LANES) {
        return false;
    }
    for row in 0..R {
        for vector in 0..VECTORS {
            sums[row][vector] = s.i_add(sums[row][vector], dots[row][vector]);
        }
    }
    let mut left_out = left_out(factors, first_row);
    while left_out != 0 {
        let k = left_out.trailing_zeros() as usize;
        let numbers = &factors.products.values.a[k * GROUP + first_row..][..R];
        let line = &factors.products.values.b[k * width..][..width];
        add_product::<S, R, VECTORS>(s, numbers, line, &begun.scale, sums);
        left_out &= left_out - 1;
    }
    true
}
