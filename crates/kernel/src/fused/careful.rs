//! What whole vectors cannot do: accumulators alone, single lanes, and operations in FP64.

use bitmma_formats::{Overflow, Real};

use super::begin::{Begun, begin};
use super::factors::{Factors, add_parts, exponent_fields, rounded};
use super::{Narrow, Rho};
use crate::accumulator::f32_of;
use crate::family::{Rare, mend};
use crate::pack::VECTORS;
use crate::products::{self, Columns, NO_PRODUCT, Rows};
use crate::routes::{Route, count};
use crate::simd::Simd;

/// One operation of one row, lane by lane where vectors could not do it: accumulators without a product or not finite,
/// powers out of FP32's range, sums beyond 32 bits.
#[inline(always)]
pub(crate) fn careful<S: Simd, const SCALED: bool, const FP16: bool>(
    s: S,
    plan: &Narrow,
    factors: &Factors<'_>,
    (first, row): (usize, usize),
    state: &mut [f32],
    rare: &mut Rare<'_>,
) {
    count(Route::Careful);
    let field = |exponent: i32| s.i_splat(exponent.wrapping_add(127) << 23);
    let (lowest, highest) = plan.exponents();
    let largest = factors.products.largest::<S, 1, 1>(s, (row, 0));
    let Begun { maximum: [maximum], scale, mut sums, .. } =
        begin::<S, SCALED, FP16, 1>(s, plan, factors, row, largest, state);
    // an infinite accumulator has no place in a sum: its lane is left out
    for vector in 0..VECTORS {
        let beyond = s.i_gt(maximum[vector], field(highest));
        sums[0][vector] = s.i_select(beyond, s.i_splat(0), sums[0][vector]);
    }
    let [wrapped] = add_parts(s, plan, factors, row, &scale, &mut sums);
    let [sums] = sums;
    let products = exponent_fields(s, largest[0]);
    for vector in 0..VECTORS {
        let (sum, maximum) = (sums[vector], maximum[vector]);
        let line = &mut state[vector * S::LANES..][..S::LANES];
        let c = s.f_load(line);
        // a sum that wrapped unseen has at least the magnitude `suspect`; that of the smallest integer is below zero
        let magnitude = s.i_abs(sum);
        let negative = s.i_gt(s.i_splat(0), s.i_or(magnitude, wrapped[vector]));
        let large = s.m_or(s.i_gt(magnitude, s.i_splat(plan.suspect - 1)), negative);
        let far = s.m_or(s.i_gt(field(lowest), maximum), s.i_gt(maximum, field(highest)));
        let unit = s.i_sub(maximum, s.i_splat(plan.fraction_bits << 23));
        let result = rounded::<S, FP16>(s, plan, sum, s.i_to_f_toward_zero(sum), unit);
        let none = s.i_eq(products[vector], field(NO_PRODUCT));
        let alone = alone(s, plan, s.f_bits(c));
        s.f_store(line, s.f_from_bits(s.i_select(none, alone, s.f_bits(result))));
        let left_out = s.m_bits(s.m_or(large, far)) & !s.m_bits(none);
        if left_out != 0 {
            let mut before = [0.0; 16];
            s.f_store(&mut before, c);
            let mut rare = |lane, c| rare(row, vector * S::LANES + lane, first, c);
            mend(line, &before, left_out, &mut rare);
        }
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
