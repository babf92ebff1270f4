//! One tile through one block of K, in vectors.

use super::mend::{mend, wide};
use super::{NO_PRODUCT, Narrow, PackedA, PackedB, Rho, WIDEST};
use crate::kernel::pack::{ROWS, Range, VECTORS};
use crate::kernel::simd::Simd;

/// The vectors of one row of a tile.
pub(super) type Lanes<V> = [V; VECTORS];

/// One tile through one block of K, operation by operation.
///
/// Exponents are handled as fields of FP32 words, biased and in place: e_max of a lane is at once the
/// bits of 2^e_max.
#[inline(always)]
pub(super) unsafe fn tile<S: Simd, const SCALED: bool, const FP16: bool, const SEGMENTED: bool>(
    plan: &Narrow,
    (a, b): (&PackedA, &PackedB),
    k: Range,
    state: &mut [f32],
    rare: &mut dyn FnMut(usize, usize, usize, f32) -> f32,
) {
    unsafe {
        let width = VECTORS * S::LANES;
        assert!(state.len() == ROWS * width && b.columns == width);
        assert!(a.values.len() == k.length * ROWS && b.values.len() == k.length * width);
        let (a_values, b_values) = (a.values.as_ptr(), b.values.as_ptr());
        let (a_exponents, b_exponents) = (a.exponents.as_ptr(), b.exponents.as_ptr());

        let field = |exponent: i32| S::i_splat(exponent.wrapping_add(127) << 23);
        let exponent_mask = S::i_splat(0xff << 23);
        let one = field(0);
        // 2^(F - e_max) has the bits of 2^F·2^127·2^127 less those of 2^e_max
        let to_units = S::i_splat((254 + plan.fraction_bits) << 23);
        let fraction = S::i_splat(plan.fraction_bits << 23);
        let (lowest, highest) = plan.exponents();
        let (lowest, highest) = (field(lowest), field(highest));

        let mut held = [0.0; ROWS * WIDEST];
        for (operation, first) in (0..k.length).step_by(plan.length).enumerate() {
            if let Some(operations) = plan.add_last
                && operation % operations == 0
            {
                if operation > 0 {
                    add_held::<S, FP16>(state, &held);
                }
                held[..state.len()].copy_from_slice(state);
                state.fill(0.0);
            }
            if plan.guarded && !a.ranges[operation].are_safe_with(b.ranges[operation]) {
                wide(plan, (a, b), first, state);
                continue;
            }
            // first pass: the largest exponent of the products
            let mut largest = [S::b_splat(0x8080_8080); ROWS];
            for index in first..first + plan.length {
                let b_exponent = S::b_load(b_exponents.add(index * width));
                for row in 0..ROWS {
                    let a_exponent = S::b_splat(*a_exponents.add(index * ROWS + row));
                    largest[row] = S::b_max(largest[row], S::b_add(a_exponent, b_exponent));
                }
            }

            // e_max with the accumulator, the power that brings terms to units of 2^(e_max - F), and the
            // accumulator cut in these units, with which the sums begin
            let mut maximum: [Lanes<S::I>; ROWS] = [[one; VECTORS]; ROWS];
            let mut scale: [Lanes<S::F>; ROWS] = [[S::f_splat(0.0); VECTORS]; ROWS];
            let mut sums: [Lanes<S::I>; ROWS] = [[S::i_splat(0); VECTORS]; ROWS];
            let (mut least, mut most) = (highest, lowest);
            for row in 0..ROWS {
                let products = S::b_widen(largest[row]);
                for vector in 0..VECTORS {
                    let at = row * width + vector * S::LANES;
                    let mut product = S::i_add(S::i_shl::<23>(products[vector]), one);
                    let mut offset = S::i_splat(0);
                    if SCALED {
                        // exponents sum to a thousand at most: beyond the field they are clamped
                        let row_scale = S::i_splat(a.scales[operation * ROWS + row]);
                        let column_scale = b.scales.as_ptr().add(operation * width + vector * S::LANES);
                        offset = S::i_add(row_scale, S::i_load(column_scale));
                        let sum = S::i_add(products[vector], offset);
                        let sum = S::i_max(S::i_min(sum, S::i_splat(128)), S::i_splat(-200));
                        let none = S::i_gt(S::i_splat(NO_PRODUCT), products[vector]);
                        let sum = S::i_select(none, S::i_splat(-200), sum);
                        product = S::i_add(S::i_shl::<23>(sum), one);
                    }
                    let c = S::f_load(state.as_ptr().add(at));
                    let mut own = S::i_and(S::f_bits(c), exponent_mask);
                    if FP16 || SCALED {
                        // subnormal accumulators have the smallest exponent, zero has e_zero
                        own = S::i_max(own, field(plan.c_minimum));
                        let zero = S::i_eq(S::i_shl::<1>(S::f_bits(c)), S::i_splat(0));
                        own = S::i_select(zero, field(plan.c_zero.max(-200)), own);
                    }
                    let all = S::i_max(product, own);
                    least = S::i_min(least, all);
                    most = S::i_max(most, all);
                    maximum[row][vector] = all;
                    let power = S::i_sub(to_units, all);
                    sums[row][vector] = S::f_truncate(S::f_mul(c, S::f_from_bits(power)));
                    scale[row][vector] = if SCALED {
                        let exponent = S::i_shr::<23>(power);
                        let scaled = S::i_add(exponent, offset);
                        let scaled = S::i_min(S::i_max(scaled, S::i_splat(1)), S::i_splat(254));
                        S::f_from_bits(S::i_shl::<23>(scaled))
                    } else {
                        S::f_from_bits(power)
                    };
                }
            }
            let outside = S::m_or(S::i_gt(lowest, least), S::i_gt(most, highest));
            let mut flagged = S::m_bits(outside) != 0;
            if flagged {
                // an infinite accumulator has no place in a sum: its lane is mended
                for (sums, maximum) in sums.iter_mut().flatten().zip(maximum.iter().flatten()) {
                    *sums = S::i_select(S::i_gt(*maximum, highest), S::i_splat(0), *sums);
                }
            }

            // second pass: products, scaled, truncated and summed
            let length = plan.length;
            let mut wrapped = S::i_splat(0);
            if SEGMENTED {
                let mut begin = first;
                let held = sums;
                sums = [[S::i_splat(0); VECTORS]; ROWS];
                while begin < first + length {
                    let end = (begin + plan.segment).min(first + length);
                    let from = if begin == first { held } else { [[S::i_splat(0); VECTORS]; ROWS] };
                    let part = add_products::<S>((a_values, b_values), begin..end, &scale, from);
                    for row in 0..ROWS {
                        for vector in 0..VECTORS {
                            let (x, y) = (sums[row][vector], part[row][vector]);
                            let sum = S::i_add(x, y);
                            wrapped = S::i_or(wrapped, S::i_and(S::i_xor(x, sum), S::i_xor(y, sum)));
                            sums[row][vector] = sum;
                        }
                    }
                    begin = end;
                }
            } else {
                sums = add_products::<S>((a_values, b_values), first..first + length, &scale, sums);
                let (mut least, mut most) = (S::i_splat(0), S::i_splat(0));
                for sum in sums.iter().flatten() {
                    least = S::i_min(least, *sum);
                    most = S::i_max(most, *sum);
                }
                // negative where a sum is as large as only a wrapped one may be
                let suspect = S::i_splat(plan.suspect);
                wrapped = S::i_or(S::i_sub(suspect, most), S::i_add(least, suspect));
            }
            let all_lanes = S::m_bits(S::i_gt(S::i_splat(0), wrapped)) != 0;
            flagged |= all_lanes;

            let mut results = scale;
            for row in 0..ROWS {
                for vector in 0..VECTORS {
                    let unit = S::f_from_bits(S::i_sub(maximum[row][vector], fraction));
                    let truncated = S::i_to_f_toward_zero(sums[row][vector]);
                    results[row][vector] = if FP16 {
                        // one bit that says whether anything was cut, so that the second rounding knows
                        let exact = S::i_eq(S::f_truncate(truncated), sums[row][vector]);
                        let bits = S::f_bits(truncated);
                        let odd = S::i_select(exact, bits, S::i_or(bits, S::i_splat(1)));
                        let rounded = S::f_bits(S::f_through_f16(S::f_mul(S::f_from_bits(odd), unit)));
                        let zero = S::i_eq(S::i_shl::<1>(rounded), S::i_splat(0));
                        S::f_from_bits(S::i_select(zero, S::i_splat(0), rounded))
                    } else {
                        let Rho::TowardZero { mask } = plan.rho else { unreachable!() };
                        S::f_from_bits(S::i_and(S::f_bits(S::f_mul(truncated, unit)), S::i_splat(mask)))
                    };
                }
            }
            if flagged {
                let mut lanes = [[0u32; VECTORS]; ROWS];
                for row in 0..ROWS {
                    for vector in 0..VECTORS {
                        let all = maximum[row][vector];
                        let outside = S::m_or(S::i_gt(lowest, all), S::i_gt(all, highest));
                        lanes[row][vector] = if all_lanes { u32::MAX } else { S::m_bits(outside) };
                    }
                }
                let mut before = [0.0; ROWS * WIDEST];
                before[..state.len()].copy_from_slice(state);
                store::<S>(state, &results);
                mend(plan, (a, b), (operation, first), (&before, &lanes), state, rare);
            } else {
                store::<S>(state, &results);
            }
        }
        if plan.add_last.is_some() {
            add_held::<S, FP16>(state, &held);
        }
    }
}

