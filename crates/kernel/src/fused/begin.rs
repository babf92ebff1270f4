//! What an operation of a row begins with: e_max, the power that brings products to its units, and the accumulator cut.

use super::Narrow;
use super::factors::{Factors, exponent_fields};
use crate::pack::VECTORS;
use crate::products::{Lanes, NO_PRODUCT, any_without_product};
use crate::simd::{Simd, larger_field};

/// What one operation of some rows begins with.
pub(crate) struct Begun<S: Simd, const R: usize> {
    /// e_max with the accumulator, as exponent fields.
    pub(crate) maximum: [Lanes<S::I>; R],
    /// Powers that bring products to units of 2^(e_max - F).
    pub(crate) scale: [Lanes<S::F>; R],
    /// The accumulator cut in these units; the smallest integer where it is not finite.
    pub(crate) sums: [Lanes<S::I>; R],
    /// Sums of exponents of scale factors.
    pub(crate) offsets: [Lanes<S::I>; R],
    /// Whether e_max of some lane is out of range; where scale factors take no part, only of those without a product.
    pub(crate) outside: bool,
}

/// Begins an operation of some rows, whose products have these largest exponents.
#[inline(always)]
pub(crate) fn begin<S: Simd, const SCALED: bool, const FP16: bool, const R: usize>(
    s: S,
    plan: &Narrow,
    factors: &Factors<'_>,
    first_row: usize,
    largest: [S::I; R],
    state: &[f32],
) -> Begun<S, R> {
    let (zero, nothing) = (s.i_splat(0), s.f_splat(0.0));
    let mut begun = Begun {
        maximum: [[zero; VECTORS]; R],
        scale: [[nothing; VECTORS]; R],
        sums: [[zero; VECTORS]; R],
        offsets: [[zero; VECTORS]; R],
        outside: false,
    };
    let width = VECTORS * S::LANES;
    for row in 0..R {
        let (rows, state) = ((first_row, row), &state[row * width..][..width]);
        begin_row::<S, SCALED, FP16, R>(s, plan, factors, rows, largest[row], state, &mut begun);
    }
    begun
}

/// Begins an operation of a row: exponents are handled as fields of FP32 words, biased and in place, so that e_max of a
/// lane is at once the bits of 2^e_max.
#[inline(always)]
fn begin_row<S: Simd, const SCALED: bool, const FP16: bool, const R: usize>(
    s: S,
    plan: &Narrow,
    factors: &Factors<'_>,
    (first_row, row): (usize, usize),
    largest: S::I,
    state: &[f32],
    begun: &mut Begun<S, R>,
) {
    let field = |exponent: i32| s.i_splat(exponent.wrapping_add(127) << 23);
    let (lowest, highest) = plan.exponents();
    let none = s.i_splat(NO_PRODUCT + 1);

    let products = exponent_fields(s, largest);
    let row_scale = if SCALED { factors.a_scales[first_row + row] } else { 0 };
    let (mut least, mut most) = (field(highest), field(lowest));
    for vector in 0..VECTORS {
        let mut product = products[vector];
        if SCALED {
            // exponents sum to a thousand at most: beyond the field they are clamped
            let offset = s.i_add(s.i_splat(row_scale), s.i_load(&factors.b_scales[vector * S::LANES..]));
            begun.offsets[row][vector] = offset;
            let own = s.i_sub(s.i_shr(23, product), s.i_splat(127));
            let sum = s.i_add(own, offset);
            let sum = s.i_max(s.i_min(sum, s.i_splat(128)), s.i_splat(-200));
            let sum = s.i_select(s.i_gt(none, own), s.i_splat(-200), sum);
            product = s.i_add(s.i_shl(23, sum), field(0));
        }
        let c = s.f_load(&state[vector * S::LANES..]);
        let (all, power, sums) = begin_lanes::<S, SCALED, FP16>(s, plan, factors.c_minimum, product, c);
        if SCALED {
            least = s.i_min(least, all);
            most = s.i_max(most, all);
        }
        begun.maximum[row][vector] = all;
        begun.sums[row][vector] = sums;
        begun.scale[row][vector] = if SCALED {
            let scaled = s.i_add(s.i_shr(23, power), begun.offsets[row][vector]);
            let scaled = s.i_min(s.i_max(scaled, s.i_splat(1)), s.i_splat(254));
            s.f_from_bits(s.i_shl(23, scaled))
        } else {
            s.f_from_bits(power)
        };
    }
    begun.outside |= match SCALED {
        true => s.m_bits(s.m_or(s.i_gt(most, field(highest)), s.i_gt(field(lowest), least))) != 0,
        // exponents of products are never too large, and too small only where there is none
        false => any_without_product(s, largest),
    };
}

/// An operation of as many columns as a vector has, whose largest product has the exponent `product`: e_max with the
/// accumulator `c`, whose subnormal numbers have the exponent `c_minimum`, the power that brings a number to units of
/// 2^(e_max - F), both as fields, and the accumulator in them.
#[inline(always)]
pub(crate) fn begin_lanes<S: Simd, const SCALED: bool, const FP16: bool>(
    s: S,
    plan: &Narrow,
    c_minimum: i32,
    product: S::I,
    c: S::F,
) -> (S::I, S::I, S::I) {
    let field = |exponent: i32| s.i_splat(exponent.wrapping_add(127) << 23);
    let mut own = s.i_and(s.f_bits(c), s.i_splat(0xff << 23));
    if FP16 || SCALED {
        // subnormal accumulators have the smallest exponent, zero has e_zero
        own = s.i_max(own, field(c_minimum));
        let zero = s.i_eq(s.i_shl(1, s.f_bits(c)), s.i_splat(0));
        own = s.i_select(zero, field(plan.c_zero.max(-200)), own);
    }
    let all = if SCALED { s.i_max(product, own) } else { larger_field(s, product, own) };
    // 2^(F - e_max) has the bits of 2^F·2^127·2^127 less those of 2^e_max
    let power = s.i_sub(s.i_splat((254 + plan.fraction_bits) << 23), all);
    (all, power, s.f_truncate_any(s.f_mul(c, s.f_from_bits(power))))
}
