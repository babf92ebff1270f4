//! Tiles of TR- and GTR-FDPA: the products of an operation, and the accumulators added to their sums.

use super::Rounded;
use super::sum::{PLACE, Terms, add_unusual, add_usual, cut, field, own_bits};
use crate::element::Range;
use crate::family::{Rare, mend};
use crate::pack::{GROUP, ROWS, VECTORS, bytes};
use crate::products::{
    Columns, Lanes, NO_PRODUCT, Products, Rows, any_without_product, are_all_safe, are_safe,
};
use crate::routes::{Route, count as taken};
use crate::simd::{Simd, byte_fields, larger_field};

/// The sum of the products of one operation of one row, of all or of every other.
struct Sums<S: Simd> {
    /// T, in units of 2^(e_max - F).
    t: Lanes<S::I>,
    /// 2^(F - e_max).
    scale: Lanes<S::F>,
    /// e_max in bytes.
    largest: S::I,
}

impl Rounded {
    /// What the bits of 2^(F - e_max) are subtracted from to give those of 2^e_max: 2·127 are the biases of the two.
    fn units(&self) -> i32 {
        (254 + self.fraction_bits).wrapping_shl(23)
    }
}

/// Some rows through one block of K; all take one operation before any takes the next, for they do not wait for each
/// other.
#[inline(always)]
pub(crate) fn tiles<S: Simd, const PAIRS: bool>(
    s: S,
    plan: &Rounded,
    lines: (&Rows, &Columns),
    k: Range,
    state: &mut [f32],
    rare: &mut Rare<'_>,
) {
    let width = VECTORS * S::LANES;
    assert!(state.len().is_multiple_of(width) && state.len() <= GROUP * width);
    let plan = &{ *plan }; // a copy, that no store to the state can change
    let all_safe = are_all_safe(lines);
    let mut calm = calm(s, plan, k, state);
    for (operation, first) in (0..k.length).step_by(plan.length).enumerate() {
        let products = &Products::of(lines, (first, plan.length), width);
        for (pair, state) in state.chunks_mut(ROWS * width).enumerate() {
            let row = pair * ROWS;
            if !all_safe && !are_safe(s, lines, products, (operation, row)) {
                taken(Route::Wide);
                calm &= !(3 << row);
                plan.wide(lines, (first, row), (state, width));
                continue;
            }
            // row by row: the sums of two do not stay in registers up to their ends
            for (row, line) in (row..).zip(state.chunks_exact_mut(width)) {
                let sums = of_all::<S, PAIRS>(s, plan, products, row);
                finish::<S, PAIRS>(s, plan, (first, row), calm, &sums, line, rare);
            }
        }
    }
}

/// A bit for each row whose accumulators are finite and stay so through a block of K, where no product is wide.
///
/// An operation adds less than 2^31 units of 2^(2·30 - F), F >= 1: less than 2^90. Operations of 2^11 elements add less
/// than 2^101.
#[inline(always)]
fn calm<S: Simd>(s: S, plan: &Rounded, k: Range, state: &[f32]) -> u32 {
    let mut rows = 0;
    for (row, line) in state.chunks_exact(VECTORS * S::LANES).enumerate() {
        let mut largest = s.i_splat(0);
        for vector in line.chunks_exact(S::LANES) {
            let bits = s.f_bits(s.f_load(vector));
            largest = larger_field(s, largest, s.i_and(bits, s.i_splat(0xff << 23)));
        }
        let large = s.m_bits(s.i_gt(largest, field(s, 124))) != 0;
        rows |= u32::from(!large) << row;
    }
    if plan.unusual() || k.length > 1 << 11 { 0 } else { rows }
}

/// The sum of the products of an operation of a row.
#[inline(always)]
fn of_all<S: Simd, const PAIRS: bool>(s: S, plan: &Rounded, products: &Products<'_>, row: usize) -> Sums<S> {
    if !PAIRS {
        return sums::<S, 1>(s, plan, products, (row, 0));
    }
    let mut even = sums::<S, 2>(s, plan, products, (row, 0));
    let odd = sums::<S, 2>(s, plan, products, (row, 1));
    join(s, plan, &mut even, &odd);
    even
}

