//! Sums of few bits by products in FP16, twice as many to a vector.
//!
//! Elements of up to 9 bits in a product are scaled, exactly, so that the largest exponent of their operation, of
//! a row of A and of a whole panel of B, becomes [`TOP`]. With t the sum of both exponents before, a product is
//! then p' = p·2^(2·TOP - t), below 2^16, and becomes an integer in units of 2^(e_max - F) by one multiplication
//! by 2^(F - e_max + t - 2·TOP), truncated. Operations in which that power is above 2^15, which is the largest
//! of FP16, are left to vectors of FP32.
//!
//! A product of up to 9 bits is exact in FP16 unless its last bit is below 2^-24: then it is below 2^-16 at most,
//! rounded or not, and truncates to zero. A scaled product is exact unless it is subnormal and truncates to zero;
//! a power that rounds to zero is 2^-25 or less, with which every product does. What is left fits 16 bits with their
//! sign, as no term is above 2^15 - 1; sums are of 32 bits.

use super::begin::Begun;
use super::tile::{Lanes, Place};
use super::{Narrow, WIDEST, power};
use crate::element::{NO_EXPONENT, SPECIAL};
use crate::pack::{Aligned, Cells, GROUP, VECTORS};
use crate::simd::Simd;

/// The exponent that the largest factors of an operation get.
const TOP: i32 = 7;
/// Bits of products.
pub(crate) const PRODUCT_BITS: u32 = 9;
/// The largest exponent of a power of two in FP16.
const LARGEST_POWER: i32 = 15;
/// The exponent of FP16's last subnormal bit.
const LAST: i32 = -24;

/// Whether numbers with bits down to `last` and exponents up to `largest` are exact once scaled, by an FP32 number.
pub(crate) fn are_exact(last: i32, largest: i32) -> bool {
    last + TOP - largest >= LAST && largest <= 20
}

/// Elements of lines as FP16 numbers, two of a line in a word, the earlier one low.
pub(crate) struct Halves {
    pairs: Aligned<i32>,
    /// For each operation the largest exponent: of every line, or of all lines together.
    tops: Vec<i32>,
}

impl Halves {
    /// Elements in operations of `length`; every line has its own largest exponent, or all have one.
    #[inline(always)]
    pub(crate) fn of(cells: &Cells, length: usize, together: bool) -> Halves {
        let lines = cells.lines;
        let mut halves = Halves { pairs: Aligned::zeros(cells.values.len() / 2), tops: Vec::new() };
        let outputs = halves.pairs.slice().chunks_exact_mut(length / 2 * lines);
        let operations = cells.values.chunks_exact(length * lines);
        let operations = operations.zip(cells.exponents.chunks_exact(length * lines));
        for ((values, exponents), output) in operations.zip(outputs) {
            let mut largest = [NO_EXPONENT; WIDEST];
            for line in exponents.chunks_exact(lines) {
                for (largest, &exponent) in largest.iter_mut().zip(line) {
                    *largest = (*largest).max(exponent);
                }
            }
            let largest = &mut largest[..lines];
            if together {
                let joined = largest.iter().fold(NO_EXPONENT, |joined, &exponent| joined.max(exponent));
                largest.fill(joined);
            }
            // zeros and nothing else: any will do
            let top = |exponent: i16| if exponent <= SPECIAL { 0 } else { i32::from(exponent) };
            let mut scales = [0.0; WIDEST];
            for (scale, &largest) in scales.iter_mut().zip(&*largest) {
                // with the exponent field of FP16 where that of FP32 is: biases are 15 and 127
                *scale = power(TOP - top(largest) + 15 - 127);
            }
            for (pair, output) in values.chunks_exact(2 * lines).zip(output.chunks_exact_mut(lines)) {
                let (even, odd) = pair.split_at(lines);
                let factors = even.iter().zip(odd).zip(&scales);
                for (((even, odd), scale), word) in factors.zip(output) {
                    let (low, high) = ((even * scale).to_bits(), (odd * scale).to_bits());
                    let half = |bits: u32| bits >> 16 & 0x8000 | bits >> 13 & 0x7fff;
                    *word = (half(low) | half(high) << 16).cast_signed();
                }
            }
            let tops = if together { &largest[..1] } else { largest };
            halves.tops.extend(tops.iter().map(|&exponent| top(exponent)));
        }
        halves
    }
}

/// Adds the products of one operation of one row to the accumulator, cut in units of 2^(e_max - F); `false`, and
/// nothing added, where a power is too large.
#[inline(always)]
pub(crate) fn half_sums<S: Simd, const R: usize>(
    s: S,
    plan: &Narrow,
    (a, b): (&Halves, &Halves),
    Place { operation, first, row }: Place,
    begun: &Begun<S, R>,
    sums: &mut [Lanes<S::I>; R],
) -> bool {
    let (maximum, scale, sums) = (&begun.maximum[0], &begun.scale[0], &mut sums[0]);
    let moved = a.tops[operation * GROUP + row] + b.tops[operation] - 2 * TOP;
    let mut least = maximum[0];
    for vector in 1..VECTORS {
        least = s.i_min(least, maximum[vector]);
    }
    let limit = s.i_splat((plan.fraction_bits + moved - LARGEST_POWER + 127) << 23);
    if s.m_bits(s.i_gt(limit, least)) != 0 {
        return false;
    }
    let moved = s.f_splat(power(moved));
    let mut scales = *sums;
    for vector in 0..VECTORS {
        scales[vector] = s.h_twice(s.f_mul(scale[vector], moved));
    }
    let width = VECTORS * S::LANES;
    let (from, end) = (first / 2, (first + plan.length) / 2);
    let ones = s.i_splat(0x1_0001);
    let (rows, columns) = (&a.pairs[from * GROUP..end * GROUP], &b.pairs[from * width..end * width]);
    by_fours!(rows, GROUP; columns, width => |numbers, line| {
        let factors = s.i_splat(numbers[row]);
        for vector in 0..VECTORS {
            let terms = s.h_products(factors, s.i_load(&line[vector * S::LANES..]), scales[vector]);
            sums[vector] = s.i_dot2(sums[vector], terms, ones);
        }
    });
    true
}