/// Products of some elements, scaled, truncated and added to `sums`.
#[inline(always)]
unsafe fn add_products<S: Simd>(
    (a_values, b_values): (*const f32, *const f32),
    elements: std::ops::Range<usize>,
    scale: &[Lanes<S::F>; ROWS],
    mut sums: [Lanes<S::I>; ROWS],
) -> [Lanes<S::I>; ROWS] {
    unsafe {
        for index in elements {
            let line = b_values.add(index * VECTORS * S::LANES);
            let factors: [S::F; ROWS] =
                [S::f_splat(*a_values.add(index * ROWS)), S::f_splat(*a_values.add(index * ROWS + 1))];
            for vector in 0..VECTORS {
                let column = S::f_load(line.add(vector * S::LANES));
                for row in 0..ROWS {
                    let product = S::f_mul(S::f_mul(factors[row], column), scale[row][vector]);
                    sums[row][vector] = S::i_add(sums[row][vector], S::f_truncate(product));
                }
            }
        }
        sums
    }
}

/// What a step came to, plus the accumulator it was held back from: an IEEE 754 addition in FP32, or in
/// FP16, where the sum of two in FP32 rounds to the same (24 bits are 2·11 + 2).
#[inline(always)]
unsafe fn add_held<S: Simd, const FP16: bool>(state: &mut [f32], held: &[f32]) {
    unsafe {
        for at in (0..state.len()).step_by(S::LANES) {
            let sum = S::f_add(S::f_load(state.as_ptr().add(at)), S::f_load(held.as_ptr().add(at)));
            let sum = if FP16 { S::f_through_f16(sum) } else { sum };
            S::f_store(state.as_mut_ptr().add(at), sum);
        }
    }
}

/// Writes the results of one operation.
#[inline(always)]
unsafe fn store<S: Simd>(state: &mut [f32], results: &[Lanes<S::F>; ROWS]) {
    unsafe {
        for (row, results) in results.iter().enumerate() {
            for (vector, &result) in results.iter().enumerate() {
                S::f_store(state.as_mut_ptr().add((row * VECTORS + vector) * S::LANES), result);
            }
        }
    }
}
