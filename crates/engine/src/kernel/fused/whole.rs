//! Sums of which nothing is cut, as dot products of small integers.
//!
//! Elements are integers in units of the lowest bit that is set in any of their line and operation. Where the
//! product of both units is no less than 2^(e_max - F), every product is kept whole, and their sum is one of
//! integers: exact, in whatever order, two products by one instruction. A few elements of an operation may be far
//! smaller than the largest of their line: their products are left out, and added as those that are cut.

use super::tile::{Lanes, Place, add_product};
use super::{Narrow, PackedA, PackedB, WIDEST, power};
use crate::kernel::element::Element;
use crate::kernel::pack::{Cells, ROWS, Traits, VECTORS};
use crate::kernel::simd::Simd;

/// Bits of an integer beside its sign.
const MOST_BITS: u32 = 15;
/// The same for a row of A, of numbers of [`FAR`] bits: with those of a column, products have 23 bits at most, the
/// first near that of e_max: those of 25 are whole.
const ROW_BITS: u32 = 10;
/// The same for a column of B. A panel has more elements, that is more small ones.
const COLUMN_BITS: u32 = 13;
/// Numbers of so many bits, from the first of the largest to the last of the smallest, are often far apart.
const FAR: i32 = 24;
/// Products left out of an operation, at most: more take about as long as if all were cut.
const MOST_LEFT_OUT: u32 = 8;

/// How many products may be left out where a term is below `term` and the accumulator below 2·2^F, in units of
/// 2^(e_max - F): what is whole stays below 2^30, all together below 2^31.
pub(super) fn most_left_out(term: u128, fraction_bits: u32) -> u32 {
    let room = (1u128 << 30).saturating_sub(2 << fraction_bits);
    MOST_LEFT_OUT.min((room / term) as u32)
}
/// Scale factors of a block of K further apart than this, as exponents, cut most sums: none is looked for.
const MOST_SPREAD: i32 = 4;

/// Elements of lines as integers, two of a line in a word, the earlier one low.
#[derive(Default)]
pub(super) struct Integers {
    pairs: Vec<i32>,
    /// The exponent of the unit, for each operation and line.
    units: Vec<i32>,
    /// A bit for each element along K that is left out, of each operation; the words have a zero there.
    left_out: Vec<u64>,
}

impl Integers {
    /// Elements that are multiples of 2^last, of a format of `span` bits, in operations of `length`.
    #[inline(always)]
    pub(super) fn of(cells: &Cells, length: usize, scales: &[i32], (last, span): (i32, i32)) -> Integers {
        let bits = |few| if span < FAR { MOST_BITS } else { few };
        // a number of lines that is known makes loops that are vectors
        match cells.lines {
            ROWS => Integers::of_lines(cells, (ROWS, bits(ROW_BITS)), length, scales, last),
            lines => Integers::of_lines(cells, (lines, bits(COLUMN_BITS)), length, scales, last),
        }
    }

    #[inline(always)]
    fn of_lines(
        cells: &Cells,
        (lines, most_bits): (usize, u32),
        length: usize,
        scales: &[i32],
        last: i32,
    ) -> Integers {
        let operations = cells.elements.len() / (length * lines);
        let spread = scales.iter().max().zip(scales.iter().min());
        let too_large = |traits: &Traits| i32::from(traits.largest) - last > 30;
        if spread.is_some_and(|(most, least)| most - least > MOST_SPREAD)
            || cells.traits.iter().any(too_large)
        {
            return Integers { left_out: vec![u64::MAX; operations], ..Integers::default() };
        }
        let scale = power(-last);
        // SAFETY: none is as large as 2^31
        let integer = |element: &Element| unsafe { (element.value() * scale).to_int_unchecked::<i32>() };
        let mut integers = Integers {
            pairs: Vec::with_capacity(cells.elements.len() / 2),
            units: Vec::with_capacity(operations * lines),
            left_out: Vec::with_capacity(operations),
        };
        for elements in cells.elements.chunks_exact(length * lines) {
            let mut all = [0u32; WIDEST];
            for line in elements.chunks_exact(lines) {
                for (all, element) in all.iter_mut().zip(line) {
                    *all |= integer(element).unsigned_abs();
                }
            }
            let all = &all[..lines];
            let mut units = [0; WIDEST];
            for (unit, all) in units.iter_mut().zip(all) {
                *unit =
                    all.trailing_zeros().min(31).max((32 - all.leading_zeros()).saturating_sub(most_bits));
            }
            let units = &units[..lines];
            let mut left_out = 0;
            if all.iter().zip(units).any(|(all, unit)| all >> unit << unit != *all) {
                for (index, line) in elements.chunks_exact(lines).enumerate() {
                    let cut = |(element, unit): (&Element, &u32)| {
                        let integer = integer(element);
                        integer >> unit << unit != integer
                    };
                    left_out |= u64::from(line.iter().zip(units).any(cut)) << index;
                }
            }
            for (index, pair) in elements.chunks_exact(2 * lines).enumerate() {
                let (even, odd) = pair.split_at(lines);
                let keep = |at: usize| if left_out >> at & 1 == 1 { 0 } else { -1 };
                let (keep_even, keep_odd) = (keep(2 * index) & 0xffff, keep(2 * index + 1));
                integers.pairs.extend(even.iter().zip(odd).zip(units).map(|((even, odd), unit)| {
                    (integer(even) >> unit & keep_even) | (integer(odd) >> unit & keep_odd) << 16
                }));
            }
            integers.units.extend(units.iter().map(|&unit| last + unit as i32));
            integers.left_out.push(left_out);
        }
        integers
    }
}

