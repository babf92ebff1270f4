//! Sums of which nothing is cut, as dot products of small integers.
//!
//! Elements are integers in units of the lowest bit that is set in any of their line and operation. Where the
//! product of both units is no less than 2^(e_max - F), every product is kept whole, and their sum is one of
//! integers: exact, in whatever order, two products by one instruction. A few elements of an operation may be far
//! smaller than the largest of their line: their products are left out, and added as those that are cut.

use bitmma_formats::Format;

use super::tile::{Lanes, Place, add_product};
use super::{Narrow, PackedA, PackedB, WIDEST, power};
use crate::kernel::pack::{Aligned, Cells, GROUP, ROWS, Traits, VECTORS};
use crate::kernel::simd::Simd;

/// Bits of an integer beside its sign.
const MOST_BITS: u32 = 15;
/// The same for a row of A, of numbers of [`FAR`] bits: with those of a column, products have 23 bits at most, the
/// first near that of e_max: those of 25 are whole.
const ROW_BITS: u32 = 10;
/// The same for a column of B. A panel has more elements, that is more small ones.
const COLUMN_BITS: u32 = 13;
/// Numbers of this many bits, from the first of the largest to the last of the smallest, are often far apart.
const FAR: i32 = 24;
/// Products left out of an operation, at most: more take about as long as if all were cut.
const MOST_LEFT_OUT: u32 = 8;

/// Scale factors of a block of K further apart than this, as exponents, cut most sums: none is looked for.
const MOST_SPREAD: i32 = 4;

/// How many products may be left out where a term is below `term` and the accumulator below 2·2^F, in units of
/// 2^(e_max - F): what is whole stays below 2^30, all together below 2^31.
pub(super) fn most_left_out(term: u128, fraction_bits: u32) -> u32 {
    let room = (1u128 << 30).saturating_sub(2 << fraction_bits);
    MOST_LEFT_OUT.min((room / term) as u32)
}

/// The bits that numbers of a format have.
pub(super) struct Span {
    /// The last, as an exponent.
    pub(super) last: i32,
    /// How many there are from the first of the largest number to that.
    bits: i32,
}

impl Span {
    pub(super) fn of(format: &Format) -> Span {
        let last = format.min_exponent() - format.fraction_bits as i32;
        Span { last, bits: format.max_exponent() - last + 1 }
    }
}

/// Elements of lines as integers, two of a line in a word, the earlier one low.
#[derive(Default)]
pub(super) struct Integers {
    pairs: Aligned<i32>,
    /// The exponent of the unit, for each operation and line.
    units: Aligned<i32>,
    /// A bit for each element along K that is left out, of each operation and share of its lines; the words
    /// of these lines have a zero there.
    left_out: Vec<u64>,
}

impl Integers {
    /// Elements in operations of `length`, `share` lines leaving out the same ones; none of a format without span.
    #[inline(always)]
    pub(super) fn of(
        cells: &Cells,
        length: usize,
        share: usize,
        scales: &[i32],
        format: Option<&Span>,
    ) -> Integers {
        let Some(&Span { last, bits }) = format else { return Integers::default() };
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
        let most_bits = match bits < FAR {
            true => MOST_BITS,
            false => {
                if share == ROWS {
                    ROW_BITS
                } else {
                    COLUMN_BITS
                }
            }
        };
        let scale = power(-last);
        // SAFETY: none is as large as 2^31
        let integer = |value: &f32| unsafe { (value * scale).to_int_unchecked::<i32>() };
        let mut integers = Integers {
            pairs: Aligned::zeros(cells.values.len() / 2),
            units: Aligned::zeros(operations * lines),
            left_out: Vec::with_capacity(operations * (lines / share)),
        };
        let outputs = integers.pairs.slice().chunks_exact_mut(length / 2 * lines);
        let outputs = outputs.zip(integers.units.slice().chunks_exact_mut(lines));
        for (values, (pairs, last_bits)) in cells.values.chunks_exact(length * lines).zip(outputs) {
            let mut all = [0u32; WIDEST];
            let all = &mut all[..lines];
            for line in values.chunks_exact(lines) {
                for (all, value) in all.iter_mut().zip(line) {
                    *all |= integer(value).unsigned_abs();
                }
            }
            let mut units = [0; WIDEST];
            let units = &mut units[..lines];
            for (unit, all) in units.iter_mut().zip(&*all) {
                *unit =
                    all.trailing_zeros().min(31).max((32 - all.leading_zeros()).saturating_sub(most_bits));
            }
            for (pair, output) in values.chunks_exact(2 * lines).zip(pairs.chunks_exact_mut(lines)) {
                let (even, odd) = pair.split_at(lines);
                let word = |((even, odd), unit): ((&f32, &f32), &u32)| {
                    integer(even) >> unit & 0xffff | integer(odd) >> unit << 16
                };
                output.iter_mut().zip(even.iter().zip(odd).zip(&*units)).for_each(|(to, of)| *to = word(of));
            }
            for (group, (all, units)) in all.chunks_exact(share).zip(units.chunks_exact(share)).enumerate() {
                let mut left_out = 0;
                if all.iter().zip(units).any(|(all, unit)| all >> unit << unit != *all) {
                    let own = group * share..(group + 1) * share;
                    for (index, line) in values.chunks_exact(lines).enumerate() {
                        let cut = |(value, unit): (&f32, &u32)| {
                            let integer = integer(value);
                            integer >> unit << unit != integer
                        };
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
        integers
    }
}

/// Whether products of an operation are cut, or too many left out, whatever e_max is.
pub(super) fn are_cut(
    plan: &Narrow,
    (a, b): (&PackedA, &PackedB),
    Place { operation, row, .. }: Place,
) -> bool {
    left_out((a, b), operation, row).count_ones() > plan.left_out
}

/// A bit for each element along K that is left out of an operation of a row.
#[inline(always)]
fn left_out((a, b): (&PackedA, &PackedB), operation: usize, row: usize) -> u64 {
    a.integers.left_out[operation * (GROUP / ROWS) + row / ROWS] | b.integers.left_out[operation]
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
        let mut left_out = left_out((a, b), operation, row);
        if left_out.count_ones() > plan.left_out {
            return None;
        }
        let width = VECTORS * S::LANES;
        // by how many bits units are above 2^(e_max - F), and one: the top bit has to stay free
        let of_row = x.units[operation * GROUP + row] + plan.fraction_bits + 127 + 1;
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
        let factors = x.pairs.as_ptr().add(first / 2 * GROUP + row);
        let lines = y.pairs.as_ptr().add(first / 2 * width);
        let mut dots = [zero; VECTORS];
        by_chunks!(pair in 0..plan.length / 2 => {
            let factor = S::i_splat(*factors.add(pair * GROUP));
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
