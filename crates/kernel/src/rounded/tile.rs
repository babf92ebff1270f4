//! Tiles of TR- and GTR-FDPA: the products of an operation, and the accumulators added to their sums.

use super::Rounded;
use super::pack::{ABSOLUTE_NONE, Lines, RELATIVE_LEAST, RELATIVE_NONE, TopRange, Words};
use super::sum::{PLACE, Terms, add_any, add_small, add_unusual, cut, field, own_bits, power_of};
use crate::drive::Rare;
use crate::pack::{GROUP, Interleaved, ROWS, Range, VECTORS, bytes};
use crate::routes::{Route, count as taken};
use crate::simd::{Simd, larger_field};

/// The vectors of one row of a tile.
type Vectors<V> = [V; VECTORS];

/// The sum of the products of one operation of one row, of all or of every other.
#[derive(Clone, Copy)]
struct Sums<S: Simd> {
    /// T, in units of 2^(e_max - F).
    t: Vectors<S::I>,
    /// 2^(F - e_max).
    scale: Vectors<S::F>,
    /// e_max in bytes.
    largest: S::B,
}

impl Rounded {
    /// What the bits of 2^(F - e_max) are subtracted from to give those of 2^e_max: 2·127 are the biases of the two.
    fn units(&self) -> i32 {
        (254 + self.fraction_bits).wrapping_shl(23)
    }

    /// Whether every place of an operation is the exponent of an FP32 number whose unit is one, too.
    fn holds(&self, top: i32, range: TopRange) -> bool {
        top + range.lowest + RELATIVE_LEAST >= self.fraction_bits - 126
            && top + range.highest <= 127 - PLACE + self.fraction_bits
    }
}

/// Rows of A and a panel of B, and their numbers and exponents as slices that no store can change.
#[derive(Clone, Copy)]
struct Factors<'f> {
    a: &'f Lines<Words>,
    b: &'f Lines<Interleaved>,
    a_values: &'f [f32],
    b_values: &'f [f32],
    a_exponents: &'f [u32],
    b_exponents: &'f [u32],
}

/// Which operation of which rows.
#[derive(Clone, Copy)]
struct Place {
    /// Number of the operation in the block of K.
    operation: usize,
    /// Its first element, and how many it has.
    first: usize,
    length: usize,
    /// The first row of the group.
    row: usize,
}

/// Some rows through one block of K; all take one operation before any takes the next, for they do not wait for each
/// other. `LENGTH` products each, or as the plan says if that is 0.
#[inline(always)]
pub(crate) fn tiles<S: Simd, const PAIRS: bool, const OFFSETS: bool, const LENGTH: usize>(
    s: S,
    plan: &Rounded,
    (a, b): (&Lines<Words>, &Lines<Interleaved>),
    k: Range,
    state: &mut [f32],
    rare: &mut Rare<'_>,
) {
    let width = VECTORS * S::LANES;
    assert!(state.len().is_multiple_of(ROWS * width) && state.len() <= GROUP * width);
    assert!(a.exponents.words.len() == k.length * GROUP && b.exponents.words().len() == k.length * S::LANES);
    assert!(a.values.len() == k.length * GROUP && b.values.len() == k.length * width);
    let factors = Factors {
        a,
        b,
        a_values: &a.values,
        b_values: &b.values,
        a_exponents: &a.exponents.words,
        b_exponents: b.exponents.words(),
    };
    let plan = &{ *plan }; // a copy, that no store to the state can change
    let calm = if OFFSETS { 0 } else { calm(s, plan, k, state) };
    let length = if LENGTH == 0 { plan.length } else { LENGTH };
    for (operation, first) in (0..k.length).step_by(length).enumerate() {
        let factors = Factors {
            a_values: &factors.a_values[first * GROUP..][..length * GROUP],
            b_values: &factors.b_values[first * width..][..length * width],
            a_exponents: &factors.a_exponents[first * GROUP..][..length * GROUP],
            b_exponents: &factors.b_exponents[first * S::LANES..][..length * S::LANES],
            ..factors
        };
        for (pair, state) in state.chunks_exact_mut(ROWS * width).enumerate() {
            let (upper, lower) = state.split_at_mut(width);
            let place = Place { operation, first, length, row: pair * ROWS };
            let below = Place { row: place.row + 1, ..place };
            if LENGTH == 4 {
                // so few products wait for the accumulator more than for what they share
                let [sum] = of_all::<S, PAIRS, OFFSETS, 1>(s, plan, factors, place);
                finish::<S, PAIRS, OFFSETS, true>(s, plan, factors, place, calm, &sum, upper, rare);
                let [sum] = of_all::<S, PAIRS, OFFSETS, 1>(s, plan, factors, below);
                finish::<S, PAIRS, OFFSETS, true>(s, plan, factors, below, calm, &sum, lower, rare);
            } else {
                let [first, second] = of_all::<S, PAIRS, OFFSETS, 2>(s, plan, factors, place);
                // one after the other and not in a loop: so all stays in registers
                finish::<S, PAIRS, OFFSETS, false>(s, plan, factors, place, calm, &first, upper, rare);
                finish::<S, PAIRS, OFFSETS, false>(s, plan, factors, below, calm, &second, lower, rare);
            }
        }
    }
}

