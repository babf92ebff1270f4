//! The rows of a task through one block of K, in vectors.

use super::begin::{Begin, begin};
use super::halves::half_sums;
use super::mend::{alone, mend, wide};
use super::whole::{are_cut, whole_sums};
use super::{Narrow, PackedA, PackedB, Rho};
use crate::kernel::pack::{GROUP, ROWS, Range, VECTORS, WIDEST, bytes};
use crate::kernel::simd::Simd;

/// The vectors of one row of a panel.
pub(super) type Lanes<V> = [V; VECTORS];

/// Some rows through one block of K. Every row takes one operation before any takes the next: rows do not
/// wait for each other, as operations of one row do.
#[inline(always)]
pub(super) unsafe fn rows<S: Simd, const SCALED: bool, const FP16: bool>(
    plan: &Narrow,
    (a, b): (&PackedA, &PackedB),
    k: Range,
    state: &mut [f32],
    rare: &mut dyn FnMut(usize, usize, usize, f32) -> f32,
) {
    unsafe {
        let width = VECTORS * S::LANES;
        assert!(
            state.len().is_multiple_of(ROWS * width) && state.len() <= GROUP * width && b.columns == width
        );
        assert!(b.values.len() == k.length * width && b.exponents.len() == k.length * width);
        assert!(a.values.len() == k.length * GROUP && a.exponents.len() == k.length * GROUP);
        // products are cut one by one, and there are registers for two rows
        let side_by_side = !plan.halves && !FP16 && S::MANY;
        let mut held = Vec::new();
        for (operation, first) in (0..k.length).step_by(plan.length).enumerate() {
            if let Some(operations) = plan.add_last
                && operation % operations == 0
            {
                if operation > 0 {
                    add_held::<S, FP16>(state, &held);
                }
                held.clear();
                held.extend_from_slice(state);
                state.fill(0.0);
            }
            for (pair, state) in state.chunks_exact_mut(ROWS * width).enumerate() {
                let row = pair * ROWS;
                if plan.guarded {
                    let range = a.ranges[operation * (GROUP / ROWS) + pair];
                    if !range.are_safe_with(b.ranges[operation]) {
                        wide(plan, (a, b), (first, row), state);
                        continue;
                    }
                }
                let place = Place { operation, first, row };
                let cut = side_by_side && (plan.spans.is_none() || are_cut(plan, (a, b), place));
                if cut && tile::<S, SCALED>(plan, (a, b), place, state) {
                    continue;
                }
                for (row, state) in (row..).zip(state.chunks_exact_mut(width)) {
                    let place = Place { operation, first, row };
                    let left = one::<S, SCALED, FP16>(plan, (a, b), place, state);
                    if let Some((before, lanes)) = left {
                        let mut rare = |column, c| rare(row, column, first, c);
                        mend(plan, (a, b), place, (&before, &lanes), state, &mut rare);
                    }
                }
            }
        }
        if plan.add_last.is_some() {
            add_held::<S, FP16>(state, &held);
        }
    }
}

