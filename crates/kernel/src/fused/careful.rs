//! What whole vectors cannot do: accumulators alone, single lanes, and operations in FP64.

use bitmma_formats::{Overflow, Real};

use super::begin::{Begun, begin};
use super::tile::{Factors, add_parts, exponent_fields, rounded};
use super::{Narrow, Rho, f32_of};
use crate::drive::Rare;
use crate::pack::{VECTORS, WIDEST};
use crate::products::{self, Columns, Lanes, NO_PRODUCT, Rows};
use crate::routes::{Route, count};
use crate::simd::Simd;

/// One operation of one row, lane by lane where vectors could not do it: accumulators without a product or not finite,
/// powers out of FP32's range, sums beyond 32 bits.
#[inline(always)]
pub(crate) fn careful<S: Simd, const SCALED: bool, const FP16: bool>(
    s: S,
    plan: &Narrow,
    factors: &Factors<'_>,
    place: (usize, usize),
    state: &mut [f32],
    rare: &mut Rare<'_>,
) {
    count(Route::Careful);
    let width = VECTORS * S::LANES;
    let field = |exponent: i32| s.i_splat(exponent.wrapping_add(127) << 23);
    let (lowest, highest) = plan.exponents();
    let largest = factors.products.largest::<S, 1, 1>(s, (place.1, 0));
    let Begun { maximum: [maximum], scale, mut sums, .. } =
        begin::<S, SCALED, FP16, 1>(s, plan, factors, place.1, largest, state);
    // an infinite accumulator has no place in a sum: its lane is left out
    for vector in 0..VECTORS {
        let beyond = s.i_gt(maximum[vector], field(highest));
        sums[0][vector] = s.i_select(beyond, s.i_splat(0), sums[0][vector]);
    }
    let [wrapped] = add_parts(s, plan, factors, place.1, &scale, &mut sums);
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
    let products = exponent_fields(s, largest[0]);
    let mut before = [0.0; WIDEST];
    before[..width].copy_from_slice(state);
    for vector in 0..VECTORS {
        let state = &mut state[vector * S::LANES..];
        let unit = s.i_sub(maximum[vector], s.i_splat(plan.fraction_bits << 23));
        let truncated = s.i_to_f_toward_zero(sums[vector]);
        let result = rounded::<S, FP16>(s, plan, sums[vector], truncated, unit);
        let none = s.i_eq(products[vector], field(NO_PRODUCT));
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
fn mend(
    (first, row): (usize, usize),
    (before, lanes): (&[f32], &Lanes<u32>),
    state: &mut [f32],
    rare: &mut Rare<'_>,
) {
    let lanes_of_vector = before.len() / VECTORS;
    for (column, state) in state.iter_mut().enumerate() {
        if lanes[column / lanes_of_vector] >> (column % lanes_of_vector) & 1 == 1 {
            let c = before[column];
            *state = if c.is_finite() { rare(row, column, first, c) } else { c };
        }
    }
}

/// One operation of some rows, from a row of the group on, in FP64, for factors of any exponent.
pub(crate) fn wide(
    plan: &Narrow,
    lines: (&Rows, &Columns),
    ((first, row), width): ((usize, usize), usize),
    state: &mut [f32],
) {
    let own = |c: f32| match c == 0.0 {
        true => Some(plan.c_zero),
        false => Some(((c.to_bits() >> 23 & 255) as i32 - 127).max(plan.c_minimum)),
    };
    let end = |maximum: i32, sum, _| {
        let sum = Real::exact(sum, maximum - plan.fraction_bits);
        let code = plan.conversion.apply(sum, Overflow::Infinity);
        f32_of(&plan.conversion.container(), code) + 0.0 // -0 becomes +0
    };
    products::wide(plan.fraction_bits, lines, ((first, plan.length), row), (state, width), own, end);
}
