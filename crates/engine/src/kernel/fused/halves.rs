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

use super::tile::{Lanes, Place};
use super::{Narrow, WIDEST, power};
use crate::kernel::element::{NO_EXPONENT, SPECIAL};
use crate::kernel::pack::{Aligned, Cells, GROUP, VECTORS};
use crate::kernel::simd::Simd;

/// The exponent that the largest factors of an operation get.
const TOP: i32 = 7;
/// Bits of products.
pub(super) const PRODUCT_BITS: u32 = 9;
/// The largest exponent of a power of two in FP16.
const LARGEST_POWER: i32 = 15;
/// The exponent of FP16's last subnormal bit.
const LAST: i32 = -24;

/// Whether numbers with bits down to `last` and exponents up to `largest` are exact once scaled, by an FP32 number.
pub(super) fn are_exact(last: i32, largest: i32) -> bool {
    last + TOP - largest >= LAST && largest <= 20
}

/// Elements of lines as FP16 numbers, two of a line in a word, the earlier one low.
pub(super) struct Halves {
    pairs: Aligned<u32>,
    /// For each operation the largest exponent: of every line, or of all lines together.
    tops: Vec<i32>,
}

impl Halves {
    /// Elements in operations of `length`; every line has its own largest exponent, or all have one.
    #[inline(always)]
    pub(super) fn of(cells: &Cells, length: usize, together: bool) -> Halves {
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
                    *word = half(low) | half(high) << 16;
                }
            }
            let tops = if together { &largest[..1] } else { largest };
            halves.tops.extend(tops.iter().map(|&exponent| top(exponent)));
        }
        halves
    }
}

/// The sums of one operation of one row, begun with the accumulator cut in units of 2^(e_max - F), with
/// e_max in `maximum` as fields of FP32 and 2^(F - e_max) in `scale`; `None` where such a power is too large.
#[inline(always)]
pub(super) unsafe fn half_sums<S: Simd>(
    plan: &Narrow,
    (a, b): (&Halves, &Halves),
    Place { operation, first, row }: Place,
    (maximum, scale): (&Lanes<S::I>, &Lanes<S::F>),
    mut sums: Lanes<S::I>,
) -> Option<Lanes<S::I>> {
    unsafe {
        let moved = a.tops[operation * GROUP + row] + b.tops[operation] - 2 * TOP;
        let mut least = maximum[0];
        for maximum in maximum {
            least = S::i_min(least, *maximum);
        }
        let limit = S::i_splat((plan.fraction_bits + moved - LARGEST_POWER + 127) << 23);
        if S::m_bits(S::i_gt(limit, least)) != 0 {
            return None;
        }
        let moved = S::f_splat(power(moved));
        let mut scales = sums;
        for vector in 0..VECTORS {
            scales[vector] = S::h_twice(S::f_mul(scale[vector], moved));
        }
        let width = VECTORS * S::LANES;
        let a = a.pairs.as_ptr().add(first / 2 * GROUP + row);
        let b = b.pairs.as_ptr().add(first / 2 * width);
        let ones = S::i_splat(0x1_0001);
        by_chunks!(pair in 0..plan.length / 2 => {
            let factors = S::i_splat((*a.add(pair * GROUP)).cast_signed());
            for vector in 0..VECTORS {
                let columns = S::i_load(b.add(pair * width + vector * S::LANES).cast());
                let terms = S::h_products(factors, columns, scales[vector]);
                sums[vector] = S::i_dot2(sums[vector], terms, ones);
            }
        });
        Some(sums)
    }
}