/// One operation of [`ROWS`] rows side by side, where nothing is special: as [`one`], with what is loaded of B shared.
/// Whether that was so; if not, nothing was changed.
#[inline(always)]
unsafe fn tile<S: Simd, const SCALED: bool>(
    plan: &Narrow,
    (a, b): (&PackedA, &PackedB),
    Place { operation, first, row }: Place,
    state: &mut [f32],
) -> bool {
    unsafe {
        let width = VECTORS * S::LANES;
        let largest = largest_exponents::<S, ROWS>(plan, (a, b), (first, row));
        let (upper, lower) = (Place { operation, first, row }, Place { operation, first, row: row + 1 });
        let begin = [
            begin::<S, SCALED, false>(plan, (a, b), upper, largest[0], &state[..width]),
            begin::<S, SCALED, false>(plan, (a, b), lower, largest[1], &state[width..]),
        ];
        if begin[0].outside | begin[1].outside {
            return false;
        }
        let scale = [&begin[0].scale, &begin[1].scale];
        let end = first + plan.length;
        let mut from = (first + plan.segment).min(end);
        let mut sums = [begin[0].sums, begin[1].sums];
        add_tile::<S>((a, b), row, first..from, scale, &mut sums);
        while from < end {
            let to = (from + plan.segment).min(end);
            let mut part = [[S::i_splat(0); VECTORS]; ROWS];
            add_tile::<S>((a, b), row, from..to, scale, &mut part);
            let wrapped = join::<S>(sums.as_flattened_mut(), part.as_flattened());
            if S::m_bits(S::i_gt(S::i_splat(0), wrapped)) != 0 {
                return false;
            }
            from = to;
        }
        // a sum that may have wrapped is large, and so is that of an accumulator that is not finite: beside it all
        // products are cut to nothing, and its own conversion to an integer is the smallest there is
        let mut most = S::f_splat(0.0);
        let mut numbers = [[most; VECTORS]; ROWS];
        for row in 0..ROWS {
            for vector in 0..VECTORS {
                numbers[row][vector] = S::i_to_f_toward_zero(sums[row][vector]);
                most = S::f_max_magnitude(most, numbers[row][vector]);
            }
        }
        let suspect = S::f_bits(S::i_to_f_toward_zero(S::i_splat(plan.suspect)));
        if S::m_bits(S::i_gt(S::f_bits(most), S::i_sub(suspect, S::i_splat(1)))) != 0 {
            return false;
        }
        let fraction = S::i_splat(plan.fraction_bits << 23);
        let mask = match plan.rho {
            Rho::TowardZero { mask } => mask,
            Rho::NearestFp16 => -1,
        };
        for row in 0..ROWS {
            for vector in 0..VECTORS {
                let unit = match SCALED {
                    true => S::i_sub(begin[row].maximum[vector], fraction),
                    false => S::i_sub(S::i_splat(254 << 23), S::f_bits(begin[row].scale[vector])),
                };
                let mut result = S::f_mul(numbers[row][vector], S::f_from_bits(unit));
                if mask != -1 {
                    result = S::f_from_bits(S::i_and(S::f_bits(result), S::i_splat(mask)));
                }
                S::f_store(state.as_mut_ptr().add(row * width + vector * S::LANES), result);
            }
        }
        true
    }
}

/// Products of some elements of [`ROWS`] rows, scaled, truncated and added to `sums`.
#[inline(always)]
unsafe fn add_tile<S: Simd>(
    (a, b): (&PackedA, &PackedB),
    row: usize,
    elements: std::ops::Range<usize>,
    scale: [&Lanes<S::F>; ROWS],
    sums: &mut [Lanes<S::I>; ROWS],
) {
    unsafe {
        let factors = a.values.as_ptr().add(row);
        let lines = b.values.as_ptr();
        by_chunks!(k in elements => {
            let factor: [S::F; ROWS] =
                [S::f_splat(*factors.add(k * GROUP)), S::f_splat(*factors.add(k * GROUP + 1))];
            for vector in 0..VECTORS {
                let column = S::f_load(lines.add((k * VECTORS + vector) * S::LANES));
                for row in 0..ROWS {
                    let product = S::f_mul(S::f_mul(factor[row], column), scale[row][vector]);
                    sums[row][vector] = S::i_add(sums[row][vector], S::f_truncate(product));
                }
            }
        });
    }
}

/// The largest exponents of the products of `R` rows, in bytes, or -127 if that is larger.
#[inline(always)]
unsafe fn largest_exponents<S: Simd, const R: usize>(
    plan: &Narrow,
    (a, b): (&PackedA, &PackedB),
    (first, row): (usize, usize),
) -> [S::B; R] {
    unsafe {
        let (a, b) = (a.exponents.as_ptr().add(row), b.exponents.as_ptr());
        let width = VECTORS * S::LANES;
        let mut largest = [S::b_splat(bytes(-127)); R];
        if plan.saturating {
            by_chunks!(k in first..first + plan.length => {
                let columns = S::b_load(b.add(k * width));
                for row in 0..R {
                    let sum = S::b_add_saturating(S::b_splat(*a.add(k * GROUP + row)), columns);
                    largest[row] = S::b_max(largest[row], sum);
                }
            });
        } else {
            by_chunks!(k in first..first + plan.length => {
                let columns = S::b_load(b.add(k * width));
                for row in 0..R {
                    let sum = S::b_add(S::b_splat(*a.add(k * GROUP + row)), columns);
                    largest[row] = S::b_max(largest[row], sum);
                }
            });
        }
        largest
    }
}

