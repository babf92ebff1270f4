//! Sums of which nothing is cut, as dot products of small integers.
//!
//! Elements are integers in units of the lowest bit that is set in any of their operation: of a row of A, of a
//! whole panel of B. Where the product of both units is no less than 2^(e_max - F), every product is kept whole,
//! and their sum is one of integers: exact, in whatever order, two products by one instruction.

use super::tile::{Lanes, Place};
use super::{Narrow, PackedA, PackedB, WIDEST, power};
use crate::kernel::element::Element;
use crate::kernel::pack::{Cells, ROWS, VECTORS};
use crate::kernel::simd::Simd;

/// Unit and size of the integers of one operation.
#[derive(Clone, Copy)]
pub(super) struct Unit {
    /// The unit, as a power of two.
    exponent: i32,
    /// Bits of the largest magnitude.
    bits: u32,
}

/// Bits of an integer beside its sign.
const MOST_BITS: u32 = 15;
/// Scale factors of a block of K further apart than this, as exponents, cut most sums: none is looked for.
const MOST_SPREAD: i32 = 4;

/// Elements of lines as integers, two of a line in a word, the earlier one low.
#[derive(Default)]
pub(super) struct Integers {
    pairs: Vec<i32>,
    /// For each operation: of every line, or of all lines together.
    units: Vec<Unit>,
}

impl Integers {
    /// Elements that are multiples of 2^last below 2^(last + 31), in operations of `length`; every line has its own unit, or
    /// all have one.
    #[inline(always)]
    pub(super) fn of(cells: &Cells, length: usize, scales: &[i32], last: i32, together: bool) -> Integers {
        // a number of lines that is known makes loops that are vectors
        match cells.lines {
            ROWS => Integers::of_lines(cells, ROWS, length, scales, last, together),
            lines => Integers::of_lines(cells, lines, length, scales, last, together),
        }
    }

    #[inline(always)]
    fn of_lines(
        cells: &Cells,
        lines: usize,
        length: usize,
        scales: &[i32],
        last: i32,
        together: bool,
    ) -> Integers {
        let spread = scales.iter().max().zip(scales.iter().min());
        if spread.is_some_and(|(most, least)| most - least > MOST_SPREAD) {
            let unfit = Unit { exponent: 0, bits: MOST_BITS + 1 };
            return Integers { pairs: Vec::new(), units: vec![unfit; cells.elements.len() / length] };
        }
        let scale = power(-last);
        // SAFETY: numbers of such formats are integers below 2^31
        let integer = |element: &Element| unsafe { (element.value() * scale).to_int_unchecked::<i32>() };
        let mut integers =
            Integers { pairs: Vec::with_capacity(cells.elements.len() / 2), units: Vec::new() };
        for elements in cells.elements.chunks_exact(length * lines) {
            let mut all = [0u32; WIDEST];
            for line in elements.chunks_exact(lines) {
                for (all, element) in all.iter_mut().zip(line) {
                    *all |= integer(element).unsigned_abs();
                }
            }
            let all = &mut all[..lines];
            if together {
                let joined = all.iter().fold(0, |joined, bits| joined | bits);
                all.fill(joined);
            }
            for pair in elements.chunks_exact(2 * lines) {
                let (even, odd) = pair.split_at(lines);
                integers.pairs.extend(even.iter().zip(odd).zip(all.iter()).map(|((even, odd), all)| {
                    let unit = all.trailing_zeros().min(31);
                    (integer(even) >> unit & 0xffff) | (integer(odd) >> unit) << 16
                }));
            }
            let units = if together { &all[..1] } else { all };
            integers.units.extend(units.iter().map(|all| {
                let zeros = all.trailing_zeros().min(31);
                Unit { exponent: last + zeros as i32, bits: (32 - all.leading_zeros()).saturating_sub(zeros) }
            }));
        }
        integers
    }
}

/// The sums of one operation of one row, begun with the accumulator cut in units of 2^(e_max - F); `None`
/// where something might be cut or may not fit.
///
/// A dot product has at most `plan.whole_bits` = 31 - log2(L) bits of two factors and so stays below 2^31; in
/// the units of the sums it is held below 2^30, and the accumulator is below 2·2^F <= 2^29.
#[inline(always)]
pub(super) unsafe fn whole_sums<S: Simd, const SCALED: bool>(
    plan: &Narrow,
    (a, b): (&PackedA, &PackedB),
    Place { operation, first, row }: Place,
    (maximum, offsets): (&Lanes<S::I>, &Lanes<S::I>),
    begin: &Lanes<S::I>,
) -> Option<Lanes<S::I>> {
    unsafe {
        let (x, y) = (a.integers.units[operation * ROWS + row], b.integers.units[operation]);
        if x.bits.max(y.bits) > MOST_BITS || x.bits + y.bits > plan.whole_bits {
            return None;
        }
        // by how many bits units are above 2^(e_max - F), and one: the top bit has to stay free
        let above = S::i_splat(x.exponent + y.exponent + plan.fraction_bits + 127 + 1);
        let (zero, one) = (S::i_splat(0), S::i_splat(1));
        let mut shifts = [zero; VECTORS];
        let mut least = above;
        for vector in 0..VECTORS {
            shifts[vector] = S::i_sub(above, S::i_shr::<23>(maximum[vector]));
            if SCALED {
                shifts[vector] = S::i_add(shifts[vector], offsets[vector]);
            }
            least = S::i_min(least, shifts[vector]);
        }
        if S::m_bits(S::i_gt(one, least)) != 0 {
            return None;
        }
        let width = VECTORS * S::LANES;
        let a = a.integers.pairs.as_ptr().add(first / 2 * ROWS + row);
        let b = b.integers.pairs.as_ptr().add(first / 2 * width);
        let mut dots = [zero; VECTORS];
        by_chunks!(pair in 0..plan.length / 2 => {
            let factors = S::i_splat(*a.add(pair * ROWS));
            for vector in 0..VECTORS {
                let columns = S::i_load(b.add(pair * width + vector * S::LANES));
                dots[vector] = S::i_dot2(dots[vector], factors, columns);
            }
        });
        let mut sums = *begin;
        let mut lost = zero;
        for vector in 0..VECTORS {
            let high = S::i_shl_by(dots[vector], shifts[vector]);
            lost = S::i_or(lost, S::i_xor(S::i_sar_by(high, shifts[vector]), dots[vector]));
            sums[vector] = S::i_add(sums[vector], S::i_sar_by(high, one));
        }
        let kept = S::m_bits(S::i_eq(lost, zero));
        (kept == u32::MAX >> (32 - S::LANES)).then_some(sums)
    }
}
