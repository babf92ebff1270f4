//! What whole vectors cannot do: accumulators alone, single lanes, and operations in FP64.

use bitmma_formats::{Overflow, Real};

use super::begin::{Begun, begin};
use super::tile::{Factors, Lanes, Place, add_parts, bytes_of, largest_exponents, rounded};
use super::{NOTHING, NOWHERE, Narrow, Rho, f32_of};
use crate::drive::Rare;
use crate::pack::{GROUP, VECTORS, WIDEST};
use crate::routes::{Route, count};
use crate::simd::Simd;

/// One operation of one row, lane by lane where vectors could not do it: accumulators without a product or not finite,
/// powers out of FP32's range, sums beyond 32 bits.
#[inline(always)]
pub(crate) fn careful<S: Simd, const SCALED: bool, const FP16: bool>(
    s: S,
    plan: &Narrow,
    factors: &Factors<'_>,
    place: Place,
    state: &mut [f32],
    rare: &mut Rare<'_>,
) {
    count(Route::Careful);
    let width = VECTORS * S::LANES;
    let field = |exponent: i32| s.i_splat(exponent.wrapping_add(127) << 23);
    let (lowest, highest) = plan.exponents();
    let largest = largest_exponents::<S, 1>(s, plan, factors, place.row);
    let Begun { maximum: [maximum], scale, mut sums, .. } =
        begin::<S, SCALED, FP16, 1>(s, plan, factors, place, largest, state);
    // an infinite accumulator has no place in a sum: its lane is left out
    for vector in 0..VECTORS {
        let beyond = s.i_gt(maximum[vector], field(highest));
        sums[0][vector] = s.i_select(beyond, s.i_splat(0), sums[0][vector]);
    }
    let [wrapped] = add_parts(s, plan, factors, place.row, &scale, &mut sums);
    let [sums] = sums;
    let mut left_out = [0; VECTORS];
    for vector in 0..VECTORS {
        // a sum that wrapped unseen has at least the magnitude `suspect`; that of the smallest integer is below zero
        let magnitude = s.i_abs(sums[vector]);
        let negative = s.i_gt(s.i_splat(0), s.i_or(magnitude, wrapped[vector]));
        let large = s.m_or(s.i_gt(magnitude, s.i_splat(plan.suspect - 1)), negative);
        let far = s.m_or(s.i_gt(field(lowest), maximum[vector]), s.i_gt(maximum[vector], field(highest)));
        left_out[vector] = s.m_bits(s.m_or(large, far));
    }
    let products = bytes_of(s, largest[0]);
    let mut before = [0.0; WIDEST];
    before[..width].copy_from_slice(state);
    for vector in 0..VECTORS {
        let state = &mut state[vector * S::LANES..];
        let unit = s.i_sub(maximum[vector], s.i_splat(plan.fraction_bits << 23));
        let truncated = s.i_to_f_toward_zero(sums[vector]);
        let result = rounded::<S, FP16>(s, plan, sums[vector], truncated, unit);
        let none = s.i_gt(field(plan.no_product), products[vector]);
        let alone = alone(s, plan, s.f_bits(s.f_load(state)));
        s.f_store(state, s.f_from_bits(s.i_select(none, alone, s.f_bits(result))));
        left_out[vector] &= !s.m_bits(none);
    }
    if left_out.iter().any(|&lanes| lanes != 0) {
        mend(place, (&before[..width], &left_out), state, rare);
    }
}

/// Accumulators to which no product is added: cut and rounded, -0 becomes +0.
#[inline(always)]
pub(crate) fn alone<S: Simd>(s: S, plan: &Narrow, c: S::I) -> S::I {
    let kept = match plan.rho {
        Rho::TowardZero { mask } => mask & plan.own_mask(),
        Rho::NearestFp16 => -1, // exact
    };
    let cut = s.f_add(s.f_from_bits(s.i_and(c, s.i_splat(kept))), s.f_splat(0.0));
    // infinity and NaN stay
    let exponent = s.i_splat(0xff << 23);
    s.i_select(s.i_eq(s.i_and(c, exponent), exponent), c, s.f_bits(cut))
}

/// The lanes that were left out: accumulators that are not finite stay, the others take the reference path.
#[cold]
fn mend(place: Place, (before, lanes): (&[f32], &Lanes<u32>), state: &mut [f32], rare: &mut Rare<'_>) {
    let lanes_of_vector = before.len() / VECTORS;
    for (column, state) in state.iter_mut().enumerate() {
        if lanes[column / lanes_of_vector] >> (column % lanes_of_vector) & 1 == 1 {
            let c = before[column];
            *state = if c.is_finite() { rare(place.row, column, place.first, c) } else { c };
        }
    }
}
/// One operation of some rows, from a row of the group on, in FP64, for factors of any exponent.
///
/// A product of two such factors has 24 bits at most and an exponent of -252 to 254, so that neither it
/// nor its scaling by 2^(F - e_max) rounds or leaves the range of FP64 unless the scaled term is far below
/// one; L_max terms of 2^31 sum exactly.
#[inline(always)]
pub(crate) fn wide(
    plan: &Narrow,
    Factors { a, b, .. }: &Factors<'_>,
    (first, row): (usize, usize),
    state: &mut [f32],
) {
    let width = b.columns;
    let elements = first..first + plan.length;
    for (row, state) in (row..).zip(state.chunks_exact_mut(width)) {
        let mut maximum = [NOWHERE; WIDEST];
        for k in elements.clone() {
            let a_exponent = (a.exponents[k * GROUP + row] as u8).cast_signed();
            for (column, maximum) in maximum.iter_mut().enumerate().take(width) {
                let b_exponent = b.exponents.get(k, column);
                let zero = a_exponent == NOTHING || b_exponent == NOTHING;
                let sum = if zero { NOWHERE } else { i32::from(a_exponent) + i32::from(b_exponent) };
                *maximum = (*maximum).max(sum);
            }
        }
        let (mut units, mut sums) = ([0.0f64; WIDEST], [0.0f64; WIDEST]);
        for (column, &c) in state.iter().enumerate() {
            let own = match c == 0.0 {
                true => plan.c_zero,
                false => ((c.to_bits() >> 23 & 255) as i32 - 127).max(plan.c_minimum),
            };
            maximum[column] = maximum[column].max(own);
            let power = (plan.fraction_bits - maximum[column]).clamp(-1000, 1000) + 1023;
            units[column] = f64::from_bits((power as u64) << 52);
            sums[column] = (f64::from(c) * units[column]).trunc();
        }
        for k in elements.clone() {
            let factor = f64::from(a.values[k * GROUP + row]);
            let line = &b.values[k * width..(k + 1) * width];
            for ((sum, &unit), &value) in sums.iter_mut().zip(&units).zip(line) {
                *sum += (factor * f64::from(value) * unit).trunc();
            }
        }
        for (column, c) in state.iter_mut().enumerate() {
            if c.is_finite() {
                let sum = Real::exact(sums[column] as i128, maximum[column] - plan.fraction_bits);
                let code = plan.conversion.apply(sum, Overflow::Infinity);
                *c = f32_of(&plan.conversion.container(), code) + 0.0; // -0 becomes +0
            }
        }
    }
}