/// Which operation of which row.
#[derive(Clone, Copy)]
pub(super) struct Place {
    /// Number of the operation in the block of K.
    pub(super) operation: usize,
    /// Its first element.
    pub(super) first: usize,
    /// Its row of the group.
    pub(super) row: usize,
}

/// Accumulators before an operation, and a bit for each lane that vectors could not do.
type Left = ([f32; WIDEST], Lanes<u32>);

/// One operation of one row.
#[inline(always)]
unsafe fn one<S: Simd, const SCALED: bool, const FP16: bool>(
    plan: &Narrow,
    (a, b): (&PackedA, &PackedB),
    Place { operation, first, row }: Place,
    state: &mut [f32],
) -> Option<Left> {
    unsafe {
        let width = VECTORS * S::LANES;
        let field = |exponent: i32| S::i_splat(exponent.wrapping_add(127) << 23);
        let fraction = S::i_splat(plan.fraction_bits << 23);
        let (lowest, highest) = plan.exponents();
        let place = Place { operation, first, row };
        let [largest] = largest_exponents::<S, 1>(plan, (a, b), (first, row));
        let Begin { maximum, scale, mut sums, offsets, outside, most } =
            begin::<S, SCALED, FP16>(plan, (a, b), place, largest, state);
        let mut flagged = outside || S::m_bits(S::i_gt(most, field(highest))) != 0;
        if flagged {
            // an infinite accumulator has no place in a sum: its lane is mended
            for (sum, maximum) in sums.iter_mut().zip(&maximum) {
                *sum = S::i_select(S::i_gt(*maximum, field(highest)), S::i_splat(0), *sum);
            }
        }

        let mut all_lanes = false;
        let whole = match (&a.halves, &b.halves) {
            (Some(a), Some(b)) if S::HALVES => half_sums::<S>(plan, (a, b), place, (&maximum, &scale), sums),
            _ if plan.spans.is_some() && !flagged => {
                whole_sums::<S, SCALED>(plan, (a, b), place, (&maximum, &offsets), (&sums, &scale))
            }
            _ => None,
        };
        if let Some(whole) = whole {
            sums = whole;
        } else {
            (sums, all_lanes) = cut_sums::<S>(plan, (a, b), place, &scale, sums);
            flagged |= all_lanes;
        }

        let mut results = scale;
        for vector in 0..VECTORS {
            let unit = S::f_from_bits(S::i_sub(maximum[vector], fraction));
            let truncated = S::i_to_f_toward_zero(sums[vector]);
            results[vector] = if FP16 {
                // one bit that says whether anything was cut, so that the second rounding knows
                let exact = S::i_eq(S::f_truncate(truncated), sums[vector]);
                let bits = S::f_bits(truncated);
                let odd = S::i_select(exact, bits, S::i_or(bits, S::i_splat(1)));
                let rounded = S::f_bits(S::f_through_f16(S::f_mul(S::f_from_bits(odd), unit)));
                let zero = S::i_eq(S::i_shl::<1>(rounded), S::i_splat(0));
                S::f_from_bits(S::i_select(zero, S::i_splat(0), rounded))
            } else {
                S::f_mul(truncated, unit)
            };
        }
        if let Rho::TowardZero { mask } = plan.rho
            && mask != -1
        {
            for result in &mut results {
                *result = S::f_from_bits(S::i_and(S::f_bits(*result), S::i_splat(mask)));
            }
        }
        let mut left = None;
        if flagged {
            let mut lanes = [u32::MAX; VECTORS];
            if !all_lanes {
                for (lanes, &all) in lanes.iter_mut().zip(&maximum) {
                    *lanes = S::m_bits(S::m_or(S::i_gt(field(lowest), all), S::i_gt(all, field(highest))));
                }
            }
            let products = S::b_fields(S::b_add(largest, S::b_splat(0x7f7f_7f7f)));
            for vector in 0..VECTORS {
                let c = S::f_bits(S::f_load(state.as_ptr().add(vector * S::LANES)));
                let none = S::i_gt(field(plan.no_product), products[vector]);
                let result = S::i_select(none, alone::<S>(plan, c), S::f_bits(results[vector]));
                results[vector] = S::f_from_bits(result);
                lanes[vector] &= !S::m_bits(none);
            }
            if lanes.iter().any(|&lanes| lanes != 0) {
                let mut before = [0.0; WIDEST];
                before[..width].copy_from_slice(state);
                left = Some((before, lanes));
            }
        }
        for (vector, &result) in results.iter().enumerate() {
            S::f_store(state.as_mut_ptr().add(vector * S::LANES), result);
        }
        left
    }
}