/// The sums of one operation of one row, begun with the accumulator cut in units of 2^(e_max - F); `None`
/// where something might be cut or may not fit.
///
/// A dot product whose unit is 2^s above that of the sums is below L·(2 - 2^-m_a)(2 - 2^-m_b)·2^(F - s), which
/// with s >= `plan.whole_shift` is below 2^31: whatever its parts come to, it is right modulo 2^32. In
/// the units of the sums it is held below 2^30, and the accumulator is below 2·2^F <= 2^29.
#[inline(always)]
pub(super) unsafe fn whole_sums<S: Simd, const SCALED: bool>(
    plan: &Narrow,
    (a, b): (&PackedA, &PackedB),
    Place { operation, first, row }: Place,
    (maximum, offsets): (&Lanes<S::I>, &Lanes<S::I>),
    (begin, scale): (&Lanes<S::I>, &Lanes<S::F>),
) -> Option<Lanes<S::I>> {
    unsafe {
        let (x, y) = (&a.integers, &b.integers);
        let mut left_out = x.left_out[operation] | y.left_out[operation];
        if left_out.count_ones() > plan.left_out {
            return None;
        }
        let width = VECTORS * S::LANES;
        // by how many bits units are above 2^(e_max - F), and one: the top bit has to stay free
        let of_row = x.units[operation * ROWS + row] + plan.fraction_bits + 127 + 1;
        let columns = y.units.as_ptr().add(operation * width);
        let (zero, one) = (S::i_splat(0), S::i_splat(1));
        let mut shifts = [zero; VECTORS];
        let mut least = S::i_splat(i32::MAX);
        for vector in 0..VECTORS {
            let above = S::i_add(S::i_splat(of_row), S::i_load(columns.add(vector * S::LANES)));
            shifts[vector] = S::i_sub(above, S::i_shr::<23>(maximum[vector]));
            if SCALED {
                shifts[vector] = S::i_add(shifts[vector], offsets[vector]);
            }
            least = S::i_min(least, shifts[vector]);
        }
        if S::m_bits(S::i_gt(S::i_splat(plan.whole_shift + 1), least)) != 0 {
            return None;
        }
        let factors = x.pairs.as_ptr().add(first / 2 * ROWS + row);
        let lines = y.pairs.as_ptr().add(first / 2 * width);
        let mut dots = [zero; VECTORS];
        by_chunks!(pair in 0..plan.length / 2 => {
            let factor = S::i_splat(*factors.add(pair * ROWS));
            for vector in 0..VECTORS {
                let columns = S::i_load(lines.add(pair * width + vector * S::LANES));
                dots[vector] = S::i_dot2(dots[vector], factor, columns);
            }
        });
        let mut sums = *begin;
        let mut lost = zero;
        for vector in 0..VECTORS {
            let high = S::i_shl_by(dots[vector], shifts[vector]);
            lost = S::i_or(lost, S::i_xor(S::i_sar_by(high, shifts[vector]), dots[vector]));
            sums[vector] = S::i_add(sums[vector], S::i_sar_by(high, one));
        }
        if S::m_bits(S::i_eq(lost, zero)) != u32::MAX >> (32 - S::LANES) {
            return None;
        }
        while left_out != 0 {
            let position = first + left_out.trailing_zeros() as usize;
            add_product::<S>((a, b), (row, position), scale, &mut sums);
            left_out &= left_out - 1;
        }
        Some(sums)
    }
}
