//! What sums of vectors could not do: accumulators alone, single lanes, and whole operations in FP64.

use bitmma_formats::{Overflow, Real};

use super::tile::{Lanes, Place};
use super::{NOTHING, NOWHERE, Narrow, PackedA, PackedB, Rho, WIDEST, f32_of};
use crate::kernel::pack::{GROUP, VECTORS};
use crate::kernel::simd::Simd;

/// Accumulators to which no product is added: cut and rounded, -0 becomes +0.
#[inline(always)]
pub(super) unsafe fn alone<S: Simd>(plan: &Narrow, c: S::I) -> S::I {
    unsafe {
        let kept = match plan.rho {
            Rho::TowardZero { mask } => mask & plan.own_mask(),
            Rho::NearestFp16 => -1, // exact
        };
        let cut = S::f_add(S::f_from_bits(S::i_and(c, S::i_splat(kept))), S::f_splat(0.0));
        // infinity and NaN stay
        let exponent = S::i_splat(0xff << 23);
        S::i_select(S::i_eq(S::i_and(c, exponent), exponent), c, S::f_bits(cut))
    }
}

/// The lanes of one operation with some product that vectors could not do: accumulators that are not finite, powers
/// out of FP32's range, sums beyond 32 bits.
#[cold]
pub(super) fn mend(
    plan: &Narrow,
    (a, b): (&PackedA, &PackedB),
    Place { operation, first, row }: Place,
    (before, lanes): (&[f32], &Lanes<u32>),
    state: &mut [f32],
    rare: &mut dyn FnMut(usize, f32) -> f32,
) {
    let width = b.columns;
    let (lowest, highest) = plan.exponents();
    for column in flagged_lanes(lanes, width) {
        let c = before[column];
        let state = &mut state[column];
        if !c.is_finite() {
            *state = c;
            continue;
        }
        let exponent = |k: usize| {
            let own = b.exponents.get(k, column);
            (a.exponents[k * GROUP + row] as u8).cast_signed().saturating_add(own)
        };
        let elements = first..first + plan.length;
        let products = elements.clone().map(exponent).max().map_or(NOTHING, |largest| largest);
        let offset = match plan.scaled {
            true => a.scales[operation * GROUP + row] + b.scales[operation * width + column],
            false => 0,
        };
        let own = match c == 0.0 {
            true => plan.c_zero,
            false => ((c.to_bits() >> 23 & 255) as i32 - 127).max(plan.c_minimum),
        };
        let maximum = (i32::from(products) + offset).max(own);
        let inside = (lowest..=highest).contains(&maximum) && {
            let power = |exponent: i32| f32::from_bits((exponent.clamp(1, 254) as u32) << 23);
            let of_products = power(plan.fraction_bits - maximum + offset + 127);
            let of_c = power(plan.fraction_bits - maximum + 127);
            let product = |k: usize| a.values[k * GROUP + row] * b.values[k * width + column] * of_products;
            let sum: i64 = elements.map(|k| product(k) as i64).sum::<i64>() + (c * of_c) as i64;
            i32::try_from(sum).is_ok()
        };
        if !inside {
            *state = rare(column, c);
        }
    }
}

/// The columns that are flagged; `width` columns in a row.
fn flagged_lanes(lanes: &Lanes<u32>, width: usize) -> impl Iterator<Item = usize> {
    let lanes_of_vector = width / VECTORS;
    lanes.iter().enumerate().flat_map(move |(vector, &bits)| {
        (0..lanes_of_vector)
            .filter(move |lane| bits >> lane & 1 == 1)
            .map(move |lane| vector * lanes_of_vector + lane)
    })
}

/// One operation of some rows, from a row of the group on, in FP64, for factors of any exponent.
///
/// A product of two such factors has 24 bits at most and an exponent of -252 to 254, so that neither it
/// nor its scaling by 2^(F - e_max) rounds or leaves the range of FP64 unless the scaled term is far below
/// one; L_max terms of 2^31 sum exactly.
#[inline(always)]
pub(super) fn wide(
    plan: &Narrow,
    (a, b): (&PackedA, &PackedB),
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