/// The sums of one operation of one row, begun with the accumulator, and whether one may have left 32 bits.
#[inline(always)]
unsafe fn cut_sums<S: Simd>(
    plan: &Narrow,
    packed: (&PackedA, &PackedB),
    Place { first, row, .. }: Place,
    scale: &Lanes<S::F>,
    begin: Lanes<S::I>,
) -> (Lanes<S::I>, bool) {
    unsafe {
        let zero = S::i_splat(0);
        let mut wrapped = zero;
        let end = first + plan.length;
        let mut from = (first + plan.segment).min(end);
        let mut sums = add_products::<S>(packed, row, first..from, scale, begin);
        while from < end {
            let to = (from + plan.segment).min(end);
            let part = add_products::<S>(packed, row, from..to, scale, [zero; VECTORS]);
            wrapped = S::i_or(wrapped, join::<S>(&mut sums, &part));
            from = to;
        }
        let mut left = S::i_gt(zero, wrapped);
        if plan.suspect != i32::MAX {
            left = suspects::<S>(plan, &sums);
        }
        (sums, S::m_bits(left) != 0)
    }
}

/// Adds sums to sums; below zero comes back where a lane of one of them wrapped.
#[inline(always)]
unsafe fn join<S: Simd>(sums: &mut [S::I], parts: &[S::I]) -> S::I {
    unsafe {
        let mut wrapped = S::i_splat(0);
        for (sum, part) in sums.iter_mut().zip(parts) {
            let (x, y) = (*sum, *part);
            *sum = S::i_add(x, y);
            wrapped = S::i_or(wrapped, S::i_and(S::i_xor(x, *sum), S::i_xor(y, *sum)));
        }
        wrapped
    }
}

/// Where one of the sums is so large that it may have wrapped.
#[inline(always)]
unsafe fn suspects<S: Simd>(plan: &Narrow, sums: &[S::I]) -> S::M {
    unsafe {
        // magnitudes up to the limit moved to where the smallest integer is
        let limit = plan.suspect - 1;
        let mut most = S::i_splat(i32::MIN);
        for sum in sums {
            most = S::i_max(most, S::i_add(*sum, S::i_splat(limit.wrapping_add(i32::MIN))));
        }
        S::i_gt(most, S::i_splat((2 * limit.cast_unsigned()).wrapping_sub(1 << 31).cast_signed()))
    }
}

/// Products of some elements of one row, scaled, truncated and added to `sums`.
#[inline(always)]
unsafe fn add_products<S: Simd>(
    packed: (&PackedA, &PackedB),
    row: usize,
    elements: std::ops::Range<usize>,
    scale: &Lanes<S::F>,
    mut sums: Lanes<S::I>,
) -> Lanes<S::I> {
    unsafe {
        by_chunks!(k in elements => {
            add_product::<S>(packed, (row, k), scale, &mut sums);
        });
        sums
    }
}

/// The products of one element of one row.
#[inline(always)]
pub(super) unsafe fn add_product<S: Simd>(
    (a, b): (&PackedA, &PackedB),
    (row, k): (usize, usize),
    scale: &Lanes<S::F>,
    sums: &mut Lanes<S::I>,
) {
    unsafe {
        let factor = S::f_splat(*a.values.as_ptr().add(k * GROUP + row));
        let line = b.values.as_ptr().add(k * VECTORS * S::LANES);
        for vector in 0..VECTORS {
            let column = S::f_load(line.add(vector * S::LANES));
            let product = S::f_mul(S::f_mul(factor, column), scale[vector]);
            sums[vector] = S::i_add(sums[vector], S::f_truncate(product));
        }
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