/// The sum of each `STEP`th product of a row of the group, from one of the first products on.
#[inline(always)]
fn sums<S: Simd, const STEP: usize>(
    s: S,
    plan: &Rounded,
    products: &Products<'_>,
    place: (usize, usize),
) -> Sums<S> {
    let [largest] = products.largest::<S, 1, STEP>(s, place);
    let from = s.i_splat(bytes((127 + plan.fraction_bits) as i8));
    let fields = byte_fields(s, s.b_sub(from, largest));
    let mut scale = [s.f_splat(0.0); VECTORS];
    for vector in 0..VECTORS {
        scale[vector] = s.f_from_bits(fields[vector]);
    }
    let mut t = [[s.i_splat(0); VECTORS]];
    products.values.add::<S, 1, VECTORS, STEP>(s, place, &[scale], &mut t);
    Sums { t: t[0], scale, largest }
}

/// The sums of even and of odd products joined at the larger exponent.
#[inline(always)]
fn join<S: Simd>(s: S, plan: &Rounded, even: &mut Sums<S>, odd: &Sums<S>) {
    even.largest = s.b_max(even.largest, odd.largest);
    for vector in 0..VECTORS {
        // the larger exponent has the smaller power
        let (x, y) = (s.f_bits(even.scale[vector]), s.f_bits(odd.scale[vector]));
        let scale = s.i_min(x, y);
        let x = cut(s, plan, even.t[vector], s.i_shr(23, s.i_sub(x, scale)));
        let y = cut(s, plan, odd.t[vector], s.i_shr(23, s.i_sub(y, scale)));
        even.t[vector] = s.i_add(x, y);
        even.scale[vector] = s.f_from_bits(scale);
    }
}

/// Adds the accumulators of a row to its sums, and rounds.
#[inline(always)]
fn finish<S: Simd, const PAIRS: bool>(
    s: S,
    plan: &Rounded,
    (first, row): (usize, usize),
    calm: u32,
    sum: &Sums<S>,
    line: &mut [f32],
    rare: &mut Rare<'_>,
) {
    let none = s.i_splat(0);
    let to_place = s.i_splat(plan.units().wrapping_add((PLACE - plan.fraction_bits) << 23));
    let mut terms =
        [Terms { t: none, place: none, power: none, c: s.f_splat(0.0), own: none, beyond: none }; VECTORS];
    for vector in 0..VECTORS {
        let power = s.f_bits(sum.scale[vector]);
        let place = s.i_sub(to_place, power);
        let c = s.f_load(&line[vector * S::LANES..]);
        let own = s.i_and(s.f_bits(c), s.i_splat(0xff << 23));
        terms[vector] = Terms { t: sum.t[vector], place, power, c, own, beyond: s.i_excess(own, place) };
    }
    if calm >> row & 1 == 0 || any_without_product(s, sum.largest) {
        taken(Route::Unusual);
        let mut rare = |column: usize, c: f32| rare(row, column, first, c);
        carefully::<S, PAIRS>(s, plan, terms, line, &mut rare);
    } else {
        taken(Route::Usual);
        for vector in 0..VECTORS {
            let result = add_usual::<S, PAIRS>(s, plan, &terms[vector]);
            s.f_store(&mut line[vector * S::LANES..], result);
        }
    }
}

/// The last step where anything may be: no products, accumulators that are not finite. What it is done on comes as a
/// copy, so that what it was copied from stays in registers.
#[inline(always)]
fn carefully<S: Simd, const PAIRS: bool>(
    s: S,
    plan: &Rounded,
    terms: Lanes<Terms<S>>,
    line: &mut [f32],
    rare: &mut dyn FnMut(usize, f32) -> f32,
) {
    for (vector, terms) in terms.iter().enumerate() {
        let (result, mut left_out) = add_unusual::<S, PAIRS>(s, plan, terms);
        // without a product the accumulator is the result, cut to F bits; -0 becomes +0
        let none = s.i_eq(terms.place, field(s, NO_PRODUCT - plan.fraction_bits + PLACE));
        let alone = s.f_add(own_bits(s, plan, terms.c), s.f_splat(0.0));
        let result = s.i_select(none, s.f_bits(alone), s.f_bits(result));
        left_out &= !s.m_bits(none);
        s.f_store(&mut line[vector * S::LANES..], s.f_from_bits(result));
        if left_out != 0 {
            let mut before = [0.0; 16];
            s.f_store(&mut before, terms.c);
            let line = &mut line[vector * S::LANES..][..S::LANES];
            mend(line, &before, left_out, &mut |lane, c| rare(vector * S::LANES + lane, c));
        }
    }
}