/// A bit for each row whose accumulators are finite and stay so through a block of K, exponents counted from 0.
///
/// An operation adds less than 2^31 units of 2^(2·42 - F), F >= 1: less than 2^114. Operations of 2^11 elements add less
/// than 2^125.
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

/// The sums of an operation of some rows.
#[inline(always)]
fn of_all<S: Simd, const PAIRS: bool, const OFFSETS: bool, const TOGETHER: usize>(
    s: S,
    plan: &Rounded,
    factors: Factors<'_>,
    place: Place,
) -> [Sums<S>; TOGETHER] {
    let length = place.length;
    if !PAIRS {
        return sums::<S, OFFSETS, TOGETHER>(s, plan, factors, place.row, (0, 1, length));
    }
    let mut even = sums::<S, OFFSETS, TOGETHER>(s, plan, factors, place.row, (0, 2, length.div_ceil(2)));
    let odd = sums::<S, OFFSETS, TOGETHER>(s, plan, factors, place.row, (1, 2, length / 2));
    for (even, odd) in even.iter_mut().zip(&odd) {
        join(s, plan, even, odd);
    }
    even
}

/// The sums of `count` products `first`, `first + step`, … of the rows from `row` on.
#[inline(always)]
fn sums<S: Simd, const OFFSETS: bool, const TOGETHER: usize>(
    s: S,
    plan: &Rounded,
    factors: Factors<'_>,
    row: usize,
    (first, step, count): (usize, usize, usize),
) -> [Sums<S>; TOGETHER] {
    let width = VECTORS * S::LANES;
    let none = if OFFSETS { RELATIVE_NONE } else { ABSOLUTE_NONE };
    let nothing = Sums {
        t: [s.i_splat(0); VECTORS],
        scale: [s.f_splat(0.0); VECTORS],
        largest: s.b_splat(bytes(none as i8)),
    };
    let mut sums = [nothing; TOGETHER];
    let there = count.saturating_sub(1) * step + usize::from(count > 0);
    assert!(row <= GROUP - TOGETHER);
    let (rows, columns) = (
        &factors.a_exponents[first * GROUP..][..there * GROUP],
        &factors.b_exponents[first * S::LANES..][..there * S::LANES],
    );
    for index in (0..count).map(|index| index * step) {
        let exponents = &rows[index * GROUP..][..GROUP][row..][..TOGETHER];
        let b_exponent = s.b_load(&columns[index * S::LANES..]);
        for (sum, &exponent) in sums.iter_mut().zip(exponents) {
            sum.largest = s.b_max(sum.largest, s.b_add_saturating(s.b_splat(exponent), b_exponent));
        }
    }
    for sum in &mut sums {
        if OFFSETS {
            let maximum = s.b_fields(s.b_sub(sum.largest, s.b_splat(bytes(-127))));
            for vector in 0..VECTORS {
                let scale = s.i_sub(s.i_splat(plan.units()), maximum[vector]);
                sum.scale[vector] = s.f_from_bits(scale);
            }
        } else {
            let from = s.b_splat(bytes((127 + plan.fraction_bits) as i8));
            let scale = s.b_fields(s.b_sub(from, sum.largest));
            for vector in 0..VECTORS {
                sum.scale[vector] = s.f_from_bits(scale[vector]);
            }
        }
    }
    let (rows, columns) = (
        &factors.a_values[first * GROUP..][..there * GROUP],
        &factors.b_values[first * width..][..there * width],
    );
    for index in (0..count).map(|index| index * step) {
        let numbers = &rows[index * GROUP..][..GROUP][row..][..TOGETHER];
        let mut factors = [s.f_splat(0.0); TOGETHER];
        for row in 0..TOGETHER {
            factors[row] = s.f_splat(numbers[row]);
        }
        let line = &columns[index * width..][..width];
        for vector in 0..VECTORS {
            let column = s.f_load(&line[vector * S::LANES..]);
            for (sum, &factor) in sums.iter_mut().zip(&factors) {
                let product = s.f_mul(s.f_mul(factor, column), sum.scale[vector]);
                sum.t[vector] = s.i_add(sum.t[vector], s.f_truncate(product));
            }
        }
    }
    sums
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

/// Adds the accumulators of a row to its sums, and rounds. With `ALWAYS` as if some were above their places, without a
/// look: a wrong guess of a branch costs more.
#[allow(clippy::too_many_arguments)] // one more than seven, with the instruction set
#[inline(always)]
fn finish<S: Simd, const PAIRS: bool, const OFFSETS: bool, const ALWAYS: bool>(
    s: S,
    plan: &Rounded,
    factors: Factors<'_>,
    Place { operation, first, row, .. }: Place,
    calm: u32,
    sum: &Sums<S>,
    line: &mut [f32],
    rare: &mut Rare<'_>,
) {
    let width = VECTORS * S::LANES;
    let least = if OFFSETS { RELATIVE_LEAST } else { ABSOLUTE_NONE + 1 };
    let mut careful = s.b_any_gt(s.b_splat(bytes(least as i8)), sum.largest);
    let (mut flushed, mut held, mut top) = (false, true, 0);
    if OFFSETS {
        let range = factors.b.ranges[operation];
        let row_range = factors.a.ranges[operation * (GROUP / ROWS) + row / ROWS];
        top = factors.a.tops[operation * GROUP + row] >> 23;
        flushed = range.flushed || row_range.flushed;
        held = plan.holds(top, range);
        careful |= !held || plan.unusual();
    } else {
        careful |= calm >> row & 1 == 0;
    }
    let to_place = plan.units().wrapping_add((PLACE - plan.fraction_bits + if held { top } else { 0 }) << 23);
    let (nothing, none) = (s.f_splat(0.0), s.i_splat(0));
    let nothing = Terms { t: none, place: none, power: none, c: nothing, own: none, beyond: none };
    let mut terms = [nothing; VECTORS];
    let (mut beyond, mut most) = (none, none);
    for vector in 0..VECTORS {
        let scale = s.f_bits(sum.scale[vector]);
        let (mut place, mut power) = (s.i_sub(s.i_splat(to_place), scale), scale);
        if OFFSETS {
            let mut column = s.i_load(&factors.b.tops[operation * width + vector * S::LANES..]);
            if !held {
                // beyond these limits every place is out of range
                let both = s.i_add(s.i_sar_by(column, s.i_splat(23)), s.i_splat(top));
                column = s.i_shl(23, s.i_max(s.i_min(both, s.i_splat(153)), s.i_splat(-180)));
            }
            place = s.i_add(place, column);
            power = power_of(s, place);
        }
        let c = s.f_load(&line[vector * S::LANES..]);
        let own = s.i_and(s.f_bits(c), s.i_splat(0xff << 23));
        terms[vector] = Terms { t: sum.t[vector], place, power, c, own, beyond: s.i_excess(own, place) };
        beyond = s.i_or(beyond, terms[vector].beyond);
        if OFFSETS {
            most = larger_field(s, most, own);
        }
    }
    if !careful {
        if !ALWAYS && s.m_bits(s.i_gt(beyond, none)) == 0 {
            taken(Route::Small);
            for vector in 0..VECTORS {
                let result = add_small::<S, PAIRS>(s, &terms[vector]);
                s.f_store(&mut line[vector * S::LANES..], result);
            }
            return;
        }
        if !OFFSETS || s.m_bits(s.i_eq(most, s.i_splat(0xff << 23))) == 0 {
            taken(Route::Any);
            if plan.renormalize {
                for vector in 0..VECTORS {
                    let result = add_any::<S, PAIRS, true>(s, plan, &terms[vector]);
                    s.f_store(&mut line[vector * S::LANES..], result);
                }
            } else {
                for vector in 0..VECTORS {
                    let result = add_any::<S, PAIRS, false>(s, plan, &terms[vector]);
                    s.f_store(&mut line[vector * S::LANES..], result);
                }
            }
            return;
        }
    }
    taken(Route::Unusual);
    let mut rare = |column: usize, c: f32| rare(row, column, first, c);
    carefully::<S, PAIRS, OFFSETS>(s, plan, (sum.scale, terms), flushed, line, &mut rare);
}

/// The last step where anything may be: no products, units beyond FP32, accumulators that are not finite. What it is
/// done on comes as a copy, so that what it was copied from stays in registers.
#[inline(always)]
fn carefully<S: Simd, const PAIRS: bool, const OFFSETS: bool>(
    s: S,
    plan: &Rounded,
    (scale, terms): (Vectors<S::F>, Vectors<Terms<S>>),
    flushed: bool,
    line: &mut [f32],
    rare: &mut dyn FnMut(usize, f32) -> f32,
) {
    let none = if OFFSETS { RELATIVE_NONE + 1 } else { ABSOLUTE_NONE + 1 };
    for (vector, terms) in terms.iter().enumerate() {
        let (mut result, mut left_out) = add_unusual::<S, PAIRS>(s, plan, terms);
        // without a product the accumulator is the answer, cut to F bits; -0 becomes +0
        let maximum = s.i_sub(s.i_splat(plan.units()), s.f_bits(scale[vector]));
        let none = s.i_gt(field(s, none), maximum);
        if !flushed {
            let alone = s.f_add(own_bits(s, plan, terms.c), s.f_splat(0.0));
            result = s.f_from_bits(s.i_select(none, s.f_bits(alone), s.f_bits(result)));
            left_out &= !s.m_bits(none);
        }
        if OFFSETS {
            let low = s.m_bits(s.i_gt(field(s, RELATIVE_LEAST), maximum));
            left_out |= if flushed { low } else { low & !s.m_bits(none) };
        }
        s.f_store(&mut line[vector * S::LANES..], result);
        if left_out != 0 {
            let line = &mut line[vector * S::LANES..(vector + 1) * S::LANES];
            let mut mend = |lane: usize, c: f32| rare(vector * S::LANES + lane, c);
            by_lane(s, line, terms.c, left_out, &mut mend);
        }
    }
}

/// Gives lanes that were left out the result of the reference path.
#[cold]
#[inline(never)]
fn mend(line: &mut [f32], c: &[f32], left_out: u32, rare: &mut dyn FnMut(usize, f32) -> f32) {
    for (lane, (result, &c)) in line.iter_mut().zip(c).enumerate() {
        if left_out >> lane & 1 == 1 {
            // infinity and NaN stay
            *result = if c.is_finite() { rare(lane, c) } else { c };
        }
    }
}

/// [`mend`], from vectors.
#[inline(always)]
fn by_lane<S: Simd>(s: S, line: &mut [f32], c: S::F, left_out: u32, rare: &mut dyn FnMut(usize, f32) -> f32) {
    let mut before = [0.0; 16];
    s.f_store(&mut before, c);
    mend(line, &before, left_out, rare);
}
