//! Sums of few bits, each product rounded down by the multiply-add that adds it, in FP32.
//!
//! A sum begins at 1.5·2^23 units of 2^(e_max - F). Products that come to less than 2^22 units leave it from 2^23 to 2^24, where
//! FP32 numbers are one unit apart: so a multiply-add rounded down adds the product cut to units, in one instruction.
//!
//! It cuts down and not toward zero: each negative product that loses bits comes out one unit too small. These are counted,
//! 64 at a time in bytes. A product loses bits where its last bit is below the unit, and the place of that bit is the sum
//! of both factors' own. A byte holds it negated, less 128 where the factor is negative: sums of two, modulo 256, are below
//! zero for products above zero, 128 - place for those below it, and one comparison finds what is to be counted.

use bitmma_arithmetic::run::Side;

use super::factors::Factors;
use super::whole::Span;
use crate::pack::{Bytes, GROUP, VECTORS, bytes};
use crate::products::Lanes;
use crate::simd::{DOWN, Simd, by_fours, byte_fields, field_bytes};

/// Bits of FP32's fraction.
const FRACTION: i32 = 23;
/// The place of zero: with any other it is above that of every product but zero.
const NO_BIT: i32 = 64;
/// Terms of a sum, at most: they are counted in bytes.
const MOST_TERMS: usize = 127;

/// Where the last bits of factors are, for a model whose sums can be computed so.
#[derive(Clone, Copy)]
pub(crate) struct Floors {
    /// The smallest place of a factor's last bit, as an exponent, of A and of B.
    least: [i32; 2],
}

impl Floors {
    /// For factors of these formats, if sums of `length` terms below `term` units fit FP32's fraction, and places a byte.
    pub(crate) fn of([a, b]: [Span; 2], term: u128, length: usize) -> Option<Floors> {
        let least = [a.last, b.last];
        let fits = term * (length as u128) < 1 << (FRACTION - 1)
            && length <= MOST_TERMS
            && a.bits + b.bits <= NO_BIT
            && (-128..0).contains(&(a.last + b.last));
        fits.then_some(Floors { least })
    }

    /// The bytes of factors; B's are one above the smallest, so that no product has the place 0.
    #[inline(always)]
    pub(crate) fn places<E: Bytes>(self, side: Side, lines: usize, values: &[f32]) -> E {
        let least = if side == Side::A { self.least[0] } else { self.least[1] - 1 };
        E::of(lines, values, |value| place(value, least))
    }
}

/// The byte of a factor: the place of its last bit above `least`, negated, and 128 off where it is negative.
#[inline(always)]
fn place(value: f32, least: i32) -> i8 {
    let bits = value.to_bits();
    let significand = (bits & 0x7f_ffff | 0x80_0000).cast_signed();
    let last = (significand & -significand) as f32; // a power of two
    let exponent = |bits: u32| (bits >> FRACTION & 255).cast_signed() - 127;
    let place = exponent(bits) - FRACTION + exponent(last.to_bits()) - least;
    let zero = bits << 1 == 0;
    let sign = if zero { 0 } else { bits >> 31 << 7 };
    (sign.cast_signed() - if zero { NO_BIT } else { place }) as i8
}

/// Adds the products of one operation of `R` rows, cut in units of 1/`scale`; `false`, and nothing added, where a sum
/// would leave FP32's range.
#[inline(always)]
pub(crate) fn floor_sums<S: Simd, const R: usize>(
    s: S,
    floors: Floors,
    factors: &Factors<'_>,
    row: usize,
    scale: &[Lanes<S::F>; R],
    sums: &mut [Lanes<S::I>; R],
) -> bool {
    let width = VECTORS * S::LANES;
    // the bits of 1.5·2^23 units are these less those of 2^(F - e_max): 2·127 are the biases of the two
    let start = s.i_splat(((254 + FRACTION) << FRACTION) | 1 << (FRACTION - 1));
    let mut begun = [[s.i_splat(0); VECTORS]; R];
    let mut least = s.i_splat(i32::MAX);
    for row in 0..R {
        for vector in 0..VECTORS {
            let power = s.f_bits(scale[row][vector]);
            begun[row][vector] = s.i_sub(start, power);
            least = s.i_min(least, power);
        }
    }
    if s.m_bits(s.i_gt(s.i_splat((FRACTION + 1) << FRACTION), least)) != 0 {
        return false;
    }
    // above 128 less the place of the unit: 128 - 127 + F - e_max, and the two smallest places, one more for B
    let limit = (128 + floors.least[0] + floors.least[1]) as i8;
    let mut all = [[s.f_splat(0.0); VECTORS]; R];
    let mut limits = [s.i_splat(0); R];
    for row in 0..R {
        let mut powers = [s.i_splat(0); VECTORS];
        for vector in 0..VECTORS {
            powers[vector] = s.f_bits(scale[row][vector]);
            all[row][vector] = s.f_from_bits(begun[row][vector]);
        }
        let powers = field_bytes(s, powers);
        let centered = s.b_sub(powers, s.i_splat(bytes(-128)));
        let limit = s.b_add_saturating(centered, s.i_splat(bytes(limit)));
        limits[row] = s.b_max(limit, s.i_splat(bytes((128 - NO_BIT) as i8)));
    }
    let mut counts = [s.i_splat(0); R];
    // both at once: multipliers have no part in counting
    let (values, of_rows, of_columns) = (factors.products.values, factors.a_places, factors.b_places);
    by_fours!(values.a, GROUP; values.b, width; of_rows, GROUP; of_columns, S::LANES => |numbers, line, places, of_line| {
        let (numbers, places) = (&numbers[row..][..R], &places[row..][..R]);
        for vector in 0..VECTORS {
            let column = s.f_load(&line[vector * S::LANES..]);
            for row in 0..R {
                let factor = s.f_splat(numbers[row]);
                all[row][vector] = s.f_fma_toward::<DOWN>(factor, column, all[row][vector]);
            }
        }
        let column = s.i_load(of_line);
        for row in 0..R {
            let sum = s.b_add(s.i_splat(places[row]), column);
            counts[row] = s.b_count_gt(counts[row], sum, limits[row]);
        }
    });
    for row in 0..R {
        let counts = byte_fields(s, counts[row]);
        for vector in 0..VECTORS {
            let down = s.i_sub(s.f_bits(all[row][vector]), begun[row][vector]);
            let sum = s.i_add(down, s.i_shr(FRACTION, counts[vector]));
            sums[row][vector] = s.i_add(sums[row][vector], sum);
        }
    }
    true
}
