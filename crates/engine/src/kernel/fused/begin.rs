//! What an operation of a row begins with: e_max, the power that brings products to its units, and the accumulator cut.

use super::tile::{Lanes, Place};
use super::{Narrow, PackedA, PackedB};
use crate::kernel::pack::{GROUP, VECTORS, bytes};
use crate::kernel::simd::{Simd, larger_field};

/// What one operation of one row begins with.
pub(super) struct Begin<S: Simd> {
    /// e_max with the accumulator, as exponent fields.
    pub(super) maximum: Lanes<S::I>,
    /// Powers that bring products to units of 2^(e_max - F).
    pub(super) scale: Lanes<S::F>,
    /// The accumulator cut in these units.
    pub(super) sums: Lanes<S::I>,
    /// Sums of exponents of scale factors.
    pub(super) offsets: Lanes<S::I>,
    /// Whether e_max of some lane is out of range; where scale factors take no part, only of those without a product.
    pub(super) outside: bool,
    /// No less than the largest exponent field of an accumulator.
    pub(super) most: S::I,
}

/// Begins an operation of a row, whose products have these largest exponents.
///
/// Exponents are handled as fields of FP32 words, biased and in place: e_max of a lane is at once the
/// bits of 2^e_max.
#[inline(always)]
pub(super) unsafe fn begin<S: Simd, const SCALED: bool, const FP16: bool>(
    plan: &Narrow,
    (a, b): (&PackedA, &PackedB),
    Place { operation, row, .. }: Place,
    largest: S::B,
    state: &[f32],
) -> Begin<S> {
    unsafe {
        let width = VECTORS * S::LANES;
        let field = |exponent: i32| S::i_splat(exponent.wrapping_add(127) << 23);
        let exponent_mask = S::i_splat(0xff << 23);
        // 2^(F - e_max) has the bits of 2^F·2^127·2^127 less those of 2^e_max
        let to_units = S::i_splat((254 + plan.fraction_bits) << 23);
        let (lowest, highest) = plan.exponents();
        let none = S::i_splat(plan.no_product);

        // e_max with the accumulator, the power that brings terms to units of 2^(e_max - F), and the
        // accumulator cut in these units, with which the sums begin
        let products = S::b_fields(S::b_add(largest, S::b_splat(0x7f7f_7f7f)));
        let mut maximum: Lanes<S::I> = [to_units; VECTORS];
        let mut scale: Lanes<S::F> = [S::f_splat(0.0); VECTORS];
        let mut sums: Lanes<S::I> = [S::i_splat(0); VECTORS];
        let mut offsets: Lanes<S::I> = [S::i_splat(0); VECTORS];
        let (mut least, mut most) = (field(highest), field(lowest));
        for vector in 0..VECTORS {
            let mut product = products[vector];
            if SCALED {
                // exponents sum to a thousand at most: beyond the field they are clamped
                let row_scale = S::i_splat(a.scales[operation * GROUP + row]);
                let column_scale = b.scales.as_ptr().add(operation * width + vector * S::LANES);
                offsets[vector] = S::i_add(row_scale, S::i_load(column_scale));
                let own = S::i_sub(S::i_shr::<23>(product), S::i_splat(127));
                let sum = S::i_add(own, offsets[vector]);
                let sum = S::i_max(S::i_min(sum, S::i_splat(128)), S::i_splat(-200));
                let sum = S::i_select(S::i_gt(none, own), S::i_splat(-200), sum);
                product = S::i_add(S::i_shl::<23>(sum), field(0));
            }
            let c = S::f_load(state.as_ptr().add(vector * S::LANES));
            let mut own = S::i_and(S::f_bits(c), exponent_mask);
            if FP16 || SCALED {
                // subnormal accumulators have the smallest exponent, zero has e_zero
                own = S::i_max(own, field(plan.c_minimum));
                let zero = S::i_eq(S::i_shl::<1>(S::f_bits(c)), S::i_splat(0));
                own = S::i_select(zero, field(plan.c_zero.max(-200)), own);
            }
            let all = if SCALED { S::i_max(product, own) } else { larger_field::<S>(product, own) };
            if SCALED {
                least = S::i_min(least, all);
                most = S::i_max(most, all);
            } else {
                most = larger_field::<S>(most, own);
            }
            maximum[vector] = all;
            let power = S::i_sub(to_units, all);
            sums[vector] = S::f_truncate(S::f_mul(c, S::f_from_bits(power)));
            scale[vector] = if SCALED {
                let scaled = S::i_add(S::i_shr::<23>(power), offsets[vector]);
                let scaled = S::i_min(S::i_max(scaled, S::i_splat(1)), S::i_splat(254));
                S::f_from_bits(S::i_shl::<23>(scaled))
            } else {
                S::f_from_bits(power)
            };
        }
        let outside = match SCALED {
            true => S::m_bits(S::m_or(S::i_gt(most, field(highest)), S::i_gt(field(lowest), least))) != 0,
            // exponents of products are never too large, and too small only where there is none
            false => S::b_any_gt(S::b_splat(bytes(plan.no_product as i8)), largest),
        };
        Begin { maximum, scale, sums, offsets, outside, most }
    }
}
